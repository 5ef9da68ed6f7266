"""``hylo-eval merge``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs
import click

from hylo_eval.cli.run_report import as_json, print_report
from hylo_eval.cli.shared_options import run_root_option_that_says
from hylo_eval.cli.streams import stdout_to_stderr
from hylo_eval.cli.terminal import console, describe_unfinished, printable_line

if TYPE_CHECKING:
    from hylo_eval.evaluation.merge import Merged
    from hylo_eval.traces.layout import RunFolder

_SHOWN_KEYS: Final = 5


@click.command()
@click.argument("shards", metavar="SHARD...", nargs=-1, required=True)
@click.option(
    "--output", "-o", required=True, metavar="RUN", help="The run to write: an id under the run root, or a path."
)
@run_root_option_that_says("Where runs are looked for by id, and written.")
@click.option(
    "--benchmark", default=None, metavar="BENCH", help="Where the benchmark is, if not where the parts found it."
)
@click.option("--link", is_flag=True, help="Hard-link the traces; later grades are then in both.")
@click.option("--allow-code-change", is_flag=True, help="Merge parts that other states of Hylo's source have run.")
@click.option("--json", "as_json_", is_flag=True, help="The result as JSON on standard output, and nothing else there.")
def merge(
    *,
    shards: tuple[str, ...],
    output: str,
    run_root: Path,
    benchmark: str | None,
    link: bool,
    allow_code_change: bool,
    as_json_: bool,
) -> int:
    """Join runs of parts (run --shard I/N), finished or not, into the run they are parts of.

    Every SHARD is a run folder, or a run id under the run root; it stays as it is. Ends with 0 when the run is whole,
    with 3 when something is missing (it is listed, and run --resume runs it), with 2 when the parts are not of one run.
    """
    from hylo_eval.evaluation.merge import merge as merge_runs
    from hylo_eval.evaluation.merge import plan_merge
    from hylo_eval.traces.finding import find_run

    with stdout_to_stderr():
        runs = [find_run(name, run_root) for name in shards]
        plan = plan_merge(runs, benchmark=benchmark, allow_code_change=allow_code_change)
        merged = merge_runs(plan, _output(output, run_root), link=link)
    if as_json_:
        missing = [attrs.asdict(item) for item in merged.missing]
        click.echo(json.dumps({**as_json(merged.result), "missing": missing}, indent=2))
    else:
        print_report(merged.result)
        _print_missing(merged)
    return merged.result.exit_code


def _output(name: str, run_root: Path) -> RunFolder:
    from hylo_eval.traces.layout import RunFolder

    path = Path(name)
    return RunFolder.at(path.parent if len(path.parts) > 1 else run_root, path.name)


def _print_missing(merged: Merged) -> None:
    from hylo_eval.traces.finding import root_option

    if not merged.missing:
        return
    from hylo_eval.numerals import counted

    out, run = console(), merged.result.run
    count = sum(len(item.keys) for item in merged.missing)
    name, summary = next(iter(merged.result.summaries.items()))
    out.print(describe_unfinished(printable_line(name), summary, summary.n_attempted + count))
    out.print(f"missing: {counted(count, 'episode')}")
    for item in merged.missing:
        named = ", ".join(map(printable_line, item.keys[:_SHOWN_KEYS]))
        more = f" and {len(item.keys) - _SHOWN_KEYS} more" if len(item.keys) > _SHOWN_KEYS else ""
        out.print(f"  part {item.shard}, {printable_line(item.reason)}: {named}{more}")
    out.print(f"to run them: hylo-eval run --resume {printable_line(run.run_id + root_option(run))}")
