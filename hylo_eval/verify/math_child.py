"""The part of the math mode that runs in a child process with a deadline: math-verify and sympy.

Their own time limits use ``SIGALRM`` and stop no loop in C. They are off here; the parent's deadline holds.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Any, Final, TypeAlias

from hylo_eval.verify.extraction import BOX, last_box, without_math_delimiters
from hylo_eval.verify.extras import import_extra
from hylo_eval.verify.specs.answer import MathProfile, MathType
from hylo_eval.verify.verdict import InvalidTask

MAX_SHOWN_CHARACTERS: Final = 1000

PLAIN_NUMBER: Final = re.compile(r"0|-?[1-9][0-9]{0,17}|-?(?:0|[1-9][0-9]{0,17})\.[0-9]{1,18}")
"""A number in the form in which it is written most often."""

PLAIN_FRACTION: Final = re.compile(
    r"(?P<slash>(?P<above>-?[1-9][0-9]{0,17})/(?P<below>[1-9][0-9]{0,17}))"
    r"|(?P<sign>-?)\\frac\{(?P<over>-?[1-9][0-9]{0,17})\}\{(?P<under>[1-9][0-9]{0,17})\}"
)
"""A fraction of integers, with a stroke or as ``\\frac{a}{b}``."""

Parsed: TypeAlias = list[Any]
"""What math-verify reads in one text: expressions, and the text itself."""

_SMALL_DEGREE: Final = 64
"""Degree up to which a reference is read and compared in no time."""

_SET_TYPES: Final = frozenset({MathType.SET, MathType.INTERVAL})
_CLOSERS: Final = {"(": ")", "[": "]", "{": "}"}
_SIZE_COMMANDS: Final = (r"\left", r"\right", r"\bigg", r"\Bigg", r"\big", r"\Big")


def prepare() -> None:
    """Imports the libraries and builds the LaTeX parser, outside of any deadline."""
    import logging

    import_extra("sympy", extra="math")
    import_extra("math_verify", extra="math")
    # The libraries warn about the time limits that are off on purpose.
    logging.disable(logging.CRITICAL)
    _read_anchored("x")


def _parse(text: str, *configurations: str) -> Parsed:
    """math-verify's reading of a text, through the named extraction configurations or its own choice."""
    parser = import_extra("math_verify.parser", extra="math")
    chosen = [getattr(parser, name)() for name in configurations] or None
    options: dict[str, Any] = {} if chosen is None else {"extraction_config": chosen}
    parsed: Parsed = parser.parse(text, parsing_timeout=None, raise_on_error=False, **options)
    return parsed


def _verify(expected: Parsed, candidate: Parsed, *, allow_set_relation: bool = False) -> bool:
    grader = import_extra("math_verify.grader", extra="math")
    return bool(
        grader.verify(
            expected,
            candidate,
            allow_set_relation_comp=allow_set_relation,
            timeout_seconds=None,
            raise_on_error=False,
        )
    )


def _read_anchored(text: str) -> Parsed:
    """A text read as one LaTeX expression; as written, if it is none.

    Most answers are plain numbers, which need none of the LaTeX grammar: they are read as it would read them.
    """
    if fraction := PLAIN_FRACTION.fullmatch(text):
        return _fraction(fraction)
    if PLAIN_NUMBER.fullmatch(text):
        sympy = import_extra("sympy", extra="math")
        if text == "0.5":  # the one decimal that math-verify's normalisation writes as a fraction
            return [sympy.Rational(1, 2), r"\frac{1}{2}"]
        return [sympy.Float(text) if "." in text else sympy.Integer(text), text]
    return _parse(f"${without_math_delimiters(text)}$") or _parse(text)


def _fraction(match: re.Match[str]) -> Parsed:
    sympy = import_extra("sympy", extra="math")
    if match["slash"]:
        text = rf"\frac{{{match['above']}}}{{{match['below']}}}"
        return [sympy.Rational(int(match["above"]), int(match["below"])), text]
    value = sympy.Rational(int(match["over"]), int(match["under"]))
    return [-value if match["sign"] else value, match[0]]


def is_plain(expected: str) -> bool:
    """Whether a text is a number or a fraction that needs no reading to be known as mathematics."""
    return bool(PLAIN_NUMBER.fullmatch(expected) or PLAIN_FRACTION.fullmatch(expected))


def _has_expression(parsed: Parsed) -> bool:
    return any(not isinstance(entry, str) for entry in parsed)


def _is_undefined(parsed: Parsed) -> bool:
    """Whether an expression divides by zero, or is undefined for another reason."""
    sympy = import_extra("sympy", extra="math")
    return any(isinstance(entry, sympy.Expr) and bool(entry.doit().has(sympy.nan, sympy.zoo)) for entry in parsed)


def _members(text: str) -> list[str]:
    """The parts of a sequence between commas outside brackets; one pair around all of it is left out."""
    value = without_math_delimiters(text)
    for command in _SIZE_COMMANDS:
        value = value.replace(command, "")
    value = value.strip()
    if len(value) > 1 and value[-1] == _CLOSERS.get(value[0]):
        value = value[1:-1]
    members = [""]
    awaited: list[str] = []
    for character in value:
        if character == "," and not awaited:
            members.append("")
            continue
        if character in _CLOSERS:
            awaited.append(_CLOSERS[character])
        elif awaited and character == awaited[-1]:
            awaited.pop()
        members[-1] += character
    return [member.strip() for member in members]


