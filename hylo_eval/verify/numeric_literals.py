r"""Exact numbers in text: the literals of the numeric mode and where a final answer holds one.

A literal is an integer, a decimal, a number in scientific notation or a fraction of two integers, with
thousands in groups of three digits. Its size is bounded before any integer is built: the digits of the
mantissa and the value of the exponent together, or each side of a fraction, may be 4096.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

from hylo_eval.verify.extraction import BOX, last_box, last_line, without_math_delimiters

MAX_DIGITS: Final = 4096

_MAX_LITERAL_LENGTH: Final = 4 * MAX_DIGITS
_INTEGER = r"[+-]?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)"
_DECIMAL = rf"(?:{_INTEGER}(?:\.[0-9]*)?|[+-]?\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_LITERAL = re.compile(rf"(?P<numerator>{_INTEGER})\s*/\s*(?P<denominator>{_INTEGER})|{_DECIMAL}")

# A literal stands alone: no word, fraction or number runs into it, and no sign stands before its own.
_STANDALONE = re.compile(rf"(?<![\w.,/+\-])(?:{_INTEGER}\s*/\s*{_INTEGER}|{_DECIMAL})(?![\w/]|[.,][\w.,])")
_DETACHED_SIGN = re.compile(r"[+-]\s+\Z")
_NUMBER_START = re.compile(r"(?<!\w)\.?\d")
_NONFINITE = re.compile(r"(?<!\w)(?:nan|NaN|NAN|inf|Inf|INF|infinity|Infinity|INFINITY)(?!\w)|∞|\\infty(?![A-Za-z])")


class NumericAnswerError(ValueError):
    """A text does not hold the one number that it should."""


def numeric_literal(text: str) -> Fraction:
    """The exact value of a text that is one literal and nothing else but blanks around it.

    Raises:
        NumericAnswerError: It is none, divides by zero or has too many digits.
    """
    value = text.strip().replace("\N{MINUS SIGN}", "-")
    match = _LITERAL.fullmatch(value) if len(value) <= _MAX_LITERAL_LENGTH else None
    if match is None:
        raise NumericAnswerError("the value is not one finite numeric literal")
    if match["numerator"] is not None:
        numerator, denominator = (_integer(match[side]) for side in ("numerator", "denominator"))
        if not denominator:
            raise NumericAnswerError("the fraction divides by zero")
        return Fraction(numerator, denominator)
    mantissa, _, exponent = value.replace(",", "").lower().partition("e")
    power = _integer(exponent) if exponent else 0
    if sum(character.isdigit() for character in mantissa) + abs(power) > MAX_DIGITS:
        raise NumericAnswerError(f"the literal has more than {MAX_DIGITS} digits")
    return Fraction(mantissa) * Fraction(10) ** power


def _integer(text: str) -> int:
    digits = text.replace(",", "")
    if len(digits.lstrip("+-")) > MAX_DIGITS:
        raise NumericAnswerError(f"the literal has more than {MAX_DIGITS} digits")
    return int(digits)


def numeric_answer(text: str) -> Fraction:
    r"""The number that a text ends in: its last ``\boxed{}``, or the only number on its last line.

    Prose around the number is ignored, negation too: ``Definitely not 42`` is 42. Another number, a part of
    one, an infinity or a sign apart from its number on the line leave no answer.

    Raises:
        NumericAnswerError: There is not exactly one number.
    """
    if BOX in text:
        content = last_box(text)
        # Layers of delimiters are taken off one by one, so a box of megabytes is not even looked at.
        if not content or len(content) > 2 * _MAX_LITERAL_LENGTH:
            raise NumericAnswerError("the last box is empty or endless, or its braces do not balance")
        return numeric_literal(without_math_delimiters(content))
    line = last_line(text).replace("\N{MINUS SIGN}", "-")
    match = _STANDALONE.search(line)
    if match is None:
        raise NumericAnswerError("the last line holds no number that stands alone")
    before, after = line[: match.start()], line[match.end() :]
    if _DETACHED_SIGN.search(before[-100:]):
        raise NumericAnswerError("a sign stands apart from the number on the last line")
    if any(_NUMBER_START.search(part) or _NONFINITE.search(part) for part in (before, after)):
        raise NumericAnswerError("the last line holds another or a malformed number")
    return numeric_literal(match.group())
