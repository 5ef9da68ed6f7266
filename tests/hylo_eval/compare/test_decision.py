"""The gate's decision rules."""

from __future__ import annotations

import re

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hylo_core.errors import ContractError
from hylo_eval.compare.breakdown import adjust_groups
from hylo_eval.compare.decision import GateRule, decide, sequential_verdict
from hylo_eval.compare.guards import Guard
from hylo_eval.compare.pairing import compare_table, paired_compare
from hylo_eval.compare.sequential import sequential_test
from hylo_eval.compare.table import PairTable
from hylo_eval.compare.tango import tango_interval

IMPROVE = GateRule(mode="improve")


def table(wins: int, losses: int, ties: int = 0) -> PairTable:
    """A table without abstentions."""
    return PairTable(candidate_wins=wins, parent_wins=losses, both_succeeded=ties)


def by_task(**tables: PairTable):
    """The comparison of all tasks together, and its rows."""
    total = PairTable(
        both_succeeded=sum(t.both_succeeded for t in tables.values()),
        candidate_wins=sum(t.candidate_wins for t in tables.values()),
        parent_wins=sum(t.parent_wins for t in tables.values()),
    )
    return compare_table(total), adjust_groups({label: compare_table(t) for label, t in tables.items()})


@pytest.mark.parametrize(
    ("wins", "losses", "verdict"),
    [
        (5, 0, "pass"),
        (4, 0, "inconclusive"),
        (8, 2, "inconclusive"),
        (9, 1, "pass"),
        (0, 0, "inconclusive"),
        (0, 5, "fail"),
        (1, 9, "fail"),
    ],
)
def test_improve_needs_significance_in_either_direction(wins, losses, verdict):
    """5:0 and 9:1 pass, their mirror images fail, 8:2 and 0:0 of 50 show nothing."""
    decision = decide(IMPROVE, compare_table(table(wins, losses, 50 - wins - losses)))
    assert decision.verdict == verdict
    assert (decision.p_value <= 0.05) == (verdict == "pass")
    assert (decision.reverse_p_value <= 0.05) == (verdict == "fail")


def test_an_inconclusive_improvement_says_what_was_missing():
    """Three wins: the reasons name the five that were needed."""
    decision = decide(IMPROVE, compare_table(table(3, 0, 40)))
    assert decision.reasons == (
        "no difference shown: 3 wins to 0, p = 0.125 for a better candidate",
        "5 wins without a loss are needed for p <= 0.05; there are 3 discordant pairs, 3 of them won",
    )


@pytest.mark.parametrize(
    ("wins", "losses", "pairs", "verdict"),
    [(5, 5, 400, "pass"), (5, 5, 40, "inconclusive"), (0, 40, 100, "fail")],
)
def test_noninferior_holds_tangos_bounds_against_the_margin(wins, losses, pairs, verdict):
    """The 1 - 2 alpha interval above -M passes, below it fails, around it is inconclusive."""
    rule = GateRule(mode="noninferior", margin=0.05)
    decision = decide(rule, compare_table(table(wins, losses, pairs - wins - losses)))
    bounds = tango_interval(wins, losses, pairs, level=0.9)
    expected = "pass" if bounds.low > -0.05 else "fail" if bounds.high < -0.05 else "inconclusive"
    assert decision.verdict == expected == verdict
    assert decision.effect.decision_interval == bounds
    low, high = (f"{100 * bound:+.2f} points" for bound in (bounds.low, bounds.high))
    place = {"pass": "above", "fail": "below", "inconclusive": "which holds"}[verdict]
    assert decision.reasons == (f"the difference lies in [{low}, {high}], {place} -5 points",)


def test_no_regression_fails_on_one_bad_task_behind_a_good_mean():
    """Overall the candidate wins 30:10, but it lost `push` 10:0."""
    comparison, tasks = by_task(pick=table(30, 0, 100), push=table(0, 10, 100))
    decision = decide(GateRule(mode="no-regression", margin=0.2), comparison, tasks=tasks)
    assert decision.verdict == "fail"
    assert decision.reasons == ("push is worse: 0 wins to 10, Holm-adjusted p = 0.00195",)


def test_no_regression_passes_only_where_a_drop_would_have_shown():
    """300 pairs a task see a drop of 0.1; 30 pairs do not, and the verdict says which task was blind."""
    rule = GateRule(mode="no-regression", margin=0.1)
    comparison, tasks = by_task(pick=table(10, 10, 280), push=table(12, 9, 279))
    decision = decide(rule, comparison, tasks=tasks)
    assert (decision.verdict, decision.reasons) == (
        "pass",
        ("none of 2 tasks is worse, and a drop of 10 points would have shown",),
    )
    comparison, tasks = by_task(pick=table(10, 10, 280), push=table(1, 1, 28))
    decision = decide(rule, comparison, tasks=tasks)
    assert decision.verdict == "inconclusive"
    (reason,) = decision.reasons
    assert re.fullmatch(r"push: 30 pairs could have shown a drop of [\d.]+ points, not 10 points", reason)


