"""``hylo-eval status``."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs
import click

from hylo_eval.cli.shared_options import run_root_option
from hylo_eval.cli.streams import reader_left
from hylo_eval.cli.terminal import console, printable_line
from hylo_eval.versions import stand_ins

if TYPE_CHECKING:
    from hylo_eval.evaluation.activity import Activity
    from hylo_eval.evaluation.status import RunStatus
    from hylo_eval.traces.layout import RunFolder

WATCH_SECONDS: Final = 2.0
"""How often ``--watch`` looks."""

LINE_SECONDS: Final = 30.0
"""How often ``--watch`` writes a line where there is no terminal."""

_LOOKING_SHARE: Final = 20.0  # looking may take a twentieth of the time: the same disk has work to do

EXIT_FAULTY: Final = 2


@click.command()
@click.argument("name", metavar="RUN")
@run_root_option
@click.option(
    "--watch", is_flag=True, help="Look again and again, until the run is whole, or nobody works on it or reads."
)
@click.option("--clean", is_flag=True, help="Remove the files of lost and stopped attempts, after listing them.")
@click.option("--json", "as_json", is_flag=True, help="JSON on standard output; with --watch a line each time.")
def status(*, name: str, run_root: Path, watch: bool, clean: bool, as_json: bool) -> int:
    """Say how far RUN is: a run folder, or a run id under the run root.

    Works while the run goes on, after it, and after everything that worked on it was killed. Ends with 0, also when
    the run is not whole; with 2 when the folder is none of a run, or damaged.
    """
    from hylo_eval.evaluation.status import read_status
    from hylo_eval.traces.finding import find_run

    if watch and clean:
        raise click.UsageError("--watch looks on, --clean removes; choose one of them")
    run = find_run(name, run_root)
    if watch:
        found = _watch(run, as_json=as_json)
    else:
        found = read_status(run)
        _show(found, as_json=as_json)
    if clean:
        _clean(found, quiet=as_json)
    return EXIT_FAULTY if found.faults else 0


def _show(found: RunStatus, *, as_json: bool, compact: bool = False) -> None:
    from hylo_eval.cli.status_view import print_status

    if as_json:
        click.echo(json.dumps(status_json(found), indent=None if compact else 2))
    else:
        print_status(console(), found)


def _watch(run: RunFolder, *, as_json: bool) -> RunStatus:
    """Look until there is nothing more to see; returns the last look."""
    from hylo_eval.cli.status_view import as_renderable, one_line, print_status

    out = console()
    if as_json:
        return _look(run, WATCH_SECONDS, lambda found: _show(found, as_json=True, compact=True))
    if not out.is_terminal:
        last = _look(run, LINE_SECONDS, lambda found: out.print(one_line(found)))
    else:
        from rich.live import Live

        with Live(console=console(redrawn=True), auto_refresh=False, transient=True) as live:
            last = _look(
                run,
                WATCH_SECONDS,
                lambda found: live.update(as_renderable(found, live.console.width), refresh=True),
            )
    print_status(out, last)
    return last


def _look(run: RunFolder, seconds: float, show: Callable[[RunStatus], None]) -> RunStatus:
    from hylo_eval.evaluation.status import read_status

    while True:
        began = time.monotonic()
        found = read_status(run)
        show(found)
        if found.complete or not found.working or reader_left():
            return found
        time.sleep(max(seconds, _LOOKING_SHARE * (time.monotonic() - began)))


def _clean(found: RunStatus, *, quiet: bool) -> None:
    from hylo_eval.evaluation.activity import sweep
    from hylo_eval.evaluation.orphans import remove
    from hylo_eval.evaluation.status import refuse_cleaning
    from hylo_eval.numerals import counted
    from hylo_eval.queue import Machine

    refuse_cleaning(found, Machine())
    orphans = found.orphans or ()
    if not quiet:
        for orphan in orphans:
            console().print(f"removing {printable_line(orphan.path)}")
    remove(found.run, orphans)
    sweep(found.run)
    if not quiet:
        console().print(f"removed {counted(len(orphans), 'file')}" if orphans else "there is nothing to remove")


def status_json(found: RunStatus) -> dict[str, Any]:
    """All of it for programs."""
    tally = found.tally
    return {
        "run": str(found.run.path),
        "now": found.now,
        "complete": found.complete,
        "planned": found.planned,
        "ended": found.ended,
        "states": {state.value: count for state, count in found.counts.items()},
        "outcomes": dict(sorted(tally.outcomes.items())),
        "attempts": [attrs.asdict(item) for item in tally.by_attempt()],
        "success": {
            "scored": tally.scored,
            "succeeded": tally.succeeded,
            "rate": tally.rate,
            "interval": tally.interval,
            "bounds": tally.bounds(found.planned) if found.planned else None,
        },
        "stand_ins": list(stand_ins(found.versions)),
        "episodes_a_minute": found.episodes_a_minute,
        "seconds_left": found.seconds_left,
        "processes": [
            {"presence": process.presence.value, **_activity_json(process.activity)} for process in found.processes
        ],
        "leases": [{"key": item.key, "attempt": item.attempt, "owner": item.owner} for item in found.leases],
        "errors": dict(tally.errors.most_common()),
        "orphans": [attrs.asdict(orphan) for orphan in found.orphans or ()],
        "faults": list(found.faults),
    }


def _activity_json(activity: Activity) -> dict[str, Any]:
    return {
        "owner": dict(activity.owner),
        "began_at": activity.began_at,
        "written_at": activity.written_at,
        "workers": [attrs.asdict(worker) for worker in activity.workers],
    }
