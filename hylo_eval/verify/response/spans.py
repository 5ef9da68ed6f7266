"""Where a response may hold its object: tagged blocks, code blocks, balanced braces.

Each search passes over the text once, in one direction. The patterns are possessive (`*+`), so they never
give back what they took: no input makes them quadratic.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterator

FENCE = "```"

_ANSWER_TAG = re.compile(r"<(/?)answer>", re.IGNORECASE)
_KEY_BEFORE = re.compile(r"""["']\s*:\s*\Z""")
_LONGEST_GAP = 64
_JSON_LABEL = re.compile(r"json", re.IGNORECASE)

# A quote that its own line does not close is a character like any other. A backslash and a quote or a
# backslash after it are one unit: after an unclosed string, every later quote of the line is part of such a
# unit, so that the line is not searched again.
_STRING = r'"(?:[^"\\\n]++|\\.)*+"'
_CHARACTERS = rf'[^"{{}}\\]++|\\["\\]?+|{_STRING}|"'
# Braces that hold no others and none of the keys are passed over without a stop.
_NO_KEY = r"""(?!["'](?:answer|annotation)["']\s*+:)"""
_FLAT = rf"""\{{(?:[^{{}}"'\\]++|{_NO_KEY}(?:'|"[^{{}}"\\\n]*+"))*+\}}"""
_BRACES = r"(\{++|\}++)?+"
_TO_BRACES = re.compile(rf"(?:{_CHARACTERS})*+{_BRACES}")
_TO_BRACES_WITH_KEY = re.compile(rf"(?:{_CHARACTERS}|{_FLAT})*+{_BRACES}")
_PROSE_TO_BRACES = re.compile(rf"[^{{]*+{_BRACES}")
_PROSE_TO_BRACES_WITH_KEY = re.compile(rf"(?:[^{{]++|{_FLAT})*+{_BRACES}")

_TO_OPEN_STRING = re.compile(r'(?:[^"]++|"(?:[^"\\]++|\\.)*+")*+', re.DOTALL)

# The same read from the end: there, a quote is escaped when an odd number of backslashes follows it.
_QUOTE = r'"(?=(?:\\\\)*+(?!\\))'
_ESCAPED_QUOTE = r'"(?=\\(?:\\\\)*+(?!\\))'
_REVERSED_STRING = rf'{_QUOTE}(?:[^"\n]++|{_ESCAPED_QUOTE})*+{_QUOTE}'
_REVERSED_FLAT = r'\}(?:[^{}"\\]|"[^{}"\\\n]*+")*+\{'
_REVERSED_TO_BRACES = re.compile(rf'(?:[^"{{}}]++|{_REVERSED_STRING}|"|{_REVERSED_FLAT})*+{_BRACES}')


def tagged_blocks(text: str) -> Iterator[str]:
    """The contents of every `<answer>…</answer>`, tags in any case, from left to right."""
    start = -1
    for tag in _ANSWER_TAG.finditer(text):
        if tag[1]:
            if start >= 0:
                yield text[start : tag.start()]
            start = -1
        elif start < 0:
            start = tag.end()


def code_blocks(text: str) -> Iterator[str]:
    """The contents of every closed code block, from left to right, without a `json` label."""
    opening = text.find(FENCE)
    while opening >= 0:
        closing = text.find(FENCE, opening + len(FENCE))
        if closing < 0:
            return
        yield block_content(text, opening, closing)
        opening = text.find(FENCE, closing + len(FENCE))


def block_content(text: str, opening: int, closing: int) -> str:
    """The content between two fences, stripped, without a `json` label in any case."""
    start = opening + len(FENCE)
    label = _JSON_LABEL.match(text, start, closing)
    return text[label.end() if label else start : closing].strip()


def final_object_start(text: str) -> int:
    """Where the balanced braces start that end at the last character of the text; -1 if there are none.

    The search runs backwards and stops at the opening brace, so that nothing in the prose before it, be it an
    odd quote or a stray brace, has a say.
    """
    if not text.endswith("}"):
        return -1
    last = text.rfind("{")
    if text.find("}", last) == len(text) - 1 and _is_plain(text, last):
        return last
    reversed_text = text[::-1]
    position = depth = len(text) - len(text.rstrip("}"))
    while token := _REVERSED_TO_BRACES.match(reversed_text, position):
        start, position = token.span(1)
        if start < 0:
            return -1
        if reversed_text[start] == "}":
            depth += position - start
        elif position - start >= depth:
            return len(text) - start - depth
        else:
            depth -= position - start
    return -1


