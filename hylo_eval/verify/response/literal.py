"""A bounded reader of Python literals, for responses that are almost JSON.

It accepts what `ast.literal_eval` accepts (numbers, text, bytes, lists, tuples, sets, mappings, True, False,
None, and the ellipsis that stands for an answer in many a template), in linear time, at bounded depth, and
without the warnings and stack limits of the Python compiler, so that an outcome depends neither on the
interpreter's version nor on the caller's stack.
"""

from __future__ import annotations

import re
import unicodedata
from typing import cast

MAX_DEPTH = 64
"""Deepest nesting that is read."""

_SPACE = re.compile(r"(?:[ \t\f]++|\\\r?\n|\#[^\n]*+)*+")
_SPACE_IN_BRACKETS = re.compile(r"(?:[ \t\f\r\n]++|\\\r?\n|\#[^\n]*+)*+")
_LINE_END = re.compile(r"(?<!\\)\n")
_NUMBER = re.compile(
    r"""(?P<base>0[xX](?:_?[0-9a-fA-F])++|0[oO](?:_?[0-7])++|0[bB](?:_?[01])++)
      | (?P<float>(?:[0-9](?:_?[0-9])*+\.(?:[0-9](?:_?[0-9])*+)?|\.[0-9](?:_?[0-9])*+)
                  (?:[eE][+-]?[0-9](?:_?[0-9])*+)?
                  |[0-9](?:_?[0-9])*+[eE][+-]?[0-9](?:_?[0-9])*+)
      | (?P<int>[0-9](?:_?[0-9])*+)""",
    re.VERBOSE,
)
_STRING = re.compile(
    r"""(?P<prefix>[bB][rR]?|[rR][bB]?|[uU])?
        (?:'''(?P<triple_single>(?:[^\\']++|\\.|'(?!''))*+)'''
         |\"\"\"(?P<triple_double>(?:[^\\"]++|\\.|"(?!""))*+)\"\"\"
         |'(?!'')(?P<single>(?:[^\\'\n]++|\\.)*+)'
         |"(?!"")(?P<double>(?:[^\\"\n]++|\\.)*+)")""",
    re.VERBOSE | re.DOTALL,
)
_STRING_START = re.compile(r"""(?:[bB][rR]?|[rR][bB]?|[uU])?['"]""")
_NAME = re.compile(r"[^\W\d]\w*+")
_ESCAPE = re.compile(r"\\(\r?\n|[0-7]{1,3}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|N\{[^}]*\}|.)", re.DOTALL)
_BYTES_ESCAPE = re.compile(r"\\(\r?\n|[0-7]{1,3}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
_SIMPLE_ESCAPES = {
    "\\": "\\", "'": "'", '"': '"',
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
}  # fmt: skip
_CONSTANTS = {"True": True, "False": False, "None": None}
_MAX_INT_DIGITS = 4300
_CLOSING = {"(": ")", "[": "]", "{": "}"}


class NotALiteral(ValueError):
    """The text is no Python literal, or one beyond the bounds.

    Attributes:
        consumed: How many characters were read before this was known: the work done.
    """

    def __init__(self, consumed: int) -> None:
        self.consumed = consumed
        super().__init__(f"no literal, after {consumed} characters")


def read_literal(text: str) -> object:
    """The value that a Python literal denotes.

    Args:
        text: The literal, without surrounding white space.

    Raises:
        NotALiteral: The text is something else, or nests deeper than `MAX_DEPTH`.
    """
    reader = _Reader(text)
    if "\0" in text:
        raise NotALiteral(0)
    try:
        return reader.document()
    except NotALiteral:
        raise
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        # TypeError: an unhashable key or set item. ValueError: a number or an escape that does not exist.
        raise NotALiteral(reader.position) from error


class _Reader:
    """A recursive-descent reader with one text and one position."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def document(self) -> object:
        """The whole text as one value; items separated by commas make a tuple, as in Python."""
        self._skip_to(depth=1)  # lines of comments may come before the value and after it, as in Python
        line = _LINE_END.split(self.text[: self.position])[-1].rpartition("\f")[2]
        if " " in line or "\t" in line:
            raise NotALiteral(self.position)  # an indented line
        value = self._value(0)
        if self._skip_to(depth=0) == ",":
            items = [value]
            while self._skip_to(depth=0) == ",":
                self.position += 1
                if not self._skip_to(depth=0).strip():
                    break
                items.append(self._value(0))
            value = tuple(items)
        if self._skip_to(depth=0).strip() or self._skip_to(depth=1):
            raise NotALiteral(self.position)
        return value

    def _skip_to(self, *, depth: int) -> str:
        """Skip white space and comments; the next character, or nothing at the end."""
        match = (_SPACE_IN_BRACKETS if depth else _SPACE).match(self.text, self.position)
        if match is not None:
            self.position = match.end()
        return self.text[self.position : self.position + 1]

    def _value(self, depth: int) -> object:
        character = self._skip_to(depth=depth)
        if character in _CLOSING:
            if depth >= MAX_DEPTH:
                raise NotALiteral(self.position)
            self.position += 1
            if character == "{":
                return self._mapping_or_set(depth + 1)
            value = self._sequence(_CLOSING[character], depth + 1)
            is_number = type(value) is int or type(value) is float  # one in parentheses
            return self._with_imaginary(cast("float", value), depth) if is_number else value
        if self.text.startswith("...", self.position):
            self.position += 3
            return ...
        if character and character in "0123456789.+-":
            return self._with_imaginary(self._signed(depth), depth)
        if _STRING_START.match(self.text, self.position):
            return self._string(depth)
        return self._constant(depth)

    def _constant(self, depth: int) -> object:
        match = _NAME.match(self.text, self.position)
        name = match.group() if match else ""
        if match and name in _CONSTANTS:
            self.position = match.end()
            return _CONSTANTS[name]
        if match and name == "set":  # Python has no other way to write the empty set
            self.position = match.end()
            for expected in "()":
                if self._skip_to(depth=depth) != expected:
                    break
                self.position += 1
            else:
                return set[object]()
        raise NotALiteral(self.position)

    def _sequence(self, closing: str, depth: int) -> object:
        items: list[object] = []
        commas = 0
        while self._skip_to(depth=depth) != closing:
            items.append(self._value(depth))
            if self._skip_to(depth=depth) == ",":
                self.position += 1
                commas += 1
            elif self._skip_to(depth=depth) != closing:
                raise NotALiteral(self.position)
        self.position += 1
        if closing == "]":
            return items
        return items[0] if len(items) == 1 and not commas else tuple(items)

    def _mapping_or_set(self, depth: int) -> object:
        mapping: dict[object, object] = {}
        members: set[object] = set()
        is_mapping: bool | None = None
        while self._skip_to(depth=depth) != "}":
            key = self._value(depth)
            has_value = self._skip_to(depth=depth) == ":"
            if is_mapping is None:
                is_mapping = has_value
            if has_value != is_mapping:
                raise NotALiteral(self.position)
            if is_mapping:
                self.position += 1
                mapping[key] = self._value(depth)
            else:
                members.add(key)
            if self._skip_to(depth=depth) == ",":
                self.position += 1
            elif self._skip_to(depth=depth) != "}":
                raise NotALiteral(self.position)
        self.position += 1
        return members if is_mapping is False else mapping

    def _with_imaginary(self, value: complex, depth: int) -> complex:
        """A number, or a real number plus or minus the imaginary one that follows it."""
        sign = self._skip_to(depth=depth)
        if sign and sign in "+-":
            self.position += 1
            imaginary = self._unsigned(depth)
            if isinstance(value, complex) or not isinstance(imaginary, complex):
                raise NotALiteral(self.position)
            return value + imaginary if sign == "+" else value - imaginary
        return value

    def _signed(self, depth: int) -> complex:
        """A number with at most one sign."""
        sign = self.text[self.position]
        if sign not in "+-":
            return self._unsigned(depth)
        self.position += 1
        value = self._unsigned(depth)
        return -value if sign == "-" else +value

    def _unsigned(self, depth: int) -> complex:
        """A number without a sign, or one in parentheses, as it may stand after a sign."""
        if self._skip_to(depth=depth) == "(" and depth < MAX_DEPTH:
            self.position += 1
            value = self._unsigned(depth + 1)
            if self._skip_to(depth=depth + 1) != ")":
                raise NotALiteral(self.position)
            self.position += 1
            return value
        match = _NUMBER.match(self.text, self.position)
        if match is None:
            raise NotALiteral(self.position)
        digits = match.group().replace("_", "")
        self.position = match.end()
        following = self.text[self.position : self.position + 1]
        if following in ("j", "J"):
            self.position += 1
            following = self.text[self.position : self.position + 1]
            if match["base"]:
                raise NotALiteral(self.position)
            value = complex(0.0, float(digits))
        elif match["base"]:
            value = int(digits, 0)
        elif match["float"]:
            value = float(digits)
        elif len(digits) > _MAX_INT_DIGITS or (digits[0] == "0" and digits.strip("0")):
            raise NotALiteral(self.position)
        else:
            value = int(digits)
        if following and (following.isalnum() or following in "_."):
            raise NotALiteral(self.position)
        return value

    def _string(self, depth: int) -> str | bytes:
        """One or more adjacent strings, joined."""
        texts: list[str] = []
        raw_bytes: list[bytes] = []
        while _STRING_START.match(self.text, self.position):
            match = _STRING.match(self.text, self.position)
            if match is None:
                raise NotALiteral(len(self.text))  # the search for the closing quote went to the end
            self.position = match.end()
            prefix = (match["prefix"] or "").lower()
            body = next(part for part in match.groups()[1:] if part is not None)
            is_raw = "r" in prefix
            if "b" in prefix:
                raw_bytes.append(_bytes_body(body, is_raw=is_raw))
            else:
                texts.append(body if is_raw or "\\" not in body else _ESCAPE.sub(_unescape, body))
            self._skip_to(depth=depth)
        if texts and raw_bytes:
            raise NotALiteral(self.position)
        return b"".join(raw_bytes) if raw_bytes else "".join(texts)


def _unescape(match: re.Match[str]) -> str:
    escape = match[1]
    kind = escape[0]
    if escape in _SIMPLE_ESCAPES:
        return _SIMPLE_ESCAPES[escape]
    if kind in "\r\n":
        return ""
    if kind in "01234567":
        return chr(int(escape, 8))
    if kind in "xuU" and len(escape) > 1:
        return chr(int(escape[1:], 16))
    if kind == "N" and len(escape) > 1:
        try:
            return unicodedata.lookup(escape[2:-1])
        except KeyError as error:
            raise ValueError(escape) from error
    if kind in "xuUN":
        raise ValueError(escape)
    return match[0]


def _bytes_body(body: str, *, is_raw: bool) -> bytes:
    if not body.isascii():
        raise ValueError("bytes hold ASCII characters alone")
    if is_raw or "\\" not in body:
        return body.encode("ascii")
    return _BYTES_ESCAPE.sub(_unescape_byte, body).encode("latin-1")


def _unescape_byte(match: re.Match[str]) -> str:
    escape = match[1]
    if escape[0] in "uUN":
        return match[0]
    if escape[0] in "01234567":
        return chr(int(escape, 8) & 0xFF)
    return _unescape(match)
