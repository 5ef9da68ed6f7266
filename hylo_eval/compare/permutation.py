"""Graded scores: a paired sign-flip permutation test of the mean and a bootstrap interval."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import attrs

from hylo_eval.compare.checks import require_between, require_count
from hylo_eval.compare.differences import PairedDifferences, paired_differences
from hylo_eval.compare.numeric import numpy
from hylo_eval.compare.sign_flip import SignFlipTest, sign_flip_test
from hylo_eval.compare.tango import Interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hylo_eval.compare.pairing import Scores

_CHUNK_CELLS = 4_000_000


@attrs.frozen(kw_only=True)
class PermutationComparison:
    """A candidate against its parent by the mean of a graded score.

    Attributes:
        differences: The paired differences it rests on.
        higher_is_better: Which way the score points.
        mean_difference: Mean of candidate minus parent; None where there are no pairs.
        interval: BCa bootstrap interval for the mean difference; None with fewer than two pairs.
        test: Sign-flip test with the sign under which positive means that the candidate is better.
    """

    differences: PairedDifferences
    higher_is_better: bool
    mean_difference: float | None
    interval: Interval | None
    test: SignFlipTest

    @property
    def n_pairs(self) -> int:
        """Pairs scored on both sides."""
        return self.differences.n_pairs

    @property
    def p_value(self) -> float:
        """One-sided p-value for "the candidate is better"."""
        return self.test.p_value

    @property
    def reverse_p_value(self) -> float:
        """One-sided p-value for "the parent is better"."""
        return self.test.reverse_p_value


def paired_permutation(
    candidate: Scores,
    parent: Scores,
    *,
    higher_is_better: bool = True,
    level: float = 0.95,
    draws: int = 20_000,
    seed: int = 0,
) -> PermutationComparison:
    """Compare two agents by a graded score: progress, reward, latency, a count of safety interventions.

    On scores of 0 and 1 the exact test equals McNemar's.

    Args:
        candidate: Instance key -> finite score, or None where the scorer abstained.
        parent: The same for the agent it is to replace.
        higher_is_better: Whether a larger score is better.
        level: Confidence level of the bootstrap interval.
        draws: Flips and resamples to draw, at least 1; see `sign_flip_test` and `bootstrap_mean_interval`.
        seed: Seed of both: equal arguments give an equal result.

    Raises:
        ContractError: A score is neither a finite number nor None, or an argument is outside its range.
    """
    differences = paired_differences(candidate, parent)
    gains = differences.gains(higher_is_better=higher_is_better)
    count = differences.n_pairs
    return PermutationComparison(
        differences=differences,
        higher_is_better=higher_is_better,
        mean_difference=math.fsum(differences.values) / count if count else None,
        interval=bootstrap_mean_interval(differences.values, level=level, resamples=draws, seed=seed),
        test=sign_flip_test(gains, draws=draws, seed=seed),
    )


def bootstrap_mean_interval(
    values: Sequence[float], *, level: float = 0.95, resamples: int = 20_000, seed: int = 0
) -> Interval | None:
    """The BCa bootstrap interval of a mean.

    Efron (1987), "Better Bootstrap Confidence Intervals", JASA 82:171-185: percentiles of the resampled
    means, shifted for bias (the share of resampled means below the mean) and for acceleration
    a = sum (x - mean)**3 / (6 (sum (x - mean)**2)**1.5).

    Args:
        values: Independent values, one a pair.
        level: Confidence level, in (0, 1).
        resamples: Resamples to draw, at least 1.
        seed: Seed of the draws.

    Returns:
        The interval; None with fewer than two values, for which there is no resampling distribution.

    Raises:
        ContractError: An argument is outside its range.
    """
    require_between(level, "level", 0.0, 1.0)
    require_count(resamples, "resamples", at_least=1)
    require_count(seed, "seed")
    if len(values) < 2:
        return None
    mean = math.fsum(values) / len(values)
    squares = math.fsum((value - mean) ** 2 for value in values)
    if squares == 0:
        return Interval(low=mean, high=mean, level=level, method="bootstrap BCa")
    acceleration = math.fsum((value - mean) ** 3 for value in values) / (6.0 * squares**1.5)
    means = _resampled_means(values, resamples, seed)
    np, normal = numpy(), NormalDist()
    below = (np.count_nonzero(means < mean) + 0.5 * np.count_nonzero(means == mean)) / resamples
    bias = normal.inv_cdf(min(max(float(below), 0.5 / resamples), 1.0 - 0.5 / resamples))

    def percentile(tail: float) -> float:
        shifted = bias + normal.inv_cdf(tail)
        share = normal.cdf(bias + shifted / (1.0 - acceleration * shifted))
        return float(np.quantile(means, share))

    tail = (1.0 - level) / 2.0
    return Interval(low=percentile(tail), high=percentile(1.0 - tail), level=level, method="bootstrap BCa")


def _resampled_means(values: Sequence[float], resamples: int, seed: int) -> Any:
    np = numpy()
    generator = np.random.Generator(np.random.PCG64(seed))
    # Sorted, so that the order in which the caller lists the pairs cannot change the result.
    population = np.sort(np.asarray(values, dtype=float))
    means = np.empty(resamples)
    rows = max(1, _CHUNK_CELLS // population.size)
    for start in range(0, resamples, rows):
        stop = min(start + rows, resamples)
        picked = generator.integers(0, population.size, size=(stop - start, population.size))
        means[start:stop] = population[picked].mean(axis=1)
    return means
