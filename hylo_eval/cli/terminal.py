"""What goes to a terminal: untrusted text made harmless, numbers as people read them."""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from hylo_eval.scoring.aggregate import ScoreSummary


_ENDLESS = 100_000
"""Columns of what is not a terminal: a pipe or a file has lines of any length."""


def printable(text: str) -> str:
    """Text without control characters: a task's name must not move the cursor or change colours."""
    return "".join(
        character if character.isprintable() or character in "\n\t" else f"\\x{ord(character):02x}"
        for character in text
    )


def printable_line(text: str) -> str:
    """Printable text without line breaks: what is one entry must not look like several."""
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")


def console(*, stderr: bool = False) -> Console:
    """A console that neither guesses at numbers nor reads markup in data."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=True)


def print_table(
    out: Console, headers: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: Sequence[str] = ()
) -> None:
    """Print rows in columns; cells are made harmless here.

    On a terminal the last column wraps within itself; elsewhere every row is one line, whatever its length.

    Args:
        out: Where to.
        headers: One for each column.
        rows: Cells as text, as many as there are headers.
        numbers: Headers of the columns that are aligned to the right.
    """
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for header in headers:
        last = header == headers[-1]
        table.add_column(
            header,
            justify="right" if header in numbers else "left",
            no_wrap=not (last and out.is_terminal),
            overflow="fold",
        )
    for row in rows:
        table.add_row(*map(printable_line, row))
    if out.is_terminal:
        out.print(table, soft_wrap=False)
        return
    from rich.console import Console

    drawn = StringIO()
    endless = Console(file=drawn, width=_ENDLESS, highlight=False, markup=False, emoji=False)
    endless.print(table)
    for line in drawn.getvalue().splitlines():
        out.print(line.rstrip())


def print_hanging(out: Console, head: str, text: str, *, style: str = "") -> None:
    """Print a text after a head, on a terminal wrapped so that every line starts below the first.

    Args:
        out: Where to.
        head: What stands at the left, as wide as the indentation is to be.
        text: Anything; made harmless here.
        style: The head's style on a terminal with colours.
    """
    import textwrap

    from rich.text import Text

    lines = [printable_line(text)]
    if out.is_terminal:
        # Paths and digests are not broken: somebody will copy them.
        width = max(20, out.width - len(head))
        lines = textwrap.wrap(lines[0], width, break_long_words=False, break_on_hyphens=False) or [""]
    out.print(Text.assemble((head, style), lines[0]))
    for line in lines[1:]:
        out.print(Text(" " * len(head) + line))


def percent(share: float) -> str:
    """``0.7`` as ``70.0 %``; ``0.0 %`` and ``100.0 %`` are said of nothing else than none and all."""
    text = ""
    for digits in range(1, 6):
        text = f"{100 * share:.{digits}f}"
        if (float(text) == 0.0) == (share == 0.0) and (float(text) == 100.0) == (share == 1.0):
            break
    return f"{text} %"


def number(value: float, unit: str = "") -> str:
    """A mean with four significant digits and its unit; short times in milliseconds."""
    if unit == "s" and abs(value) < 1:
        value, unit = 1000 * value, "ms"
    return f"{value:.4g} {unit}".rstrip()


def describe_summary(summary: ScoreSummary) -> tuple[str, str]:
    """Mean and interval of one scorer."""
    if summary.mean is None:
        return "-", ""
    if not summary.binary:
        return number(summary.mean, summary.unit), ""
    interval = summary.interval
    return percent(summary.mean), f"[{percent(interval[0])}, {percent(interval[1])}]" if interval else ""


def describe_abstentions(name: str, summary: ScoreSummary) -> str:
    """How many episodes a scorer said nothing about, why, and what they could have changed."""
    reasons = ", ".join(f"{count} {printable_line(reason)}" for reason, count in summary.abstained.items())
    text = f"{name} abstained in {summary.n_abstained} of {summary.n_attempted}: {reasons}"
    if summary.worst_case:
        low, high = summary.worst_case
        text += f"; {percent(low)} had they all failed, {percent(high)} had they all succeeded"
    return text
