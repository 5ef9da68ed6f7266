"""Graded scores: permutation test of the mean and bootstrap interval."""

from __future__ import annotations

import random
from statistics import NormalDist, fmean, stdev

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hylo_core.errors import ContractError
from hylo_eval.compare.pairing import paired_compare
from hylo_eval.compare.permutation import bootstrap_mean_interval, paired_permutation

binary = st.dictionaries(st.integers(0, 30).map("t#{}".format), st.tuples(*[st.sampled_from([0.0, 1.0, None])] * 2))


@given(binary)
@settings(deadline=None, max_examples=40)
def test_on_binary_scores_it_is_mcnemars_test(run):
    """The permutation test of 0 and 1 is the exact McNemar test."""
    candidate, parent = ({key: pair[side] for key, pair in run.items()} for side in (0, 1))
    graded, exact = paired_permutation(candidate, parent, draws=10), paired_compare(candidate, parent)
    assert graded.n_pairs == exact.n_pairs
    assert graded.p_value == pytest.approx(exact.p_value, rel=1e-14)
    assert graded.reverse_p_value == pytest.approx(exact.reverse_p_value, rel=1e-14)


def test_the_direction_decides_which_side_is_better():
    """Four drops of a score for which lower is better: p = 1/16, and the difference keeps its sign."""
    candidate, parent = {f"t#{i}": 1.0 for i in range(4)}, {f"t#{i}": 2.0 + i / 3 for i in range(4)}
    found = paired_permutation(candidate, parent, higher_is_better=False)
    assert found.p_value == 1 / 16
    assert found.mean_difference == pytest.approx(-1.5)
    assert paired_permutation(candidate, parent, higher_is_better=True).reverse_p_value == 1 / 16


def test_without_pairs_there_is_no_estimate():
    """No pair: no mean, no interval, and p is 1."""
    found = paired_permutation({"t#0": None}, {"t#0": 1.0})
    assert (found.mean_difference, found.interval, found.p_value) == (None, None, 1.0)


def test_the_bootstrap_interval_of_a_normal_sample_is_near_the_textbook_one():
    """On 400 normal values the BCa ends lie within a tenth of a standard error of mean +- z s/sqrt(n)."""
    generator = random.Random(4)
    values = [generator.gauss(1.0, 2.0) for _ in range(400)]
    error = stdev(values) / 20
    interval = bootstrap_mean_interval(values, level=0.9, seed=1)
    z = NormalDist().inv_cdf(0.95)
    assert interval.low == pytest.approx(fmean(values) - z * error, abs=0.1 * error)
    assert interval.high == pytest.approx(fmean(values) + z * error, abs=0.1 * error)


def test_the_bootstrap_interval_leans_with_the_skew():
    """A long right tail moves the BCa interval to the right of the mean."""
    generator = random.Random(5)
    values = [generator.expovariate(1.0) for _ in range(60)]
    interval = bootstrap_mean_interval(values)
    assert interval.high - fmean(values) > fmean(values) - interval.low > 0


def test_the_bootstrap_is_repeatable_in_any_order():
    """The seed alone decides the draws."""
    values = [0.3, 1.5, -2.0, 4.0, 0.1]
    assert bootstrap_mean_interval(values, seed=7) == bootstrap_mean_interval(values[::-1], seed=7)
    assert bootstrap_mean_interval(values, seed=7) != bootstrap_mean_interval(values, seed=8)


def test_degenerate_samples():
    """Equal values give a point; fewer than two values give no interval."""
    interval = bootstrap_mean_interval([0.5, 0.5, 0.5])
    assert (interval.low, interval.high) == (0.5, 0.5)
    assert bootstrap_mean_interval([0.5]) is None


def test_bad_arguments_are_refused():
    """Levels and counts out of range are refused by name."""
    with pytest.raises(ContractError, match="level"):
        bootstrap_mean_interval([1.0, 2.0], level=0.0)
    with pytest.raises(ContractError, match="resamples"):
        bootstrap_mean_interval([1.0, 2.0], resamples=0)
