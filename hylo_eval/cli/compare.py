"""``hylo-eval compare``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hylo_eval.cli.terminal import console
from hylo_eval.errors import EvalError

if TYPE_CHECKING:
    from hylo_eval.compare.evidence import PairedEvidence
    from hylo_eval.compare.summary import BinarySummary, GradedSummary


@click.command()
@click.argument("candidate")
@click.argument("parent")
@click.option("--metric", default="success", show_default=True, help="What to compare: a scorer's name.")
@click.option(
    "--better", type=click.Choice(["higher", "lower"]), default=None, help="For scorers that are not built in."
)
@click.option("--alpha", type=float, default=0.05, show_default=True, help="One-sided significance level.")
@click.option("--by", type=click.Choice(["task", "tag"]), default=None, help="Rows of the table. Default: task.")
@click.option("--intersect", is_flag=True, help="Compare the instances both have; leave out the others.")
@click.option("--allow", multiple=True, metavar="NAME", help="A difference to accept, by name; repeatable.")
@click.option("--log-only", is_flag=True, help="Believe the logs; read no trace.")
@click.option(
    "--run-root",
    type=click.Path(path_type=Path),
    default=Path("runs"),
    show_default=True,
    help="Where runs are looked for by id.",
)
@click.option("--figure", type=click.Path(path_type=Path), default=None, metavar="FILE.svg", help="Draw every pair.")
@click.option("--json", "as_json", is_flag=True, help="JSON on standard output, and nothing else there.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Markdown on standard output.")
def compare(**options: Any) -> int:
    """Compare CANDIDATE with PARENT, two runs (folders, or ids under the run root), pair by pair.

    Ends with 0 when they are comparable, whatever the outcome, and with 2 when the evidence is refused.
    """
    if options["as_json"] and options["as_markdown"]:
        raise EvalError("--json and --markdown are two forms of one output; choose one")
    if options["figure"] is not None and options["figure"].suffix != ".svg":
        raise EvalError(f"a figure is an SVG file, not {options['figure'].name!r}", fix="--figure comparison.svg")
    evidence = read_pair(options, unfinished_refused=True, imported_believed=True)
    summary = _summarise(evidence, options)
    if options["figure"] is not None:
        _draw(options["figure"], evidence, summary)
    if options["as_json"]:
        from hylo_eval.report.documents import compare_document

        click.echo(json.dumps(compare_document(evidence, summary), indent=2))
        return 0
    from hylo_eval.compare.summary import BinarySummary
    from hylo_eval.report.sections import binary_sections, evidence_section, graded_sections

    found = binary_sections(summary) if isinstance(summary, BinarySummary) else graded_sections(summary)
    sections = (evidence_section(evidence), *found)
    if options["as_markdown"]:
        from hylo_eval.report.markdown import render_markdown

        ours, theirs = evidence.candidate.conditions, evidence.parent.conditions
        click.echo(render_markdown(f"{ours.agent} against {theirs.agent}", sections), nl=False)
    else:
        from hylo_eval.cli.sections import print_sections

        print_sections(console(), sections)
    return 0


def read_pair(options: dict[str, Any], *, unfinished_refused: bool, imported_believed: bool = False) -> PairedEvidence:
    """Read the two runs that ``candidate``, ``parent`` and the options of evidence name.

    With ``imported_believed`` the logs are believed where a run was imported, as with ``--log-only``: the evidence says
    so. Otherwise that has to be asked for.

    Raises:
        EvidenceRefused: They are not comparable.
        EvalError: One of them cannot be read.
    """
    from hylo_eval.compare.comparability import pair_evidence
    from hylo_eval.evaluation.comparing import find_run, is_imported, read_evidence

    runs = [find_run(options[side], options["run_root"]) for side in ("candidate", "parent")]
    log_only = options["log_only"]
    imported = [] if log_only else [run for run in runs if is_imported(run)]
    if imported and not imported_believed:
        raise EvalError(f"{imported[0].path} was imported: there are no traces to check its log by", fix="--log-only")
    candidate, parent = (read_evidence(run, traces=not (log_only or imported)) for run in runs)
    return pair_evidence(
        candidate,
        parent,
        allow=options["allow"],
        intersect=options["intersect"],
        unfinished_refused=unfinished_refused,
    )


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
    from hylo_eval.evaluation.comparison_records import write_report
    from hylo_eval.report.figure import render_figure

    if not isinstance(summary, BinarySummary):
        raise EvalError(
            f"a figure shows a metric of 0 and 1, and {summary.metric.name} is none", fix="leave --figure out"
        )
    write_report(path, render_figure(evidence, summary))
