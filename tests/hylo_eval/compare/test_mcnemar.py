"""McNemar's exact test in both directions, and what it could have shown."""

from __future__ import annotations

from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hylo_core.errors import ContractError
from hylo_eval.compare.mcnemar import (
    critical_wins,
    discordant_pairs_needed,
    exact_mcnemar,
    smallest_attainable_p,
)

counts = st.integers(0, 400)


def test_the_worked_examples():
    """5:0 gives 1/32, 0:0 gives 1, 8:2 gives 56/1024: none is passed on looks."""
    assert exact_mcnemar(5, 0).p_value == 1 / 32
    assert exact_mcnemar(0, 0).p_value == 1.0
    assert exact_mcnemar(8, 2).p_value == (45 + 10 + 1) / 1024


def test_a_hundred_to_eighty_is_exact():
    """100:80 gives the exact 0.0783, not the 0.0680 of a chi-squared approximation."""
    exact = sum(comb(180, k) for k in range(100, 181)) / 2**180
    assert exact_mcnemar(100, 80).p_value == exact
    assert exact == pytest.approx(0.0783, abs=5e-5)


def test_mid_p_is_labelled_and_smaller():
    """mid-p takes half of the outcome's own probability off."""
    test = exact_mcnemar(5, 0)
    assert test.mid_p == 1 / 64
    assert test.p_value == 1 / 32


@given(counts, counts)
@settings(deadline=None)
def test_swapping_the_sides_mirrors_the_test(wins, losses):
    """The test of (b, c) is that of (c, b) with the directions exchanged."""
    one, other = exact_mcnemar(wins, losses), exact_mcnemar(losses, wins)
    assert (one.p_value, one.reverse_p_value) == (other.reverse_p_value, other.p_value)
    assert (one.log10_p, one.reverse_log10_p) == (other.reverse_log10_p, other.log10_p)


@given(counts, counts)
@settings(deadline=None)
def test_another_win_never_raises_p(wins, losses):
    """Turning the next pair into a win, or a loss into a win, never weakens the evidence."""
    p_value = exact_mcnemar(wins, losses).p_value
    assert exact_mcnemar(wins + 1, losses).p_value <= p_value
    assert losses == 0 or exact_mcnemar(wins + 1, losses - 1).p_value <= p_value
    assert exact_mcnemar(wins, losses + 1).p_value >= p_value


@pytest.mark.parametrize(("alpha", "pairs"), [(0.05, 5), (0.01, 7), (1 / 32, 5), (0.0312, 6), (0.025, 6), (0.49, 2)])
def test_the_pairs_needed_to_reach_a_level(alpha, pairs):
    """n discordant pairs can reach alpha exactly when 2**-n <= alpha."""
    assert discordant_pairs_needed(alpha) == pairs
    assert smallest_attainable_p(pairs) <= alpha < smallest_attainable_p(pairs - 1)


@given(st.integers(0, 2000), st.sampled_from([0.05, 0.01, 0.001, 1 / 32]))
@settings(deadline=None, max_examples=50)
def test_critical_wins_are_the_fewest_that_suffice(pairs, alpha):
    """That many wins reach alpha, one fewer does not; None where not even all of them do."""
    wins = critical_wins(pairs, alpha)
    if wins is None:
        assert smallest_attainable_p(pairs) > alpha
    else:
        assert exact_mcnemar(wins, pairs - wins).p_value <= alpha
        assert exact_mcnemar(wins - 1, pairs - wins + 1).p_value > alpha


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0, -0.1, float("nan"), True, "0.05"])
def test_a_level_outside_its_range_is_refused(alpha):
    """alpha lies strictly between 0 and 1/2."""
    with pytest.raises(ContractError, match="alpha: must lie in"):
        critical_wins(10, alpha)
