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


def describe_summary(summary: ScoreSummary) -> tuple[str, str]:
    """Mean and interval of one scorer."""
    if summary.mean is None:
        return "-", ""
    if not summary.binary:
        return number(summary.mean), ""
    interval = summary.interval
    return percent(summary.mean), f"[{percent(interval[0])}, {percent(interval[1])}]" if interval else ""


def describe_abstentions(name: str, summary: ScoreSummary) -> str:
    """How many episodes a scorer said nothing about, why, and what they could have changed."""
    reasons = ", ".join(f"{count} {printable(reason)}" for reason, count in summary.abstained.items())
    text = f"{name} abstained in {summary.n_abstained} of {summary.n_attempted}: {reasons}"
    if summary.worst_case:
        low, high = summary.worst_case
        text += f"; {percent(low)} had they all failed, {percent(high)} had they all succeeded"
    return text
