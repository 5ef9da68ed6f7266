"""Comparisons over repeated runs of the same instances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import pytest

from hylo_core.errors import ContractError
from hylo_core.trace import BenchmarkRef
from hylo_eval.compare.comparability import EvidenceRefused
from hylo_eval.compare.decision import GateRule
from hylo_eval.compare.evidence import EpisodeOutcome, PairedEvidence, RunConditions, RunEvidence
from hylo_eval.compare.noise import noise_reach
from hylo_eval.compare.replicated import compare_replicates, decide_replicated, mean_scores

RULE = GateRule(mode="improve")


def run(name: str, agent: str, scores: Sequence[float | None], **changes: Any) -> RunEvidence:
    """A run of an agent; None is an agent error."""
    conditions = RunConditions(
        run_id=name, created_at=name, config_digest="c", log_sha256=name,
        benchmark=BenchmarkRef(id="t", version="1", digest="sha256:0", split=changes.pop("split", "heldout")),
        tasks_digest="", overrides={}, scorers=("success",), agent_name=agent, agent_version="1", trained_on=(),
        versions={}, renderer="none", env={}, safety=(), hylo_version="1", agent_digest=agent,
    )  # fmt: skip
    outcomes = {
        f"t#{seed}": EpisodeOutcome(
            scores={"success": score, "steps": float(seed)}, reasons={"success": "agent_error"} if score is None else {}
        )
        for seed, score in enumerate(scores)
    }
    return RunEvidence(conditions=conditions, outcomes=outcomes, **changes)


def repeated(*pairs: tuple[Sequence[float | None], Sequence[float | None]]) -> list[PairedEvidence]:
    """Repetitions of one candidate and one parent."""
    return [
        PairedEvidence(candidate=run(f"new-{place}", "new", ours), parent=run(f"old-{place}", "old", theirs))
        for place, (ours, theirs) in enumerate(pairs)
    ]


def test_an_instance_counts_once_however_often_it_is_run():
    """Three instances won in four repetitions are three coins, 1/8, and not twelve."""
    found = compare_replicates(repeated(*[([1, 1, 1, 0], [0, 0, 0, 0])] * 4), "success")
    assert (found.cluster.n_clusters, found.cluster.n_pairs, found.cluster.p_value) == (4, 16, 1 / 8)
    assert found.mean_difference == 0.75


def test_a_single_repetition_is_mcnemars_test():
    """Five wins to none: 1/32."""
    decision, found = decide_replicated(RULE, repeated(([1] * 5 + [0], [0] * 6)), "success", ())
    assert (decision.verdict, decision.p_value) == ("pass", 1 / 32)
    assert found.repetitions[0].p_value == 1 / 32


def test_instances_are_weighed_by_their_differences():
    """Differences 2, 2, 2, 2, 2, -1 of two repetitions: of 64 flips, only that one and all plus reach 9 or more."""
    first = ([1, 1, 1, 1, 1, 0], [0, 0, 0, 0, 0, 1])
    second = ([1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 1])
    decision, _ = decide_replicated(RULE, repeated(first, second), "success", ())
    assert decision.p_value == 2 / 64
    assert decision.reasons[0] == "the candidate is better over 6 instances in 2 repetitions: p = 0.0312"
    mirrored, _ = decide_replicated(RULE, repeated(first[::-1], second[::-1]), "success", ())
    assert (mirrored.verdict, mirrored.reverse_p_value) == ("fail", 2 / 64)


def test_the_variance_is_split_into_scene_and_policy():
    """A deterministic candidate varies by scenes alone; a coin of a parent by itself alone."""
    found = compare_replicates(repeated(([1, 1, 0, 0], [0, 1, 0, 1]), ([1, 1, 0, 0], [1, 0, 1, 0])), "success")
    assert found.candidate_variance is not None
    assert (found.candidate_variance.policy, found.candidate_variance.scene_share) == (0.0, 1.0)
    assert found.parent_variance is not None
    assert (found.parent_variance.scene, found.parent_variance.policy) == (0.0, 0.5)
    assert compare_replicates(repeated(([1, 0], [0, 0])), "success").candidate_variance is None


def test_abstentions_count_as_the_rule_says():
    """The candidate's errors are failures unless the rule leaves them out."""
    pairs = repeated(([None, 1], [1, 0]), ([1, 1], [1, 0]))
    decision, found = decide_replicated(RULE, pairs, "success", ())
    assert (found.cluster.n_pairs, decision.coverage) == (4, 1.0)
    lenient, found = decide_replicated(attrs.evolve(RULE, agent_errors="abstain"), pairs, "success", ())
    assert (found.cluster.n_pairs, lenient.coverage) == (3, 0.75)
    assert lenient.reasons[0] == "coverage is 75.0 %, 95.0 % is required"


def test_means_are_over_repetitions_in_which_both_sides_were_scored():
    """One error leaves one value; two leave none."""
    pairs = repeated(([None, 1, None], [1, 0, 0]), ([0, 0, None], [1, 0, 0]))
    assert mean_scores(pairs, "candidate", "success") == {"t#0": 0.0, "t#1": 0.5, "t#2": None}
    assert mean_scores(pairs, "parent", "success") == {"t#0": 1.0, "t#1": 0.0, "t#2": None}


def test_the_difference_is_held_against_what_the_noisier_agent_differs_by_itself():
    """The parent disagrees with itself in 2 of 4 instances, the candidate in none: 8 pairs, 3 more wins than losses."""
    found = compare_replicates(repeated(([1, 1, 1, 1], [0, 1, 1, 0]), ([1, 1, 1, 1], [1, 0, 1, 0])), "success")
    [note] = [note for note in found.notes if "noise floor" in note]
    floor = noise_reach(8, discordant=0.5)
    assert note.startswith(f"the difference of +50.0 points is {'within' if floor >= 0.5 else 'above'} the noise floor")
    assert "the parent run twice disagreed in 2 of 4 pairs" in note
    assert "on 8 pairs noise alone reaches" in note
    same = compare_replicates(repeated(([1, 0], [1, 0]), ([1, 0], [0, 1])), "success")
    assert not any("noise floor" in note for note in same.notes)


def refusal(first: PairedEvidence, second: PairedEvidence) -> str:
    """Why two repetitions do not belong together."""
    with pytest.raises(EvidenceRefused) as raised:
        compare_replicates([first, second], "success")
    return str(raised.value)


def test_what_is_no_repetition_is_refused():
    """Another agent, another split, other instances, the same run again."""
    one, two = repeated(([1, 0], [0, 0]), ([1, 0], [0, 0]))
    assert "is of another agent: other 1, the first new 1" in refusal(
        one, attrs.evolve(two, candidate=run("x", "other", [1, 0]))
    )
    assert "on t, split train" in refusal(one, attrs.evolve(two, parent=run("x", "old", [1, 0], split="train")))
    assert "is of other instances than the first" in refusal(one, attrs.evolve(two, parent=run("x", "old", [1])))
    assert "a run takes part twice" in refusal(one, one)


@pytest.mark.parametrize("changes", [{"mode": "noninferior", "margin": 0.1}, {"sequential": True}])
def test_other_rules_do_not_take_repetitions(changes):
    """Their intervals and e-values count pairs as independent."""
    with pytest.raises(ContractError, match=r"repetitions decide (mode improve|after the last episode) only"):
        decide_replicated(attrs.evolve(RULE, **changes), repeated(([1], [0])), "success", ())