@lru_cache(maxsize=64)
def _reference(expected: str, math_type: MathType, profile: MathProfile) -> tuple[Parsed, ...]:
    """The parsed reference: one reading, or one for each member of a list."""
    match profile:
        case MathProfile.ANCHORED:
            texts = _members(expected) if math_type is MathType.LIST else [expected]
            readings = [_read_anchored(text) for text in texts]
        case MathProfile.BOXED:
            readings = [_parse(f"{BOX}{expected}}}")]
        case MathProfile.RAW:
            readings = [_parse(f"{BOX}{expected}}}", "LatexExtractionConfig")]
    # A box may hold a word, which is compared as it is written.
    is_read = bool if profile is MathProfile.BOXED else _has_expression
    if not all(map(is_read, readings)):
        raise InvalidTask(f"expected {expected!r:.200} cannot be read as mathematics")
    if any(map(_is_undefined, readings)):
        raise InvalidTask(f"expected {expected!r:.200} has no value")
    return tuple(readings)


def check_reference(expected: str, math_type: str, profile: str) -> None:
    """Raises InvalidTask for a reference that math-verify cannot read.

    Reading evaluates little, so the reference is also compared with a number: one that has no end, such as
    ``9^{9^{9}}``, must show here and not in the comparison with a candidate. One that is small enough for any
    comparison to end needs none.
    """
    for reading in _reference(expected, MathType(math_type), MathProfile(profile)):
        if sum(map(_degree, reading)) > _SMALL_DEGREE:
            _verify(reading, _read_anchored("1"))


def _degree(expression: Any) -> float:
    """How many factors a polynomial or a number has when it is written out; infinite for anything else.

    A number counts by its digits, and every level of a power multiplies.
    """
    sympy = import_extra("sympy", extra="math")
    match expression:
        case str():
            return 0.0
        case sympy.Rational():
            return (expression.p.bit_length() + expression.q.bit_length()) / 32 + 1
        case sympy.Symbol() | sympy.NumberSymbol() | sympy.Float():
            return 1.0
        case sympy.Add() | sympy.Mul():
            return sum(map(_degree, expression.args))
        case sympy.Pow(exp=sympy.Rational()):
            return _degree(expression.base) * max(abs(expression.exp.p), expression.exp.q)
        case _:
            return math.inf


def grade_expression(
    expected: str,
    math_type: str,
    profile: str,
    allow_additive_constant: bool,
    candidate: str,
) -> list[Any]:
    """The reward and the detail of an extracted expression."""
    reward, detail = _graded(expected, math_type, profile, allow_additive_constant, candidate)
    return [reward, detail]


# Many samples of one task give the same answer, and comparing it anew would give the same result.
@lru_cache(maxsize=512)
def _graded(
    expected: str,
    math_type: str,
    profile: str,
    allow_additive_constant: bool,
    candidate: str,
) -> tuple[float, dict[str, Any]]:
    kind, place = MathType(math_type), MathProfile(profile)
    reference = _reference(expected, kind, place)
    detail: dict[str, Any] = {"extracted": candidate[:MAX_SHOWN_CHARACTERS], "expected": expected}
    match place:
        case MathProfile.RAW:
            boxed = last_box(candidate)
            text = candidate if BOX not in candidate else f"{BOX}{boxed}}}" if boxed else ""
            readings = [_parse(text, "ExprExtractionConfig", "LatexExtractionConfig")]
        case MathProfile.BOXED:
            readings = [_parse(f"{BOX}{candidate}}}")]
        case MathProfile.ANCHORED:
            texts = _members(candidate) if kind is MathType.LIST else [candidate]
            readings = [_read_anchored(text) for text in texts]
    if not any(readings):
        return 0.0, {"reason": "unparsable", **detail}
    matches = len(readings) == len(reference) and all(
        bool(reading) and _verify(wanted, reading, allow_set_relation=kind in _SET_TYPES)
        for wanted, reading in zip(reference, readings, strict=True)
    )
    if not matches and allow_additive_constant and kind is not MathType.LIST:
        matches = _differ_by_constant(reference[0], readings[0])
    return float(matches), detail


def _differ_by_constant(expected: Parsed, candidate: Parsed) -> bool:
    """Whether two scalar expressions differ by a finite number, as two antiderivatives may."""
    sympy = import_extra("sympy", extra="math")
    unbounded = (sympy.nan, sympy.oo, -sympy.oo, sympy.zoo)

    def is_scalar(value: Any) -> bool:
        is_expression = isinstance(value, sympy.Expr) and not isinstance(value, sympy.MatrixExpr)
        return is_expression and not value.has(*unbounded)

    for one in filter(is_scalar, expected):
        for other in filter(is_scalar, candidate):
            difference = sympy.simplify((one - other).rewrite(sympy.exp))
            if not difference.free_symbols and difference.is_finite is True:
                return True
    return False
