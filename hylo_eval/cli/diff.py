"""``hylo-eval diff``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hylo_eval.cli.shared_options import run_root_option
from hylo_eval.cli.terminal import console, print_hanging, printable_line
from hylo_eval.errors import EvalError
from hylo_eval.numerals import counted

if TYPE_CHECKING:
    from hylo_core.trace import EpisodeTrace
    from hylo_eval.compare.divergence import Divergence

DIFFERENT = 1
INCOMPLETE = 3


@click.command()
@click.argument("run_a")
@click.argument("run_b")
@click.argument("episode")
@click.option(
    "--tolerance", type=float, default=0.0, show_default=True, help="Numbers that differ by no more are the same."
)
@click.option("--exit-code", is_flag=True, help="End with 1 when the episodes part, for a determinism check in CI.")
@run_root_option
@click.option("--json", "as_json", is_flag=True, help="JSON on standard output, and nothing else there.")
def diff(**options: Any) -> int:
    """Say where EPISODE (an instance key) parts between RUN_A and RUN_B: the first step, and in what.

    Ends with 0 when both episodes could be compared, with 3 when one of them has no end, with 2 when one cannot be
    read; with --exit-code also with 1 when they part.
    """
    from hylo_eval.compare.divergence import find_divergence

    traces = [_read(options[side], options["run_root"], options["episode"]) for side in ("run_a", "run_b")]
    divergence = find_divergence(*traces, tolerance=options["tolerance"])
    unfinished = [options[side] for side, trace in zip(("run_a", "run_b"), traces, strict=True) if trace.end is None]
    if options["as_json"]:
        click.echo(json.dumps(_as_json(traces, divergence, unfinished), indent=2))
    else:
        _print(traces, divergence, unfinished)
    if unfinished:
        return INCOMPLETE
    return DIFFERENT if divergence.first is not None and options["exit_code"] else 0


def _read(name: str, run_root: Path, episode: str) -> EpisodeTrace:
    from hylo_eval.report.recorded import read_with_changes
    from hylo_eval.report.run_record import read_run
    from hylo_eval.traces.finding import find_run
    from hylo_eval.traces.reader import read_trace

    record = read_run(find_run(name, run_root))
    found = record.episode(episode)
    if found.trace is None:
        raise EvalError(
            f"the log of {record.run_id} names no trace of its own for {found.key}",
            fix=f"hylo-eval rescore {record.run_id} says what is wrong with its traces",
        )
    _, changes = read_with_changes(found, found.trace, by_column=True)
    if changes:
        said = f"the trace of {found.key} in {record.run_id} is not the one that was recorded: {'; '.join(changes)}"
        console(stderr=True).print(f"warning: {printable_line(said)}")
    return read_trace(found.trace, digests="behaviour")


def _as_json(traces: list[EpisodeTrace], divergence: Divergence, unfinished: list[str]) -> dict[str, Any]:
    import attrs

    return {
        "key": traces[0].key,
        "episodes": [trace.episode_id for trace in traces],
        "equal": divergence.first is None,
        "partings": [attrs.asdict(parting) for parting in divergence.partings],
        "conditions": list(divergence.conditions),
        "steps": list(divergence.steps),
        "unfinished": unfinished,
    }


def _print(traces: list[EpisodeTrace], divergence: Divergence, unfinished: list[str]) -> None:
    out = console()
    names = " and ".join(printable_line(trace.episode_id) for trace in traces)
    out.print(f"{printable_line(traces[0].key)}: {names}")
    if divergence.first is None:
        out.print(f"they are the same in all {counted(divergence.steps[0], 'step')}")
    else:
        print_hanging(out, "they part at ", divergence.first.words)
        for parting in divergence.partings[1:]:
            print_hanging(out, "  then ", parting.words)
    if divergence.conditions:
        out.print(f"their conditions differ: {', '.join(divergence.conditions)}")
    for name in unfinished:
        out.print(f"the episode of {printable_line(name)} has no end: what would have followed is unknown")
