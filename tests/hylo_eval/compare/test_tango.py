"""Tango's score interval against an inversion that shares no formula with it."""

from __future__ import annotations

import math
from statistics import NormalDist

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hylo_core.errors import ContractError
from hylo_eval.compare.tango import tango_interval, tango_score

CASES = [
    (0, 0, 1),
    (0, 0, 40),
    (1, 0, 1),
    (5, 0, 5),
    (5, 0, 20),
    (0, 5, 20),
    (3, 2, 10),
    (8, 2, 50),
    (12, 9, 25),
    (30, 10, 100),
    (10, 30, 100),
    (100, 80, 400),
    (49, 51, 100),
    (99, 1, 100),
    (700, 650, 5000),
]


def likeliest_loss_rate(wins: int, losses: int, ties: int, delta: float) -> float:
    """The parent's win rate that maximises the multinomial likelihood at a fixed difference, by its slope."""

    def slope(rate: float) -> float:
        total = 0.0
        for count, probability, weight in (
            (wins, rate + delta, 1),
            (losses, rate, 1),
            (ties, 1 - 2 * rate - delta, -2),
        ):
            if count:
                total += weight * count / probability if probability > 0 else weight * math.inf
        return total

    low, high = max(0.0, -delta), (1.0 - delta) / 2.0
    for _ in range(200):
        middle = (low + high) / 2.0
        if slope(middle) > 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2.0


def inverted(wins: int, losses: int, pairs: int, level: float) -> tuple[float, float]:
    """Both ends by bisecting the score test built from the likelihood above."""
    quantile = NormalDist().inv_cdf((1.0 + level) / 2.0)

    def score(delta: float) -> float:
        rate = likeliest_loss_rate(wins, losses, pairs - wins - losses, delta)
        return (wins - losses - pairs * delta) / math.sqrt(pairs * (2 * rate + delta - delta * delta))

    ends: list[float] = []
    for target, edge in ((quantile, -1.0), (-quantile, 1.0)):
        if wins - losses == pairs * edge:
            ends.append(edge)
            continue
        near, far = (wins - losses) / pairs, edge
        for _ in range(60):
            middle = (near + far) / 2.0
            if abs(score(middle)) < abs(target):
                near = middle
            else:
                far = middle
        ends.append((near + far) / 2.0)
    return ends[0], ends[1]


@pytest.mark.parametrize(("wins", "losses", "pairs"), CASES)
@pytest.mark.parametrize("level", [0.95, 0.9])
def test_the_interval_inverts_the_score_test(wins, losses, pairs, level):
    """Both ends are where the score test built from a numerical likelihood maximum stops rejecting."""
    interval = tango_interval(wins, losses, pairs, level=level)
    assert (interval.low, interval.high) == pytest.approx(inverted(wins, losses, pairs, level), abs=1e-7)


@pytest.mark.peer
@pytest.mark.parametrize(("wins", "losses", "pairs"), CASES)
@pytest.mark.parametrize("level", [0.95, 0.9, 0.5])
def test_the_interval_agrees_with_a_peer(wins, losses, pairs, level):
    """fieldtrial's interval, computed from the closed form with a root finder, is the same."""
    stats = pytest.importorskip("fieldtrial.stats")
    interval = tango_interval(wins, losses, pairs, level=level)
    assert (interval.low, interval.high) == pytest.approx(
        stats.tango_interval(wins, losses, pairs, level=level), abs=1e-9
    )


def test_without_discordant_pairs_the_interval_has_a_closed_form():
    """With b = c = 0 the ends are plus and minus z**2 / (n + z**2)."""
    z = NormalDist().inv_cdf(0.975)
    interval = tango_interval(0, 0, 100)
    assert interval.high == pytest.approx(z * z / (100 + z * z), rel=1e-12)
    assert interval.low == -interval.high


def test_at_no_difference_the_score_is_mcnemars():
    """T(0) is (b - c) / sqrt(b + c)."""
    assert tango_score(30, 10, 100, 0.0) == pytest.approx(20 / math.sqrt(40), rel=1e-14)


@pytest.mark.parametrize(("delta", "sign"), [(0.25, -1.0), (-0.25, 1.0)])
def test_the_score_mirrors_with_the_sides(delta, sign):
    """T of (b, c) at delta is minus T of (c, b) at -delta; its sign says where the estimate lies."""
    score = tango_score(30, 10, 100, delta)
    assert score == -tango_score(10, 30, 100, -delta)
    assert math.copysign(1.0, score) == sign


def test_at_the_edge_the_score_is_certain():
    """A difference of 1 is impossible after a single tie, and unopposed where every pair was won."""
    assert tango_score(9, 0, 10, 1.0) == -math.inf
    assert tango_score(10, 0, 10, 1.0) == 0.0


def test_without_pairs_everything_is_possible():
    """No pair excludes no difference."""
    interval = tango_interval(0, 0, 0)
    assert (interval.low, interval.high) == (-1.0, 1.0)


@st.composite
def tables(draw):
    """(wins, losses, pairs) with at least one pair."""
    wins, losses, ties = draw(st.tuples(*[st.integers(0, 300)] * 3).filter(any))
    return wins, losses, wins + losses + ties


@given(tables(), st.floats(0.5, 0.999))
@settings(deadline=None)
def test_swapping_the_sides_mirrors_the_interval(table, level):
    """The interval of (c, b) is that of (b, c) with both signs changed."""
    wins, losses, pairs = table
    one, other = (
        tango_interval(wins, losses, pairs, level=level),
        tango_interval(losses, wins, pairs, level=level),
    )
    assert (one.low, one.high) == (-other.high, -other.low)


@given(tables(), st.floats(0.5, 0.99))
@settings(deadline=None)
def test_the_interval_holds_the_estimate_and_grows_with_the_level(table, level):
    """The observed difference lies inside, and a higher level gives a wider interval."""
    wins, losses, pairs = table
    interval = tango_interval(wins, losses, pairs, level=level)
    wider = tango_interval(wins, losses, pairs, level=level + 0.005)
    assert -1 <= wider.low <= interval.low <= (wins - losses) / pairs <= interval.high <= wider.high <= 1


def test_impossible_counts_and_levels_are_refused():
    """More discordant pairs than pairs, and a level outside (0, 1), are refused by name."""
    with pytest.raises(ContractError, match="3 \\+ 3 discordant pairs do not fit into 5 pairs"):
        tango_interval(3, 3, 5)
    with pytest.raises(ContractError, match="level: must lie in"):
        tango_interval(1, 1, 5, level=1.0)
    with pytest.raises(ContractError, match="delta: must lie in"):
        tango_score(1, 1, 5, 1.5)
