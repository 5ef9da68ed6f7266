"""Many predictions against few truths: the same optimum as of the whole matrix, at a cost the truths bound."""

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hylo_eval.verify.response import matching, nearest_columns
from hylo_eval.verify.response.coordinates import read_items
from hylo_eval.verify.response.matching import matched_similarities
from hylo_eval.verify.response.similarity import box_iou, iou_matrix


def drawn(shape, draw, count, spread):
    """Items at whole places, so that many coincide where the spread is small."""
    places = draw.integers(0, spread, (count, 2 if shape == "point" else 4))
    if shape == "bbox":
        places[:, 2:] = places[:, :2] + 1 + draw.integers(0, spread, (count, 2))
    return (places.reshape(-1, 2, 2) if shape == "segment" else places).tolist()


@settings(max_examples=40, deadline=None)
@pytest.mark.parametrize("shape", ["bbox", "point", "segment"])
@given(
    seed=st.integers(0, 2**32 - 1),
    few=st.integers(1, 40),
    more=st.integers(1, 200),
    spreads=st.tuples(*[st.sampled_from([1, 3, 10, 100, 1000])] * 2),
    far=st.sampled_from([0, 0, 1e200]),
    fewest_searches=st.sampled_from([0, 1000]),
)
def test_the_optimum_is_that_of_the_whole_matrix(shape, seed, few, more, spreads, far, fewest_searches):
    """Contested columns, copies, items far away, with a tree or without: the same summed similarity to the tie-break."""
    draw = np.random.default_rng(seed)
    truth = drawn(shape, draw, few, spreads[0])
    predicted = drawn(shape, draw, 2 * few + more, spreads[1])
    if far:
        predicted[0] = {"point": [far, 0], "segment": [[far, 0], [0, far]], "bbox": [0, 0, far, far]}[shape]
    tables = read_items(shape, predicted), read_items(shape, truth)
    whole = math.fsum(matched_similarities(shape, *tables, 30.0))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matching, "_LARGEST_FULL_MATRIX", 0)
        patch.setattr(nearest_columns, "_FEWEST_SEARCHES", fewest_searches)
        found = matched_similarities(shape, *tables, 30.0)
        turned = matched_similarities(shape, *tables[::-1], 30.0)
    assert len(found) == len(turned) == few
    assert math.fsum(found) == pytest.approx(whole, abs=1e-6)
    assert math.fsum(turned) == pytest.approx(whole, abs=1e-6)


@pytest.mark.parametrize("shape", ["bbox", "point", "segment"])
@pytest.mark.parametrize("spread", [2, 10, 1000])
def test_a_flood_of_predictions_takes_no_matrix_of_its_own(shape, spread):
    """20,000 against 200 take less than one such matrix of floats, 32 MB, where three were made before."""
    draw = np.random.default_rng(0)
    tables = [read_items(shape, drawn(shape, draw, count, spread)) for count in (20_000, 200)]
    matched_similarities(shape, *tables, 30.0)  # what is imported once is not counted
    tracemalloc.start()
    try:
        found = matched_similarities(shape, *tables, 30.0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(found) == 200
    assert peak < 16_000_000


@settings(max_examples=40, deadline=None)
@pytest.mark.parametrize("shape", ["bbox", "point", "segment"])
@given(
    seed=st.integers(0, 2**32 - 1),
    spread=st.sampled_from([1, 3, 30, 1000]),
    scale=st.sampled_from([1e-3, 1.0, 1e12, 1e155, 1e200]),
    sampled=st.sampled_from([4, 4096]),
)
def test_the_cheapest_columns_are_those_of_the_whole_row(shape, seed, spread, scale, sampled):
    """Whatever is passed over, no column costs less than those found, in order, at the first search and at the next."""
    draw = np.random.default_rng(seed)
    table, rows = (
        read_items(shape, (np.array(drawn(shape, draw, count, spread)) * scale).tolist()) for count in (150, 20)
    )
    different = nearest_columns._Copied.of(table, len(rows)).table

    def costs(some, others):
        return matching._cost_matrix(shape, some, others, 30.0 * scale)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nearest_columns, "_SAMPLED", sampled)
        search = nearest_columns._Search(shape, rows, different, costs)
        for index, row in enumerate(costs(rows, different)[0]):
            for count in (min(3, len(different)), min(20, len(different))):
                found = search.cheapest(index, count)
                assert len(set(found.tolist())) == len(found) == count
                assert row[found] == pytest.approx(np.sort(row)[:count], rel=1e-9, abs=1e-9)


def test_boxes_that_share_nothing_are_assigned_at_once():
    """Where every column costs the same, looking for others would find none that is better."""
    draw = np.random.default_rng(0)
    far = [[x + 1e5 for x in corners] for corners in drawn("bbox", draw, 20_000, 100)]
    tables = read_items("bbox", far), read_items("bbox", drawn("bbox", draw, 100, 100))
    solved = []

    def assign(cost):
        solved.append(cost.shape)
        return matching._assign(cost, is_distance=False)

    def costs(some, others):
        return matching._cost_matrix("bbox", some, others, 30.0)

    assert nearest_columns.assigned_among_many("bbox", *tables[::-1], costs, assign) == [0.0] * 100
    assert solved == [(100, 100)]


def test_boxes_too_large_for_their_areas_are_compared_as_pair_by_pair():
    """All at once: a single such box among thousands must not make each pair a matter of Python."""
    sides = [0.0, 1e-200, 1.0, 3.0, 1e140, 1e151, 1.5e151, 1.7e308]
    boxes = [
        [x, y, right, top]
        for x in sides
        for y in sides[:4]
        for right in sides
        for top in sides
        if x != right and y != top
    ]
    table = read_items("bbox", boxes[:: len(boxes) // 60])
    expected = [[box_iou(one, other) for other in table] for one in table]
    assert iou_matrix(table, table) == pytest.approx(np.array(expected), rel=1e-12, abs=1e-300)
