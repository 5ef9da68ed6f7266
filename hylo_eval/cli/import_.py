"""``hylo-eval import``."""

from __future__ import annotations

import re
from pathlib import Path

import click

from hylo_eval.cli.shared_options import run_root_option_that_says
from hylo_eval.cli.terminal import console, printable_line


@click.command(name="import")
@click.argument("log", type=click.Path(path_type=Path))
@click.option("--from", "form", type=click.Choice(["inspect-robots"]), required=True, help="What wrote the file.")
@click.option("--run-id", default=None, metavar="ID", help="The new run's name.  [default: the log's, and -imported]")
@run_root_option_that_says("Where run folders go.")
def import_(*, log: Path, form: str, run_id: str | None, run_root: Path) -> int:
    """Make a run folder of the LOG of another tool, for ls, show, compare and export. It has no traces."""
    from hylo_eval.exchange.imported_run import write_imported
    from hylo_eval.exchange.inspect_robots_import import read_inspect_robots
    from hylo_eval.numerals import counted

    found = read_inspect_robots(log)
    name = run_id or f"{re.sub(r'[^A-Za-z0-9._-]+', '-', found.run_id).strip('-.')[:100] or 'log'}-imported"
    run = write_imported(found, log, form=form, run_root=run_root, run_id=name)
    out = console()
    out.print(f"run: {printable_line(str(run.path))}")
    out.print(f"{counted(len(found.samples), 'episode')}; it has no traces, so comparisons believe its log")
    return 0
