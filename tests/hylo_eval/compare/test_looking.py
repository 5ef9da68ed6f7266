"""One look of a sequential gate: the prefix and nothing beyond it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hylo_core.errors import ContractError
from hylo_core.trace import BenchmarkRef
from hylo_eval.compare.decision import GateRule, decide
from hylo_eval.compare.evidence import EpisodeOutcome, PairedEvidence, RunConditions, RunEvidence
from hylo_eval.compare.looking import look
from hylo_eval.compare.pairing import paired_compare
from hylo_eval.errors import EvalError

RULE = GateRule(mode="improve", sequential=True, min_coverage=0.5)
ORDER = tuple(f"t#{seed}" for seed in range(12))


def run(
    name: str, scores: Mapping[str, float | None], reasons: Mapping[str, str] | None = None, **changes: Any
) -> RunEvidence:
    """A run with these successes; every intervention count is 0 unless given."""
    counts = changes.pop("counts", {})
    conditions = RunConditions(
        run_id=name, created_at="2026", config_digest=name, log_sha256=name,
        benchmark=BenchmarkRef(id="t", version="1", digest="sha256:0", split="heldout"), tasks_digest="", overrides={},
        scorers=("success",), agent_name=name, agent_version="1", trained_on=(), versions={}, renderer="none", env={},
        safety=(), hylo_version="1", keys_digest="sha256:keys",
    )  # fmt: skip
    outcomes = {
        key: EpisodeOutcome(
            scores={"success": score, "safety_interventions": float(counts.get(key, 0))},
            reasons={"success": (reasons or {}).get(key, "infra")} if score is None else {},
        )
        for key, score in scores.items()
    }
    return RunEvidence(conditions=conditions, outcomes=outcomes, order=ORDER, **changes)


def pair(ours: Mapping[str, float | None], theirs: Mapping[str, float | None], **changes: Any) -> PairedEvidence:
    """Two such runs."""
    return PairedEvidence(candidate=run("new", ours, **changes), parent=run("old", theirs))


def first(count: int, score: float | None) -> dict[str, float | None]:
    """So many instances of the declared order, all with one score."""
    return dict.fromkeys(ORDER[:count], score)


def test_nothing_beyond_the_first_missing_pair_is_looked_at():
    """Three pairs, a hole, then eight wins: three pairs are seen, and the rest is counted, not read."""
    ours = {**first(3, 1.0), **dict.fromkeys(ORDER[4:], 1.0)}
    theirs = {**first(3, 0.0), **dict.fromkeys(ORDER[4:], 0.0)}
    found = look(RULE, pair(ours, theirs), "success")
    assert (found.test.n_looked, found.test.n_declared, found.beyond) == (3, 12, 8)
    assert set(found.evidence.candidate.outcomes) == set(ORDER[:3])
    assert found.decision.verdict == "inconclusive"


def test_seven_wins_in_a_row_pass_and_their_mirror_fails():
    """E(7, 0) = 255 / 8 = 31.9 is above 20; one pair earlier it is 18.1."""
    assert look(RULE, pair(first(6, 1.0), first(6, 0.0)), "success").decision.verdict == "inconclusive"
    passed = look(RULE, pair(first(7, 1.0), first(7, 0.0)), "success").decision
    assert (passed.verdict, passed.p_value) == ("pass", pytest.approx(8 / 255))
    assert look(RULE, pair(first(7, 0.0), first(7, 1.0)), "success").decision.verdict == "fail"


def test_agent_errors_and_the_worst_case_count_as_the_rule_says():
    """An error of the candidate where the parent succeeded is a loss; a parent that was not scored wins in the worst case."""
    ours, theirs = {**first(7, 1.0), "t#0": None}, first(7, 0.0)
    evidence = pair(ours, {**theirs, "t#0": 1.0}, reasons={"t#0": "agent_error"})
    assert look(RULE, evidence, "success").test.parent_wins == 1
    assert look(attrs.evolve(RULE, agent_errors="abstain"), evidence, "success").test.parent_wins == 0
    silent = pair(first(8, 1.0), {**first(8, 0.0), "t#3": None})
    assert look(RULE, silent, "success").test.candidate_wins == 7
    worst = look(attrs.evolve(RULE, worst_case=True), silent, "success").test
    assert (worst.candidate_wins, worst.parent_wins) == (7, 0), "the candidate succeeded there itself: a tie"


def test_coverage_is_that_of_the_prefix():
    """Seven wins and seven pairs without a score: half is covered."""
    ours = {**first(7, 1.0), **dict.fromkeys(ORDER[7:], None)}
    theirs = first(12, 0.0)
    assert look(RULE, pair(ours, theirs), "success").decision.verdict == "pass"
    short = look(attrs.evolve(RULE, min_coverage=0.95), pair(ours, theirs), "success").decision
    assert short.verdict == "inconclusive"
    assert short.reasons[0] == "coverage is 58.3 %, 95.0 % is required"


def test_a_count_that_rises_closes_the_gate_at_any_look():
    """More interventions in seven pairs, fewer in none: the same e-process as for wins."""
    counts = dict.fromkeys(ORDER[:7], 3)
    found = look(RULE, pair(first(7, 1.0), first(7, 0.0), counts=counts), "success", guarded="safety_interventions")
    assert found.decision.verdict == "fail"
    assert "more in 7 pairs, fewer in 0" in found.decision.reasons[-1]
    assert look(RULE, pair(first(7, 1.0), first(7, 0.0), counts=counts), "success").decision.verdict == "pass"


def test_the_tipping_point_turns_the_worst_abstentions_first():
    """Nine wins after two pairs the candidate was not scored on, where the parent succeeded: E(9, 1) passes, E(9, 2) not."""
    ours = {"t#0": None, "t#1": None, **dict.fromkeys(ORDER[2:11], 1.0)}
    theirs = {"t#0": 1.0, "t#1": 1.0, **dict.fromkeys(ORDER[2:11], 0.0)}
    tipping = look(RULE, pair(ours, theirs), "success").decision.tipping_point
    assert tipping is not None
    # E(9, 1) = 2**11 / 110 * P(Bin(11) <= 9) = 18.5 < 20.
    assert (tipping.holds_up_to, tipping.abstained) == (0, 2)
    wide = look(attrs.evolve(RULE, alpha=0.06), pair(ours, theirs), "success").decision.tipping_point
    assert wide is not None
    assert wide.holds_up_to == 1


@given(
    st.lists(st.sampled_from([0.0, 1.0, None]), min_size=12, max_size=12),
    st.lists(st.sampled_from([0.0, 1.0, None]), min_size=12, max_size=12),
)
@settings(deadline=None, max_examples=60)
def test_a_verdict_once_reached_is_not_taken_back_by_more_pairs(ours, theirs):
    """With no bar on coverage, looking after every pair never changes a pass or a fail."""
    rule = attrs.evolve(RULE, min_coverage=0.0, alpha=0.3)
    decided = ""
    for count in range(1, 13):
        scores = [dict(zip(ORDER[:count], side[:count], strict=True)) for side in (ours, theirs)]
        if all(None in two for two in zip(*(side.values() for side in scores), strict=True)):
            continue  # no scored pair yet: below min_pairs
        verdict = look(rule, pair(*scores), "success").decision.verdict
        assert decided in ("", verdict)
        decided = verdict if verdict != "inconclusive" else decided


def test_what_cannot_be_looked_at_is_refused():
    """Another order, no order, another mode, the wrong function."""
    one, two = run("new", first(2, 1.0)), run("old", first(2, 0.0))
    other = attrs.evolve(two, conditions=attrs.evolve(two.conditions, keys_digest="sha256:other"))
    with pytest.raises(EvalError, match="were not planned alike"):
        look(RULE, PairedEvidence(candidate=one, parent=other), "success")
    blank = [attrs.evolve(side, order=()) for side in (one, two)]
    with pytest.raises(EvalError, match="not on record"):
        look(RULE, PairedEvidence(candidate=blank[0], parent=blank[1]), "success")
    with pytest.raises(ContractError, match="decides mode improve only"):
        GateRule(mode="noninferior", margin=0.1, sequential=True)
    with pytest.raises(ContractError, match="is not sequential"):
        look(GateRule(mode="improve"), PairedEvidence(candidate=one, parent=two), "success")
    with pytest.raises(ContractError, match="needs the declared order"):
        decide(RULE, paired_compare({}, {}))
