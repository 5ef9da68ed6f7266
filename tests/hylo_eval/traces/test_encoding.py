"""Numbers and pictures as trace lines hold them."""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from hylo_eval.traces.encoding import (
    MAX_INLINE_NUMBERS,
    decode_numbers,
    encode_number,
    encode_value,
    is_picture,
    picture_digest,
    split_observation,
)


def through_json(value: Any) -> Any:
    """Written as a trace writes it, read by a strict reader, decoded."""
    return decode_numbers(json.loads(orjson.dumps(encode_value(value), option=orjson.OPT_SERIALIZE_NUMPY)))


def same(left: Any, right: Any) -> bool:
    """Equal, with NaN equal to itself and the sign of zero seen."""
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    if math.isnan(left):
        return math.isnan(right)
    return left == right and math.copysign(1, left) == math.copysign(1, right)


@given(st.floats())
def test_a_number_survives(value: float) -> None:
    """Every float, bit for bit up to the payload of NaN; what JSON lacks becomes text."""
    encoded = encode_number(value)
    assert isinstance(encoded, float) == math.isfinite(value)
    assert same(decode_numbers(json.loads(orjson.dumps(encoded))), value)


@given(st_numpy.arrays(st.sampled_from([np.float64, np.float32, np.float16]), st_numpy.array_shapes(max_side=4)))
def test_an_array_survives_in_shape_and_value(array: np.ndarray[Any, Any]) -> None:
    """Infinities and NaN anywhere in it, in any dtype: never null."""
    encoded = orjson.dumps(encode_value(array), option=orjson.OPT_SERIALIZE_NUMPY)
    assert b"null" not in encoded
    read = np.array(decode_numbers(json.loads(encoded)), dtype=array.dtype)
    np.testing.assert_array_equal(read, array)


@pytest.mark.parametrize(
    "array",
    [np.arange(12.0).reshape(3, 4).T, np.arange(12.0)[::2], np.arange(12.0)[::-1], np.asfortranarray(np.eye(3))],
)
def test_a_view_that_is_not_contiguous_is_written_in_row_order(array: np.ndarray[Any, Any]) -> None:
    """orjson takes only contiguous arrays."""
    with pytest.raises(TypeError):
        orjson.dumps(array, option=orjson.OPT_SERIALIZE_NUMPY)
    assert through_json(array) == array.tolist()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.float32(0.5), 0.5),
        (np.float64("nan"), "NaN"),
        (np.float32("-inf"), "-Infinity"),
        (np.int16(3), 3),
        (np.bool_(True), True),
        (np.array(2.5), 2.5),
        (np.array(7, np.uint8), 7),
        (np.array(math.inf), "Infinity"),
        (np.array([1.5, 2.5], ">f8"), [1.5, 2.5]),
        (np.array([0.5, math.nan], np.longdouble), [0.5, "NaN"]),
        (True, True),
        (None, None),
        ("NaN", "NaN"),
        ({"a": (1, math.inf), "b": {"c": np.array([math.nan, 1.0])}}, {"a": [1, "Infinity"], "b": {"c": ["NaN", 1.0]}}),
    ],
)
def test_a_value_of_any_kind_becomes_json(value: Any, expected: Any) -> None:
    """Scalars of numpy become scalars, a number stays no list, texts stay."""
    assert json.loads(orjson.dumps(encode_value(value), option=orjson.OPT_SERIALIZE_NUMPY)) == expected


@pytest.mark.parametrize(
    ("value", "picture"),
    [
        (np.zeros((4, 4, 3), np.uint8), True),
        (np.zeros((4, 4), np.uint8), True),
        (np.zeros(4, np.uint8), False),
        (np.zeros((4, 4, 3), np.float32), False),
        (np.zeros(MAX_INLINE_NUMBERS), False),
        (np.zeros(MAX_INLINE_NUMBERS + 1), True),
        (1.0, False),
        ("text", False),
    ],
)
def test_what_is_kept_as_a_digest(value: Any, picture: bool) -> None:
    """Pictures of bytes, and arrays too large for a line."""
    assert is_picture(value) is picture


def test_the_digest_of_a_picture_is_that_of_its_pixels_in_row_order() -> None:
    """A flipped view has another digest than the picture, its copy has its own; the expected one is made by hand."""
    picture = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)
    assert picture_digest(picture) == f"sha256:{hashlib.sha256(bytes(range(18))).hexdigest()}"
    flipped = picture[::-1]
    assert picture_digest(flipped) == picture_digest(flipped.copy()) != picture_digest(picture)


def test_an_observation_is_split_in_its_own_order() -> None:
    """Numbers and text on one side, pictures on the other."""
    observation = {"b": np.zeros(3), "view": np.zeros((2, 2, 3), np.uint8), "a": "text"}
    assert split_observation(observation) == (("b", "a"), ("view",))
