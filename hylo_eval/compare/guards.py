"""Further conditions of a gate: what must not get worse while success gets better."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import attrs

from hylo_core.errors import ContractError
from hylo_eval.compare.checks import require_alpha, require_finite

if TYPE_CHECKING:
    from hylo_eval.compare.continuous import ContinuousComparison
    from hylo_eval.compare.permutation import PermutationComparison
    from hylo_eval.compare.tango import Interval


@attrs.frozen(kw_only=True)
class Guard:
    """One further condition and how it came out.

    Attributes:
        name: What it guards, for example "safety interventions".
        verdict: "pass", "fail" or "inconclusive".
        words: The outcome as a sentence.
    """

    name: str
    verdict: Literal["pass", "fail", "inconclusive"]
    words: str


def rise_guard(name: str, comparison: PermutationComparison, *, alpha: float = 0.05) -> Guard:
    """A score must not rise significantly: fails when the paired one-sided test says so at `alpha`.

    Holding two means against each other instead would block 42-48 % of candidates that changed nothing.

    Args:
        name: What the score counts, for example "safety interventions".
        comparison: Paired comparison of a score for which lower is better.
        alpha: One-sided significance level.

    Raises:
        ContractError: The comparison treats higher as better, or `alpha` is outside (0, 1/2).
    """
    require_alpha(alpha)
    _require_lower_is_better(higher_is_better=comparison.higher_is_better)
    mean = comparison.mean_difference
    if mean is None:
        return Guard(name=name, verdict="inconclusive", words=f"{name}: no scored pair")
    found = f"{name}: mean change {mean:+.4g}, p = {comparison.reverse_p_value:.3g} for a rise"
    verdict = "fail" if comparison.reverse_p_value <= alpha else "pass"
    return Guard(name=name, verdict=verdict, words=found)


def margin_guard(name: str, comparison: ContinuousComparison | PermutationComparison, *, limit: float) -> Guard:
    """A score must not rise by more than a limit: decided by the interval of the paired difference.

    Fails when the whole interval lies above the limit, passes when none of it does, else is inconclusive.

    Args:
        name: What the score measures, for example "latency p95 (s)".
        comparison: Paired comparison of a score for which lower is better.
        limit: Largest rise allowed, in the score's unit.

    Raises:
        ContractError: The comparison treats higher as better, or `limit` is not finite.
    """
    require_finite(limit, "limit")
    _require_lower_is_better(higher_is_better=comparison.higher_is_better)
    interval = _interval(comparison)
    if interval is None:
        return Guard(name=name, verdict="inconclusive", words=f"{name}: too few scored pairs for an interval")
    found = f"{name}: the change lies in [{interval.low:+.4g}, {interval.high:+.4g}], {limit:+.4g} is allowed"
    if interval.low > limit:
        return Guard(name=name, verdict="fail", words=found)
    return Guard(name=name, verdict="pass" if interval.high <= limit else "inconclusive", words=found)


def _interval(comparison: ContinuousComparison | PermutationComparison) -> Interval | None:
    from hylo_eval.compare.permutation import PermutationComparison

    if isinstance(comparison, PermutationComparison):
        return comparison.interval
    return comparison.hodges_lehmann.interval if comparison.hodges_lehmann else None


def _require_lower_is_better(*, higher_is_better: bool) -> None:
    if higher_is_better:
        raise ContractError("must treat lower scores as better. fix: higher_is_better=False", path="comparison")
