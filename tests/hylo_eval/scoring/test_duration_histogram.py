"""Quantiles of durations from counts."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from hylo_eval.scoring.duration_histogram import RELATIVE_ERROR, histogram, quantile

durations = st.lists(st.floats(1e-8, 1e5), min_size=1, max_size=50)


@given(durations, st.floats(0, 1))
def test_a_quantile_is_right_to_within_its_error(seconds: list[float], share: float) -> None:
    """Against the sorted list."""
    exact = sorted(seconds)[math.floor(share * (len(seconds) - 1))]
    found = quantile(histogram(seconds), share)
    assert found is not None
    assert abs(found - exact) <= RELATIVE_ERROR * exact * (1 + 1e-9)


@given(durations, durations)
def test_histograms_add_up(first: list[float], second: list[float]) -> None:
    """In either order, as if all had been counted at once."""
    assert histogram(first) + histogram(second) == histogram(second + first)


def test_no_duration_has_no_quantile_and_zero_is_one() -> None:
    """A clock too coarse for a reply gives zero seconds, which has no logarithm."""
    assert quantile({}, 0.5) is None
    found = quantile(histogram([0.0]), 0.5)
    assert found is not None
    assert 0 < found < 1.1e-9
