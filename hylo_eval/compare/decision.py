"""The gate's rules as pure functions: which comparison passes, fails, or says too little."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import attrs

from hylo_core.errors import ContractError
from hylo_eval.compare.breakdown import regroup
from hylo_eval.compare.checks import require_alpha, require_between, require_count
from hylo_eval.compare.effect import Effect, Scenario, attainability, measure_effect, scenarios
from hylo_eval.compare.guards import Guard
from hylo_eval.compare.mcnemar import exact_mcnemar
from hylo_eval.compare.power import minimal_detectable_effect
from hylo_eval.compare.tango import tango_interval
from hylo_eval.compare.tipping import TippingPoint, tipping_of_groups, tipping_point
from hylo_eval.numerals import counted, percent, points, size_in_points

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hylo_eval.compare.breakdown import GroupComparison
    from hylo_eval.compare.pairing import PairedComparison
    from hylo_eval.compare.sequential import SequentialLook
    from hylo_eval.compare.table import PairTable

Mode = Literal["improve", "noninferior", "no-regression"]
Verdict = Literal["pass", "fail", "inconclusive"]

_MODES = ("improve", "noninferior", "no-regression")


@attrs.frozen(kw_only=True)
class GateRule:
    """What a candidate must show.

    Attributes:
        mode: "improve": be better than the parent. "noninferior": be worse by less than the margin overall.
            "no-regression": be worse on no task, with enough pairs to have seen a drop of the margin.
        margin: Difference of success rates, in (0, 1), for the last two modes; None for "improve".
        alpha: One-sided significance level.
        power: Probability with which a drop of the margin must have been detectable ("no-regression").
        min_pairs: Scored pairs below which nothing is decided.
        min_coverage: Share of the instances of either side that must be scored on both.
        agent_errors: "fail" counts the candidate's agent errors as failures, "abstain" leaves them out.
            The parent's are always left out.
        worst_case: Whether every other abstention is turned against the candidate before deciding.
        sequential: Whether the anytime-valid test of the declared order decides, so that one may look early
            ("improve" only). Such a rule is applied by `look`, not by `decide`.

    Raises:
        ContractError: A value is outside its range, or a margin is missing or has no use in this mode.
    """

    mode: Mode
    margin: float | None = None
    alpha: float = 0.05
    power: float = 0.8
    min_pairs: int = 1
    min_coverage: float = 0.95
    agent_errors: Literal["fail", "abstain"] = "fail"
    worst_case: bool = False
    sequential: bool = False

    def __attrs_post_init__(self) -> None:
        if self.mode not in _MODES:
            raise ContractError(
                f"must be one of {', '.join(_MODES)}, got {self.mode!r}. fix: --mode improve", path="mode"
            )
        if self.agent_errors not in ("fail", "abstain"):
            raise ContractError(
                f"must be fail or abstain, got {self.agent_errors!r}. fix: leave it out for fail", path="agent_errors"
            )
        if self.mode == "improve" and self.margin is not None:
            raise ContractError("changes nothing in mode improve. fix: leave it out", path="margin")
        if self.sequential and self.mode != "improve":
            raise ContractError(f"decides mode improve only, not {self.mode}. fix: leave it out", path="sequential")
        if self.mode != "improve":
            if self.margin is None:
                raise ContractError(
                    f"is required in mode {self.mode}. fix: --margin .05, or another difference that does not matter",
                    path="margin",
                )
            require_between(self.margin, "margin", 0.0, 1.0)
        require_alpha(self.alpha)
        require_between(self.power, "power", 0.0, 1.0)
        require_count(self.min_pairs, "min_pairs", at_least=1)
        require_between(self.min_coverage, "min_coverage", 0.0, 1.0, closed=True)

    def words(self, *, repetitions: int = 1) -> str:
        """The rule as sentences, to be printed before the verdict; `repetitions`: how often the instances were run."""
        words = _SEQUENTIAL_WORDS if self.sequential else _MODE_WORDS[self.mode]
        if repetitions > 1:
            words = _REPLICATED_WORDS
        return " ".join((words.format(rule=self, margin=size_in_points(self.margin or 0.0)), *self._conditions()))

    def judged(self, table: PairTable) -> PairTable:
        """The table that decides: agent errors and, if asked, all abstentions counted as the rule says."""
        counted = self.counted(table)
        return counted.worst_case() if self.worst_case else counted

    def counted(self, table: PairTable) -> PairTable:
        """The table with the candidate's agent errors counted as the rule says."""
        return table.with_candidate_failures() if self.agent_errors == "fail" else table

    def _conditions(self) -> tuple[str, ...]:
        errors = "count as failures" if self.agent_errors == "fail" else "are left out"
        rest = "turned against the candidate" if self.worst_case else "left out"
        bars = f"Below {percent(self.min_coverage)} coverage"
        few = "without a scored pair" if self.min_pairs == 1 else f"below {self.min_pairs} scored pairs"
        last = f"or {few} of the prefix" if self.sequential else f"{few}, or before the runs are finished"
        return (
            f"The candidate's agent errors {errors}; all other abstentions are {rest}.",
            f"{bars}, {last}: inconclusive.",
        )


