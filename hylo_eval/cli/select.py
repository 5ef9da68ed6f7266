"""``hylo-eval select``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from hylo_eval.cli.group import EXIT_INCOMPLETE
from hylo_eval.cli.shared_options import run_root_option_that_says
from hylo_eval.cli.terminal import console, percent, printable_line

if TYPE_CHECKING:
    from hylo_eval.evaluation.comparing.selection import Selection


@click.command()
@click.argument("runs", nargs=-1, required=True)
@click.option("--metric", default="success", show_default=True, help="A scorer of 0 and 1.")
@click.option("--alpha", type=float, default=0.05, show_default=True, help="Two-sided level of all pairs together.")
@click.option("--min-coverage", type=float, default=0.95, show_default=True, help="Share of instances to be scored.")
@click.option("--allow", multiple=True, metavar="NAME", help="A difference to accept, by name; repeatable.")
@click.option("--log-only", is_flag=True, help="Believe the logs; read no trace.")
@run_root_option_that_says("Where runs are looked for by id; the record goes to comparisons/ in it.")
@click.option("--json", "as_json", is_flag=True, help="The record on standard output, and nothing else there.")
def select(**options: Any) -> int:
    """Choose among RUNS (folders, or ids under the run root) on a validation split, and put the choice on record.

    The chosen agent then has one confirmation on heldout: ``hylo-eval gate … --confirms ID``. Ends with 3 when no run
    has enough coverage.
    """
    from hylo_eval.evaluation.comparing.records import write_record
    from hylo_eval.evaluation.comparing.selection import select as choose
    from hylo_eval.evaluation.comparing.several_runs import rank_runs, read_runs
    from hylo_eval.report.documents import run_document
    from hylo_eval.report.ranking import ranking_document, ranking_sections

    runs = read_runs(options["runs"], options["run_root"], traces=not options["log_only"])
    ranked = rank_runs(runs, metric=options["metric"], alpha=options["alpha"], allow=options["allow"])
    selection = choose(ranked, min_coverage=options["min_coverage"])
    document: Mapping[str, Any] = {
        **ranking_document("select", ranked.leaderboard, runs, metric=ranked.metric),
        "allowed": [{"name": item.name, "sentence": item.sentence} for item in ranked.allowed],
        "chosen": run_document(runs[selection.chosen.label]) if selection.chosen else {},
        "tied": list(selection.tied),
        "not_told_apart": list(selection.not_told_apart),
        "excluded": list(selection.excluded),
        "best_of_equal": selection.best_of_equal,
    }
    # A choice that is not on record could be made again until heldout likes it.
    _, document = write_record(options["run_root"], document)
    if options["as_json"]:
        click.echo(json.dumps(document, indent=2))
    else:
        from hylo_eval.cli.sections import print_sections
        from hylo_eval.report.sections import Section

        verdict = Section(title="selection", sentences=tuple(_sentences(selection, document["id"])))
        print_sections(console(), (verdict, *ranking_sections(ranked.leaderboard, runs)))
    return EXIT_INCOMPLETE if selection.chosen is None else 0


def _sentences(selection: Selection, record: str) -> Iterator[str]:
    from hylo_eval.compare.agent_labels import agent_labels
    from hylo_eval.numerals import counted

    runs, chosen = selection.ranked.runs, selection.chosen
    if selection.excluded:
        yield f"too little coverage to be chosen: {', '.join(selection.excluded)}."
    if chosen is None or chosen.rate is None:
        yield "nothing is chosen."
        return
    labels = dict(zip(runs, agent_labels([run.conditions for run in runs.values()]), strict=True))
    scored = counted(chosen.n_scored, "episode")
    yield f"chosen: {labels[chosen.label]} (run {chosen.label}), {percent(chosen.rate)} of {scored}."
    if selection.tied:
        yield f"{', '.join(selection.tied)} did as well; the one named first is taken."
    if selection.not_told_apart:
        yield f"not told apart from it: {', '.join(selection.not_told_apart)}."
    # Of agents that all succeed, or all fail, luck shows nothing else.
    if selection.best_of_equal is not None and selection.equal_rate is not None and 0.0 < selection.equal_rate < 1.0:
        yield (
            f"its rate flatters it: the best of {len(runs)} equal agents with a true rate of "
            f"{percent(selection.equal_rate)} shows {percent(selection.best_of_equal)} by luck."
        )
    yield (
        "confirm it once on a split that nothing was chosen on: run it and its parent there, then "
        f"hylo-eval gate CANDIDATE PARENT --mode improve --confirms {printable_line(record)}"
    )
