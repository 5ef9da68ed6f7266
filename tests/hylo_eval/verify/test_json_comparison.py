"""Equality of decoded JSON values."""

import json
import math
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_eval.verify.json_comparison import NumericTypePolicy, json_values_equal

finite = st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | st.integers() | finite | st.text()
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


@given(values)
def test_every_value_equals_its_own_round_trip(value):
    """A value survives encoding and decoding unchanged under both policies."""
    again = json.loads(json.dumps(value))
    assert json_values_equal(value, again)
    assert json_values_equal(value, again, numeric_types=NumericTypePolicy.STRICT)


@given(values, values, st.sampled_from(NumericTypePolicy))
def test_comparison_is_symmetric(left, right, policy):
    """Which side is the reference changes nothing."""
    assert json_values_equal(left, right, numeric_types=policy) == json_values_equal(right, left, numeric_types=policy)


@given(values, values)
def test_strict_equality_implies_equality_by_value(left, right):
    """The strict policy only ever takes equalities away."""
    if json_values_equal(left, right, numeric_types=NumericTypePolicy.STRICT):
        assert json_values_equal(left, right)


@given(values)
def test_a_wrapped_value_is_another_value(value):
    """A one-element array is not its element."""
    assert not json_values_equal(value, [value])


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (True, 1),
        (False, 0),
        (True, 1.0),
        (None, False),
        ("1", 1),
        ([], {}),
        ("", []),
        ("ab", ["a", "b"]),
        (None, 0),
    ],
)
def test_values_of_different_kinds_differ(left, right):
    """Booleans, numbers, texts, arrays, objects and null never equal each other."""
    assert not json_values_equal(left, right)
    assert not json_values_equal(right, left)


def test_numbers_compare_exactly_by_value_and_by_type_when_strict():
    """1 equals 1.0 by value only, and a huge integer is not rounded to the nearest float."""
    assert json_values_equal(1, 1.0)
    assert not json_values_equal(1, 1.0, numeric_types=NumericTypePolicy.STRICT)
    assert not json_values_equal(2**53 + 1, float(2**53))
    assert not json_values_equal(10**400, 1e308)


def test_the_tolerance_is_inclusive_and_only_between_floats():
    """0.5 apart is equal at tolerance 0.5; an integer on either side gets no tolerance."""
    assert json_values_equal(1.0, 1.5, 0.5)
    assert not json_values_equal(1.0, 1.75, 0.5)
    assert not json_values_equal(1, 2, 5.0)
    assert not json_values_equal(1, 1.5, 5.0)
    assert json_values_equal(1, 1.0, 0.5)
    assert not json_values_equal(1.0, 1.0, -1.0)
    assert not json_values_equal(1.0, 1.0, math.nan)


def test_members_are_unordered_and_elements_ordered():
    """Member order is free, element order is not, and a missing or extra member differs."""
    assert json_values_equal({"a": 1, "b": [1, 2]}, {"b": [1, 2], "a": 1})
    assert not json_values_equal([1, 2], [2, 1])
    assert not json_values_equal({"a": None}, {})
    assert not json_values_equal({"a": None}, {"b": None})
    assert not json_values_equal([1], [1, 1])


def test_nan_equals_nothing():
    """A decoded NaN earns no equality, not even with itself."""
    assert not json_values_equal(math.nan, math.nan)


def test_frozen_containers_are_arrays_and_objects():
    """Tuples stand for arrays, as frozen specs hold them."""
    assert json_values_equal((1, (2,)), [1, [2]])
    assert not json_values_equal((1, 2), [1])
    assert json_values_equal(MappingProxyType({"a": (1,)}), {"a": [1]})
    assert not json_values_equal(MappingProxyType({"a": None}), {"b": None})
    assert not json_values_equal({"a": 1}, (1,))


def nested(depth, leaf):
    value = leaf
    for level in range(depth):
        value = [value] if level % 2 else {"k": value}
    return value


def test_depth_is_not_limited_by_the_interpreter_stack():
    """A hundred thousand levels compare without recursion."""
    assert json_values_equal(nested(100_000, 1), nested(100_000, 1))
    assert not json_values_equal(nested(100_000, 1), nested(100_000, 2))
