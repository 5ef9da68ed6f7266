"""Tango's score interval for the difference of two paired success rates.

Tango (1998), "Equivalence test and confidence interval for the difference in proportions for the
paired-sample design", Statistics in Medicine 17:891-908. It inverts a score test, so it keeps its coverage
where few pairs are discordant and where a rate is 0 or 1, unlike the interval around a normal approximation.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import attrs

from hylo_core.errors import ContractError
from hylo_eval.compare.checks import require_between, require_count


@attrs.frozen(kw_only=True)
class Interval:
    """A two-sided confidence interval.

    Attributes:
        low: Lower end.
        high: Upper end.
        level: Confidence level, for example 0.95.
        method: How it was computed, for example "tango".
    """

    low: float
    high: float
    level: float
    method: str


def tango_interval(candidate_wins: int, parent_wins: int, n_pairs: int, *, level: float = 0.95) -> Interval:
    """Tango's interval for (candidate's success rate) - (parent's success rate).

    Both ends solve T(delta) = -z and T(delta) = +z for the score statistic of `tango_score`, which falls
    strictly in delta. Each end is bisected down to neighbouring doubles.

    Args:
        candidate_wins: Pairs only the candidate succeeded in.
        parent_wins: Pairs only the parent succeeded in.
        n_pairs: All scored pairs, ties included.
        level: Two-sided confidence level; 1 - 2 alpha gives the one-sided bounds at alpha.

    Returns:
        The interval; (-1, 1) where there are no pairs.

    Raises:
        ContractError: A count is negative, no integer, or larger than `n_pairs` allows; or `level` is
            outside (0, 1).
    """
    _require_counts(candidate_wins, parent_wins, n_pairs)
    require_between(level, "level", 0.0, 1.0)
    quantile = -NormalDist().inv_cdf((1.0 - level) / 2.0)
    # The lower end is the upper end seen from the other side, so swapping the sides mirrors it exactly.
    return Interval(
        low=-_upper_end(parent_wins, candidate_wins, n_pairs, quantile),
        high=_upper_end(candidate_wins, parent_wins, n_pairs, quantile),
        level=level,
        method="tango",
    )


def tango_score(candidate_wins: int, parent_wins: int, n_pairs: int, delta: float) -> float:
    """Tango's score statistic for the hypothesis that the rates differ by `delta`.

    T = (b - c - n delta) / sqrt(n (2 q + delta (1 - delta))), where q is the most likely probability of a
    parent's win under the hypothesis: the larger root of 2n q**2 + B q + C = 0 with
    B = -b - c + (2n - b + c) delta and C = -c delta (1 - delta). 0.0 where it is 0/0.

    Raises:
        ContractError: A count is negative, no integer, or larger than `n_pairs` allows; or `delta` is
            outside [-1, 1].
    """
    _require_counts(candidate_wins, parent_wins, n_pairs)
    require_between(delta, "delta", -1.0, 1.0, closed=True)
    if delta < 0:
        return -_score(parent_wins, candidate_wins, n_pairs, -delta)
    return _score(candidate_wins, parent_wins, n_pairs, delta)


def _score(wins: int, losses: int, n: int, delta: float) -> float:
    """The statistic for a `delta` of at least 0, where C <= 0 and both roots are real."""
    excess = wins - losses - n * delta
    linear = -wins - losses + (2 * n - wins + losses) * delta
    constant = -losses * delta * (1.0 - delta)
    root = math.sqrt(linear * linear - 8.0 * n * constant)
    # The same root twice; the form without cancellation is the one whose sum has two positive terms.
    q = (root - linear) / (4.0 * n) if linear <= 0 else -2.0 * constant / (linear + root)
    variance = n * (2.0 * q + delta * (1.0 - delta))
    if variance <= 0.0:
        return 0.0 if excess == 0 else math.copysign(math.inf, excess)
    return excess / math.sqrt(variance)


def _upper_end(wins: int, losses: int, n: int, quantile: float) -> float:
    if wins == n:
        return 1.0
    inside, outside = (wins - losses) / n, 1.0
    while True:
        middle = (inside + outside) / 2.0
        if middle in (inside, outside):
            return middle
        score = _score(wins, losses, n, middle) if middle >= 0 else -_score(losses, wins, n, -middle)
        if score > -quantile:
            inside = middle
        else:
            outside = middle


def _require_counts(candidate_wins: int, parent_wins: int, n_pairs: int) -> None:
    require_count(candidate_wins, "candidate_wins")
    require_count(parent_wins, "parent_wins")
    require_count(n_pairs, "n_pairs")
    if candidate_wins + parent_wins > n_pairs:
        raise ContractError(
            f"{candidate_wins} + {parent_wins} discordant pairs do not fit into {n_pairs} pairs",
            path="n_pairs",
        )
