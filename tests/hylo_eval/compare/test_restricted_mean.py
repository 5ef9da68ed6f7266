"""Time to success as a censored quantity."""

from __future__ import annotations

import math

import pytest

from hylo_core.errors import ContractError
from hylo_eval.compare.restricted_mean import NEVER, compare_time_to_success


def test_an_episode_without_success_counts_up_to_the_horizon():
    """Times 2, 4, never against 5, never, never at horizon 10: means 16/3 and 25/3, difference -3."""
    found = compare_time_to_success(
        {"t#0": 2.0, "t#1": 4.0, "t#2": NEVER}, {"t#0": 5.0, "t#1": NEVER, "t#2": NEVER}, horizon=10.0
    )
    assert found.candidate_mean == pytest.approx(16 / 3)
    assert found.parent_mean == pytest.approx(25 / 3)
    assert found.comparison.mean_difference == pytest.approx(-3.0)
    assert (found.candidate_censored, found.parent_censored) == (1, 2)
    assert found.comparison.p_value == 1 / 4


def test_rare_fast_success_does_not_beat_steady_success():
    """A policy that succeeds in 1 s on one of ten is slower than one that takes 5 s on all ten."""
    rare = {f"t#{i}": 1.0 if i == 0 else NEVER for i in range(10)}
    steady = {f"t#{i}": 5.0 for i in range(10)}
    found = compare_time_to_success(rare, steady, horizon=20.0)
    assert (found.candidate_mean, found.parent_mean) == (pytest.approx(18.1), 5.0)
    assert found.comparison.reverse_p_value < 0.05


def test_a_success_after_the_horizon_is_censored_there():
    """A time beyond the restriction counts as the restriction; abstained pairs are left out."""
    found = compare_time_to_success(
        {"t#0": 12.0, "t#1": None, "t#2": 0.0}, {"t#0": 10.0, "t#1": 1.0, "t#2": 0.0}, horizon=10.0
    )
    assert (found.candidate_mean, found.parent_mean, found.candidate_censored) == (5.0, 5.0, 1)
    assert found.comparison.n_pairs == 2


def test_without_pairs_there_is_no_mean():
    """No pair: no mean on either side."""
    found = compare_time_to_success({"t#0": None}, {"t#0": 1.0}, horizon=10.0)
    assert (found.candidate_mean, found.parent_mean) == (None, None)


@pytest.mark.parametrize("time", [-1.0, math.nan, "3", True])
def test_what_is_no_time_is_refused(time):
    """Negative, NaN, text and booleans are named by side and key."""
    with pytest.raises(ContractError, match=r"candidate\['t#0'\]: must be a time"):
        compare_time_to_success({"t#0": time}, {"t#0": 1.0}, horizon=10.0)
    with pytest.raises(ContractError, match="horizon"):
        compare_time_to_success({}, {}, horizon=0.0)
