"""Lines that are longer than a terminal is wide break between words, and never in what somebody will copy."""

from __future__ import annotations

import re
from typing import Any, Final

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

_HANG: Final = 2
"""How much further in than its first line the rest of a text stands."""

_LEAST: Final = 20
"""Columns of text that a terminal has at least, however far a head reaches into it."""

_WHOLE: Final = re.compile(
    # A command with its arguments: pasted in two lines, the first would run without the second.
    r"(?<!\S)(?:\w+=\S* )*(?:hylo-eval|apt-get|export|unset|\S*python[\d.]*(?= -m ))(?!\S)"
    # It ends where a sentence goes on.
    r"(?:(?<![,;:.]) (?!\(|(?:and|gives|has|lists|makes|or|prints|says|shows|that|which)\b)\S+)*"
    # Any other word, paths and digests among them.
    r"|\S+"
)
"""What stays on one line."""


class WordWrappingConsole(Console):
    """A console on whose terminal texts break between words; elsewhere each line of a text is one line.

    What is longer than a line by itself is left to the terminal, from which it is copied in one piece.
    """

    def print(self, *objects: Any, **options: Any) -> None:
        """As rich prints, with texts in lines that fit; an explicit ``soft_wrap`` is taken as it is."""
        if self.is_terminal and "soft_wrap" not in options:
            objects = tuple(wrapped(item, self.width) if isinstance(item, (str, Text)) else item for item in objects)
        super().print(*objects, **options)


def wrapped(text: str | Text, width: int) -> Text:
    """A text with line breaks, such that its lines fit so many columns where its words do.

    The lines after the first of each line are indented by its own blanks and two more.
    """
    plain = Text(text) if isinstance(text, str) else text
    lines: list[Text] = []
    for line in plain.split("\n", allow_blank=True):
        blanks = len(line.plain) - len(line.plain.lstrip(" ")) + _HANG
        first, *others = divided(line, width, blanks)
        lines += [first, *(Text(" " * blanks) + other for other in others)]
    return Text("\n").join(lines)


def print_line(out: Console, line: Text, hang: int) -> None:
    """Print one line, on a terminal such that what goes on of it stands so many columns in."""
    first, *others = divided(line, out.width, hang) if out.is_terminal else [line]
    out.print(first, soft_wrap=True)
    for other in others:
        out.print(Text(" " * hang) + other, soft_wrap=True)


def divided(line: Text, width: int, hang: int) -> list[Text]:
    """The lines of a line: the first takes the whole width, the others leave so many columns at their left.

    Args:
        line: Without line breaks.
        width: Columns of the terminal.
        hang: Columns that the caller puts before each line but the first.
    """
    width = max(width, hang + _LEAST)
    starts: list[int] = []
    used = end = 0
    for match in _WHOLE.finditer(line.plain):
        gap, size = match.start() - end, cell_len(match.group())
        if end and used + gap + size > width >= hang + size:
            starts.append(match.start())
            used = hang + size
        else:
            # The terminal itself goes on in its next line.
            used = (used + gap + size - 1) % width + 1
        end = match.end()
    parts = list(line.divide(starts))
    for part in parts[:-1]:
        part.rstrip()
    return parts
