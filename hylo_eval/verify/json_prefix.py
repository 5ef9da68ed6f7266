"""A JSON scanner for text that may stop in the middle, as generated text does.

The standard decoder knows only "valid" and "not valid", and recurses. This scanner makes a single pass with
an explicit stack, tells *unfinished* from *wrong*, and names the structures still open and the shortest
text that would close them. Grammar: RFC 8259, with duplicate object keys refused.
"""

from __future__ import annotations

import json
import math
import re
from enum import Enum, StrEnum, auto
from typing import TYPE_CHECKING, Any, NoReturn, cast

import attrs

from hylo_eval.verify.json_comparison import JsonValue

if TYPE_CHECKING:
    from collections.abc import Iterable


JSON_WHITESPACE = " \t\r\n"

MAX_DECODED_DEPTH = 500
"""Nesting that is decoded at most. The standard decoder recurses, and its own limit moves with the
interpreter's version and with the caller's stack; this one does not."""


class PrefixStatus(StrEnum):
    """What a text is, seen as the beginning of a structure."""

    COMPLETE = "complete"
    EXTENDABLE = "extendable"
    INVALID = "invalid"


@attrs.frozen(kw_only=True)
class JsonScan:
    """What one JSON value at the start of a text turned out to be.

    Attributes:
        status: ``complete`` says that one whole value stands there, whatever follows it.
        end: Offset after the value; where the text ended or went wrong when there is no whole value.
        open_structures: Opening characters not closed yet, outermost first.
        closing_suffix: Text that closes every open structure without inventing a key, value, literal, number
            or escape; None when there is no such text.
        reason: Why the text is invalid; empty otherwise.
        decoded: Whether ``value`` holds the value of a complete array or object. Otherwise it is None, and
            :func:`decode_value` tells the value, or why there is none.
        value: The decoded value.
    """

    status: PrefixStatus
    end: int
    open_structures: tuple[str, ...] = ()
    closing_suffix: str | None = None
    reason: str = ""
    decoded: bool = False
    value: JsonValue = attrs.field(default=None, eq=False, repr=False)


class _Expect(Enum):
    """What may come next, blanks aside."""

    VALUE = auto()
    FIRST_ELEMENT = auto()
    FIRST_KEY = auto()
    KEY = auto()
    COLON = auto()
    SEPARATOR = auto()
    NOTHING = auto()


class _Unfinished(Exception):
    """The text ends inside a token; ``suffix`` is what would end that token, if anything fixed would."""

    def __init__(self, token_suffix: str | None) -> None:
        self.token_suffix = token_suffix


class _Invalid(Exception):
    """The text cannot be the beginning of a JSON value."""

    def __init__(self, offset: int, reason: str) -> None:
        self.offset = offset
        self.reason = reason


_BLANKS = re.compile(r"[ \t\r\n]*")
# Possessive: a string is read once, and an escape that this pattern does not take is explained by hand.
_VALID_STRING_PART = re.compile(r'(?:[^"\\\x00-\x1f]++|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*+')
_HEX_DIGITS = re.compile(r"[0-9a-fA-F]{0,4}")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
# The longest text that a valid number could begin with; the exponent stands first because the first match
# wins.
_NUMBER_BEGINNING = re.compile(
    r"-?(?:(?:0|[1-9][0-9]*)(?:(?:\.[0-9]+)?[eE][+-]?[0-9]*|\.[0-9]*)?)?",
)
_LITERALS = {"t": "true", "f": "false", "n": "null"}
_CLOSERS = {"{": "}", "[": "]", '"': '"'}
# A text that ends here can be closed as it stands; after a comma or a colon a value would have to be
# invented.
_CLOSABLE = frozenset((_Expect.FIRST_ELEMENT, _Expect.FIRST_KEY, _Expect.SEPARATOR))