_SEQUENTIAL_WORDS = (
    "Sequential: at every look, pass if the anytime-valid p-value for a better candidate is at most "
    "{rule.alpha:g}; fail if that for a better parent is; otherwise inconclusive. It is 1 over the largest value "
    "of the e-process over the discordant pairs of the longest finished prefix of the declared order."
)
_REPLICATED_WORDS = (
    "Pass if the exact one-sided sign-flip p-value for a better candidate, over instances that each count once by the "
    "sum of their differences over the repetitions, is at most {rule.alpha:g}; fail if that for a better parent is; "
    "otherwise inconclusive."
)
_MODE_WORDS: dict[Mode, str] = {
    "improve": (
        "Pass if the exact one-sided McNemar p-value for a better candidate is at most {rule.alpha:g}; "
        "fail if that for a better parent is; otherwise inconclusive."
    ),
    "noninferior": (
        "Pass if the lower one-sided {rule.alpha:g} bound of Tango's interval for the difference of success "
        "rates is above -{margin}; fail if the upper bound is below -{margin}; otherwise "
        "inconclusive."
    ),
    "no-regression": (
        "Fail if on any task the Holm-adjusted exact one-sided p-value for a better parent is at most "
        "{rule.alpha:g}; pass if on none and each task had enough pairs to detect a drop of {margin} "
        "with probability {rule.power:g} at {rule.alpha:g} divided by the number of tasks; otherwise "
        "inconclusive."
    ),
}


@attrs.frozen(kw_only=True)
class Decision:
    """A verdict and what it rests on.

    Attributes:
        rule: The rule applied.
        rule_in_words: The rule as sentences.
        verdict: "pass", "fail" or "inconclusive".
        reasons: Why, one sentence each, the deciding ones first.
        p_value: One-sided exact p-value for a better candidate, under the rule's reading of abstentions.
        reverse_p_value: The same for a better parent.
        effect: The effect under that reading.
        coverage: Share of the instances of either side that count as scored on both.
        scenarios: As scored, agent errors failed, worst case.
        tipping_point: How many abstentions would undo a pass or a fail; None for an inconclusive verdict, and for a
            fail of "no-regression".
        guards: The further conditions that were looked at.
    """

    rule: GateRule
    rule_in_words: str
    verdict: Verdict
    reasons: tuple[str, ...]
    p_value: float
    reverse_p_value: float
    effect: Effect
    coverage: float
    scenarios: tuple[Scenario, ...]
    tipping_point: TippingPoint | None
    guards: tuple[Guard, ...]


