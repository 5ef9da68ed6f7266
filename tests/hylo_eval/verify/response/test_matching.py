"""Unordered matching: optimal, the same for any order, and exact where columns are left out."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from hylo_eval.verify.response import matching, similarity
from hylo_eval.verify.response.coordinates import READ_ITEM, read_items
from hylo_eval.verify.response.matching import matched_similarities
from hylo_eval.verify.response.similarity import (
    box_iou,
    pair_similarity,
    point_distance,
    segment_distance,
    soft_similarity,
)

NUMBER = st.integers(-60, 60)
POINT = st.tuples(NUMBER, NUMBER).map(list)
SEGMENT = st.tuples(POINT, POINT).map(list)
BOX = st.tuples(NUMBER, NUMBER, NUMBER, NUMBER).map(list).filter(lambda b: b[0] != b[2] and b[1] != b[3])
ITEMS = {"point": POINT, "segment": SEGMENT, "bbox": BOX}


def matched(shape, predicted, truth, half_life_px=30.0):
    return matched_similarities(shape, read_items(shape, predicted), read_items(shape, truth), half_life_px)


def best_by_trying(shape, rows, columns):
    """Similarities of the best assignment among all, by the objective of the shape."""
    distance = {"point": point_distance, "segment": segment_distance}.get(shape)
    best = (math.inf, 0.0)
    for chosen in itertools.permutations(columns, len(rows)):
        pairs = list(zip(rows, chosen, strict=True))
        similarity = math.fsum(pair_similarity(shape, a, b, 30.0) for a, b in pairs)
        cost = -similarity if distance is None else math.fsum(distance(a, b) for a, b in pairs) - 1e-6 * similarity
        best = min(best, (cost, similarity))
    return best[1]


@settings(max_examples=60, deadline=None)
@pytest.mark.parametrize("shape", sorted(ITEMS))
@given(data=st.data())
def test_matching_is_optimal(shape, data):
    """No assignment is better by the objective of the shape."""
    predicted = data.draw(st.lists(ITEMS[shape], min_size=1, max_size=4))
    truth = data.draw(st.lists(ITEMS[shape], min_size=1, max_size=4))
    rows, columns = sorted((list(read_items(shape, predicted)), list(read_items(shape, truth))), key=len)
    assert math.fsum(matched(shape, predicted, truth)) == pytest.approx(best_by_trying(shape, rows, columns), abs=1e-6)


@settings(max_examples=60, deadline=None)
@pytest.mark.parametrize("shape", sorted(ITEMS))
@given(data=st.data())
def test_order_does_not_matter(shape, data):
    """Listing either side in another order, or swapping the sides, changes nothing."""
    predicted = data.draw(st.lists(ITEMS[shape], min_size=1, max_size=6))
    truth = data.draw(st.lists(ITEMS[shape], min_size=1, max_size=6))
    total = math.fsum(matched(shape, predicted, truth))
    shuffled = data.draw(st.permutations(predicted)), data.draw(st.permutations(truth))
    assert math.fsum(matched(shape, *shuffled)) == pytest.approx(total, abs=1e-6)
    assert math.fsum(matched(shape, truth, predicted)) == pytest.approx(total, abs=1e-6)


def test_equal_distances_go_to_the_larger_similarity():
    """On a line, 0-to-1 and 1-to-3 are as far in sum as 0-to-3 and 1-to-1; the second pairing scores more."""
    predicted, truth = [[0, 0], [1, 0]], [[1, 0], [3, 0]]
    expected = soft_similarity(3.0, 1.0) + 1.0
    assert expected > soft_similarity(1.0, 1.0) + soft_similarity(2.0, 1.0)
    for order in itertools.permutations(predicted):
        assert math.fsum(matched("point", list(order), truth, 1.0)) == pytest.approx(expected, abs=1e-9)


def test_points_minimise_distance_and_not_the_loss_of_similarity():
    """Where the two objectives differ, the smaller summed distance is taken."""
    predicted, truth = [[0, 0], [10, 0]], [[10, 1], [30, 0]]
    direct = soft_similarity(math.hypot(10, 1), 5.0) + soft_similarity(20.0, 5.0)
    crossed = soft_similarity(30.0, 5.0) + soft_similarity(1.0, 5.0)
    assert crossed > direct
    assert 10.05 + 20 < 30 + 1
    assert math.fsum(matched("point", predicted, truth, 5.0)) == pytest.approx(direct, abs=1e-12)


@settings(max_examples=15, deadline=None)
@given(st.lists(POINT, min_size=8, max_size=40), st.lists(POINT, min_size=1, max_size=3))
def test_leaving_columns_out_changes_nothing(many, few):
    """The columns that are kept hold an optimum."""
    full = math.fsum(matched("point", many, few))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matching, "_LARGEST_FULL_MATRIX", 1)
        assert math.fsum(matched("point", many, few)) == pytest.approx(full, abs=1e-6)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e6])
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), size=st.integers(78, 120), spread=st.sampled_from([3, 40, 900]))
def test_prices_keep_the_optimum(scale, seed, size, spread):
    """Whatever is contested, the assignment costs what scipy's optimum of the plain matrix costs."""
    draw = np.random.default_rng(seed)
    points = [(draw.integers(0, spread, (size, 2)) * scale).tolist() for _ in range(2)]
    cost, _ = matching._cost_matrix("point", *(read_items("point", side) for side in points), 30.0)
    rows, columns = optimize.linear_sum_assignment(cost)
    chosen = matching._assign(cost.copy(), is_distance=True)
    assert sorted(chosen.tolist()) == list(range(size))
    assert cost[rows, chosen].sum() == pytest.approx(cost[rows, columns].sum(), rel=1e-12, abs=1e-9 * scale)