def test_coverage_counts_every_instance_of_either_side():
    """9 wins of 9 pairs pass; with one of ten instances unmatched, coverage is 90 %, below the bar."""
    candidate = {f"t#{i}": 1.0 for i in range(9)}
    parent = {f"t#{i}": 0.0 for i in range(9)}
    assert decide(IMPROVE, paired_compare(candidate, parent)).verdict == "pass"
    decision = decide(IMPROVE, paired_compare(candidate | {"t#9": 1.0}, parent))
    assert (decision.verdict, decision.coverage) == ("inconclusive", 0.9)
    assert decision.reasons[0] == "coverage is 90.0 %, 95.0 % is required"
    loose = attrs.evolve(IMPROVE, min_coverage=0.9)
    assert decide(loose, paired_compare(candidate | {"t#9": 1.0}, parent)).verdict == "pass"


def test_missing_evidence_outweighs_every_number():
    """An unfinished run or too few pairs are inconclusive, for better and for worse."""
    better, worse = compare_table(table(9, 0)), compare_table(table(0, 9))
    assert decide(IMPROVE, better, finished=False).verdict == "inconclusive"
    assert decide(IMPROVE, worse, finished=False).reasons[0] == "a run is not finished"
    strict = attrs.evolve(IMPROVE, min_pairs=10)
    assert decide(strict, worse).verdict == "inconclusive"
    assert decide(strict, better).reasons[0] == "9 scored pairs, 10 are required"


def crashed():
    """A candidate that won 9 pairs and crashed on 6 that the parent solved; the parent crashed on 2."""
    candidate = (
        {f"t#{i}": 1.0 for i in range(9)} | {f"c#{i}": None for i in range(6)} | {f"p#{i}": 1.0 for i in range(2)}
    )
    parent = {f"t#{i}": 0.0 for i in range(9)} | {f"c#{i}": 1.0 for i in range(6)} | {f"p#{i}": None for i in range(2)}
    return paired_compare(
        candidate,
        parent,
        candidate_reasons={f"c#{i}": "agent_error" for i in range(6)},
        parent_reasons={f"p#{i}": "agent_error" for i in range(2)},
    )


def test_a_candidate_cannot_pass_by_crashing():
    """Its agent errors count as failures (9:6), the parent's do not; left out, it would pass 9:0."""
    rule = GateRule(mode="improve", min_coverage=0.5)
    decision = decide(rule, crashed())
    assert (decision.verdict, decision.effect.n_pairs, decision.coverage) == ("inconclusive", 15, 15 / 17)
    assert decision.p_value == compare_table(table(9, 6)).p_value
    lenient = attrs.evolve(rule, agent_errors="abstain")
    assert decide(lenient, crashed()).p_value == 1 / 512
    assert [scenario.p_value for scenario in decision.scenarios] == [
        1 / 512,
        compare_table(table(9, 6)).p_value,
        compare_table(table(9, 6)).p_value,
    ]


def test_the_worst_case_can_be_made_to_decide():
    """9:0 with two infra abstentions against the parent's successes is 9:2 in the worst case, p = 67/2048."""
    candidate = {f"t#{i}": 1.0 for i in range(9)} | {"x#0": None, "x#1": None}
    parent = {f"t#{i}": 0.0 for i in range(9)} | {"x#0": 1.0, "x#1": 1.0}
    rule = GateRule(mode="improve", min_coverage=0.8, worst_case=True)
    decision = decide(rule, paired_compare(candidate, parent))
    assert (decision.verdict, decision.p_value) == ("pass", (55 + 11 + 1) / 2048)
    # Counting the unseen as seen must not lift the coverage.
    assert decision.coverage == 9 / 11


def test_a_pass_says_how_many_abstentions_would_undo_it():
    """8:0 with 3 abstentions holds up to 1 of them; an inconclusive verdict has no tipping point."""
    candidate = {f"t#{i}": 1.0 for i in range(8)} | {f"x#{i}": None for i in range(3)}
    parent = {f"t#{i}": 0.0 for i in range(8)} | {f"x#{i}": 1.0 for i in range(3)}
    decision = decide(GateRule(mode="improve", min_coverage=0.7), paired_compare(candidate, parent))
    assert (decision.tipping_point.holds_up_to, decision.tipping_point.abstained) == (1, 3)
    assert decide(IMPROVE, compare_table(table(1, 0))).tipping_point is None


def test_a_fail_says_how_many_abstentions_would_undo_it():
    """The mirror image: 0:8 holds up to one more win of the candidate."""
    candidate = {f"t#{i}": 0.0 for i in range(8)} | {f"x#{i}": None for i in range(3)}
    parent = {f"t#{i}": 1.0 for i in range(8)} | {f"x#{i}": 0.0 for i in range(3)}
    decision = decide(GateRule(mode="improve", min_coverage=0.7), paired_compare(candidate, parent))
    assert decision.verdict == "fail"
    assert decision.tipping_point.words() == (
        "the verdict holds if up to 1 of the 3 abstained pairs went in favour of the candidate"
    )


