"""Tails of a fair coin against exact rational arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hylo_core.errors import ContractError
from hylo_eval.compare.fair_coin import INTEGER_LIMIT, fair_tail, log_fair_point

SMALL = [(b, c) for b in range(6) for c in range(6)]
MEDIUM = [
    (8, 2),
    (10, 0),
    (100, 80),
    (80, 100),
    (50, 50),
    (499, 501),
    (500, 500),
    (501, 499),
    (600, 400),
    (990, 10),
    (1000, 0),
    (0, 1000),
]
LARGE = [
    (501, 500),
    (500, 501),
    (1001, 0),
    (0, 1001),
    (1, 1000),
    (1000, 1),
    (985, 16),
    (986, 15),
    (760, 300),
    (300, 760),
    (1500, 1450),
    (1450, 1500),
    (2000, 1800),
    (5000, 5000),
    (5100, 4900),
    (4900, 5100),
    (5400, 4600),
    (10_000, 9_500),
    (10_150, 9_850),
    (9_000, 9_000),
]


def counted_tail(wins: int, losses: int) -> Fraction:
    """P(X >= wins) as a sum of binomial coefficients over a power of two."""
    tosses = wins + losses
    if wins <= losses:
        return 1 - counted_tail(losses + 1, wins - 1) if wins else Fraction(1)
    term = total = 1
    for k in range(losses):
        term = term * (tosses - k) // (k + 1)
        total += term
    return Fraction(total, 2**tosses)


def relative_error(found: float, exact: Fraction) -> Fraction:
    """How far a double is from an exact value, relative to it."""
    return abs(Fraction(found) - exact) / exact


@pytest.mark.parametrize(("wins", "losses"), SMALL + MEDIUM + LARGE)
def test_the_tail_agrees_with_exact_rational_arithmetic(wins, losses):
    """p and mid-p are within 1e-12 of the exact rational value wherever a normal double can hold it."""
    exact = counted_tail(wins, losses)
    point = Fraction(math.comb(wins + losses, wins), 2 ** (wins + losses))
    tail = fair_tail(wins, losses)
    assert exact < Fraction(2.3e-308) or relative_error(tail.p, exact) < Fraction(1e-12)
    assert exact - point / 2 < Fraction(2.3e-308) or relative_error(tail.mid_p, exact - point / 2) < Fraction(1e-12)
    logarithm = math.log10(exact.numerator) - math.log10(exact.denominator)
    assert tail.log10_p == pytest.approx(logarithm, rel=1e-12, abs=1e-12)


def binomial_coefficient(n: int, k: int) -> int:
    """C(n, k) from its prime powers (Legendre), far faster than math.comb at this size."""
    sieve = bytearray([1]) * (n + 1)
    factors = []
    for prime in range(2, n + 1):
        if not sieve[prime]:
            continue
        sieve[prime * prime :: prime] = bytes(len(range(prime * prime, n + 1, prime)))
        exponent, power = 0, prime
        while power <= n:
            exponent += n // power - k // power - (n - k) // power
            power *= prime
        factors.append(prime**exponent)
    while len(factors) > 1:
        factors = [math.prod(factors[i : i + 2]) for i in range(0, len(factors), 2)]
    return factors[0]


def middle_tail(wins: int, losses: int) -> tuple[int, int]:
    """Numerator and denominator of P(X >= wins) for wins > losses: half of all minus the middle terms."""
    tosses = wins + losses
    term = binomial_coefficient(tosses, losses + 1)
    middle = term
    for k in range(losses + 1, wins - 1):
        term = term * (tosses - k) // (k + 1)
        middle += term
    return 2**tosses - middle, 2 ** (tosses + 1)


def test_the_reference_coefficient_is_the_coefficient():
    """The reference used below agrees with math.comb where that is fast."""
    assert [binomial_coefficient(40, k) for k in range(41)] == [math.comb(40, k) for k in range(41)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wins", "losses"), [(500_501, 499_500), (502_500, 497_500), (1_000_600, 999_400), (1_002_500, 997_500)]
)
def test_a_million_pairs_and_more_agree_with_exact_integers(wins, losses):
    """The relative error stays below 1e-12 up to two million discordant pairs."""
    numerator, denominator = middle_tail(wins, losses)
    exact = numerator / denominator  # big integers divide with one rounding
    assert fair_tail(wins, losses).p == pytest.approx(exact, rel=1e-12)
    assert fair_tail(losses + 1, wins - 1).p == pytest.approx(1 - exact, rel=1e-12)
    assert fair_tail(wins, losses).log10_p == pytest.approx(math.log10(exact), rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("wins", "losses"), [(1_500_000, 300), (999_000, 1_000), (2_000_000, 2)])
def test_the_logarithm_is_exact_where_a_million_pairs_underflow(wins, losses):
    """log10_p is within 1e-12 of the exact integer logarithm where p itself is 0.0."""
    tosses = wins + losses
    term = total = 1
    for k in range(losses):
        term = term * (tosses - k) // (k + 1)
        total += term
    tail = fair_tail(wins, losses)
    assert tail.p == 0.0
    exact = math.log10(total) - tosses * math.log10(2)
    assert tail.log10_p == pytest.approx(exact, rel=1e-12)


def test_the_integer_and_the_floating_path_meet():
    """Where the method changes, P(n+1, k) = (P(n, k) + P(n, k-1)) / 2 still holds."""
    wins = INTEGER_LIMIT // 2 + 10
    losses = INTEGER_LIMIT - wins
    here = fair_tail(wins, losses).p
    below = fair_tail(wins - 1, losses + 1).p
    assert fair_tail(wins, losses + 1).p == pytest.approx((here + below) / 2, rel=1e-12)


@given(st.integers(0, 3000), st.integers(0, 3000))
@settings(deadline=None)
def test_a_tail_and_its_complement_make_one(wins, losses):
    """P(X >= b) + P(X >= c + 1) = 1, whatever path computes either."""
    assert fair_tail(wins, losses).p + (fair_tail(losses + 1, wins - 1).p if wins else 0.0) == pytest.approx(1.0)


@given(st.integers(0, 3000), st.integers(0, 3000))
@settings(deadline=None)
def test_the_point_probability_is_the_difference_of_p_and_mid_p(wins, losses):
    """p - mid_p is half the point probability."""
    tail = fair_tail(wins, losses)
    assert 2 * (tail.p - tail.mid_p) == pytest.approx(math.exp(log_fair_point(wins, losses)), rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("count", [-1, 1.0, True, "1", None])
def test_counts_must_be_whole(count):
    """A negative, fractional, boolean or textual count is refused by name."""
    with pytest.raises(ContractError, match="wins: must be a whole number"):
        fair_tail(count, 1)
    with pytest.raises(ContractError, match="losses: must be a whole number"):
        log_fair_point(1, count)
