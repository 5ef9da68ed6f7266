"""``hylo-eval ls``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import click

from hylo_eval.cli.shared_options import run_root_option_that_says
from hylo_eval.cli.tables import print_table
from hylo_eval.cli.terminal import console, number, percent, printable_line
from hylo_eval.errors import EvalError

_TIME: Final = re.compile(r"\d{4}(-\d\d(-\d\d([T ]\d\d:\d\d(:\d\d)?)?)?)?")
_HIDDEN: Final = ("fingerprint",)


@click.command(name="ls")
@click.option("--benchmark", default="", metavar="ID", help="Only runs of this benchmark; * and ? stand for anything.")
@click.option("--agent", default="", metavar="NAME", help="Only runs of this agent; * and ? stand for anything.")
@click.option(
    "--status",
    type=click.Choice(["complete", "partial", "unfinished", "broken"]),
    default=None,
    help="Only runs that are whole, were stopped, have no log, or cannot be read or believed.",
)
@click.option("--since", default="", metavar="DATE", help="Only runs from this date or time (UTC) on: 2026-03-01.")
@click.option("--until", default="", metavar="DATE", help="Only runs up to this date or time; a date is the whole day.")
@click.option("--comparisons", is_flag=True, help="List the comparisons and gates on record in place of the runs.")
@run_root_option_that_says("The folder of the runs.")
@click.option("--json", "as_json", is_flag=True, help="The rows as JSON on standard output, and nothing else there.")
def ls(**options: Any) -> int:
    """List the runs of a run root, newest first. A run that cannot be read is listed with what is wrong."""
    from hylo_eval.run_index.database import open_index

    if options["comparisons"] and options["status"]:
        raise EvalError("--status is of runs, --comparisons lists none", fix="leave one of them out")
    times = {name: _time(options[name], f"--{name}") for name in ("since", "until")}
    chosen = {"benchmark": options["benchmark"], "agent": options["agent"], **times}
    with open_index(options["run_root"], in_memory_if_unwritable=True) as opened:
        opened.refresh()
        if options["comparisons"]:
            rows = opened.comparisons(**chosen)
        else:
            rows = [
                {**row, "agent_settings": _settings(row)}
                for row in opened.runs(status=options["status"] or "", **chosen)
            ]
    if options["as_json"]:
        shown = [{name: value for name, value in row.items() if name not in _HIDDEN} for row in rows]
        click.echo(json.dumps(shown, indent=2))
        return 0
    out = console()
    if not rows:
        what = "comparison" if options["comparisons"] else "run"
        out.print(f"no such {what} in {printable_line(str(options['run_root']))}")
        return 0
    if options["comparisons"]:
        print_table(out, COMPARISON_HEADERS, [comparison_cells(row) for row in rows])
        return 0
    headers = ("run", "created", "benchmark", "agent", "status", "score", "scored")
    print_table(
        out,
        (*headers, "problem"),
        [_cells(row, label) for row, label in zip(rows, _labels(rows), strict=True)],
        numbers=("scored",),
    )
    return 0


def _time(given: str, option: str) -> str:
    if given and not _TIME.fullmatch(given):
        raise EvalError(f"{option} {given!r} is no date", fix=f"{option} 2026-03-01, or 2026-03-01T12:00")
    return given.replace(" ", "T")


COMPARISON_HEADERS: Final = ("comparison", "made", "kind", "mode", "verdict", "runs", "benchmark", "why")


def comparison_cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    """A row of ``comparisons`` under :data:`COMPARISON_HEADERS`."""
    split = f" ({row['split']})" if row["split"] else ""
    return (
        row["id"],
        row["created_at"][:16].replace("T", " "),
        row["kind"],
        row["mode"],
        row["verdict"],
        _runs(row["runs"]),
        f"{row['benchmark']}{split}",
        row["problem"] or row["reasons"],
    )


def _runs(runs: Sequence[Mapping[str, Any]]) -> str:
    """Who took part; of several repetitions of one pair the first, and how many there are."""
    first = runs[:2] if runs and runs[0]["role"] == "candidate" else runs
    named = ", ".join(run["run_id"] for run in first)
    return named if len(first) == len(runs) else f"{named}; {len(runs) // 2} repetitions of the pair"


def _labels(rows: Sequence[Mapping[str, Any]]) -> Sequence[str]:
    """Agents as they are told apart among the runs that are listed."""
    from hylo_eval.compare.agent_labels import AgentName, agent_labels

    return agent_labels(
        [
            AgentName(
                agent=f"{row['agent']} {row['agent_version']}".strip(),
                agent_digest=row["agent_digest"],
                agent_settings=row["agent_settings"],
            )
            for row in rows
        ]
    )


def _settings(row: Mapping[str, Any]) -> dict[str, Any]:
    try:
        found = json.loads(row["agent_settings"] or "{}")
    except ValueError:
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _cells(row: Mapping[str, Any], agent: str) -> tuple[str, ...]:
    counted = "" if row["n_episodes"] is None else f"{row['n_scored']}/{row['n_episodes']}"
    split = f" ({row['split']})" if row["split"] else ""
    return (
        row["run_id"],
        row["created_at"][:16].replace("T", " "),
        f"{row['benchmark']}{split}",
        agent,
        row["status"],
        _score(row),
        counted,
        "; ".join(filter(None, (row["problem"], row["stand_ins"]))),
    )


def _score(row: Mapping[str, Any]) -> str:
    """The first scorer's mean."""
    if row["mean"] is None:
        return ""
    return f"{row['scorer']} {percent(row['mean']) if row['binary'] else number(row['mean'], row['unit'] or '')}"
