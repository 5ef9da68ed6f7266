"""Time to success as the censored quantity it is: the difference of restricted means.

An episode that never succeeds has no time to success; leaving it out would reward a policy that is fast and
rarely succeeds, and filling in the horizon silently would pretend it succeeded there. The restricted mean
E[min(T, horizon)] is defined for both: the expected time spent without success up to the horizon (Royston &
Parmar 2013, "Restricted mean survival time", BMC Medical Research Methodology 13:152). Every episode here is
followed to its end, so the restricted time of each pair is observed and needs no survival curve.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import attrs

from hylo_core.errors import ContractError
from hylo_eval.compare.checks import require_between
from hylo_eval.compare.permutation import PermutationComparison, paired_permutation
from hylo_eval.scoring.survival import NEVER, mean_restricted_time, restricted_time

if TYPE_CHECKING:
    from hylo_eval.compare.pairing import Scores

__all__ = ["NEVER", "RestrictedMeanComparison", "compare_time_to_success"]


@attrs.frozen(kw_only=True)
class RestrictedMeanComparison:
    """A candidate against its parent by time to success up to a horizon.

    Attributes:
        horizon: The restriction, in the unit of the times (seconds or steps).
        candidate_mean: Mean of min(time, horizon) over the pairs; None where there are no pairs.
        parent_mean: The same for the parent.
        candidate_censored: Pairs in which the candidate had not succeeded by the horizon.
        parent_censored: Pairs in which the parent had not.
        comparison: Paired difference of restricted times, candidate minus parent (below 0: the candidate
            is faster), with bootstrap interval and sign-flip test.
    """

    horizon: float
    candidate_mean: float | None
    parent_mean: float | None
    candidate_censored: int
    parent_censored: int
    comparison: PermutationComparison


def compare_time_to_success(
    candidate: Scores,
    parent: Scores,
    *,
    horizon: float,
    level: float = 0.95,
    draws: int = 20_000,
    seed: int = 0,
) -> RestrictedMeanComparison:
    """Compare times to success, restricted to a horizon every episode was followed to.

    Args:
        candidate: Instance key -> time to the first success (above or at 0), `NEVER` where the episode ended
            without one, None where it abstained.
        parent: The same for the agent it is to replace.
        horizon: Restriction in the same unit, no longer than the shortest episode limit.
        level: Confidence level of the bootstrap interval.
        draws: Flips and resamples to draw.
        seed: Seed of both.

    Raises:
        ContractError: A time is negative, NaN or no number, or an argument is outside its range.
    """
    require_between(horizon, "horizon", 0.0, math.inf)
    ours, theirs = _restricted("candidate", candidate, horizon), _restricted("parent", parent, horizon)
    comparison = paired_permutation(ours, theirs, higher_is_better=False, level=level, draws=draws, seed=seed)
    keys = comparison.differences.keys
    return RestrictedMeanComparison(
        horizon=horizon,
        candidate_mean=_mean(ours, keys),
        parent_mean=_mean(theirs, keys),
        candidate_censored=_censored(candidate, keys, horizon),
        parent_censored=_censored(parent, keys, horizon),
        comparison=comparison,
    )


def _restricted(side: str, times: Scores, horizon: float) -> dict[str, float | None]:
    restricted: dict[str, float | None] = {}
    for key, time in times.items():
        if time is None:
            restricted[key] = None
            continue
        try:
            restricted[key] = restricted_time(time, horizon)
        except ContractError as error:
            raise error.under(f"{side}[{key!r}]") from None
    return restricted


def _mean(restricted: dict[str, float | None], keys: tuple[str, ...]) -> float | None:
    return mean_restricted_time([restricted[key] or 0.0 for key in keys])


def _censored(times: Scores, keys: tuple[str, ...], horizon: float) -> int:
    return sum((times[key] or 0.0) > horizon for key in keys)
