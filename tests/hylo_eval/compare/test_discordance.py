"""Means over the number of discordant pairs."""

from __future__ import annotations

from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_eval.compare.discordance import mean_over_discordant


@given(st.integers(0, 5000), st.floats(0.0, 1.0))
def test_the_weights_are_a_distribution(n_pairs, discordant):
    """What is certain whatever the number has probability 1."""
    assert mean_over_discordant(n_pairs, discordant, lambda pairs: 1.0 + 0.0 * pairs) == pytest.approx(1.0, abs=1e-9)


@given(st.integers(1, 5000), st.floats(0.0, 1.0))
def test_the_mean_share_is_the_probability(n_pairs, discordant):
    """The mean of Binomial(n, psi) / n is psi."""
    found = mean_over_discordant(n_pairs, discordant, lambda pairs: pairs / n_pairs)
    assert found == pytest.approx(discordant, abs=1e-9)


@pytest.mark.parametrize("at_least", [0, 1, 7, 12, 13])
def test_below_the_least_number_nothing_counts(at_least):
    """With a certain event from there on, the mean is the binomial tail; beyond all pairs it is 0."""
    tail = sum(comb(12, count) * 0.3**count * 0.7 ** (12 - count) for count in range(at_least, 13))
    found = mean_over_discordant(12, 0.3, lambda pairs: 1.0 + 0.0 * pairs, at_least=at_least)
    assert found == pytest.approx(tail, abs=1e-12)
