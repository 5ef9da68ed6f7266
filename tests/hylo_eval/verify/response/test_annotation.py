"""Annotation values of all twelve types: what is read, what it scores, what is reported."""

import math

import numpy as np
import pytest

from hylo_eval.verify.response.annotation_score import score_annotation
from hylo_eval.verify.response.contracts import ANNOTATION_KINDS
from hylo_eval.verify.response.parsing import LenientParser

A, B, C = [0, 0, 10, 10], [20, 0, 30, 10], [0, 20, 10, 30]
HALF = [0, 0, 10, 5]
P, Q = [0, 0], [100, 0]
NEAR = [30, 40]  # 50 from P: a tenth power of a half at a half-life of 50 / sqrt(10)
S = [[0, 0], [100, 0]]


def score(name, predicted, truth, half_life_px=50.0):
    kind = ANNOTATION_KINDS[name]
    return score_annotation(
        predicted,
        {"type": name, "value": truth},
        {"annotation": {"id": kind.contract_id, "type": name}},
        half_life_px=half_life_px,
        parser=LenientParser(),
    )


@pytest.mark.parametrize(
    ("name", "predicted", "truth", "reward"),
    [
        ("bbox", A, A, 1.0),
        ("bbox", [10, 10, 0, 0], A, 1.0),
        ("bbox", "[0, 0, 10, 10]", A, 1.0),
        ("bbox", [5, 0, 15, 10], A, 1 / 3),
        ("bbox", [-10, -10, 0, 0], A, 0.0),
        ("bbox", [1e200, 1e200, 2e200, 2e200], [1e200, 1e200, 2e200, 2e200], 1.0),
        ("bbox", [0, 0, 1e308, 1e308], [0, 0, 1e308, -1e308], 0.0),
        ("bbox", [0, 0, 1e-200, 1e-200], [0, 0, 1e-200, 2e-200], 0.5),
        ("bbox_set", [], [], 1.0),
        ("bbox_set", [], [A], 0.0),
        ("bbox_set", [A], [], 0.0),
        ("bbox_set", [B, A], [A, B], 1.0),
        ("bbox_set", A, [A], 1.0),
        ("bbox_set", {"bboxes": [A]}, [A], 1.0),
        ("bbox_set", [A, C], [A, B], 0.5),
        ("bbox_set", [HALF], [A, B], 0.25),
        ("bbox_sequence", [A, B], [A, B], 1.0),
        ("bbox_sequence", [B, A], [A, B], 0.0),
        ("bbox_sequence", [A], [A, B], 0.5),
        ("bbox_map", {"a": A, " b ": HALF}, {"a": A, "b": A}, 0.75),
        ("bbox_map", {"a": A, "x": B}, {"a": A, "b": B}, 1 / 3),
        ("bbox_map", {}, {}, 1.0),
        ("bbox_map", {"x": A}, {"a": A}, 0.0),
        ("bbox_set_map", {"a": [B, A], "n": []}, {"a": [A, B], "n": []}, 1.0),
        ("bbox_set_map", {"a": "[[0, 0, 10, 10]]"}, {"a": [A]}, 1.0),
        ("bbox_set_map", {"a": A, "b": [B]}, {"a": [A, B], "b": [B], "c": []}, 0.5),
        ("point", P, P, 1.0),
        ("point", NEAR, P, 0.5),
        ("point", Q, P, 0.0625),
        ("point", [1e200, 0], P, 0.0),
        ("point", [1.7e308, -1.7e308], [-1.7e308, 1.7e308], 0.0),
        ("point_set", [Q, P], [P, Q], 1.0),
        ("point_set", P, [P], 1.0),
        ("point_set", [NEAR], [P, P], 0.25),
        ("point_set", [[1e308, 0], P], [P, [1e308, 0]], 1.0),
        ("point_sequence", [P, Q, P], [P, Q], 2 / 3),
        ("point_map", {"a": NEAR}, {"a": P}, 0.5),
        ("point_set_map", {"a": P, "b": []}, {"a": [P], "b": []}, 1.0),
        ("segment", [[100, 0], [0, 0]], S, 1.0),
        ("segment", [[0, 50], [100, 0]], S, 0.5),
        ("segment", [P, P], [P, P], 1.0),
        ("segment_set", [[[100, 0], [0, 0]], [P, P]], [[P, P], S], 1.0),
        ("segment_set", [], [S], 0.0),
    ],
)
def test_reward(name, predicted, truth, reward):
    """Each reward follows from the formulas."""
    scored = score(name, predicted, truth)
    assert scored.reason is None
    assert scored.reward == pytest.approx(reward, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "predicted"),
    [
        ("bbox", [A]),
        ("bbox", [0, 0, 0, 10]),
        ("bbox", [0, 0, True, 10]),
        ("bbox", [0, 0, "10", 10]),
        ("bbox", [0, 0, math.nan, 10]),
        ("bbox", [0, 0, 10**400, 10]),
        ("bbox", [[0, 0], [10, 10]]),
        ("bbox_set", [A, "[0, 0, 10, 10]"]),
        ("bbox_set", [A, [1, 2]]),
        ("bbox_set", {"boxes": [A]}),
        ("bbox_set", [A, [3, 3, 3, 9]]),
        ("bbox_map", {"a": str(A)}),
        ("bbox_map", [A]),
        ("bbox_map", {"a": A, "a ": A}),
        ("bbox_map", {" ": A}),
        ("bbox_set_map", {"a": None}),
        ("point", [P]),
        ("point", [1, 2, 3]),
        ("point", {"x": 1, "y": 2}),
        ("point", {1, 2}),
        ("point_set", [P, [1, math.inf]]),
        ("point_set", {"bboxes": [P]}),
        ("point_sequence", "four"),
        ("point_map", {"a": [P]}),
        ("point_set_map", {"a": "x"}),
        ("segment", [0, 0, 100, 0]),
        ("segment", [S]),
        ("segment_set", S),
        ("segment_set", [[P, [1, "2"]]]),
    ],
)
def test_value_of_another_shape_is_not_read(name, predicted):
    """What has not the declared type scores 0, says so, and reports no details."""
    kind = ANNOTATION_KINDS[name]
    item = {"bbox": A, "point": P, "segment": S}[kind.shape]
    truth = {"scalar": item, "set": [item], "sequence": [item], "map": {"a": item}, "set_map": {"a": [item]}}
    scored = score(name, predicted, truth[kind.arrangement])
    assert (scored.reward, scored.details) == (0.0, {})
    assert scored.reason == f"the annotation is no {name}"