def test_a_guard_that_fails_leaves_the_rules_tipping_point_out():
    """Abstentions would not undo that verdict."""
    guard = Guard(name="safety", verdict="fail", words="safety: found")
    assert decide(IMPROVE, compare_table(table(9, 0)), guards=[guard]).tipping_point is None


def test_a_pass_without_regression_tips_by_its_weakest_task():
    """Two tasks, so a task fails at 1/40: 0:5 is 1/32 and holds, 0:6 is 1/64 and does not."""
    tied = {f"{task}#{i}": 1.0 for task in ("pick", "push") for i in range(100)}
    candidate, parent = dict(tied), dict(tied)
    for i in range(7):
        candidate[f"push#{i}"] = None
    candidate["pick#0"] = None
    from hylo_eval.compare.breakdown import compare_by_task

    rule = GateRule(mode="no-regression", margin=0.2, min_coverage=0.9)
    decision = decide(rule, paired_compare(candidate, parent), tasks=compare_by_task(candidate, parent))
    assert decision.verdict == "pass"
    assert decision.tipping_point.words() == (
        "the verdict holds if up to 5 of the 7 abstained pairs of push went against the candidate"
    )


@pytest.mark.parametrize(("guard", "verdict"), [("pass", "pass"), ("inconclusive", "inconclusive"), ("fail", "fail")])
def test_the_worst_of_rule_and_guards_is_the_verdict(guard, verdict):
    """A better candidate that is less safe does not pass."""
    guards = [
        Guard(name="safety", verdict=guard, words="safety: found"),
        Guard(name="x", verdict="pass", words="x"),
    ]
    decision = decide(IMPROVE, compare_table(table(9, 0)), guards=guards)
    assert decision.verdict == verdict
    assert "safety: found" in decision.reasons


counts = st.integers(0, 60)


@given(counts, counts, counts)
@settings(deadline=None)
def test_swapping_the_sides_mirrors_improve(wins, losses, ties):
    """What passes fails when swapped, and the inconclusive stays so."""
    mirror = {"pass": "fail", "fail": "pass", "inconclusive": "inconclusive"}
    forward = decide(IMPROVE, compare_table(table(wins, losses, ties))).verdict
    assert decide(IMPROVE, compare_table(table(losses, wins, ties))).verdict == mirror[forward]


def test_the_rule_is_said_in_words():
    """Level, margin, bars and the treatment of abstentions all stand in the text."""
    rule = GateRule(mode="noninferior", margin=0.03, alpha=0.025, min_pairs=50, worst_case=True)
    words = rule.words()
    for part in (
        "0.025",
        "above -3 points",
        "Tango",
        "95.0 %",
        "50 scored pairs",
        "agent errors count as failures",
        "against the candidate",
    ):
        assert part in words
    assert decide(rule, compare_table(table(1, 1, 98))).rule_in_words == words
    assert "left out" in GateRule(mode="improve", agent_errors="abstain").words()
    assert "Holm" in GateRule(mode="no-regression", margin=0.1).words()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "better"}, "mode: must be one of improve, noninferior, no-regression"),
        ({"mode": "improve", "margin": 0.1}, "margin: changes nothing in mode improve"),
        ({"mode": "noninferior"}, "margin: is required in mode noninferior"),
        ({"mode": "no-regression", "margin": 0.0}, "margin: must lie in"),
        ({"mode": "improve", "agent_errors": "ignore"}, "agent_errors: must be fail or abstain"),
        ({"mode": "improve", "alpha": 0.5}, "alpha: must lie in"),
        ({"mode": "improve", "min_pairs": 0}, "min_pairs: must be a whole number of at least 1"),
        ({"mode": "improve", "min_coverage": 1.1}, "min_coverage: must lie in"),
        ({"mode": "improve", "power": 1.0}, "power: must lie in"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(options, message):
    """Every option changes something or is refused by name."""
    with pytest.raises(ContractError, match=message):
        GateRule(**options)


def test_tasks_are_given_exactly_where_they_decide():
    """Missing, useless or overlapping task rows are refused."""
    comparison, tasks = by_task(pick=table(5, 0, 10), push=table(1, 1, 10))
    rule = GateRule(mode="no-regression", margin=0.2)
    with pytest.raises(ContractError, match="tasks: is required"):
        decide(rule, comparison)
    with pytest.raises(ContractError, match="tasks: must hold every shared instance exactly once"):
        decide(rule, comparison, tasks=(*tasks, tasks[0]))
    with pytest.raises(ContractError, match="tasks: changes nothing in mode improve"):
        decide(IMPROVE, comparison, tasks=tasks)


@pytest.mark.parametrize(
    ("pairs", "declared", "verdict"),
    [
        ([(1.0, 0.0)] * 7, 100, "pass"),
        ([(0.0, 1.0)] * 7, 100, "fail"),
        ([(1.0, 0.0)] * 6, 100, "inconclusive"),
        ([(1.0, 1.0)] * 6, 10, "inconclusive"),
    ],
)
def test_a_look_has_a_verdict(pairs, declared, verdict):
    """Decided either way passes or fails; undecided and futile are inconclusive."""
    assert sequential_verdict(sequential_test(pairs, n_declared=declared)) == verdict
