"""Where a response may hold its object: tagged blocks, code blocks, balanced braces.

Each search passes over the text once, in one direction. The patterns are possessive (`*+`), so they never
give back what they took: no input makes them quadratic.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

FENCE = "```"

_ANSWER_TAG = re.compile(r"<(/?)answer>", re.IGNORECASE)
_KEY_BEFORE = re.compile(r"""["']\s*:\s*\Z""")
_LONGEST_GAP = 64
_JSON_LABEL = re.compile(r"json", re.IGNORECASE)

# Text without a brace that counts. A string ends on its own line. A backslash before a quote or a backslash
# is one unit: after one unclosed string, every later quote of the line is such a unit, so that the line is
# not searched again. Flat braces that cannot hold one of the two keys are passed over as text.
_FLAT = r'\{(?:(?!answer|annotation)[^{}"\\])*+\}'
_NO_BRACE = re.compile(rf'(?:[^"{{}}\\]++|\\["\\]?+|"(?:[^"\\\n]++|\\.)*+"|{_FLAT})*+')
_PROSE = re.compile(rf"(?:[^{{]++|{_FLAT})*+")
_RUN = re.compile(r"\{++|\}++")

# The same, read from the end: in reversed text a quote is escaped when an odd number of backslashes follows
# it.
_QUOTE = r'"(?=(?:\\\\)*+(?!\\))'
_ESCAPED_QUOTE = r'"(?=\\(?:\\\\)*+(?!\\))'
_NO_BRACE_REVERSED = re.compile(
    rf"(?:[^\"{{}}]++|{_ESCAPED_QUOTE}|{_QUOTE}(?:[^\"\n]++|{_ESCAPED_QUOTE})*+{_QUOTE})*+"
)


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
    reversed_text = text[::-1]
    depth = position = 0
    while position < len(reversed_text):
        character = reversed_text[position]
        run = _RUN.match(reversed_text, position)
        if run is None:  # a quote without its partner on the line: prose, such as 5" for inches
            position += 1
        elif character == "}":
            depth += run.end() - position
            position = run.end()
        elif run.end() - position >= depth:
            return len(text) - position - depth
        else:
            depth -= run.end() - position
            position = run.end()
        skipped = _NO_BRACE_REVERSED.match(reversed_text, position)
        position = skipped.end() if skipped else position
    return -1


def is_nested(text: str, start: int, *, has_key: bool) -> bool:
    """Whether an object stands inside one that was never closed, rather than after a stray brace of the prose.

    Args:
        text: The response. start: Where the object starts. has_key: Whether it is a mapping with one of the
        keys looked for: then only a key of its own before it tells.
    """
    if has_key and not _is_value(text, start):
        return False
    prefix = text[:start]
    return all(_outermost_spans(prefix, quotes_in_prose=quotes)[1] is not None for quotes in (False, True))


def _is_value(text: str, start: int) -> bool:
    """Whether a quoted key and a colon stand right before a position."""
    return _KEY_BEFORE.search(text[max(0, start - _LONGEST_GAP) : start]) is not None


def balanced_objects(text: str) -> list[str]:
    """Every balanced `{…}` of the text that stands in no other, from left to right.

    Braces within double quotes do not count. Outside all braces a quote is as often an inch or an apostrophe
    as it opens a string, so both readings are tried; a stray opening brace hides nothing that comes after it.
    """
    spans: set[tuple[int, int]] = set()
    for quotes in (False, True) if '"' in text else (False,):
        found, first_open = _outermost_spans(text, quotes_in_prose=quotes)
        spans.update(
            span
            for span in found
            if first_open is None or span[0] < first_open or not _is_value(text, span[0])
        )
    return [text[start:end] for start, end in sorted(spans)]


def _outermost_spans(text: str, *, quotes_in_prose: bool) -> tuple[list[tuple[int, int]], int | None]:
    """Start and end of the outermost balanced braces; where the first brace stands that nothing closes."""
    spans: list[tuple[int, int]] = []
    open_runs: list[tuple[int, int]] = []  # position and length of runs of opening braces not yet closed
    position = 0
    while True:
        pattern = _NO_BRACE if open_runs or quotes_in_prose else _PROSE
        skipped = pattern.match(text, position)
        position = skipped.end() if skipped else position
        run = _RUN.match(text, position)
        if run is None:
            if position >= len(text):
                return spans, open_runs[0][0] if open_runs else None
            position += 1  # a quote without its partner on the line
        elif text[position] == "{":
            open_runs.append((position, run.end() - position))
            position = run.end()
        else:
            span = _close(open_runs, position, run.end())
            if span is not None:
                while spans and spans[-1][0] > span[0]:
                    spans.pop()  # it stands within the new one
                spans.append(span)
            position = run.end()


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