def decide(
    rule: GateRule,
    comparison: PairedComparison,
    *,
    tasks: Sequence[GroupComparison] = (),
    guards: Sequence[Guard] = (),
    finished: bool = True,
) -> Decision:
    """Apply a gate rule to comparable evidence.

    Missing evidence (coverage, pairs, an unfinished run) makes the verdict inconclusive whatever the numbers
    say. Otherwise the worst of the rule and the guards is the verdict.

    Args:
        rule: What the candidate must show.
        comparison: All instances of both runs.
        tasks: The same by task; required by "no-regression" and refused elsewhere.
        guards: Further conditions, each with a verdict of its own.
        finished: Whether both runs are whole.

    Raises:
        ContractError: `tasks` is missing, without use, or does not add up to the comparison.
    """
    if rule.sequential:
        raise ContractError("needs the declared order. fix: use look", path="rule.sequential")
    _require_tasks(rule, comparison, tasks)
    table = rule.judged(comparison.table)
    keys = comparison.table.n_shared + len(comparison.only_candidate) + len(comparison.only_parent)
    counted_pairs = rule.counted(comparison.table).n_pairs
    coverage = counted_pairs / keys if keys else 0.0
    verdict, reasons = _judge(rule, table, tasks)
    missing = missing_evidence(rule, counted_pairs, coverage, finished=finished)
    final = worst_verdict(verdict, guards, missing)
    test = exact_mcnemar(table.candidate_wins, table.parent_wins)
    tipping = _tipping(rule, table, tasks, verdict) if final == verdict else None
    return Decision(
        rule=rule,
        rule_in_words=rule.words(),
        verdict=final,
        reasons=(*missing, *reasons, *(guard.words for guard in guards)),
        p_value=test.p_value,
        reverse_p_value=test.reverse_p_value,
        effect=measure_effect(table, alpha=rule.alpha, power=rule.power),
        coverage=coverage,
        scenarios=scenarios(comparison.table),
        tipping_point=tipping,
        guards=tuple(guards),
    )


def _tipping(
    rule: GateRule, table: PairTable, tasks: Sequence[GroupComparison], verdict: Verdict
) -> TippingPoint | None:
    """What would undo the rule's own verdict; a guard's is another matter."""
    if verdict == "pass" and rule.mode == "no-regression":
        # A task fails when its p-value is at most alpha / m whatever the others', so each can be tried by itself.
        tables = {row.label: rule.judged(row.comparison.table) for row in tasks}
        return tipping_of_groups(tables, lambda turned: _holds_by_itself(rule, turned, len(tables)))
    if rule.mode == "no-regression":
        return None
    if verdict == "pass":
        return tipping_point(table, lambda turned: _judge(rule, turned, ())[0] == "pass")
    if verdict == "fail":
        found = tipping_point(table.mirrored(), lambda turned: _judge(rule, turned.mirrored(), ())[0] == "fail")
        return attrs.evolve(found, favour="candidate")
    return None


def _holds_by_itself(rule: GateRule, table: PairTable, tasks: int) -> bool:
    worse = exact_mcnemar(table.candidate_wins, table.parent_wins).reverse_p_value * tasks <= rule.alpha
    return not worse and _visible_drop(rule, table, tasks) <= (rule.margin or 0.0)


def _visible_drop(rule: GateRule, table: PairTable, tasks: int) -> float:
    """The smallest drop that a task's pairs could have shown; infinite where that is none.

    Holm's first step holds the smallest p-value against alpha / m, so that is the level to plan for.
    """
    discordant = table.discordant / table.n_pairs if table.n_pairs else 0.0
    found = minimal_detectable_effect(table.n_pairs, discordant=discordant, alpha=rule.alpha / tasks, power=rule.power)
    return math.inf if found is None else found


def sequential_verdict(look: SequentialLook) -> Verdict:
    """The verdict of a look under the sequential rule; "futile" is inconclusive: nothing was shown."""
    if look.state == "candidate better":
        return "pass"
    return "fail" if look.state == "parent better" else "inconclusive"


def _judge(rule: GateRule, table: PairTable, tasks: Sequence[GroupComparison]) -> tuple[Verdict, tuple[str, ...]]:
    if rule.mode == "improve":
        return _improve(rule, table)
    if rule.mode == "noninferior":
        return _noninferior(rule, table)
    return _no_regression(rule, tasks)


