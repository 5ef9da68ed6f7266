"""What stands in a score or a trace is bounded JSON, whatever the candidate wrote."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_core.canonical import check_json
from hylo_eval.verify.bounded_detail import (
    MAX_DETAIL_BYTES,
    MAX_ENTRIES,
    MAX_TEXT_CHARACTERS,
    bounded_detail,
    bounded_text,
)
from tests.strategies import any_json

surrogates = st.text(st.characters(), max_size=8)


@given(st.dictionaries(surrogates, any_json | surrogates | st.binary(max_size=3), max_size=5))
def test_every_detail_becomes_bounded_json(detail):
    """NaN, huge integers, lone surrogates and values that are no JSON never reach a contract."""
    bounded = bounded_detail(detail)
    check_json(bounded)
    assert len(json.dumps(bounded, ensure_ascii=False).encode()) <= MAX_DETAIL_BYTES
    assert bounded_detail(bounded) == bounded


def test_a_small_clean_detail_is_left_as_it_is():
    """The control: nothing is lost that could stay."""
    detail = {"extracted": "C", "expected": ["C"], "n": 3, "x": 0.5, "ok": True, "none": None}
    assert bounded_detail(detail) == detail


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (float("nan"), "nan"),
        (float("inf"), "inf"),
        (2**53, "9007199254740992"),
        pytest.param(10**5000, "an integer of 16610 bits", id="more digits than Python prints"),
        ("\ud800", "?"),
        (b"x", "bytes"),
    ],
)
def test_what_json_cannot_hold_is_shown_as_text(value, shown):
    """And never coerced to another number."""
    assert bounded_detail({"x": value}) == {"x": shown}


def test_long_texts_and_lists_are_cut():
    """A text ends in an ellipsis, a list keeps its first entries."""
    bounded = bounded_detail({"x": "a" * 10_000, "y": list(range(1000))})
    assert bounded["x"] == "a" * (MAX_TEXT_CHARACTERS - 1) + "…"
    assert bounded["y"] == list(range(MAX_ENTRIES))
    assert bounded_text("a" * MAX_TEXT_CHARACTERS) == "a" * MAX_TEXT_CHARACTERS


def test_deep_nesting_ends():
    """A value nested a hundred thousand levels deep needs no recursion of that depth."""
    value: object = "deep"
    for _ in range(100_000):
        value = [value]
    check_json(bounded_detail({"x": value}))


def test_of_a_detail_that_is_too_large_the_reason_is_kept():
    """Many entries of the longest text are more than a detail may take."""
    detail = {"reason": "schema_violation", **{f"k{index}": "a" * 500 for index in range(31)}}
    assert bounded_detail(detail) == {"reason": "schema_violation", "truncated": True}
