"""The interval of a mean by resampling."""

from __future__ import annotations

import math
from statistics import NormalDist

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hylo_eval.scoring.bootstrap import mean_interval, stratified_interval

numbers = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30)


@settings(deadline=None)
@given(numbers, st.randoms())
def test_the_interval_is_a_function_of_the_numbers_alone(values: list[float], random: object) -> None:
    """In any order, twice the same; within the smallest and largest number."""
    shuffled = list(values)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    found = mean_interval(values)
    assert found == mean_interval(shuffled)
    assert found is not None
    slack = 1e-9 * max(map(abs, values))
    assert min(values) - slack <= found.low <= found.high <= max(values) + slack


def test_it_is_as_wide_as_theory_says() -> None:
    """For many numbers the bootstrap's spread is the standard error: 0..999 uniform, n = 1000."""
    values = [float(number) for number in range(1000)]
    found = mean_interval(values)
    assert found is not None
    error = math.sqrt((1000**2 - 1) / 12 / 1000)
    width = 2 * NormalDist().inv_cdf(0.975) * error
    assert found.high - found.low == pytest.approx(width, rel=0.1)
    assert (found.low + found.high) / 2 == pytest.approx(499.5, abs=error / 2)


def test_tasks_of_one_score_each_have_no_spread() -> None:
    """All variation is between strata, which are not resampled."""
    found = stratified_interval({"a": [1.0] * 5, "b": [0.0] * 5})
    assert found is not None
    assert (found.low, found.high) == (0.5, 0.5)


def test_strata_with_equal_numbers_are_drawn_apart() -> None:
    """Otherwise the mean of two tasks would vary like one: its spread is smaller by the root of two."""
    values = [float(number) for number in range(200)]
    one, two = stratified_interval({"a": values}), stratified_interval({"a": values, "b": values})
    assert one is not None
    assert two is not None
    assert (two.high - two.low) / (one.high - one.low) == pytest.approx(math.sqrt(0.5), rel=0.15)


@pytest.mark.parametrize(
    "strata", [{}, {"a": []}, {"a": [1.0]}, {"a": [1.0, 2.0], "b": [1.0]}, {"a": [1.7e308, -1.7e308, 1.7e308]}]
)
def test_without_a_spread_there_is_no_interval(strata: dict[str, list[float]]) -> None:
    """One number, none, or numbers whose mean is beyond floats."""
    found = stratified_interval(strata)
    assert found is None or math.isfinite(found.low)
