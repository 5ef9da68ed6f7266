"""Finishing the trace of an episode whose process is gone: what reached the disk, what went wrong, an end event."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hylo_core.trace import EpisodeEnd, EpisodeStart, EpisodeStatus, EpisodeTrace, ErrorEvent
from hylo_eval.errors import TraceError
from hylo_eval.traces.layout import partial_of
from hylo_eval.traces.reader import parse_trace
from hylo_eval.traces.stable import stable_part
from hylo_eval.traces.writer import TraceDigests, TraceWriter


def finish_for_lost_process(
    path: Path,
    *,
    start: EpisodeStart,
    error: ErrorEvent,
    status: EpisodeStatus,
    fsync: bool = False,
    volatile: Mapping[str, Any] | None = None,
) -> tuple[EpisodeEnd, TraceDigests]:
    """Write the trace that the process of an episode did not come to finish.

    The whole lines of its ``.partial`` file are kept: they say how far it came. The process must be dead.

    Args:
        path: The trace's final name.
        start: The start event to use where the process had not written its own yet.
        error: What became of the process.
        status: Who is to blame for it.
        fsync: Force the trace to disk.
        volatile: For the end event.

    Returns:
        The end event and what identifies the trace.

    Raises:
        EvalError: The trace cannot be written, or exists.
    """
    partial = partial_of(path)
    lines, trace = _whole_lines(partial)
    partial.unlink(missing_ok=True)
    steps = trace.steps if trace is not None else ()
    with TraceWriter(path, fsync=fsync) as writer:
        for line in lines:
            writer.copy(line, stable_part(line))
        if trace is None:
            writer.start(start)
        writer.error(error)
        end = EpisodeEnd(
            status=status,
            steps=len(steps),
            success_once=any(step.success for step in steps) if steps else None,
            reason=error.phase,
            volatile=volatile or {},
        )
        return end, writer.end(end)


def _whole_lines(partial: Path) -> tuple[list[bytes], EpisodeTrace | None]:
    """The whole lines of an unfinished trace before any end event; none where they are no beginning of a trace."""
    with contextlib.suppress(OSError, TraceError):
        data = partial.read_bytes()
        lines = data[: data.rfind(b"\n") + 1].split(b"\n")[:-1]
        # The end event of a trace that did not get its name: the episode has not ended for anybody.
        lines = [line for line in lines if not line.startswith(b'{"type":"episode_end"')]
        return lines, parse_trace(b"".join(line + b"\n" for line in lines), partial, digests="none")
    return [], None
