"""Exact answers after canonical normalisation."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hylo_eval.verify.response.answer import answer_text, answers_match, same_value
from hylo_eval.verify.response.parsing import LenientParser


def matches(value, truth, answer_type="integer"):
    return answers_match(value, truth, answer_type, LenientParser())


@pytest.mark.parametrize(
    ("value", "truth", "answer_type"),
    [
        (4, 4.0, "integer"),
        (-0.0, 0, "integer"),
        (10**30, 10**30, "integer"),
        ("12", 12, "integer"),
        (" C ", "c", "option_letter"),
        ("1", "1", "option_letter"),
        ("True", "true", "option_letter"),
        ("12", "12", "pi_expression"),
        ("[2, 0, 3]", [2, 0, 3], "index_list"),
        ("2, 0, 3", (2, 0, 3), "index_list"),
        ({"B ": [1, "X"], "a": 2}, {"A": 2.0, "b": [1.0, "x"]}, "object"),
        ({1: "x"}, {"1": "X"}, "object"),
        ({True: 1, None: 2}, {"true": 1, "null": 2}, "object"),
        ([10, 2, 9], {2, 9, 10}, "index_list"),
        ([[2, 1], "a"], {(2, 1), "A"}, "index_list"),
        ({2, 1}, [1, 2], "index_list"),
        ([1, 2], np.array([1, 2]), "index_list"),
        (3, np.int64(3), "integer"),
        (True, True, "boolean"),
        (..., "...", "string"),
        ([None], [None], "object"),
    ],
)
def test_equal(value, truth, answer_type):
    """What has the same canonical form is right."""
    assert matches(value, truth, answer_type)


@pytest.mark.parametrize(
    ("value", "truth", "answer_type"),
    [
        (True, 1, "integer"),
        (0, False, "boolean"),
        (math.nan, None, "number"),
        (math.nan, math.nan, "number"),
        (math.inf, math.inf, "number"),
        ("7", 7, "string"),
        (7, "7", "string"),
        (0.1 + 0.2, 0.3, "number"),
        ("C. the tray", "C", "option_letter"),
        ("ß", "ss", "string"),
        ([3, 2], [2, 3], "index_list"),
        ([1, 1, 2], {1, 2}, "index_list"),
        ([1, 2], {1, 2, 3}, "index_list"),
        ({"a": 1}, {"a": 1, "b": 2}, "object"),
        ("[" * 5000, [[1]], "index_list"),
        (7 + 0j, 7, "integer"),
        ("no JSON", None, "object"),
        ("", None, "integer"),
        ("null", None, "integer"),
    ],
)
def test_unequal(value, truth, answer_type):
    """What JSON tells apart is wrong: truth values from numbers, text from numbers, NaN from everything."""
    assert not matches(value, truth, answer_type)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=6,
)


@settings(max_examples=50)
@given(JSON_VALUES, JSON_VALUES)
def test_equality_is_reflexive_and_symmetric(first, second):
    """Every JSON value equals itself, and it does not matter which side is the truth."""
    assert same_value(first, first)
    assert same_value(first, second) == same_value(second, first)


@given(st.lists(st.integers() | st.text(max_size=3), unique_by=str), st.randoms(use_true_random=False))
def test_order_never_matters_against_a_set(items, random):
    """A list in any order equals the set of its items."""
    shuffled = list(items)
    random.shuffle(shuffled)
    assert same_value(set(items), shuffled)


def test_answer_as_text():
    """Text stays; other values are compact JSON of the canonical form; what has no text is None."""
    assert answer_text(" As Is ") == " As Is "
    assert answer_text({"B": [1.0, True, None]}) == '{"b":[1,true,null]}'
    assert answer_text({"b": 1, "A": 2}) == answer_text({"a": 2, "B": 1}) == '{"a":2,"b":1}'
    assert answer_text(...) == "..."
    assert answer_text(1j) == "1j"
    assert answer_text(16**5000) is None