def test_truth_that_cannot_be_read_is_told_from_the_prediction():
    """The reason names the side that is wrong."""
    assert score("point", P, [P]).reason == "annotation_gt.value is no point"


def test_details_of_a_set_map():
    """The mean is over keys with a pair, each key's own mean; counts are of keys and of pairs."""
    predicted = {"a": [A, HALF], "b": [HALF], "x": []}
    truth = {"a": [A, A], "b": [A], "c": []}
    details = score("bbox_set_map", predicted, truth).details
    assert details == {
        "pred_size": 3.0,
        "gt_size": 3.0,
        "shared_key_count": 2.0,
        "missing_key_count": 1.0,
        "extra_key_count": 1.0,
        "assigned_count": 3.0,
        "assigned_iou_mean": (0.75 + 0.5) / 2,
    }


def test_details_of_a_sequence():
    """A sequence reports lengths and the half-life, and pairs as many as the shorter side has."""
    assert score("point_sequence", [P], [P, Q]).details == {
        "pred_len": 1.0,
        "gt_len": 2.0,
        "assigned_count": 1.0,
        "assigned_similarity_mean": 1.0,
        "point_half_life_px": 50.0,
    }


def test_a_remembered_truth_is_its_content():
    """A truth that is changed in place, or whose 1 becomes True, scores as what it is then."""
    truth = [[0, 1], [100, 0]]
    assert score("point_set", [[0, 1], [100, 0]], truth).reward == 1.0
    truth[0][1] = 51
    assert score("point_set", [[0, 1], [100, 0]], truth).reward == pytest.approx(0.75, abs=1e-12)
    truth[0][1] = True
    assert score("point_set", [[0, 1], [100, 0]], truth).reason == "annotation_gt.value is no point_set"
    truth[0][1] = 1
    assert score("point_set", [[0, 1], [100, 0]], truth).reward == 1.0


@pytest.mark.parametrize("number", [np.int64, np.float64, np.float32])
def test_a_truth_may_hold_numpy_numbers(number):
    """What only the value itself tells, and not its plain content, is read from the value."""
    truth = [[number(0), number(1)], [number(100), 0]]
    assert score("point_set", [[0, 1], [100, 0]], truth).reward == 1.0
