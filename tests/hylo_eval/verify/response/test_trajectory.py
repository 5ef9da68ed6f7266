"""Trajectories: resampling by arc length, and the distance of two traces."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_eval.verify.response.trajectory import (
    resample,
    score_trajectory_rmse,
    score_trajectory_similarity,
    trajectory_rmse_px,
)

TRACE = st.lists(st.tuples(st.floats(-500, 500), st.floats(-500, 500)), min_size=1, max_size=6)


def test_samples_stand_at_equal_steps():
    """A corner of two unequal arms is sampled by length along both."""
    assert resample([(0.0, 0.0), (3.0, 0.0), (3.0, 1.0)], 5) == [(0, 0), (1, 0), (2, 0), (3, 0), (3, 1)]
    assert resample([(2.0, 2.0)], 3) == [(2, 2)] * 3
    assert resample([(2.0, 2.0), (2.0, 2.0), (4.0, 2.0)], 3) == [(2, 2), (3, 2), (4, 2)]


@given(TRACE, st.integers(2, 30))
def test_samples_keep_the_ends_and_the_box(points, count):
    """The first and last sample are the ends; no sample leaves the range of the corners."""
    samples = resample(points, count)
    assert (len(samples), samples[0], samples[-1]) == (count, points[0], points[-1])
    for axis in (0, 1):
        values = [point[axis] for point in points]
        assert all(min(values) - 1e-9 <= sample[axis] <= max(values) + 1e-9 for sample in samples)


@given(TRACE, st.integers(2, 20), st.floats(-50, 50), st.floats(-50, 50))
def test_a_shifted_trace_is_as_far_as_the_shift(points, count, x, y):
    """Moving a whole trace moves every sample alike."""
    shifted = [(point[0] + x, point[1] + y) for point in points]
    assert trajectory_rmse_px(shifted, points, count) == pytest.approx(math.hypot(x, y), abs=1e-6)


@given(TRACE, TRACE)
def test_distance_is_symmetric(first, second):
    """It does not matter which trace is the truth."""
    assert trajectory_rmse_px(first, second, 10) == pytest.approx(trajectory_rmse_px(second, first, 10))


def test_density_of_points_does_not_matter():
    """A straight line drawn with two or with eleven points is the same trace."""
    dense = [[x, 2 * x] for x in range(11)]
    assert score_trajectory_rmse(dense, [[0, 0], [10, 20]]).value == pytest.approx(0.0, abs=1e-9)


def test_failure_has_no_distance_and_scores_zero_similarity():
    """What is no trace has no figure in pixels, and 0 where failures must count."""
    for wrong in ("left", [], [[1]], [[1e200, 0]], None):
        measure = score_trajectory_rmse(wrong, [[0, 0]])
        assert (measure.value, measure.reason) == (None, "the prediction is no list of points")
        assert score_trajectory_similarity(wrong, [[0, 0]], half_life_px=5).value == 0.0


def test_similarity_halves_at_the_half_life():
    """A trace shifted by one half-life scores 0.5 and reports its distance."""
    measure = score_trajectory_similarity("[[5, 0], [15, 0]]", [[0, 0], [10, 0]], half_life_px=5, sample_count=4)
    assert measure.value == pytest.approx(0.5)
    assert measure.metadata == {"sample_count": 4.0, "half_life_px": 5, "rmse_px": pytest.approx(5.0)}


def test_options_and_truth_are_checked():
    """Too few samples, a half-life that is not positive, and a truth that is no trace are refused."""
    with pytest.raises(ValueError, match="2 samples"):
        score_trajectory_rmse([[0, 0]], [[0, 0]], sample_count=1)
    with pytest.raises(ValueError, match="half_life_px"):
        score_trajectory_similarity([[0, 0]], [[0, 0]], half_life_px=math.nan)
    with pytest.raises(ValueError, match="truth"):
        score_trajectory_rmse([[0, 0]], [])
