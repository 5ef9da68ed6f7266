"""Equality of decoded JSON values, with an explicit policy for numbers.

Python's ``==`` is too generous for grading (``True == 1``) and, on nested values, recursive: a reply of ten
thousand brackets would end the grader. The comparison here walks an explicit stack and never coerces.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TypeAlias

JsonValue: TypeAlias = "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
"""A decoded JSON value; frozen specs hold arrays as tuples and objects as read-only mappings."""


class NumericTypePolicy(StrEnum):
    """Whether an integer can equal a float."""

    VALUE = "value"
    """Numbers are compared by value: ``1`` equals ``1.0``, exactly and without rounding either side."""

    STRICT = "strict"
    """An integer never equals a float: ``1`` differs from ``1.0``."""


def json_values_equal(
    expected: JsonValue,
    actual: JsonValue,
    numeric_tolerance: float | None = None,
    *,
    numeric_types: NumericTypePolicy = NumericTypePolicy.VALUE,
) -> bool:
    """Tell whether two decoded JSON values are the same value.

    Arrays are ordered and the order of object members is not significant. A boolean, a number, a text and
    null never equal a value of another kind.

    Args:
        expected: The reference.
        actual: The candidate.
        numeric_tolerance: Largest absolute difference of two *floats* that still counts as equal, inclusive.
            It never applies when either side is an integer; a negative or NaN tolerance admits nothing.
        numeric_types: Whether an integer may equal a float of the same value.

    Returns:
        True when every part of the two values agrees. Time is linear in the smaller value; nesting of any
        depth is compared without recursion.
    """
    pending: list[tuple[JsonValue, JsonValue]] = [(expected, actual)]
    while pending:
        left, right = pending.pop()
        if left is None or isinstance(left, int | float):
            if not _scalars_equal(left, right, numeric_tolerance, numeric_types):
                return False
        elif isinstance(left, str):
            if not isinstance(right, str) or left != right:
                return False
        elif isinstance(left, Mapping):
            if not isinstance(right, Mapping) or left.keys() != right.keys():
                return False
            pending.extend((value, right[key]) for key, value in left.items())
        else:
            if isinstance(right, str) or not isinstance(right, Sequence) or len(left) != len(right):
                return False
            pending.extend(zip(left, right, strict=True))
    return True


def _scalars_equal(
    left: float | None, right: JsonValue, tolerance: float | None, numeric_types: NumericTypePolicy
) -> bool:
    if not _is_number(left) or not _is_number(right):
        return type(left) is type(right) and left == right
    if isinstance(left, float) and isinstance(right, float):
        return left == right if tolerance is None else abs(left - right) <= tolerance
    if type(left) is type(right) or numeric_types is NumericTypePolicy.VALUE:
        # Python compares int with float exactly; converting the integer would round it or overflow.
        return left == right
    return False


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
