"""Truths lie in their picture."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_core.errors import ContractError
from hylo_eval.verify.response.annotation import read_annotation
from hylo_eval.verify.response.bounds import check_within_picture
from hylo_eval.verify.response.contracts import ANNOTATION_KINDS
from hylo_eval.verify.response.parsing import LenientParser

SIZE = (320.0, 240.0)


def check(name, value):
    """Hold a value of a type against the picture."""
    annotation = read_annotation(ANNOTATION_KINDS[name], value, LenientParser())
    assert annotation is not None
    check_within_picture(annotation, SIZE, "value")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("point", [320, 240]),
        ("point", [0, -0.0]),
        ("point_set", []),
        ("point_set_map", {"a": []}),
        ("bbox", [320, 240, 0, 0]),
        ("segment_set", [[[0, 240], [320, 0]]]),
    ],
)
def test_the_edges_belong_to_the_picture(name, value):
    """A box around the whole picture ends at its width and height."""
    check(name, value)


@pytest.mark.parametrize(
    ("name", "value", "path"),
    [
        ("point", [700, 190], "value"),
        ("point", [190, 300], "value"),  # within the width, not within the height
        ("point_sequence", [[1, 1], [-1, 1]], "value[1]"),
        ("point_map", {"cup": [1, 241]}, "value.cup"),
        ("point_set_map", {"cup": [[1, 1], [321, 1]]}, "value.cup[1]"),
        ("bbox", [10, 10, 321, 20], "value"),
        ("bbox_set", [[10, 10, 20, 20], [10, -1, 20, 20]], "value[1]"),
        ("segment", [[0, 0], [0, 241]], "value"),
        ("segment_set", [[[0, 0], [320, 240]], [[240, 320], [0, 0]]], "value[1]"),
    ],
)
def test_what_is_outside_is_refused_by_its_path(name, value, path):
    """Each type, each side; the path names the item."""
    with pytest.raises(ContractError, match="outside the picture of 320 x 240 pixels") as refused:
        check(name, value)
    assert refused.value.path == path


@given(st.lists(st.tuples(st.integers(-10, 330), st.integers(-10, 250)), max_size=6))
def test_a_set_is_refused_if_and_only_if_one_of_its_points_is_outside(points):
    """The look at whole columns says what the look at each point says."""
    inside = all(0 <= x <= 320 and 0 <= y <= 240 for x, y in points)
    if inside:
        check("point_set", [list(point) for point in points])
    else:
        with pytest.raises(ContractError, match="outside"):
            check("point_set", [list(point) for point in points])
