"""The lenient value parser: JSON first, then a bounded Python literal, else nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, cast

import orjson

from hylo_eval.verify.json_depth import text_nests_deeper
from hylo_eval.verify.response.literal import NotALiteral, read_literal

MAX_LITERAL_CHARACTERS = 65_536
"""Longest text that is read as a Python literal."""

MAX_LITERAL_CHARACTERS_IN_ALL = 131_072
"""Characters that one parser reads as Python literals in all; what comes after is read as JSON alone."""

MAX_DEPTH = 500
"""Deepest nesting of a parsed value."""

_MAX_INT_DIGITS = 4300
"""Python's own default limit, held here whatever the process has set: longer ones take quadratic time."""

_SMALLEST_CHARGE = 64
"""Characters that an attempt counts for at least: a short one has its price, too."""

_LITERAL_START = re.compile(
    r"""[\[({'".0-9+\-#]|[bB][rR]?['"]|[rR][bB]?['"]|[uU]['"]|(?:True|False|None)(?!\w)|set\s*\("""
)


def _bounded_int(digits: str) -> int:
    if len(digits) > _MAX_INT_DIGITS:
        raise ValueError("an integer of more than 4300 digits")
    return int(digits)


def as_mapping(value: object) -> Mapping[object, object] | None:
    """The value if it is a mapping, else None; the exact type is asked first, because it is quick to ask."""
    mapping: Any = value
    is_mapping = type(mapping) is dict or isinstance(mapping, Mapping)
    return cast("Mapping[object, object]", mapping) if is_mapping else None


_SHORT_DECODER = json.JSONDecoder()
_DECODER = json.JSONDecoder(parse_int=_bounded_int)

_SMALLEST_FOR_ORJSON = 256
"""Characters from which orjson is quicker although its text is checked first."""

_DIGITS_AS_ZEROS = bytes.maketrans(b"123456789", b"000000000")
_MANY_DIGITS = b"0" * 19


def _decode_json(text: str) -> object:
    """The JSON value of a stripped text as Python's `json` reads it.

    orjson reads the same of what both accept, integers beyond 64 bits apart; what it refuses alone (NaN, lone
    surrogates, deep nesting) is left to `json`.

    Raises:
        ValueError: The text is no JSON, or holds an integer of more than 4300 digits.
        RecursionError: It nests deeper than the stack.
    """
    if len(text) >= _SMALLEST_FOR_ORJSON and text[0] in "{[":
        try:
            if _MANY_DIGITS not in text.encode().translate(_DIGITS_AS_ZEROS):
                return orjson.loads(text)
        except ValueError:
            pass
    # Text no longer than the limit cannot hold an integer beyond it; the plain decoder is faster.
    decoder = _SHORT_DECODER if len(text) <= _MAX_INT_DIGITS else _DECODER
    value, end = decoder.raw_decode(text)
    if end < len(text):
        raise ValueError("the value is followed by other text")
    return value


class LenientParser:
    """Reads values out of text. One parser serves one response, so that its work is bounded as a whole."""

    def __init__(self) -> None:
        self._literal_characters_left = MAX_LITERAL_CHARACTERS_IN_ALL

    def parse(self, value: object) -> object:
        """The value that a text denotes; anything but text passes through unchanged.

        Text is stripped and read as Python's `json` reads it (NaN and Infinity are numbers, of equal keys the
        last wins), else as a Python literal. Text that is neither, that nests deeper than `MAX_DEPTH`, or
        that holds an integer of more than 4300 digits is nothing.

        Returns:
            The value; None for nothing, and for JSON's null.
        """
        if not isinstance(value, str):
            return value
        text = value.strip()
        if not text:
            return None
        if text_nests_deeper(text, MAX_DEPTH):  # brackets in single quotes are a literal's
            return self._parse_literal(text)
        try:
            return _decode_json(text)
        except (ValueError, RecursionError):
            return self._parse_literal(text)

    def _parse_literal(self, text: str) -> object:
        if len(text) > min(MAX_LITERAL_CHARACTERS, self._literal_characters_left):
            return None
        if not _LITERAL_START.match(text):
            return None
        try:
            parsed = read_literal(text)
        except NotALiteral as error:
            self._literal_characters_left -= max(error.consumed, _SMALLEST_CHARGE)
            return None
        self._literal_characters_left -= max(len(text), _SMALLEST_CHARGE)
        return parsed


def depth_exceeds(value: object, limit: int) -> bool:
    """Whether containers nest deeper than the limit, found level by level rather than by recursion."""
    level = [value]
    for _ in range(limit):
        children: list[object] = []
        for item in level:
            if isinstance(item, dict):
                children.extend(cast("dict[str, object]", item).values())
            elif isinstance(item, list):
                children.extend(cast("list[object]", item))
        level = children
        if not level:
            return False
    return any(isinstance(item, dict | list) for item in level)