def _improve(rule: GateRule, table: PairTable) -> tuple[Verdict, tuple[str, ...]]:
    test = exact_mcnemar(table.candidate_wins, table.parent_wins)
    score = f"{table.candidate_wins} wins to {table.parent_wins}"
    if test.p_value <= rule.alpha:
        return "pass", (f"the candidate is better: {score}, p = {test.p_value:.3g}",)
    if test.reverse_p_value <= rule.alpha:
        return "fail", (f"the parent is better: {score}, p = {test.reverse_p_value:.3g}",)
    return "inconclusive", (
        f"no difference shown: {score}, p = {test.p_value:.3g} for a better candidate",
        attainability(table, alpha=rule.alpha),
    )


def _noninferior(rule: GateRule, table: PairTable) -> tuple[Verdict, tuple[str, ...]]:
    margin = rule.margin or 0.0
    bounds = tango_interval(table.candidate_wins, table.parent_wins, table.n_pairs, level=1.0 - 2.0 * rule.alpha)
    found = f"the difference lies in [{points(bounds.low, 2)}, {points(bounds.high, 2)}]"
    allowed = f"-{size_in_points(margin)}"
    if bounds.low > -margin:
        return "pass", (f"{found}, above {allowed}",)
    if bounds.high < -margin:
        return "fail", (f"{found}, below {allowed}",)
    return "inconclusive", (f"{found}, which holds {allowed}",)


def _no_regression(rule: GateRule, tasks: Sequence[GroupComparison]) -> tuple[Verdict, tuple[str, ...]]:
    rows = regroup(tasks, rule.judged)
    worse = [row for row in rows if row.adjusted_regression_p <= rule.alpha]
    if worse:
        return "fail", tuple(
            f"{row.label} is worse: {row.comparison.candidate_wins} wins to {row.comparison.parent_wins}, "
            f"Holm-adjusted p = {row.adjusted_regression_p:.3g}"
            for row in worse
        )
    margin = rule.margin or 0.0
    blind: list[str] = []
    for row in rows:
        visible = _visible_drop(rule, row.comparison.table, len(rows))
        if visible > margin:
            seen = "no drop at all" if visible == math.inf else f"a drop of {size_in_points(visible)}"
            pairs = counted(row.comparison.n_pairs, "pair")
            blind.append(f"{row.label}: {pairs} could have shown {seen}, not {size_in_points(margin)}")
    if blind:
        return "inconclusive", tuple(blind)
    seen = f"a drop of {size_in_points(margin)} would have shown"
    return "pass", (f"none of {counted(len(rows), 'task')} is worse, and {seen}",)


def worst_verdict(verdict: Verdict, guards: Sequence[Guard], missing: Sequence[str]) -> Verdict:
    """The verdict of a rule after its guards, and after the evidence that is missing."""
    verdicts = {verdict, *(guard.verdict for guard in guards)}
    if missing:
        return "inconclusive"
    return "fail" if "fail" in verdicts else "inconclusive" if "inconclusive" in verdicts else "pass"


def missing_evidence(rule: GateRule, counted_pairs: int, coverage: float, *, finished: bool) -> tuple[str, ...]:
    """What is missing for any verdict, a sentence each."""
    missing: list[str] = []
    if not finished:
        missing.append("a run is not finished")
    if counted_pairs < rule.min_pairs:
        missing.append(f"{counted(counted_pairs, 'scored pair')}, {rule.min_pairs} are required")
    if coverage < rule.min_coverage:
        missing.append(f"coverage is {percent(coverage)}, {percent(rule.min_coverage)} is required")
    return tuple(missing)


def _require_tasks(rule: GateRule, comparison: PairedComparison, tasks: Sequence[GroupComparison]) -> None:
    if rule.mode != "no-regression":
        if tasks:
            raise ContractError(f"changes nothing in mode {rule.mode}. fix: leave it out", path="tasks")
        return
    if not tasks:
        raise ContractError("is required in mode no-regression", path="tasks")
    if sum(row.comparison.table.n_shared for row in tasks) != comparison.table.n_shared:
        raise ContractError("must hold every shared instance exactly once (tags may overlap)", path="tasks")
