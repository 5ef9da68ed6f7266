"""Coordinate frames: every frame of one annotation gives the same pixels."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_eval.verify import resolve_reward_contract, score_trace_response_detailed
from hylo_eval.verify.response.contracts import ANNOTATION_KINDS
from hylo_eval.verify.response.frames import PIXEL_XY, CoordinateFrame, to_pixels

SIZE = (640, 480)
FULL = {"pixel": None, "unit": 1, "per_mille": 1000, "percent": 100}
BOX, POINT, SEGMENT = [64, 120, 320, 360], [320, 120], [[64, 48], [128, 240]]
VALUES = {
    "bbox": BOX,
    "bbox_set": [BOX, BOX],
    "bbox_sequence": {"bboxes": [BOX]},
    "bbox_map": {"a": BOX},
    "bbox_set_map": {"a": [BOX], "b": BOX},
    "point": POINT,
    "point_set": [POINT, POINT],
    "point_sequence": POINT,
    "point_map": {"a": POINT},
    "point_set_map": {"a": [POINT], "b": []},
    "segment": SEGMENT,
    "segment_set": [SEGMENT],
}


def in_frame(value, frame):
    """The same value as a model would write it in a frame."""
    if isinstance(value, dict):
        return {key: in_frame(item, frame) for key, item in value.items()}
    if value and isinstance(value[0], list):
        return [in_frame(item, frame) for item in value]
    full = FULL[frame.unit]
    scaled = [number if full is None else number / SIZE[index % 2] * full for index, number in enumerate(value)]
    return [scaled[index ^ 1] for index in range(len(scaled))] if frame.order == "yx" else scaled


def rounded(value):
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list) else round(value, 9)


@pytest.mark.parametrize("unit", sorted(FULL))
@pytest.mark.parametrize("order", ["xy", "yx"])
@pytest.mark.parametrize("name", sorted(VALUES))
def test_every_frame_comes_back_to_pixels(unit, order, name):
    """A value written in a frame is converted to the pixels it was written from."""
    frame = CoordinateFrame(unit=unit, order=order)
    assert rounded(to_pixels(in_frame(VALUES[name], frame), ANNOTATION_KINDS[name], frame, SIZE)) == rounded(
        VALUES[name]
    )


@given(
    st.recursive(st.none() | st.text() | st.floats() | st.integers(), lambda x: st.lists(x, max_size=5), max_leaves=9)
)
def test_values_of_another_shape_do_not_raise(value):
    """What has not the shape of the type is left for the scorer to report."""
    for kind in ANNOTATION_KINDS.values():
        to_pixels(value, kind, CoordinateFrame(unit="percent", order="yx"), SIZE)


def test_frame_is_checked():
    """An unknown unit or order, and a unit without an image size, are refused by name."""
    with pytest.raises(ValueError, match="unit"):
        CoordinateFrame(unit="inch")
    with pytest.raises(ValueError, match="order"):
        CoordinateFrame(order="ij")
    with pytest.raises(ValueError, match="image_size"):
        to_pixels(POINT, ANNOTATION_KINDS["point"], CoordinateFrame(unit="unit"), None)
    assert to_pixels(POINT, ANNOTATION_KINDS["point"], PIXEL_XY, None) is POINT


def scored(frame, response):
    return score_trace_response_detailed(
        response=response,
        answer_gt={"type": "integer", "value": 1},
        annotation_gt={"type": "point", "value": [320, 120]},
        reward_contract=resolve_reward_contract(answer_type="integer", annotation_type="point").to_dict(),
        image_size=list(SIZE),
        coordinate_frame=frame,
    )


def test_frame_runs_before_scoring_and_is_recorded():
    """A per-mille answer with y first is right in its frame, wrong in pixels, and the metadata names it."""
    response = '{"answer": 1, "annotation": "[250, 500]"}'
    right = scored(CoordinateFrame(unit="per_mille", order="yx"), response)
    assert right.values["annotation_reward"] == 1.0
    assert right.metadata == {"coordinate_unit": "per_mille", "coordinate_order": "yx"}
    assert scored(PIXEL_XY, response).values["annotation_reward"] < 0.01
