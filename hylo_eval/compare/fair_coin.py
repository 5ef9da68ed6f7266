"""Tail probabilities of a fair coin, exact or to full double precision for any number of tosses.

Every exact test here (McNemar, sign test, the e-process) asks the same question: how likely are at least
`wins` heads in `wins + losses` tosses. Up to `INTEGER_LIMIT` tosses the answer is counted in integers and
rounded once. Above it the point probability comes from the saddle-point form of Loader (2000), "Fast and
Accurate Computation of Binomial Probabilities", specialised to p = 1/2, where the deviance is a series of
positive terms; the tail is the point probability times a series of positive, falling ratios. Neither
cancels, so the relative error stays below 1e-12 to two million tosses and beyond, and the logarithm is
known where the probability itself underflows.
"""

from __future__ import annotations

import math

import attrs

from hylo_eval.compare.checks import require_count

INTEGER_LIMIT = 1000
"""Up to this many tosses the tail is counted in integers: 2**1000 still divides into a double."""

_LN2 = math.log(2.0)
_LN10 = math.log(10.0)
_HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
"""Coefficients of n**-1, n**-3, ... in log(n!) minus Stirling's formula (Abramowitz & Stegun 6.1.41)."""


@attrs.frozen(kw_only=True)
class FairTail:
    """P(X >= wins) for X ~ Binomial(wins + losses, 1/2).

    Attributes:
        p: The tail probability; 0.0 where it is below the smallest double.
        log10_p: Its decimal logarithm, finite also where `p` underflows.
        mid_p: P(X > wins) + P(X = wins) / 2.
    """

    p: float
    log10_p: float
    mid_p: float


def fair_tail(wins: int, losses: int) -> FairTail:
    """The probability of at least `wins` heads in `wins + losses` tosses of a fair coin.

    Args:
        wins: Heads seen.
        losses: Tails seen.

    Raises:
        ContractError: A count is negative or no integer.
    """
    require_count(wins, "wins")
    require_count(losses, "losses")
    if wins + losses <= INTEGER_LIMIT:
        return _counted_tail(wins, losses)
    if wins >= losses:
        return _upper_tail(wins, losses)
    return _complement(wins, losses)


def log_fair_point(wins: int, losses: int) -> float:
    """The natural logarithm of P(X = wins) for X ~ Binomial(wins + losses, 1/2).

    Raises:
        ContractError: A count is negative or no integer.
    """
    require_count(wins, "wins")
    require_count(losses, "losses")
    tosses = wins + losses
    if tosses <= INTEGER_LIMIT:
        return math.log(math.comb(tosses, wins)) - tosses * _LN2
    return _saddle_point(wins, losses)[1]


def _counted_tail(wins: int, losses: int) -> FairTail:
    tosses = wins + losses
    everything = 1 << tosses
    shorter = losses if wins >= losses else wins - 1
    # C(n, 0) + ... + C(n, shorter): the upper tail read from its far end, or what lies below `wins`.
    term, counted = 1, 1 if shorter >= 0 else 0
    for k in range(shorter):
        term = term * (tosses - k) // (k + 1)
        counted += term
    tail = counted if wins >= losses else everything - counted
    point = math.comb(tosses, wins)
    if 2 * tail > everything:
        log10_p = _log10_complement((everything - tail) / everything)
    else:
        log10_p = math.log10(tail) - tosses * (_LN2 / _LN10)
    return FairTail(p=tail / everything, log10_p=log10_p, mid_p=(2 * tail - point) / (2 * everything))


def _upper_tail(wins: int, losses: int) -> FairTail:
    point, log_point = _saddle_point(wins, losses)
    series = _tail_over_point(wins, losses)
    p = point * series
    return FairTail(p=p, log10_p=(log_point + math.log(series)) / _LN10, mid_p=point * (series - 0.5))


def _complement(wins: int, losses: int) -> FairTail:
    below = _upper_tail(losses + 1, wins - 1).p if wins else 0.0
    mid_p = 1.0 - _upper_tail(losses, wins).mid_p
    return FairTail(p=1.0 - below, log10_p=_log10_complement(below), mid_p=mid_p)


def _log10_complement(q: float) -> float:
    """log10(1 - q); the sum keeps the logarithm of certainty from reading -0.0."""
    return math.log1p(-q) / _LN10 + 0.0


def _saddle_point(wins: int, losses: int) -> tuple[float, float]:
    """P(X = wins) and its natural logarithm."""
    tosses = wins + losses
    if wins == 0 or losses == 0:
        return math.ldexp(1.0, -tosses), -tosses * _LN2
    exponent = _stirling_error(tosses) - _stirling_error(wins) - _stirling_error(losses) - _deviance(wins, losses)
    scale = tosses / (2.0 * math.pi * (wins * losses))
    return math.sqrt(scale) * math.exp(exponent), 0.5 * math.log(scale) + exponent


def _deviance(wins: int, losses: int) -> float:
    """Return wins * log(2 wins / n) + losses * log(2 losses / n), without cancellation near wins = losses."""
    tosses = wins + losses
    lead = abs(wins - losses)
    if 2 * lead > tosses:
        return wins * math.log(2 * wins / tosses) + losses * math.log(2 * losses / tosses)
    # With d = lead / n this is n * sum over k >= 1 of d**(2k) / (2k (2k - 1)): every term is positive.
    square = (lead * lead) / (tosses * tosses)
    total, power, k = 0.0, 1.0, 1
    while power > 1e-18:
        total += power / (k * (2 * k - 1))
        power *= square
        k += 1
    return (lead * lead) / (2 * tosses) * total


def _stirling_error(n: int) -> float:
    """log(n!) - (n + 1/2) log(n) + n - log(2 pi) / 2, for n of at least 1."""
    if n < 16:
        return math.log(math.factorial(n)) - (n + 0.5) * math.log(n) + n - _HALF_LOG_TWO_PI
    inverse_square = 1.0 / (n * n)
    total = 0.0
    for coefficient in reversed(_STIRLING):
        total = total * inverse_square + coefficient
    return total / n


def _tail_over_point(wins: int, losses: int) -> float:
    """P(X >= wins) / P(X = wins) for wins of at least losses: 1 + r1 + r1 r2 + ..., every ratio below 1."""
    total = term = 1.0
    above, remaining = wins + 1, losses
    while remaining > 0:
        ratio = remaining / above
        term *= ratio
        total += term
        # What is left is at most a geometric series with this ratio.
        if term * ratio < 1e-17 * total * (1.0 - ratio):
            break
        above += 1
        remaining -= 1
    return total
