"""``hylo-eval index``."""

from __future__ import annotations

import json
from pathlib import Path

import attrs
import click

from hylo_eval.cli.shared_options import run_root_option_that_says
from hylo_eval.cli.terminal import console, printable_line


@click.command()
@click.option("--rebuild", is_flag=True, help="Make it anew in place of reading what changed.")
@run_root_option_that_says("The folder of the runs.")
@click.option("--json", "as_json", is_flag=True, help="The result as JSON on standard output, and nothing else there.")
def index(*, rebuild: bool, run_root: Path, as_json: bool) -> int:
    """Bring RUN_ROOT/index.db up to date: every run, sample, score and comparison as tables, for SQLite and Datasette.

    Derived from the files in RUN_ROOT; deleting it loses nothing.
    """
    from hylo_eval.run_index.database import INDEX_NAME, open_index

    with open_index(run_root, rebuild=rebuild) as opened:
        done = opened.refresh()
    path = run_root / INDEX_NAME
    if as_json:
        click.echo(json.dumps({"index": str(path), **attrs.asdict(done)}, indent=2))
        return 0
    from hylo_eval.numerals import counted

    broken = f", {done.n_broken} of them broken (hylo-eval ls --status broken)" if done.n_broken else ""
    records = f", {counted(done.n_comparisons, 'comparison')}" if done.n_comparisons else ""
    console().print(f"{printable_line(str(path))}: {counted(done.n_runs, 'run')}{broken}{records}")
    return 0