def has_open_string(text: str) -> bool:
    """Whether the text ends within a string of double quotes: then its last brace is part of that string."""
    match = _TO_OPEN_STRING.match(text)
    return match is not None and match.end() < len(text)


def _is_plain(text: str, start: int) -> bool:
    """Whether every string from a position on is closed there: its quotes are even, on one line, none escaped."""
    return text.find("\\", start) < 0 and text.find("\n", start) < 0 and text.count('"', start) % 2 == 0


class BraceScan:
    """The balanced braces of a text, found in one pass from left to right.

    Braces within double quotes do not count. Outside all braces a quote is as often an inch or an
    apostrophe as it opens a string, so both readings are made where they differ; a stray opening brace
    hides nothing that comes after it.
    """

    def __init__(self, text: str, *, with_key_only: bool) -> None:
        """Scan a text.

        Args:
            text: The text.
            with_key_only: Whether braces that hold no others and neither of the keys may be left out.
        """
        self._text = text
        first = _read(text, quotes_in_prose=False, with_key_only=with_key_only)
        self._readings = [first]
        if first.has_quote_in_prose:
            self._readings.append(_read(text, quotes_in_prose=True, with_key_only=with_key_only))

    def objects(self) -> list[str]:
        """Every balanced `{…}` that stands in no other, from left to right."""
        spans = {
            (start, end)
            for reading in self._readings
            for start, end in reading.spans
            if not reading.is_after_open(start) or not self._is_value(start)
        }
        return [self._text[start:end] for start, end in sorted(spans)]

    def is_nested(self, start: int, *, has_key: bool) -> bool:
        """Whether an object stands in one that was never closed, rather than after a stray brace of prose.

        Args:
            start: Where the object starts.
            has_key: Whether it is a mapping with one of the keys: then only a key of its own before it tells.
        """
        if has_key and not self._is_value(start):
            return False
        return all(reading.is_after_open(start) for reading in self._readings)

    def _is_value(self, start: int) -> bool:
        """Whether a quoted key and a colon stand right before a position."""
        return _KEY_BEFORE.search(self._text[max(0, start - _LONGEST_GAP) : start]) is not None


@attrs.frozen
class _Reading:
    """The outermost balanced braces, where the first brace stands that nothing closes, and quotes outside."""

    spans: list[tuple[int, int]]
    first_open: int | None
    has_quote_in_prose: bool

    def is_after_open(self, start: int) -> bool:
        return self.first_open is not None and self.first_open < start


def _read(text: str, *, quotes_in_prose: bool, with_key_only: bool) -> _Reading:
    inside = _TO_BRACES_WITH_KEY if with_key_only else _TO_BRACES
    outside = _PROSE_TO_BRACES_WITH_KEY if with_key_only else _PROSE_TO_BRACES
    spans: list[tuple[int, int]] = []
    open_runs: list[tuple[int, int]] = []  # position and length of runs of opening braces not yet closed
    has_quote_in_prose = False
    position = 0
    while True:
        in_prose = not open_runs
        token = (outside if in_prose and not quotes_in_prose else inside).match(text, position)
        start, end = (-1, -1) if token is None else token.span(1)
        if in_prose and not has_quote_in_prose:
            has_quote_in_prose = text.find('"', position, len(text) if start < 0 else start) >= 0
        if start < 0:
            return _Reading(spans, open_runs[0][0] if open_runs else None, has_quote_in_prose)
        position = end
        if text[start] == "{":
            open_runs.append((start, end - start))
            continue
        span = _close(open_runs, start, end)
        if span is not None:
            while spans and spans[-1][0] > span[0]:
                spans.pop()  # it stands within the new one
            spans.append(span)


def _close(open_runs: list[tuple[int, int]], position: int, run_end: int) -> tuple[int, int] | None:
    """Close as many open braces as a run of closing ones can; the outermost pair, if any closed."""
    span = None
    while open_runs and position < run_end:
        start, length = open_runs.pop()
        closed = min(length, run_end - position)
        position += closed
        span = (start + length - closed, position)
        if closed < length:
            open_runs.append((start, length - closed))
    return span
