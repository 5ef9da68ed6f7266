"""Narrowing a text to its answer: the last box, the first fenced block, the last line.

Every function is one linear scan, whatever the candidate wrote.
"""

from __future__ import annotations

from typing import Final

BOX: Final = r"\boxed{"

_FENCE: Final = "```"
_LANGUAGE: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+-")
_MATH_DELIMITERS: Final = ((r"\[", r"\]"), (r"\(", r"\)"), ("$$", "$$"), ("$", "$"))


def last_box(text: str) -> str | None:
    r"""The stripped content of the last ``\boxed{...}``; None without one, or without balanced braces."""
    start = text.rfind(BOX)
    if start < 0:
        return None
    start += len(BOX)
    depth = 1
    for index in range(start, len(text)):
        character = text[index]
        if character == "{":
            depth += 1
        elif character == "}":
            depth -= 1
            if not depth:
                return text[start:index].strip()
    return None


def last_line(text: str) -> str:
    """The last line that is not blank, stripped; empty for a blank text."""
    lines = text.rstrip().splitlines()
    return lines[-1].strip() if lines else ""


def fenced_block(text: str) -> str:
    """The content of the first closed Markdown fence, without its info word; the whole text without one."""
    start = text.find(_FENCE)
    if start < 0:
        return text
    start += len(_FENCE)
    end = text.find(_FENCE, start)
    if end < 0:
        return text
    while start < end and text[start] in _LANGUAGE:
        start += 1
    return text[start:end].lstrip()


def without_math_delimiters(text: str) -> str:
    r"""``text`` without the delimiters ``$``, ``$$``, ``\(..\)`` and ``\[..\]`` that enclose all of it.

    Any number of layers is removed. Dollars go only when they are the only ones: ``$a$ + $b$`` stays.
    """
    start, end = 0, len(text)
    # Two indices move inwards: taking a slice for each of many layers would be quadratic.
    while True:
        while start < end and text[start].isspace():
            start += 1
        while start < end and text[end - 1].isspace():
            end -= 1
        for opener, closer in _MATH_DELIMITERS:
            size = len(opener)
            encloses = (
                end - start > 2 * size and text.startswith(opener, start, end) and text.endswith(closer, start, end)
            )
            if encloses and (opener[0] != "$" or text.count("$", start, end) == 2 * size):
                start, end = start + size, end - size
                break
        else:
            return text[start:end]
