"""The ledger of looks."""

from __future__ import annotations

from typing import Any

from hylo_eval.compare.ledger import Ledger, RecordedLook, RecordedRun


def recorded(agent: str) -> RecordedRun:
    """A run of an agent."""
    return RecordedRun(run_id=agent, created_at="t", config_digest=agent, agent=f"{agent} 1")


def seen(*agents: str, kind: Any = "gate", split: str = "heldout", **changes: Any) -> RecordedLook:
    """A look at these agents' runs."""
    return RecordedLook(
        id="-".join((kind, *agents)), kind=kind, created_at="t", benchmark="b", benchmark_digest="sha256:0", split=split,
        runs=tuple(map(recorded, agents)), **changes,
    )  # fmt: skip


def test_candidates_are_counted_once_and_parents_are_none():
    """A gate has one candidate; everybody on a leaderboard or in a selection is one."""
    looks = (seen("a", "base"), seen("b", "base"), seen("a", "base", kind="compare"), seen("n", "n", kind="noise"))
    assert Ledger(looks=looks).candidates == ("a 1", "b 1")
    assert Ledger(looks=(*looks, seen("c", "base", kind="leaderboard"))).candidates == ("a 1", "b 1", "c 1", "base 1")


def test_a_split_has_its_own_ledger():
    """Looks at validation do not count against heldout."""
    ledger = Ledger(looks=(seen("a", "b"), seen("c", "b", split="validation")))
    assert ledger.of_split("sha256:0", "heldout").candidates == ("a 1",)
    assert not ledger.of_split("sha256:1", "heldout").looks


def test_a_pair_is_found_whichever_side_was_the_candidate():
    """Swapping the sides looks at the same evidence."""
    ledger = Ledger(looks=(seen("a", "b"), seen("a", "c"), seen("a", "b", kind="compare")))
    assert [look.id for look in ledger.of_pair(recorded("b").identity, recorded("a").identity)] == ["gate-a-b"]


def test_the_best_of_twenty_equal_checkpoints_is_said():
    """On 50 episodes of a true .80 it reads .90 by luck."""
    ledger = Ledger(looks=tuple(seen(f"v{index}", "base") for index in range(19)))
    words = ledger.words("v19 1", n_episodes=50, success_rate=0.8)
    assert words[0].startswith("looks at this split on record before this one: 19, of them gates: 19;")
    assert "this one included: 20" in words[0]
    assert words[1] == "by luck alone, the best of 20 equal agents with a true rate of 0.80 shows 0.90 on 50 episodes"
    assert len(ledger.words("v19 1", n_episodes=0, success_rate=None)) == 1


def test_unreadable_records_are_said():
    """A record that somebody broke is not forgotten."""
    assert (
        "3 files among the records cannot be read"
        in Ledger(unreadable=3).words("a", n_episodes=1, success_rate=1.0)[-1]
    )


def test_the_latest_noise_floor_counts():
    """An earlier one belongs to another policy or simulator."""
    looks = (seen("n", "n", kind="noise", noise=0.1), seen("n", "n", kind="noise", noise=0.2), seen("a", "b"))
    assert Ledger(looks=looks).noise == 0.2
    assert Ledger().noise is None
