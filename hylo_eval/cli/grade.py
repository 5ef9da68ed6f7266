"""``hylo-eval grade``."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import click

from hylo_eval.cli.counts import Count
from hylo_eval.cli.shared_options import run_root_option
from hylo_eval.cli.streams import stdout_to_stderr
from hylo_eval.cli.terminal import console, describe_agreement, number, printable, printable_line
from hylo_eval.numerals import counted

if TYPE_CHECKING:
    from hylo_core.score import Grader
    from hylo_eval.evaluation.grade_run import Grading
    from hylo_eval.traces.layout import RunFolder

_SHOWN_REASONS = 5


@click.command()
@click.argument("run", metavar="RUN")
@click.option(
    "--grader",
    "graders",
    multiple=True,
    required=True,
    metavar="REF[:VALUE,K=V,…]",
    help="Who judges: verifier, vlm_judge, operator, predicate, verdict, or package.module:Attr; repeatable.",
)
@click.option("--again", is_flag=True, help="Judge also what the same grader has judged; the later grade counts.")
@click.option(
    "--workers",
    type=Count(most=64),
    default=4,
    show_default=True,
    metavar="N",
    help="Episodes at once, for graders that allow it.",
)
@run_root_option
@click.option("--json", "as_json", is_flag=True, help="The result as JSON on standard output, and nothing else there.")
def grade(*, run: str, graders: Sequence[str], again: bool, workers: int, run_root: Path, as_json: bool) -> int:
    """Judge the episodes of a finished run and append the grades to their traces.

    RUN is a run folder, or an id under the run root. An episode that the same grader has judged is left alone. Ends
    with 0 when every episode that can be judged has a grade, with 3 when a grader failed, an episode stayed
    ungraded or a trace was refused, with 130 when a signal stopped it: every finished grade is on disk.
    """
    from hylo_eval.evaluation.grade_run import GradingInterrupted
    from hylo_eval.evaluation.graders import make_grader
    from hylo_eval.traces.finding import find_run

    with stdout_to_stderr():
        folder = find_run(run, run_root)
        # All of them first: a typing error in the second must not come after an hour of the first.
        made = [make_grader(text, folder) for text in graders]
        try:
            gradings = [_grade(folder, grader, again=again, workers=workers, quiet=as_json) for grader in made]
        except GradingInterrupted as interrupt:
            _print_grading(interrupt.grading, console(stderr=True))
            raise
    code = max(grading.exit_code for grading in gradings)
    if as_json:
        document = {
            "run": str(folder.path),
            "exit_code": code,
            "gradings": [_as_json(grading) for grading in gradings],
            "agreement": [attrs.asdict(agreement) for agreement in gradings[-1].agreement],
        }
        click.echo(json.dumps(document, indent=2))
        return code
    out = console()
    for grading in gradings:
        _print_grading(grading, out)
    for agreement in gradings[-1].agreement:
        out.print(describe_agreement(agreement))
    out.print(f"run: {printable_line(str(folder.path))}")
    return code


def _grade(run: RunFolder, grader: Grader, *, again: bool, workers: int, quiet: bool) -> Grading:
    from hylo_eval.cli.progress import Progress
    from hylo_eval.evaluation.grade_run import count_episodes, grade_run
    from hylo_eval.evaluation.stopping import StopRequest
    from hylo_eval.grading.protocol import is_interactive

    interactive = is_interactive(grader)
    progress = Progress(count_episodes(run), quiet=quiet or interactive)
    # Who waits for a person is stopped where it waits; all others after the episodes under way.
    stopping: Any = contextlib.nullcontext() if interactive else StopRequest(_announce_stop)
    try:
        with _closing(grader), stopping as stop:
            return grade_run(run, grader, again=again, workers=workers, finished=progress.finished, stop=stop)
    finally:
        progress.close()


@contextlib.contextmanager
def _closing(grader: Any) -> Generator[None, None, None]:
    try:
        yield
    finally:
        close = getattr(grader, "close", None)
        if callable(close):
            close()


def _announce_stop() -> None:
    console(stderr=True).print("stopping after the episodes under way; once more to stop at once")


def _as_json(grading: Grading) -> dict[str, Any]:
    return {
        "grader": grading.grader,
        "digest": grading.digest,
        "exit_code": grading.exit_code,
        "complete": grading.complete,
        "counts": {str(state): count for state, count in grading.counts.items()},
        "summary": attrs.asdict(grading.summary),
        "episodes": [
            {"key": one.key, "state": str(one.state), "reason": one.reason, "value": one.score.value}
            for one in grading.episodes
        ],
    }


def _print_grading(grading: Grading, out: Any) -> None:
    counts = ", ".join(f"{count} {state.replace('_', ' ')}" for state, count in grading.counts.items())
    missing = grading.n_episodes - len(grading.episodes)
    left = f", {missing} not looked at" if missing else ""
    of = counted(grading.n_episodes, "episode")
    out.print(f"{printable_line(grading.grader)}: {counts or 'nothing done'}{left}, of {of}")
    summary = grading.summary
    mean = "-" if summary.mean is None else number(summary.mean, summary.unit)
    text = f"  mean {mean} over {summary.n_scored} of {of}"
    if summary.n_abstained:
        text += "; no value: " + ", ".join(f"{n} {printable_line(why)}" for why, n in summary.abstained.items())
    out.print(text)
    reasons: dict[str, int] = {}
    for episode in grading.episodes:
        if episode.reason:
            reasons[episode.reason] = reasons.get(episode.reason, 0) + 1
    for reason, count in list(reasons.items())[:_SHOWN_REASONS]:
        out.print(f"  {count} x {printable(reason)}")
    if len(reasons) > _SHOWN_REASONS:
        out.print(f"  and {len(reasons) - _SHOWN_REASONS} other reasons (--json lists them)")
