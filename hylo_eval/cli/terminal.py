"""What goes to a terminal: tables, hanging texts, numbers as people read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hylo_eval.cli.tables import print_table
from hylo_eval.numerals import are, counted, percent
from hylo_eval.report.text import number, printable, printable_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rich.console import Console

    from hylo_eval.evallog.v02 import Sample
    from hylo_eval.scoring.aggregate import ScoreSummary
    from hylo_eval.scoring.agreement import Agreement


__all__ = [
    "console",
    "describe_abstentions",
    "describe_agreement",
    "describe_precision",
    "describe_summary",
    "describe_unfinished",
    "number",
    "percent",
    "print_hanging",
    "printable",
    "printable_line",
]

_WIDE = 0.3
"""Width of an interval of a rate from which on a hint says how many episodes it takes."""
_USEFUL = 0.2
"""The width the hint aims at: ten points to each side."""
_TOLD = frozenset({"scorer_error", "invalid_task", "not_pure"})
"""Reasons to abstain that lie with the scorer or the benchmark, and so with all of its episodes."""


def console(*, stderr: bool = False, redrawn: bool = False) -> Console:
    """A console that neither guesses at numbers nor reads markup in data; on a terminal, texts break between words.

    Args:
        stderr: Standard error in place of standard output.
        redrawn: What it shows is drawn again and again, so that no line may be left to the terminal.
    """
    from hylo_eval.cli.wrapping import WordWrappingConsole

    return WordWrappingConsole(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=not redrawn)


def print_hanging(out: Console, head: str, text: str, *, style: str = "") -> None:
    """Print a text after a head, on a terminal wrapped so that every line starts below the first.

    Args:
        out: Where to.
        head: What stands at the left, as wide as the indentation is to be.
        text: Anything; made harmless here.
        style: The head's style on a terminal with colours.
    """
    from rich.text import Text

    from hylo_eval.cli.wrapping import print_line

    print_line(out, Text.assemble((head, style), printable_line(text)), len(head))


def print_summaries(out: Console, summaries: Mapping[str, ScoreSummary]) -> None:
    """One row a scorer: mean, interval, how many episodes were scored."""
    rows = [
        (name, *describe_summary(summary), f"{summary.n_scored}/{summary.n_attempted}")
        for name, summary in summaries.items()
    ]
    print_table(out, ("score", "mean", "95 % interval", "scored"), rows)


def print_abstentions(out: Console, summaries: Mapping[str, ScoreSummary], samples: Iterable[Sample]) -> None:
    """One line for each scorer that abstained, and one with the first reason of each that the benchmark or it caused.

    Args:
        out: Where to.
        summaries: By the scorers' names.
        samples: The episodes with their scores.
    """
    for name, summary in summaries.items():
        if not summary.n_abstained:
            continue
        out.print(describe_abstentions(printable_line(name), summary))
        if summary.abstained.keys() & _TOLD and (told := _first_told(name, samples)):
            out.print(f"first of {printable_line(name)}: {printable_line(told)}")


def _first_told(name: str, samples: Iterable[Sample]) -> str:
    """Where a scorer abstained first for something to mend, and what; empty where the samples do not say."""
    for sample in samples:
        score = sample.scores.get(name)
        if score is not None and score.metadata.get("reason") in _TOLD:
            return f"{sample.key}: {score.explanation}"
    return ""


def describe_summary(summary: ScoreSummary) -> tuple[str, str]:
    """Mean and interval of one scorer."""
    if summary.mean is None:
        return "-", ""
    if not summary.binary:
        return number(summary.mean, summary.unit), ""
    interval = summary.interval
    return percent(summary.mean), f"[{percent(interval[0])}, {percent(interval[1])}]" if interval else ""


def describe_precision(name: str, summary: ScoreSummary) -> str:
    """How far the episodes carry, where they are too few to say much; else nothing."""
    if summary.interval is None:
        return ""
    low, high = summary.interval
    if high - low <= _WIDE:
        return ""
    from hylo_eval.scoring.intervals import trials_for_width

    episodes = f"{counted(summary.n_scored, 'episode')} {'leaves' if summary.n_scored == 1 else 'leave'}"
    return (
        f"{name}: {episodes} an interval of {100 * (high - low):.0f} points; "
        f"{trials_for_width(_USEFUL)} would leave at most {100 * _USEFUL:.0f}"
    )


def describe_unfinished(name: str, summary: ScoreSummary, planned: int) -> str:
    """A rate of a run that was stopped, with what is missing counted both ways: successes tend to end first."""
    text = f"{summary.n_attempted} of {counted(planned, 'episode')} {are(summary.n_attempted)} finished"
    if not summary.binary or summary.mean is None:
        return text
    successes = round(summary.mean * summary.n_scored)
    low, high = successes / planned, (successes + planned - summary.n_scored) / planned
    return f"{text}; {name} lies between {percent(low)} and {percent(high)} of all, whatever the others come to"


def describe_abstentions(name: str, summary: ScoreSummary) -> str:
    """How many episodes a scorer said nothing about, why, and what they could have changed."""
    reasons = ", ".join(f"{count} {printable_line(reason)}" for reason, count in summary.abstained.items())
    text = f"{name} abstained in {summary.n_abstained} of {summary.n_attempted}: {reasons}"
    if summary.worst_case:
        low, high = summary.worst_case
        text += f"; {percent(low)} had they all failed, {percent(high)} had they all succeeded"
        errors = summary.abstained.get("agent_error", 0)
        if errors and errors < summary.n_abstained:
            scored = round((summary.mean or 0.0) * summary.n_scored)
            text += f"; {percent(scored / (summary.n_scored + errors))} with the agent's own errors as failures"
    return text


def describe_agreement(agreement: Agreement) -> str:
    """Two graders, how often they agree, and kappa with its interval."""
    first, second = map(printable_line, agreement.graders)
    text = f"{first} and {second}: {percent(agreement.observed)} equal in {counted(agreement.n, 'episode')}"
    if agreement.kappa is None or agreement.interval is None:
        return f"{text}; kappa is not defined, because both said the same of every one"
    low, high = agreement.interval
    text += f", kappa {agreement.kappa:.2f} [{low:.2f}, {high:.2f}]"
    apart = [
        f"{count} success by {name} alone"
        for name, count in ((first, agreement.only_first), (second, agreement.only_second))
        if count
    ]
    return f"{text}; {', '.join(apart)}" if apart else text
