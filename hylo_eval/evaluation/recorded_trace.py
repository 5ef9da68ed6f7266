"""Traces that a log vouches for, as scorers see them."""

from __future__ import annotations

from pathlib import Path

import attrs

from hylo_core.trace import EpisodeTrace
from hylo_eval.traces.reader import read_trace


@attrs.frozen(kw_only=True)
class RecordedTrace:
    """A trace and what identifies its file.

    Attributes:
        trace: As scorers see it: with the digest of its behaviour and without that of its bytes, which covers clocks.
        trace_sha256: Digest of the bytes up to and including the end event; empty without an end event.
    """

    trace: EpisodeTrace
    trace_sha256: str


def read_recorded(path: Path | str, trace_sha256: str = "") -> RecordedTrace:
    """Read a trace whose digest may be on record.

    Where the digest of the bytes is the one on record, the digest of the behaviour in the end event is the one that
    the writer computed, and is not computed again.

    Args:
        path: The file.
        trace_sha256: The digest on record; empty where there is none.

    Raises:
        TraceError: With file and line.
    """
    trace = read_trace(path, digests="trace" if trace_sha256 else "all", by_column=True)
    if trace_sha256 and trace.end is not None:
        written = trace.end.volatile.get("behaviour_sha256")
        if trace.trace_sha256 == trace_sha256 and isinstance(written, str):
            trace = attrs.evolve(trace, behaviour_sha256=written)
        else:
            trace = read_trace(path, by_column=True)
    return RecordedTrace(trace=attrs.evolve(trace, trace_sha256=""), trace_sha256=trace.trace_sha256)
