"""Hits of points in regions, exact counts, one point per region."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_eval.verify.response.pointing import (
    score_exact_count,
    score_one_point_per_region,
    score_points_in_region,
)
from hylo_eval.verify.response.regions import BoxRegion, MaskRegion, PolygonRegion, read_region


def holds(region, x, y):
    """Whether a region holds one point."""
    return bool(region.holds(np.array([[x, y]], dtype=np.float64))[0])


MASK = MaskRegion.of([[0, 1], [0, 0], [1, 0]])  # 2 wide, 3 high
BOX = BoxRegion.of([10, 10, 0, 0])
NOTCHED = PolygonRegion.of([[0, 0], [10, 0], [10, 10], [5, 5], [0, 10]])


@pytest.mark.parametrize(
    ("x", "y", "is_inside"),
    [
        (1, 0, True),
        (1.99, 0.99, True),
        (0.5, 2.5, True),
        (0, 0, False),
        (2, 0, False),
        (1, -0.1, False),
        (0, 3, False),
    ],
)
def test_mask_holds_its_pixels(x, y, is_inside):
    """A point is in the pixel of its floors; outside the image is outside the mask."""
    assert holds(MASK, x, y) is is_inside


@pytest.mark.parametrize(
    ("x", "y", "is_inside"),
    [
        (5, 2, True),
        (5, 5, True),
        (5, 6, False),
        (1, 8, True),
        (0, 0, True),
        (10, 4, True),
        (11, 4, False),
        (-1, 0, False),
    ],
)
def test_polygon_holds_its_border_and_not_its_notch(x, y, is_inside):
    """The even-odd rule, with edges and corners inside."""
    assert holds(NOTCHED, x, y) is is_inside


@given(st.floats(-2, 12), st.floats(-2, 12))
def test_a_box_and_its_polygon_agree(x, y):
    """A rectangle is the same region by its corners and as a polygon, in either direction."""
    corners = [[0, 0], [10, 0], [10, 10], [0, 10]]
    polygons = PolygonRegion.of(corners), PolygonRegion.of(corners[::-1])
    assert holds(BOX, x, y) == holds(polygons[0], x, y) == holds(polygons[1], x, y)


@pytest.mark.parametrize(
    ("prediction", "value"),
    [
        ([[1, 1], [20, 20]], 0.5),
        ([1, 1], 1.0),
        ("[(1, 1), (2, 2), (30, 3)]", 2 / 3),
        ([[1, 1], None, "x", [1]], 0.25),
        ([[1, 1], [float("nan"), 1]], 0.5),
        ([], 0.0),
        ("none of them", 0.0),
        ({"x": 1, "y": 1}, 0.0),
        (None, 0.0),
    ],
)
def test_share_of_hits_counts_failures_as_wrong(prediction, value):
    """What is no point is a miss among the others; no list is 0 with a reason."""
    measure = score_points_in_region(prediction, BOX)
    assert (measure.id, measure.value) == ("points_in_box_v0", pytest.approx(value))
    assert (measure.reason is None) == (value == 1.0)


@given(st.integers(0, 2**32 - 1))
def test_a_polygon_holds_many_points_as_it_holds_each(seed):
    """Points are judged alone, also where there are too many to be looked at together; far ones are outside."""
    random = np.random.default_rng(seed)
    polygon = PolygonRegion.of([*random.integers(0, 10, (5, 2)).tolist(), [0, 0], [9, 0], [0, 9]])
    points = random.integers(-1, 11, (40, 2)).astype(np.float64)
    points[0] = (1e300, -1e300)
    found = polygon.holds(np.tile(points, (1_000, 1)))
    assert np.array_equal(found, np.tile([holds(polygon, x, y) for x, y in points], 1_000))
    assert not found[0]
    assert not holds(PolygonRegion.of([[-1e300, -1e300], [1e300, -1e300], [-1e300, 1e300]]), 2e299, 1e300)


def test_counts_stand_in_the_metadata():
    """Points, hits and unreadable items are reported."""
    measure = score_points_in_region([[1, 1], [90, 1], "x"], BOX)
    assert measure.metadata == {"points": 3.0, "hits": 1.0, "unreadable": 1.0}
    assert "2 of 3" in measure.reason


@pytest.mark.parametrize(
    ("prediction", "expected", "value"),
    [
        ([[1, 1], [2, 2]], 2, 1.0),
        ([[1, 1]], 2, 0.0),
        ([], 0, 1.0),
        ([1, 1], 1, 1.0),
        ([[1, 1], "x"], 2, 0.0),
        ("many", 0, 0.0),
    ],
)
def test_exact_count(prediction, expected, value):
    """Exactly as many, and each a point."""
    assert score_exact_count(prediction, expected).value == value


def test_expected_count_is_checked():
    """A truth value, a negative number and a float are no counts."""
    for wrong in (True, -1, 2.0):
        with pytest.raises(ValueError, match="expected_count"):
            score_exact_count([], wrong)


def test_one_point_per_region_pairs_as_well_as_it_can():
    """A point that lies in two regions leaves the one that another point needs."""
    regions = [BoxRegion.of([0, 0, 10, 10]), BoxRegion.of([5, 5, 15, 15])]
    right = score_one_point_per_region([[7, 7], [1, 1]], regions)
    assert (right.value, right.metadata["regions_hit"]) == (1.0, 2.0)
    twice = score_one_point_per_region([[1, 1], [2, 2]], regions)
    assert (twice.value, twice.metadata["regions_hit"]) == (0.0, 1.0)
    too_many = score_one_point_per_region([[1, 1], [12, 12], [7, 7]], regions)
    assert (too_many.value, too_many.metadata["regions_hit"]) == (0.0, 2.0)
    assert score_one_point_per_region([], []).value == 1.0


def test_regions_are_read_and_checked():
    """Each kind reads its JSON form and refuses others by name."""
    assert np.array_equal(read_region("mask", [[0, 1], [1, 0]]).mask, [[False, True], [True, False]])
    assert holds(read_region("box", [0, 0, 1, 1]), 1, 1)
    assert holds(read_region("polygon", [[0, 0], [1, 0], [0, 1]]), 0.2, 0.2)
    for kind, value in (
        ("box", [0, 0, 0, 1]),
        ("polygon", [[0, 0], [1, 1]]),
        ("mask", [[1], [1, 0]]),
        ("mask", []),
        ("mask", [["0", "1"]]),
        ("mask", [[None, 1]]),
        ("mask", [[float("nan")]]),
        ("mask", [[[0]]]),
        ("polygon", [[0, 0], [1, 1], [3, 3]]),
        ("polygon", [[2, 2], [2, 2], [2, 2]]),
        ("circle", []),
    ):
        with pytest.raises(ValueError, match=kind):
            read_region(kind, value)