def scan_json(text: str, start: int = 0, *, stop_character: str = "") -> JsonScan:
    """Scan the JSON value at ``start``, leading blanks allowed; what follows the value is not looked at.

    Args:
        text: The text; offsets count its characters.
        start: Where the value begins.
        stop_character: A character that, beside the JSON ones, ends a number: the first of a closing marker.

    Returns:
        The scan. Time and memory are linear in the text; nesting is bounded by memory alone.
    """
    whole = _decoded_container(text, start)
    if whole is not None:
        return whole
    scanner = _Scanner(text, start, stop_character)
    try:
        scanner.run()
    except _Unfinished as stop:
        suffix = None if stop.token_suffix is None else stop.token_suffix + scanner.containers_suffix()
        return JsonScan(
            status=PrefixStatus.EXTENDABLE,
            end=len(text),
            open_structures=tuple(scanner.open),
            closing_suffix=suffix,
        )
    except _Invalid as stop:
        return JsonScan(
            status=PrefixStatus.INVALID,
            end=stop.offset,
            open_structures=tuple(scanner.open),
            reason=stop.reason,
        )
    return JsonScan(status=PrefixStatus.COMPLETE, end=scanner.position, closing_suffix="")


def decode_value(text: str) -> JsonValue:
    """Decode a text that is exactly one JSON value, blanks around it allowed.

    Raises:
        ValueError: The text is not JSON, repeats an object key, is nested deeper than ``MAX_DECODED_DEPTH``,
            or holds a number that has no exact finite counterpart here (``1e999``, thousands of digits).
    """
    scan = scan_json(text)
    if scan.status is not PrefixStatus.COMPLETE:
        raise ValueError(scan.reason or "the JSON value is unfinished")
    if text[scan.end :].strip(JSON_WHITESPACE):
        raise ValueError("there is content after the JSON value")
    if scan.decoded:
        return scan.value
    try:
        value = cast("JsonValue", json.loads(text, parse_float=_finite_float))
    except RecursionError:
        value = None
    else:
        if not _is_deep(value):
            return value
    raise ValueError(f"the JSON value is nested more than {MAX_DECODED_DEPTH} deep")


def _decoded_container(text: str, start: int) -> JsonScan | None:
    """The scan of a whole array or object by the standard decoder; None when it stands in doubt.

    A hundred times as fast as the scanner, which then only explains what this decoder refuses.
    """
    begin = start
    while begin < len(text) and text[begin] in JSON_WHITESPACE:
        begin += 1
    if not text.startswith(("{", "["), begin):
        return None
    try:
        value, end = _DECODER.raw_decode(text, begin)
    except (ValueError, RecursionError):
        return None
    # Counting brackets, some of them in strings, is cheaper than looking and enough for almost every value.
    brackets = text.count("[", begin, end) + text.count("{", begin, end)
    if brackets > MAX_DECODED_DEPTH and _is_deep(value):
        return None
    return JsonScan(status=PrefixStatus.COMPLETE, end=end, closing_suffix="", decoded=True, value=value)


def _is_deep(value: JsonValue) -> bool:
    """Whether a value is nested deeper than ``MAX_DECODED_DEPTH``."""
    level = _containers([value])
    for _ in range(MAX_DECODED_DEPTH):
        level = [inner for outer in level for inner in _containers(outer)]
        if not level:
            return False
    return True


def _containers(values: Iterable[Any]) -> list[Iterable[Any]]:
    """The contents of the arrays and objects among some values."""
    return [
        cast("dict[str, Any]", value).values() if isinstance(value, dict) else value
        for value in values
        if isinstance(value, dict | list)
    ]


def _unique_members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("an object repeats a key")
    return members


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


def _finite_float(spelling: str) -> float:
    number = float(spelling)
    if math.isinf(number):
        raise ValueError(f"the number {spelling[:40]} is beyond the range of floats")
    return number


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique_members, parse_float=_finite_float, parse_constant=_refuse_constant
)


