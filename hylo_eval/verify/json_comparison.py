"""Equality of decoded JSON values, with an explicit policy for numbers.

Python's ``==`` is too generous for grading (``True == 1``) and, on nested values, recursive: a reply of ten
thousand brackets would end the grader. The comparison here walks an explicit stack and never coerces.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeAlias, cast

JsonValue: TypeAlias = "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
"""A decoded JSON value; frozen specs hold arrays as tuples and objects as read-only mappings."""


_DECODED = frozenset((dict, list, str, int, float, bool, type(None)))


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
    pending: list[tuple[Any, Any]] = [(expected, actual)]
    while pending:
        left, right = pending.pop()
        kind = cast("type[Any]", type(left))
        # The types that the JSON decoder makes come first, by identity: this loop is every grade's inner one.
        if kind is not type(right) or kind not in _DECODED:
            if not _unlike_types_equal(left, right, numeric_types, pending):
                return False
        elif kind is dict:
            if left.keys() != right.keys():
                return False
            pending.extend([(value, right[key]) for key, value in left.items()])
        elif kind is list and len(left) == len(right):
            pending.extend(zip(left, right, strict=True))
        elif kind is float and numeric_tolerance is not None:
            # Written so that a difference of NaN is not within any tolerance.
            if not abs(left - right) <= numeric_tolerance:
                return False
        elif left != right:  # scalars, and lists whose lengths differ
            return False
    return True


def _unlike_types_equal(
    left: Any, right: Any, numeric_types: NumericTypePolicy, pending: list[tuple[Any, Any]]
) -> bool:
    """Compare values of different types, and frozen containers; what they hold is put on ``pending``."""
    if isinstance(left, Mapping):
        if not isinstance(right, Mapping):
            return False
        members = cast("Mapping[str, Any]", left)
        others = cast("Mapping[str, Any]", right)
        pending.extend((value, others.get(key)) for key, value in members.items())
        return members.keys() == others.keys()
    if isinstance(left, list | tuple):
        if not isinstance(right, list | tuple):
            return False
        elements, other_elements = cast("Sequence[Any]", left), cast("Sequence[Any]", right)
        pending.extend(zip(elements, other_elements, strict=False))
        return len(elements) == len(other_elements)
    if numeric_types is NumericTypePolicy.VALUE and {type(left), type(right)} == {int, float}:
        # Python compares int with float exactly; converting the integer would round it or overflow.
        return bool(left == right)
    return False
