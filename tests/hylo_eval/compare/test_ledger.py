"""The ledger of looks."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from hylo_eval.compare.ledger import Ledger, RecordedLook, RecordedNoise, RecordedRun


def recorded(agent: str, **changes: Any) -> RecordedRun:
    """A run of an agent."""
    return RecordedRun(run_id=agent, created_at="t", config_digest=agent, agent=f"{agent} 1", **changes)


def names(ledger: Ledger) -> list[str]:
    """Its candidates by name."""
    return [run.agent for run in ledger.candidates]


def seen(*agents: str, kind: Any = "gate", split: str = "heldout", **changes: Any) -> RecordedLook:
    """A look at these agents' runs."""
    return RecordedLook(
        id="-".join((kind, *agents)), kind=kind, created_at="t", benchmark="b", benchmark_digest="sha256:0", split=split,
        runs=tuple(map(recorded, agents)), **changes,
    )  # fmt: skip


def test_candidates_are_counted_once_and_parents_are_none():
    """A gate has one candidate; everybody on a leaderboard or in a selection is one."""
    looks = (seen("a", "base"), seen("b", "base"), seen("a", "base", kind="compare"), seen("n", "n", kind="noise"))
    assert names(Ledger(looks=looks)) == ["a 1", "b 1"]
    assert names(Ledger(looks=(*looks, seen("c", "base", kind="leaderboard")))) == ["a 1", "b 1", "c 1", "base 1"]


def test_two_settings_of_one_agent_are_two_candidates():
    """By the digest of the manifest; a record from before there was one is no candidate of its own beside them."""
    mild, wild = (recorded("a", agent_digest=f"sha256:{digit}") for digit in "12")
    looks = tuple(attrs.evolve(seen("a", "base"), runs=(run, recorded("base"))) for run in (mild, wild, mild))
    assert Ledger(looks=looks).candidates == (mild, wild)
    assert "this one included: 2" in Ledger(looks=looks).words(mild, n_episodes=9, success_rate=0.5)[0]
    old = seen("a", "base")
    assert names(Ledger(looks=(old,))) == ["a 1"]
    assert Ledger(looks=(old, *looks)).candidates == (mild, wild)
    assert "this one included: 1" in Ledger(looks=(old,)).words(mild, n_episodes=9, success_rate=0.5)[0]


def test_a_split_has_its_own_ledger():
    """Looks at validation do not count against heldout."""
    ledger = Ledger(looks=(seen("a", "b"), seen("c", "b", split="validation")))
    assert ledger.of_split("sha256:0", "heldout").candidates == (recorded("a"),)
    assert not ledger.of_split("sha256:1", "heldout").looks


def test_a_pair_is_found_whichever_side_was_the_candidate():
    """Swapping the sides looks at the same evidence."""
    ledger = Ledger(looks=(seen("a", "b"), seen("a", "c"), seen("a", "b", kind="compare")))
    assert [look.id for look in ledger.of_pair(recorded("b").identity, recorded("a").identity)] == ["gate-a-b"]


def test_the_best_of_twenty_equal_checkpoints_is_said():
    """On 50 episodes of a true .80 it reads .90 by luck."""
    ledger = Ledger(looks=tuple(seen(f"v{index}", "base") for index in range(19)))
    words = ledger.words(recorded("v19"), n_episodes=50, success_rate=0.8)
    assert words[0].startswith("looks at this split on record before this one: 19, of them gates: 19;")
    assert "this one included: 20" in words[0]
    assert (
        words[1] == "by luck alone, the best of 20 equal agents with a true rate of 80.0 % shows 89.9 % on 50 episodes"
    )
    assert len(ledger.words(recorded("v19"), n_episodes=0, success_rate=None)) == 1


@pytest.mark.parametrize("rate", [0.0, 1.0])
def test_luck_shows_nothing_of_agents_that_all_fail_or_all_succeed(rate):
    """The best of them shows that rate whatever happens; a sentence would say nothing."""
    ledger = Ledger(looks=(seen("a", "base"),))
    assert len(ledger.words(recorded("b"), n_episodes=50, success_rate=rate)) == 1


def test_unreadable_records_are_said():
    """A record that somebody broke is not forgotten."""
    assert (
        "3 files among the records cannot be read"
        in Ledger(unreadable=3).words(recorded("a"), n_episodes=1, success_rate=1.0)[-1]
    )


def test_the_latest_noise_of_an_agent_counts_before_that_of_others():
    """An earlier one belongs to another state of it, and another agent's says something of the simulator at least."""
    ours = recorded("n", agent_digest="sha256:1")
    early, late = (
        attrs.evolve(seen("n", "n", kind="noise", noise=RecordedNoise(n_pairs=9, discordant=count)), runs=(ours, ours))
        for count in (1, 2)
    )
    other = seen("m", "m", kind="noise", noise=RecordedNoise(n_pairs=9, discordant=3))
    ledger = Ledger(looks=(early, late, other, seen("a", "b")))
    assert ledger.noise_of("sha256:1", "sha256:2") == late
    assert ledger.noise_of("sha256:2") == other
    assert Ledger(looks=(seen("a", "b"),)).noise_of("sha256:1") is None