class _Scanner:
    """One pass over one text; ``open`` is the explicit stack."""

    def __init__(self, text: str, start: int, stop_character: str) -> None:
        self.text = text
        self.position = start
        self.open: list[str] = []
        self._keys: list[set[str]] = []
        ends = re.escape(JSON_WHITESPACE + ",]}" + stop_character)
        self._number_run = re.compile(f"[^{ends}]*")

    def run(self) -> None:
        expect = _Expect.VALUE
        while expect is not _Expect.NOTHING:
            self._advance(_BLANKS)
            if self.position == len(self.text):
                raise _Unfinished("" if expect in _CLOSABLE else None)
            expect = self._step(expect, self.text[self.position])

    def containers_suffix(self) -> str:
        return "".join(_CLOSERS[opener] for opener in reversed(self.open) if opener != '"')

    def _advance(self, pattern: re.Pattern[str]) -> str:
        """Move over what ``pattern`` matches here, possibly nothing, and return it."""
        matched = cast("re.Match[str]", pattern.match(self.text, self.position))
        self.position = matched.end()
        return matched.group()

    def _step(self, expect: _Expect, char: str) -> _Expect:
        if expect is _Expect.SEPARATOR:
            return self._separator(char)
        if expect is _Expect.COLON:
            if char != ":":
                raise _Invalid(self.position, "Expected a colon after the object key")
            self.position += 1
            return _Expect.VALUE
        if expect is _Expect.FIRST_KEY and char == "}":
            return self._close()
        if expect in (_Expect.FIRST_KEY, _Expect.KEY):
            return self._key(char)
        if expect is _Expect.FIRST_ELEMENT and char == "]":
            return self._close()
        return self._value(char)

    def _value(self, char: str) -> _Expect:
        if char in "{[":
            return self._open(char)
        if char == '"':
            self._string(is_key=False)
        elif char in _LITERALS:
            self._literal(_LITERALS[char])
        elif char in "-0123456789":
            self._number()
        else:
            raise _Invalid(self.position, "Expected a JSON value")
        return self._after_value()

    def _open(self, char: str) -> _Expect:
        self.open.append(char)
        self.position += 1
        if char == "[":
            return _Expect.FIRST_ELEMENT
        self._keys.append(set())
        return _Expect.FIRST_KEY

    def _close(self) -> _Expect:
        self.position += 1
        if self.open.pop() == "{":
            self._keys.pop()
        return self._after_value()

    def _after_value(self) -> _Expect:
        return _Expect.SEPARATOR if self.open else _Expect.NOTHING

    def _separator(self, char: str) -> _Expect:
        if char == _CLOSERS[self.open[-1]]:
            return self._close()
        if char != ",":
            raise _Invalid(self.position, "Expected a comma or the matching closer")
        self.position += 1
        return _Expect.KEY if self.open[-1] == "{" else _Expect.VALUE

    def _key(self, char: str) -> _Expect:
        if char != '"':
            raise _Invalid(self.position, "Expected an object key")
        key = self._string(is_key=True)
        if key in self._keys[-1]:
            raise _Invalid(self.position - 1, "Duplicate object key")
        self._keys[-1].add(key)
        return _Expect.COLON

    def _literal(self, spelling: str) -> None:
        for expected in spelling:
            if self.position == len(self.text):
                raise _Unfinished(None)
            if self.text[self.position] != expected:
                raise _Invalid(self.position, "Invalid JSON literal")
            self.position += 1

    def _number(self) -> None:
        start = self.position
        run = self._advance(self._number_run)
        begun = cast("re.Match[str]", _NUMBER_BEGINNING.match(run)).end()
        if begun < len(run):
            raise _Invalid(start + begun, "Invalid JSON number")
        if _NUMBER.fullmatch(run):
            return
        if self.position == len(self.text):
            raise _Unfinished(None)
        raise _Invalid(self.position, "Unfinished JSON number")

    def _string(self, *, is_key: bool) -> str:
        """Move over a string; the decoded text of a key, for whose duplicates one looks, else nothing."""
        start = self.position
        self.open.append('"')
        self.position += 1
        self._advance(_VALID_STRING_PART)
        if self.position == len(self.text):
            raise _Unfinished(None if is_key else '"')
        char = self.text[self.position]
        if char == "\\":
            self._explain_escape()
        if char != '"':
            raise _Invalid(self.position, "Unescaped control character in a JSON string")
        self.position += 1
        self.open.pop()
        return cast("str", json.loads(self.text[start : self.position])) if is_key else ""

    def _explain_escape(self) -> NoReturn:
        """Raise for the escape that begins here, which is not a whole, valid one."""
        self.position += 1
        if self.position == len(self.text):
            raise _Unfinished(None)
        if self.text[self.position] != "u":
            raise _Invalid(self.position, "Invalid JSON escape")
        self.position += 1
        self._advance(_HEX_DIGITS)
        if self.position == len(self.text):
            raise _Unfinished(None)
        raise _Invalid(self.position, "Invalid JSON unicode escape")
