"""``hylo-eval compare``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hylo_eval.cli.counts import Count
from hylo_eval.cli.group import EXIT_USAGE
from hylo_eval.cli.sections import markdown_option, owns_output, print_sections, write_markdown
from hylo_eval.cli.shared_options import run_root_option
from hylo_eval.cli.terminal import console, printable_line
from hylo_eval.errors import EvalError

if TYPE_CHECKING:
    from hylo_eval.compare.evidence import PairedEvidence
    from hylo_eval.compare.replicated import ReplicatedComparison
    from hylo_eval.compare.summary import BinarySummary, GradedSummary
    from hylo_eval.report.sections import Section


@click.command()
@click.argument("candidate")
@click.argument("parent")
@click.option("--metric", default="success", show_default=True, help="What to compare: a scorer's name.")
@click.option(
    "--better", type=click.Choice(["higher", "lower"]), default=None, help="For scorers that are not built in."
)
@click.option("--alpha", type=float, default=0.05, show_default=True, help="One-sided significance level.")
@click.option("--by", type=click.Choice(["task", "tag"]), default=None, help="Rows of the table. Default: task.")
@click.option(
    "--replicate",
    "replicates",
    nargs=2,
    multiple=True,
    metavar="CANDIDATE PARENT",
    help="Two more runs of the same agents on the same instances; repeatable.",
)
@click.option(
    "--replicates",
    "count",
    type=Count(2, 1000),
    default=None,
    metavar="K",
    help="CANDIDATE and PARENT name K runs each: CANDIDATE-r1 and so on, as run --replicates calls them.",
)
@click.option("--intersect", is_flag=True, help="Compare the instances both have; leave out the others.")
@click.option("--allow", multiple=True, metavar="NAME", help="A difference to accept, by name; repeatable.")
@click.option("--log-only", is_flag=True, help="Believe the logs; read no trace.")
@run_root_option
@click.option(
    "--figure", type=click.Path(path_type=Path), default=None, metavar="FILE", help="Draw every pair: SVG or PNG."
)
@click.option("--json", "as_json", is_flag=True, help="JSON on standard output, and nothing else there.")
@markdown_option
def compare(**options: Any) -> int:
    """Compare CANDIDATE with PARENT, two runs (folders, or ids under the run root), pair by pair.

    Ends with 0 when they are comparable, whatever the outcome, and with 2 when the evidence is refused.
    """
    from hylo_eval.compare.comparability import EvidenceRefused
    from hylo_eval.report.documents import refused_members

    options = named_repetitions(options)
    try:
        return _compare(options)
    except EvidenceRefused as refusal:
        if options["as_json"]:
            members = refused_members(refusal.differences, exit_code=EXIT_USAGE)
            click.echo(json.dumps({"kind": "compare", **members}, indent=2))
        raise


def _compare(options: dict[str, Any]) -> int:
    from hylo_eval.compare.agent_labels import agent_labels

    quiet = owns_output(options)
    if options["figure"] is not None:
        from hylo_eval.report.drawing import require_format

        require_format(options["figure"])
    evidence = _read_pair(options, (options["candidate"], options["parent"]))
    summary = _summarise(evidence, options)
    replicated = _replicated(evidence, summary, options)
    if options["figure"] is not None:
        _draw(options["figure"], evidence, summary)
    document = keep_record(options["run_root"], _document(evidence, summary, replicated))
    sections = _sections(evidence, summary, replicated)
    ours, theirs = agent_labels((evidence.candidate.conditions, evidence.parent.conditions))
    write_markdown(options, f"{ours} against {theirs}", sections)
    if options["as_json"]:
        click.echo(json.dumps(document, indent=2))
    elif not quiet:
        print_sections(console(), sections)
    return 0


def named_repetitions(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options with ``--replicates K`` written out: the first repetition of both sides, and the pairs after it."""
    from hylo_eval.evaluation.repeating import replicate_names

    count: int | None = options["count"]
    if count is None:
        return dict(options)
    if options["replicates"]:
        raise EvalError("--replicates and --replicate both say which runs are repetitions", fix="leave one of them out")
    ours, theirs = (replicate_names(options[side], count) for side in ("candidate", "parent"))
    further = tuple(zip(ours[1:], theirs[1:], strict=True))
    return {**options, "candidate": ours[0], "parent": theirs[0], "replicates": further}


