"""``hylo-eval leaderboard``."""

from __future__ import annotations

import json
from typing import Any

import click

from hylo_eval.cli.compare import keep_record
from hylo_eval.cli.sections import markdown_option, owns_output, print_sections, write_markdown
from hylo_eval.cli.shared_options import run_root_option_that_says
from hylo_eval.cli.terminal import console


@click.command()
@click.argument("runs", nargs=-1, required=True)
@click.option("--metric", default="success", show_default=True, help="A scorer of 0 and 1.")
@click.option("--alpha", type=float, default=0.05, show_default=True, help="Two-sided level of all pairs together.")
@click.option("--allow", multiple=True, metavar="NAME", help="A difference to accept, by name; repeatable.")
@click.option("--log-only", is_flag=True, help="Believe the logs; read no trace.")
@run_root_option_that_says("Where runs are looked for by id; the record goes to comparisons/ in it.")
@click.option("--json", "as_json", is_flag=True, help="JSON on standard output, and nothing else there.")
@markdown_option
def leaderboard(**options: Any) -> int:
    """Rank RUNS (folders, or ids under the run root) on the same instances, with groups that cannot be told apart."""
    from hylo_eval.evaluation.comparing.several_runs import rank_runs, read_runs
    from hylo_eval.report.ranking import ranking_document, ranking_sections

    quiet = owns_output(options)
    runs = read_runs(options["runs"], options["run_root"], traces=not options["log_only"])
    found = rank_runs(runs, metric=options["metric"], alpha=options["alpha"], allow=options["allow"])
    document = ranking_document("leaderboard", found.leaderboard, runs, metric=found.metric)
    document["allowed"] = [{"name": item.name, "sentence": item.sentence} for item in found.allowed]
    document = keep_record(options["run_root"], document)
    sections = ranking_sections(found.leaderboard, runs)
    if found.allowed:
        from hylo_eval.report.sections import Section

        sentences = tuple(item.words for item in found.allowed)
        sections = (*sections, Section(title="allowed", sentences=sentences))
    write_markdown(options, "Leaderboard", sections)
    if options["as_json"]:
        click.echo(json.dumps(document, indent=2))
    elif not quiet:
        print_sections(console(), sections)
    return 0
