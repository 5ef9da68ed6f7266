"""How far a run is, in words: the same for ``status``, for the display of a run, and for one line in a log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import attrs

from hylo_eval.cli.run_settings import differing_settings
from hylo_eval.cli.tables import draw_table, print_table, shortened_widths, table_columns
from hylo_eval.cli.terminal import percent, printable_line
from hylo_eval.evaluation.activity import Presence
from hylo_eval.evaluation.tally import COUNTS
from hylo_eval.numerals import counted
from hylo_eval.queue import Ending, State
from hylo_eval.scoring.lengths import ENDS_FIRST
from hylo_eval.traces.finding import root_option
from hylo_eval.versions import stand_in_sentence

if TYPE_CHECKING:
    from rich.console import Console

    from hylo_eval.evaluation.orphans import Orphan
    from hylo_eval.evaluation.status import RunStatus

MAX_ERRORS: Final = 3
MAX_ORPHANS: Final = 10
MAX_COLUMNS: Final = 6
"""Attempts that have a column of their own; the last one stands for all later ones too."""

_MAX_ERROR_CHARACTERS: Final = 300
_MEANING: Final = {
    Ending.DONE: "",
    Ending.ABSTAINED: ", given up",
    Ending.RETRIED: ", tried again",
    Ending.LOST: ", lease lost",
    Ending.RELEASED: ", stopped by the operator",
    Ending.DEMOTED: ", trace damaged later",
}


@attrs.frozen(kw_only=True)
class Rows:
    """A table among lines of text; cells are not yet printable."""

    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: Sequence[str] = ()


def blocks(status: RunStatus) -> Iterator[str | Rows]:
    """Everything there is to say, from the most important on; texts are printable."""
    yield printable_line(
        f"{status.run.run_id}: {status.described('benchmark', 'id')} ({status.described('benchmark', 'split')}), "
        f"agent {status.described('agent', 'name')} {status.described('agent', 'version')}"
        f"{_shard(status)}"
    )
    if said := differing_settings(status.manifest):
        yield f"settings: {said}"
    yield _counts(status)
    yield from _working(status)
    if said := stand_in_sentence("the run", status.versions):
        yield printable_line(said)
    yield from _success(status)
    if any(process.activity.workers for process in status.working):
        yield _workers(status)
    if status.tally.by_attempt():
        yield _attempts(status)
    yield from _errors(status)
    yield from _orphans(status)
    yield from (f"fault: {printable_line(fault)}" for fault in status.faults)


def print_status(out: Console, status: RunStatus) -> None:
    """Print all of it."""
    for block in blocks(status):
        if isinstance(block, str):
            out.print(block)
        else:
            print_table(out, block.headers, block.rows, numbers=block.numbers)


def as_renderable(status: RunStatus, width: int, notice: str = "") -> Any:
    """All of it as one thing that rich can draw again and again, so many characters wide; long texts are shortened."""
    from rich.console import Group
    from rich.text import Text

    drawn: list[Any] = []
    for block in blocks(status):
        if isinstance(block, str):
            drawn.append(Text(block, overflow="fold"))
            continue
        columns = table_columns(block.headers, block.rows, block.numbers)
        table = draw_table(columns, shortened_widths(columns, width), overflow="ellipsis")
        drawn.append(table)
    if notice:
        drawn.append(Text(notice, style="bold"))
    return Group(*drawn)


def one_line(status: RunStatus) -> str:
    """The least that a log needs to say, in one line."""
    parts = [f"{status.ended}/{counted(status.planned, 'episode')}"]
    if status.counts[State.ABSTAINED]:
        parts.append(f"{status.counts[State.ABSTAINED]} of them given up")
    tally = status.tally
    if tally.rate is not None:
        low, high = tally.bounds(status.planned)
        parts.append(
            f"{tally.succeeded} of {tally.scored} scored succeeded (of all, {percent(low)} to {percent(high)})"
        )
    retried = sum(item.count for item in tally.by_attempt() if item.ending not in (*COUNTS, Ending.RELEASED))
    if retried:
        parts.append(f"{counted(retried, 'attempt')} failed")
    return ", ".join(parts) + _speed(status)


def _counts(status: RunStatus) -> str:
    counts = status.counts
    lost = len(status.unclaimed)
    parts = [f"{counts[State.DONE]} done"]
    if counts[State.ABSTAINED]:
        parts.append(f"{counts[State.ABSTAINED]} given up (the infrastructure failed)")
    if counts[State.LEASED] > lost:
        parts.append(f"{counts[State.LEASED] - lost} running")
    if lost:
        parts.append(f"{lost} held by a process that is gone or silent")
    if counts[State.PENDING]:
        parts.append(f"{counts[State.PENDING]} waiting")
    outcomes = {status_: count for status_, count in sorted(status.tally.outcomes.items()) if status_ != "completed"}
    named = f" ({', '.join(f'{count} {printable_line(name)}' for name, count in outcomes.items())})" if outcomes else ""
    have = "has" if status.ended == 1 else "have"
    planned = counted(status.planned, "episode")
    return f"{status.ended} of {planned} {have} an outcome{named}: {', '.join(parts)}"


def _working(status: RunStatus) -> Iterator[str]:
    for process in status.processes:
        owner, activity = process.activity.holder, process.activity
        who = printable_line(f"process {owner.pid} on {owner.host}")
        if process.presence is Presence.WORKING:
            yield f"at work: {who}, since {_moment(activity.began_at)}"
        elif process.presence is Presence.SILENT:
            quiet = duration(status.now - activity.written_at)
            yield f"silent: {who}, no word for {quiet}: it is stopped, or its machine is gone"
        else:
            yield f"gone: {who} was killed or its machine restarted; last heard of {_moment(activity.written_at)}"
    if not status.complete and not status.working:
        again = printable_line(f"hylo-eval run --resume {status.run.run_id}{root_option(status.run)}")
        yield f"nobody works on it; to go on: {again}"
    speed = _speed(status).removeprefix("; ")
    if speed:
        yield speed


def _success(status: RunStatus) -> Iterator[str]:
    tally = status.tally
    if tally.rate is None or tally.interval is None:
        return
    low, high = (percent(bound) for bound in tally.interval)
    finished = "success" if status.complete else "success so far"
    yield f"{finished}: {percent(tally.rate)} [{low}, {high}], {tally.succeeded} of the {tally.scored} scored succeeded"
    if tally.scored < status.planned:
        low, high = (percent(bound) for bound in tally.bounds(status.planned))
        if status.complete:
            yield f"  {low} had all others failed, {high} had they all succeeded"
        else:
            ends_first = f"; {ENDS_FIRST}, so the rate so far is too high rather than too low"
            yield (
                f"  of all {status.planned}: {low} if all others fail, {high} if all succeed"
                f"{ends_first if tally.lengths.successes_end_first else ''}"
            )


def _workers(status: RunStatus) -> Rows:
    several = len(status.working) > 1
    rows = [
        (
            f"{process.activity.holder.pid}/{worker.name}" if several else worker.name,
            worker.key or "-",
            str(worker.attempt or "-"),
            duration(status.now - worker.attempt_since) if worker.key else "-",
            f"{worker.phase} for {duration(status.now - worker.since)}",
        )
        for process in status.working
        for worker in process.activity.workers
    ]
    return Rows(headers=("worker", "episode", "attempt", "since", "now"), rows=rows, numbers=("attempt", "since"))


def _attempts(status: RunStatus) -> Rows:
    counted = status.tally.by_attempt()
    last = min(MAX_COLUMNS, max(item.attempt for item in counted))
    more = any(item.attempt > last for item in counted)
    columns = [f"attempt {number}" for number in range(1, last + 1)]
    if more:
        columns[-1] += "+"
    cells: dict[str, list[int]] = {}
    for item in counted:
        column = min(item.attempt, last) - 1
        if item.status == "completed" and item.ending is Ending.DONE:
            kinds = {"completed, success": item.succeeded, "completed, no success": item.count - item.succeeded}
        else:
            kinds = {f"{item.status}{_MEANING[item.ending]}": item.count}
        for kind, count in kinds.items():
            if count:
                cells.setdefault(kind, [0] * last)[column] += count
    rows = [(kind, *(str(count) if count else "-" for count in counts)) for kind, counts in cells.items()]
    return Rows(headers=("attempts so far", *columns), rows=rows, numbers=columns)


def _errors(status: RunStatus) -> Iterator[str]:
    errors = status.tally.errors
    for text, count in errors.most_common(MAX_ERRORS):
        shown = printable_line(text)
        cut = shown if len(shown) <= _MAX_ERROR_CHARACTERS else f"{shown[:_MAX_ERROR_CHARACTERS]}…"
        yield f"error, {count} times: {cut}" if count > 1 else f"error: {cut}"
    if len(errors) > MAX_ERRORS:
        yield f"and {len(errors) - MAX_ERRORS} other errors (--json has them all)"


def _orphans(status: RunStatus) -> Iterator[str]:
    stopped = [orphan for orphan in status.orphans or () if orphan.stopped]
    if stopped:
        traces = counted(len(stopped), "trace")
        yield f"{traces} of stopped attempts ({_size(stopped)}), no results; --clean removes what they left"
    orphans = [orphan for orphan in status.orphans or () if not orphan.stopped]
    if not orphans:
        return
    yield f"{counted(len(orphans), 'file')} of lost attempts ({_size(orphans)}) that no row of the queue names; "
    yield f"hylo-eval status {printable_line(status.run.run_id)}{root_option(status.run)} --clean removes them:"
    for orphan in orphans[:MAX_ORPHANS]:
        yield f"  {printable_line(orphan.path)}"
    if len(orphans) > MAX_ORPHANS:
        yield f"  and {len(orphans) - MAX_ORPHANS} more"


def _size(orphans: Sequence[Orphan]) -> str:
    size = sum(orphan.size for orphan in orphans)
    return f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.1f} kB"


def _speed(status: RunStatus) -> str:
    rate = status.episodes_a_minute
    if rate is None:
        return ""
    left = status.seconds_left
    time_left = "" if left is None else f", about {duration(left)} left"
    shown = f"{rate:.3g}" if rate < 100 else f"{rate:.0f}"
    return f"; {shown} {'episode' if shown == '1' else 'episodes'} a minute{time_left}"


def _shard(status: RunStatus) -> str:
    shard = status.described("selection", "shard")
    return "" if shard == "?" else f", shard {shard}"


def _moment(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        return "at no time that is one"


def duration(seconds: float) -> str:
    """``0.4 s``, ``12 s``, ``3 min 20 s``, ``5 h 03 min`` or ``2 d 4 h``."""
    seconds = max(0.0, seconds)
    if seconds < 10.0:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes:02d} min"
    return f"{hours // 24} d {hours % 24} h"
