"""Graded scores by rank: the Hodges-Lehmann difference, its interval, and the signed-rank test.

The Hodges-Lehmann estimate is the median of all averages of two differences (Walsh averages); its interval
ends are order statistics of the same averages at the critical value of Wilcoxon's signed-rank distribution
(Hollander, Wolfe & Chicken, "Nonparametric Statistical Methods", 3rd ed., sections 3.1-3.3). One wild episode
moves neither far, which a mean of latencies cannot say.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import attrs

from hylo_eval.compare.checks import require_between, require_finite
from hylo_eval.compare.differences import PairedDifferences, paired_differences
from hylo_eval.compare.numeric import numpy
from hylo_eval.compare.sign_flip import SignFlipTest, sign_flip_test
from hylo_eval.compare.tango import Interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hylo_eval.compare.pairing import Scores

EXACT_RANK_PAIRS = 300
"""Up to this many pairs the interval's critical value is exact; above, the normal limit is used."""


@attrs.frozen(kw_only=True)
class HodgesLehmann:
    """The median of the Walsh averages of paired differences.

    Attributes:
        estimate: Typical difference, candidate minus parent, in the score's unit.
        interval: Distribution-free interval around it; None where so few pairs cannot reach the level.
    """

    estimate: float
    interval: Interval | None


@attrs.frozen(kw_only=True)
class ContinuousComparison:
    """A candidate against its parent by a graded score, through ranks. Shown beside the gate.

    Attributes:
        differences: The paired differences it rests on.
        higher_is_better: Which way the score points.
        hodges_lehmann: Typical difference and interval; None where there are no pairs.
        wilcoxon: Signed-rank test with the sign under which positive means that the candidate is better;
            exact given the ties, zero differences dropped.
    """

    differences: PairedDifferences
    higher_is_better: bool
    hodges_lehmann: HodgesLehmann | None
    wilcoxon: SignFlipTest

    @property
    def n_pairs(self) -> int:
        """Pairs scored on both sides."""
        return self.differences.n_pairs

    @property
    def p_value(self) -> float:
        """One-sided p-value for "the candidate is better"."""
        return self.wilcoxon.p_value

    @property
    def reverse_p_value(self) -> float:
        """One-sided p-value for "the parent is better"."""
        return self.wilcoxon.reverse_p_value


def compare_continuous(
    candidate: Scores,
    parent: Scores,
    *,
    higher_is_better: bool,
    level: float = 0.95,
    draws: int = 20_000,
    seed: int = 0,
) -> ContinuousComparison:
    """Compare two agents by a graded score such as latency (s), smoothness, reward or progress.

    Args:
        candidate: Instance key -> finite score, or None where the scorer abstained.
        parent: The same for the agent it is to replace.
        higher_is_better: Whether a larger score is better; never guessed.
        level: Confidence level of the interval.
        draws: Flips to draw where the signed ranks are too many to count.
        seed: Seed of those draws.

    Raises:
        ContractError: A score is neither a finite number nor None, or an argument is outside its range.
    """
    differences = paired_differences(candidate, parent)
    gains = differences.gains(higher_is_better=higher_is_better)
    return ContinuousComparison(
        differences=differences,
        higher_is_better=higher_is_better,
        hodges_lehmann=hodges_lehmann(differences.values, level=level) if differences.values else None,
        wilcoxon=sign_flip_test(signed_ranks(gains), draws=draws, seed=seed),
    )


def signed_ranks(differences: Sequence[float]) -> tuple[int, ...]:
    """Twice the signed mid-rank of each non-zero difference: whole numbers also where ranks are tied."""
    nonzero = sorted((value for value in differences if value != 0), key=abs)
    ranks: list[int] = []
    start = 0
    while start < len(nonzero):
        stop = start
        while stop < len(nonzero) and abs(nonzero[stop]) == abs(nonzero[start]):
            stop += 1
        # Ranks start + 1 ... stop share their mean, whose double is start + 1 + stop.
        ranks.extend((start + 1 + stop) * (1 if value > 0 else -1) for value in nonzero[start:stop])
        start = stop
    return tuple(ranks)


def hodges_lehmann(differences: Sequence[float], *, level: float = 0.95) -> HodgesLehmann:
    """The Hodges-Lehmann estimate and interval of paired differences.

    Args:
        differences: At least one finite difference, zeros included.
        level: Confidence level, in (0, 1). The interval's true level is at least this without ties.

    Raises:
        ContractError: There is no difference, one is not finite, or `level` is outside (0, 1).
    """
    require_between(level, "level", 0.0, 1.0)
    require_between(len(differences), "len(differences)", 1, math.inf, closed=True)
    for index, value in enumerate(differences):
        require_finite(value, f"differences[{index}]")
    np = numpy()
    ordered = np.sort(np.asarray(differences, dtype=float))
    count = len(differences)
    averages = count * (count + 1) // 2
    middle = (averages + 1) // 2
    estimate = _walsh_average(ordered, middle)
    if averages % 2 == 0:
        estimate = (estimate + _walsh_average(ordered, middle + 1)) / 2.0
    cut = _signed_rank_cut(count, (1.0 - level) / 2.0)
    if cut < 0:
        return HodgesLehmann(estimate=estimate, interval=None)
    interval = Interval(
        low=_walsh_average(ordered, cut + 1),
        high=_walsh_average(ordered, averages - cut),
        level=level,
        method="Hodges-Lehmann",
    )
    return HodgesLehmann(estimate=estimate, interval=interval)


def _walsh_average(ordered: Any, rank: int) -> float:
    """The `rank`-th smallest (from 1) average of two sorted values, an average with itself included.

    The averages are counted, not listed, so n = 100,000 needs no 40 GB.
    """
    np = numpy()

    def at_most(bound: float) -> int:
        # Every unordered pair is counted twice here, except each value with itself.
        both = int(np.searchsorted(ordered, 2.0 * bound - ordered, side="right").sum())
        return (both + int(np.searchsorted(ordered, bound, side="right"))) // 2

    low, high = float(ordered[0]), float(ordered[-1])
    if at_most(low) >= rank:
        return low
    resolution = 1e-12 * (high - low)
    while high - low > resolution:
        middle = low + (high - low) / 2.0
        if middle in (low, high):
            break
        if at_most(middle) >= rank:
            high = middle
        else:
            low = middle
    # The average itself is the smallest one above `low`.
    partner = np.searchsorted(ordered, 2.0 * low - ordered, side="right")
    exists = partner < ordered.size
    return float(((ordered[exists] + ordered[partner[exists]]) / 2.0).min())


def _signed_rank_cut(count: int, tail: float) -> int:
    """The largest t with P(T <= t) <= tail for Wilcoxon's T over `count` pairs; -1 where there is none."""
    if count > EXACT_RANK_PAIRS:
        mean = count * (count + 1) / 4.0
        deviation = math.sqrt(count * (count + 1) * (2 * count + 1) / 24.0)
        return math.floor(mean + NormalDist().inv_cdf(tail) * deviation - 0.5)
    np = numpy()
    share = np.zeros(count * (count + 1) // 2 + 1)
    share[0] = 1.0
    reached = 0
    for rank in range(1, count + 1):
        share[rank : reached + rank + 1] += share[: reached + 1].copy()
        reached += rank
        share[: reached + 1] *= 0.5
    return int(np.searchsorted(np.cumsum(share), tail * (1.0 + 1e-12), side="right")) - 1
