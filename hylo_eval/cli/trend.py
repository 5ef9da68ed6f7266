"""``hylo-eval trend``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from hylo_eval.cli.compare import keep_record
from hylo_eval.cli.sections import markdown_option, owns_output, print_sections, write_markdown
from hylo_eval.cli.shared_options import run_root_option_that_says
from hylo_eval.cli.terminal import console


@click.command()
@click.argument("family", metavar="AGENT_FAMILY")
@click.option("--baseline", default=None, metavar="RUN", help="The fixed baseline.  [default: the oldest run]")
@click.option("--benchmark", default=None, metavar="ID", help="Only runs on this benchmark.")
@click.option("--split", default=None, help="Only runs on this split.")
@click.option("--metric", default="success", show_default=True, help="A scorer of 0 and 1.")
@click.option("--alpha", type=float, default=0.05, show_default=True, help="One-sided level of a regression.")
@click.option("--allow", multiple=True, metavar="NAME", help="A difference to accept, by name; repeatable.")
@click.option("--log-only", is_flag=True, help="Believe the logs; read no trace.")
@run_root_option_that_says("Where the runs are; the record goes to comparisons/ in it.")
@click.option("--figure", type=click.Path(path_type=Path), default=None, metavar="FILE", help="Draw it: SVG or PNG.")
@click.option("--json", "as_json", is_flag=True, help="JSON on standard output, and nothing else there.")
@markdown_option
def trend(**options: Any) -> int:
    """Show success over the versions of an agent: the finished runs of agents called AGENT_FAMILY (* is anything).

    Each version is compared with the one before and with a fixed baseline, so that a slow drift shows.
    """
    from hylo_eval.compare.checks import require_alpha
    from hylo_eval.evaluation.comparing.trending import family_trend
    from hylo_eval.report.trending import trend_document, trend_sections

    quiet = owns_output(options)
    if options["figure"] is not None:
        from hylo_eval.report.drawing import require_format

        require_format(options["figure"])
    alpha = require_alpha(options["alpha"])
    found = family_trend(
        options["family"],
        options["run_root"],
        baseline=options["baseline"],
        benchmark=options["benchmark"],
        split=options["split"],
        metric=options["metric"],
        allow=options["allow"],
        traces=not options["log_only"],
    )
    parts = (found.steps, found.runs, found.baseline)
    if options["figure"] is not None:
        from hylo_eval.evaluation.comparing.records import write_report
        from hylo_eval.report.drawing import render
        from hylo_eval.report.trending import draw_trend

        drawing = draw_trend(*parts, family=options["family"], metric=found.metric, alpha=alpha)
        write_report(options["figure"], render(drawing, options["figure"].suffix))
    document = keep_record(options["run_root"], trend_document(*parts, found.notes, metric=found.metric))
    sections = trend_sections(*parts, found.notes, alpha=alpha)
    write_markdown(options, f"Trend of {options['family']}", sections)
    if options["as_json"]:
        click.echo(json.dumps(document, indent=2))
    elif not quiet:
        print_sections(console(), sections)
    return 0
