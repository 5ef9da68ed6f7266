"""Whether a trace is the one that was recorded: a page believes no other."""

from __future__ import annotations

from pathlib import Path

from hylo_core.trace import EpisodeTrace
from hylo_eval.errors import TraceError
from hylo_eval.report.run_record import EpisodeRecord
from hylo_eval.traces.grade_chain import BrokenChain
from hylo_eval.traces.reader import read_trace


def read_with_changes(
    record: EpisodeRecord, path: Path, *, by_column: bool = False
) -> tuple[EpisodeTrace, tuple[str, ...]]:
    """Read the trace of an episode, and say in which ways it is not the one on record; nothing where it is.

    Where the log or the queue holds the digest of the trace's bytes, that is what they are held against; an older log
    holds none, and what the trace's own end event says of its behaviour has to do. Instance, episode and status have to
    be those on record in either case, and every grade has to name the digest of the bytes before it.

    Args:
        record: The episode as the log or the queue has it.
        path: Its trace.
        by_column: See :func:`hylo_eval.traces.reader.read_trace`.

    Raises:
        TraceError: The trace cannot be read.
    """
    try:
        trace = read_trace(path, digests="trace" if record.trace_sha256 else "all", by_column=by_column)
    except BrokenChain as broken:
        return broken.trace, (*changes_of(record, broken.trace), broken.words)
    return trace, changes_of(record, trace)


def read_believed(record: EpisodeRecord) -> tuple[EpisodeTrace | None, str]:
    """The trace of an episode if it is the one on record, or else why nothing of it is shown, in words."""
    if record.trace is None:
        return None, "its trace is not there"
    try:
        trace, changes = read_with_changes(record, record.trace, by_column=True)
    except TraceError as error:
        return None, f"{error.path.name}: {error.reason}"
    return (None, "; ".join(changes)) if changes else (trace, "")


def changes_of(record: EpisodeRecord, trace: EpisodeTrace) -> tuple[str, ...]:
    """In which ways a trace that was read with its digests is not the one on record, in words."""
    found: list[str] = []
    if trace.end is None:
        # Without a digest on record it may never have had an end: a worker was killed, and it abstains for that.
        return ("it has no end event any more",) if record.trace_sha256 else ()
    if record.trace_sha256:
        if trace.trace_sha256 != record.trace_sha256:
            found.append(f"{record.trace_sha256} is on record as its digest, the file has {trace.trace_sha256}")
    elif (written := trace.end.volatile.get("behaviour_sha256")) != trace.behaviour_sha256:
        found.append(f"its end event records behaviour {written or 'no digest'}, the file has {trace.behaviour_sha256}")
    for what, recorded, there in (
        ("instance", record.key, trace.key),
        ("episode", record.episode_id, trace.episode_id),
        ("status", record.status, str(trace.end.status)),
    ):
        if recorded != there:
            found.append(f"{recorded} is on record as its {what}, the file has {there}")
    return tuple(found)