@pytest.mark.parametrize("far", [1e6, 1e12, 1e200])
def test_an_item_far_away_costs_the_others_no_digits(far):
    """Prices beyond the picture's own size are not used: the crowded rest is assigned as without them."""
    draw = np.random.default_rng(1)
    points = [draw.integers(0, 500, (100, 2)).astype(float) for _ in range(2)]
    points[0][0] += far
    cost, _ = matching._cost_matrix("point", *(read_items("point", side.tolist()) for side in points), 30.0)
    assert len(set(cost.argmin(axis=1).tolist())) < matching._CONTESTED * len(cost)
    rows, columns = optimize.linear_sum_assignment(cost)
    chosen = matching._assign(cost.copy(), is_distance=True)
    assert cost[rows, chosen][1:].sum() == pytest.approx(cost[rows, columns][1:].sum(), abs=1e-9)


@pytest.mark.parametrize("count", [3, 60])
def test_distances_are_those_of_the_plain_formula(count):
    """Few pairs and many are measured in different ways, and both are exact for coordinates as floats hold them."""
    draw = np.random.default_rng(3)
    first, second = draw.normal(0, 300, (2, count)), draw.normal(0, 300, (2, count))
    expected = (first[0][:, None] - second[0]) ** 2 + (first[1][:, None] - second[1]) ** 2
    assert np.array_equal(similarity._squared_distances(first, second), expected)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), reach=st.sampled_from([1, 640, 2**20, 2**26, 2**60]))
def test_whole_coordinates_round_no_distance(seed, reach):
    """Distances of integers, near and far, are those of the same numbers written as floats, to the last bit."""
    draw = np.random.default_rng(seed)
    whole = [draw.integers(-reach, reach, (60, 2)).tolist() for _ in range(2)]
    written = [[[float(x), float(y)] for x, y in side] for side in whole]
    tables, plain_tables = ([read_items("point", side) for side in sides] for sides in (whole, written))
    assert [table.is_whole for table in (*tables, *plain_tables)] == [True, True, False, False]
    found = similarity.distances_and_similarities("point", *tables, 30.0)
    expected = similarity.distances_and_similarities("point", *plain_tables, 30.0)
    assert all(np.array_equal(*matrices) for matrices in zip(found, expected, strict=True))


@given(BOX, BOX)
def test_box_similarity_is_symmetric_and_bounded(first, second):
    """IoU is the same both ways, in [0, 1], and 1 for equal boxes alone."""
    a, b = READ_ITEM["bbox"](first), READ_ITEM["bbox"](second)
    assert box_iou(a, b) == box_iou(b, a)
    assert 0.0 <= box_iou(a, b) <= 1.0
    assert (box_iou(a, b) == 1.0) == (a == b)


@given(SEGMENT, SEGMENT)
def test_segments_are_undirected(first, second):
    """Turning a segment round changes no distance, and the distance is symmetric."""
    a, b, turned = (READ_ITEM["segment"](value) for value in (first, second, first[::-1]))
    assert segment_distance(a, b) == segment_distance(turned, b) == segment_distance(b, a)


@given(st.floats(0, 1e6), st.floats(1e-3, 1e4))
def test_a_half_life_halves(distance, half_life):
    """Similarity is 1 at no distance, a half at one half-life, and never rises with distance."""
    assert soft_similarity(0.0, half_life) == 1.0
    assert soft_similarity(half_life, half_life) == pytest.approx(0.5, abs=1e-15)
    assert soft_similarity(distance * 1.01, half_life) <= soft_similarity(distance, half_life) <= 1.0
