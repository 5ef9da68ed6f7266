"""Specifications of the modes whose answer is a short text: a string, a number or a letter.

They have a module of their own because a command that grades one of them need not make all the other classes.
"""

from __future__ import annotations

import attrs

from hylo_eval.verify.specs import fields
from hylo_eval.verify.specs.base import AnswerSpec


@attrs.frozen(kw_only=True)
class ExactSpec(AnswerSpec):
    """Equality of normalised strings; several expected entries are a list to enumerate."""

    expected: tuple[str, ...] = attrs.field(converter=fields.TEXT_LIST)
    ignore_case: bool = attrs.field(default=True, converter=fields.FLAG)
    ignore_whitespace: bool = attrs.field(default=True, converter=fields.FLAG)
    ordered: bool = attrs.field(default=True, converter=fields.FLAG)
    strip_outer_whitespace: bool = attrs.field(default=True, converter=fields.FLAG)
    substring: bool = attrs.field(default=False, converter=fields.FLAG)


@attrs.frozen(kw_only=True)
class NumericSpec(AnswerSpec):
    """A number within ``max(tolerance_abs, tolerance_rel * |expected|)`` of a literal, computed exactly."""

    expected: str = attrs.field(converter=fields.TEXT)
    tolerance_abs: float = attrs.field(converter=fields.NUMBER)
    tolerance_rel: float = attrs.field(converter=fields.NUMBER)


@attrs.frozen(kw_only=True)
class McqSpec(AnswerSpec):
    """The letter of the right option; ``options`` letters from A on can be chosen."""

    expected: str = attrs.field(converter=fields.TEXT)
    options: int = attrs.field(default=4, converter=fields.INTEGER)
