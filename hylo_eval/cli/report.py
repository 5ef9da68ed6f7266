"""``hylo-eval report``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hylo_eval.cli.counts import Count
from hylo_eval.cli.shared_options import run_root_option
from hylo_eval.cli.terminal import console, printable_line
from hylo_eval.errors import EvalError, cannot_write

if TYPE_CHECKING:
    from hylo_eval.report.discordant import Rival
    from hylo_eval.report.run_summary import RunSummary
    from hylo_eval.report.sections import Section
    from hylo_eval.traces.layout import RunFolder


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN…")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), required=True, metavar="FILE.html", help="The page to write."
)
@click.option(
    "--episodes",
    type=Count(0),
    default=60,
    show_default=True,
    metavar="N",
    help="Episodes whose plots are in the page, failures first.",
)
@click.option(
    "--max-size",
    type=click.FloatRange(min=1.0),
    default=15.0,
    show_default=True,
    metavar="MB",
    help="What the page keeps within; videos that do not fit are linked.",
)
@click.option(
    "--allow", multiple=True, metavar="NAME", help="A difference between runs to accept, by name; repeatable."
)
@run_root_option
def report(**options: Any) -> int:
    """Write one self-contained page about RUN, or about several: the first is the candidate, compared with each other.

    Ends with 0 when the page was written, whatever it says.
    """
    from hylo_eval.cli.compare import keep_record
    from hylo_eval.cli.progress import Progress
    from hylo_eval.report.page import PageOptions, render_page
    from hylo_eval.report.page_content import changed_words
    from hylo_eval.report.run_record import read_run
    from hylo_eval.report.run_summary import summarise_run
    from hylo_eval.traces.finding import find_run

    output: Path = options["output"]
    if output.suffix not in (".html", ".htm"):
        raise EvalError(f"a report is an HTML page, not {output.name!r}", fix="-o report.html")
    if len(options["runs"]) == 1 and options["allow"]:
        raise EvalError("--allow changes nothing for one run", fix="leave it out")
    if len(options["runs"]) > MAX_RUNS:
        raise EvalError(
            f"a page of {len(options['runs'])} runs cannot be read; {MAX_RUNS} are the most",
            fix=f"name at most {MAX_RUNS} runs",
        )
    folders = [find_run(name, options["run_root"]) for name in options["runs"]]
    if len({folder.path for folder in folders}) < len(folders):
        raise EvalError("a run is named twice", fix="name each run once")
    records = [read_run(folder) for folder in folders]
    progress = Progress(sum(len(record.episodes) for record in records), quiet=False)
    try:
        summaries = [summarise_run(record, read=progress.finished) for record in records]
    finally:
        progress.close()
    looks: list[dict[str, Any]] = []
    rivals = [_rival(folders, summaries, place, options, looks) for place in range(1, len(folders))]
    page = render_page(
        summaries,
        rivals,
        PageOptions(path=output, max_episodes=options["episodes"], max_bytes=_bytes(options["max_size"])),
    )
    _write(output, page)
    for document in looks:
        # Only now: a page that could not be made has shown nobody a number.
        keep_record(options["run_root"], document)
    for sentence in (sentence for summary in summaries for sentence in changed_words(summary)):
        console(stderr=True).print(f"warning: {printable_line(sentence)}")
    console().print(f"report: {printable_line(str(output))} ({len(page) / 1e6:.1f} MB)")
    return 0


MAX_RUNS = 5
"""Runs on one page: each has a colour of its own."""


def _rival(
    folders: Sequence[RunFolder],
    summaries: Sequence[RunSummary],
    place: int,
    options: Mapping[str, Any],
    looks: list[dict[str, Any]],
) -> Rival:
    """The first run's comparison with another, for the record in ``looks``; where it is refused, the page says why."""
    from hylo_eval.compare.comparability import EvidenceRefused
    from hylo_eval.report.discordant import compare_episodes

    refused: tuple[str, ...] = ()
    sections: tuple[Section, ...] = ()
    verdict = ""
    try:
        verdict, sections = _compare(folders[0], folders[place], options["allow"], looks)
    except EvidenceRefused as error:
        refused = tuple(item.words for item in error.differences)
    except EvalError as error:
        # One of them has no log yet: there is something to show, and nothing to test.
        refused = (error.message,)
    return compare_episodes(summaries[0], summaries[place], place, sections=sections, refused=refused, verdict=verdict)


def _compare(
    candidate: RunFolder, parent: RunFolder, allow: Sequence[str], looks: list[dict[str, Any]]
) -> tuple[str, tuple[Section, ...]]:
    from hylo_eval.compare.comparability import pair_evidence
    from hylo_eval.compare.summary import metric_of, summarise_binary
    from hylo_eval.evaluation.comparing.evidence import read_evidence
    from hylo_eval.report.documents import compare_document
    from hylo_eval.report.sections import binary_sections, difference_sentence

    # As for `compare`: a test of runs that go on is a look that nobody declared.
    evidence = pair_evidence(read_evidence(candidate), read_evidence(parent), allow=allow, unfinished_refused=True)
    summary = summarise_binary(evidence, metric_of(evidence, "success"))
    looks.append(compare_document(evidence, summary))
    return difference_sentence(summary), binary_sections(summary)


def _write(path: Path, page: bytes) -> None:
    """Write over an earlier page: it is derived, and can be made again."""
    from hylo_eval.traces.files import write_atomically

    if path.is_dir():
        raise EvalError(f"{path} is a folder", fix=f"-o {path / 'report.html'}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(f"the folder {path.parent}", error) from error
    write_atomically(path, page)


def _bytes(megabytes: float) -> int:
    if not megabytes < 1e6:  # infinity and NaN too
        raise EvalError(f"--max-size must be below a million megabytes, not {megabytes:g}", fix="--max-size 15")
    return int(1e6 * megabytes)
