"""What goes to a terminal: untrusted text made harmless, numbers as people read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from hylo_eval.scoring.aggregate import ScoreSummary


def printable(text: str) -> str:
    """Text without control characters: a task's name must not move the cursor or change colours."""
    return "".join(
        character if character.isprintable() or character in "\n\t" else f"\\x{ord(character):02x}"
        for character in text
    )


def console(*, stderr: bool = False) -> Console:
    """A console that neither guesses at numbers nor reads markup in data."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=True)


def percent(share: float) -> str:
    """``0.7`` as ``70.0 %``."""
    return f"{100 * share:.1f} %"


def number(value: float | None) -> str:
    """A mean with four significant digits; a dash where there is none."""
    return "-" if value is None else f"{value:.4g}"


def describe_summary(summary: ScoreSummary) -> str:
    """Mean and interval of one scorer in a line."""
    if summary.mean is None:
        return "nothing scored"
    if summary.binary and summary.scorer.startswith("success"):
        text = percent(summary.mean)
        if summary.interval:
            text += f"  [{percent(summary.interval[0])}, {percent(summary.interval[1])}]"
        return text
    return number(summary.mean)