def keep_record(run_root: Path, document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Put a comparison on record; what it showed was seen whether or not that can be written."""
    from hylo_eval.evaluation.comparing.records import write_record

    try:
        return write_record(run_root, document)[1]
    except EvalError as error:
        console(stderr=True).print(f"warning: this look is not on record: {printable_line(error.message)}")
        return document


def _read_pair(options: Mapping[str, Any], names: Sequence[str]) -> PairedEvidence:
    """Read two runs. The logs are believed where one was imported, as with ``--log-only``: the evidence says so."""
    from hylo_eval.compare.comparability import pair_evidence
    from hylo_eval.evaluation.comparing.evidence import is_imported, read_evidence
    from hylo_eval.traces.finding import find_run

    runs = [find_run(name, options["run_root"]) for name in names]
    traces = not (options["log_only"] or any(map(is_imported, runs)))
    candidate, parent = (read_evidence(run, traces=traces) for run in runs)
    return pair_evidence(
        candidate, parent, allow=options["allow"], intersect=options["intersect"], unfinished_refused=True
    )


def _replicated(
    evidence: PairedEvidence, summary: BinarySummary | GradedSummary, options: Mapping[str, Any]
) -> tuple[list[PairedEvidence], ReplicatedComparison] | None:
    """Further repetitions, and what all of them say together."""
    from hylo_eval.compare.replicated import compare_replicates
    from hylo_eval.compare.summary import BinarySummary

    if not options["replicates"]:
        return None
    name = summary.metric.name
    if not isinstance(summary, BinarySummary):
        raise EvalError(f"--replicate compares a metric of 0 and 1, and {name} is none", fix="leave --replicate out")
    if options["by"] is not None:
        raise EvalError("--by changes nothing with --replicate, which counts each instance once", fix="leave it out")
    if options["figure"] is not None:
        raise EvalError("a figure shows one pair of runs", fix="leave --figure or --replicate out")
    further = [_read_pair(options, names) for names in options["replicates"]]
    return further, compare_replicates((evidence, *further), name, alpha=options["alpha"])


def _document(
    evidence: PairedEvidence,
    summary: BinarySummary | GradedSummary,
    replicated: tuple[list[PairedEvidence], ReplicatedComparison] | None,
) -> dict[str, Any]:
    from hylo_eval.report.documents import compare_document, repetitions_document, replicated_document

    document = compare_document(evidence, summary)
    if replicated is not None:
        further, found = replicated
        document["repetitions"] = repetitions_document(further)
        document["replicated"] = replicated_document(found)
    return document


def _sections(
    evidence: PairedEvidence,
    summary: BinarySummary | GradedSummary,
    replicated: tuple[list[PairedEvidence], ReplicatedComparison] | None,
) -> tuple[Section, ...]:
    from hylo_eval.compare.summary import BinarySummary
    from hylo_eval.report.sections import binary_sections, evidence_section, graded_sections, replicated_sections

    if replicated is not None:
        return (evidence_section(evidence, replicated[0]), *replicated_sections(replicated[1]))
    found = binary_sections(summary) if isinstance(summary, BinarySummary) else graded_sections(summary)
    return (evidence_section(evidence), *found)


def _summarise(evidence: PairedEvidence, options: dict[str, Any]) -> BinarySummary | GradedSummary:
    from hylo_eval.compare.summary import metric_of, summarise_binary, summarise_graded

    metric = metric_of(evidence, options["metric"], options["better"])
    if metric.binary:
        return summarise_binary(evidence, metric, alpha=options["alpha"], by=options["by"] or "task")
    if options["by"] is not None:
        raise EvalError(f"--by changes nothing for {metric.name}, which measures something", fix="leave it out")
    return summarise_graded(evidence, metric, alpha=options["alpha"])


def _draw(path: Path, evidence: PairedEvidence, summary: BinarySummary | GradedSummary) -> None:
    from hylo_eval.compare.summary import BinarySummary
    from hylo_eval.evaluation.comparing.records import write_report
    from hylo_eval.report.drawing import render
    from hylo_eval.report.figure import draw_comparison

    if not isinstance(summary, BinarySummary):
        raise EvalError(
            f"a figure shows a metric of 0 and 1, and {summary.metric.name} is none", fix="leave --figure out"
        )
    write_report(path, render(draw_comparison(evidence, summary), path.suffix))
