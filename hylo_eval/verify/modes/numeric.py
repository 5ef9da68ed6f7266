r"""Mode numeric: one number, compared in exact arithmetic.

The number is the last ``\boxed{}`` or the only literal on the last line; see
:mod:`hylo_eval.verify.numeric_literals`. It may differ from the expected one by
``max(tolerance_abs, tolerance_rel * |expected|)``, the boundary included. Tolerances mean what their decimal
spelling says: 0.01 is 1/100.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from hylo_eval.verify.modes.grader import AnswerGrader
from hylo_eval.verify.numeric_literals import NumericAnswerError, numeric_answer, numeric_literal
from hylo_eval.verify.verdict import InvalidTask, Reward, scored, zero

if TYPE_CHECKING:
    from hylo_eval.verify.specs.short_answer import NumericSpec


@lru_cache(maxsize=256)
def _reference(expected: str, tolerance_abs: float, tolerance_rel: float) -> tuple[Fraction, Fraction]:
    """The expected number and the tolerance around it."""
    for name, tolerance in (("tolerance_abs", tolerance_abs), ("tolerance_rel", tolerance_rel)):
        if not math.isfinite(tolerance) or tolerance < 0:
            raise InvalidTask(f"{name} must be finite and not negative, not {tolerance}")
    try:
        value = numeric_literal(expected)
    except NumericAnswerError as error:
        raise InvalidTask(f"expected {expected!r:.80} is not a number: {error}") from error
    return value, max(Fraction(str(tolerance_abs)), Fraction(str(tolerance_rel)) * abs(value))


def check_numeric(spec: NumericSpec) -> None:
    """Raises InvalidTask for a reference that is no literal and for a tolerance that is no distance."""
    _reference(spec.expected, spec.tolerance_abs, spec.tolerance_rel)


def grade_numeric_value(spec: NumericSpec, value: Fraction) -> Reward:
    """Scores an exact number."""
    if not isinstance(value, Fraction):
        raise TypeError(f"an exact number is a Fraction, not {type(value).__name__}")
    expected, tolerance = _reference(spec.expected, spec.tolerance_abs, spec.tolerance_rel)
    return scored(
        abs(value - expected) <= tolerance,
        extracted=str(value),
        expected=spec.expected,
        tolerance_abs=spec.tolerance_abs,
        tolerance_rel=spec.tolerance_rel,
    )


def grade_numeric_candidate(spec: NumericSpec, candidate: str) -> Reward:
    """Scores the number that a text ends in."""
    check_numeric(spec)
    try:
        value = numeric_answer(candidate)
    except NumericAnswerError as error:
        return zero("invalid_numeric_candidate", error=str(error))
    return grade_numeric_value(spec, value)


def grade_numeric_candidate_float(expected: float, value: float | None, *, tolerance_abs: float) -> Reward:
    """Scores a float that the caller parsed, under an absolute tolerance in float arithmetic.

    Args:
        expected: The reference.
        value: The candidate; None when the caller found none.
        tolerance_abs: Largest accepted distance, inclusive. MMMU's own scoring is 0.0, JEEBench's 0.01.

    Returns:
        The verdict; a missing or nonfinite candidate scores zero.

    Raises:
        InvalidTask: The reference or the tolerance is not finite, or the tolerance is negative.
        TypeError: An argument is not a number.
    """
    for number in (expected, tolerance_abs, 0.0 if value is None else value):
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise TypeError(f"a float is needed, not {type(number).__name__}")
    try:
        reference, tolerance = float(expected), float(tolerance_abs)
    except OverflowError as error:
        raise InvalidTask("the reference is outside the range of a float") from error
    if not math.isfinite(reference):
        raise InvalidTask(f"the reference must be finite, not {expected}")
    if not math.isfinite(tolerance) or tolerance < 0:
        raise InvalidTask(f"tolerance_abs must be finite and not negative, not {tolerance_abs}")
    try:
        candidate = math.nan if value is None else float(value)
    except OverflowError:
        candidate = math.inf
    if not math.isfinite(candidate):
        return zero("nonfinite_candidate", extracted=None, expected=reference)
    return scored(abs(candidate - reference) <= tolerance, extracted=candidate, expected=reference)


GRADER: Final = AnswerGrader["NumericSpec"](
    check_spec=check_numeric,
    grade_output=lambda spec, text, _resources: grade_numeric_candidate(spec, text),
    grade_candidate=lambda spec, candidate, _resources: grade_numeric_candidate(spec, candidate),
)
