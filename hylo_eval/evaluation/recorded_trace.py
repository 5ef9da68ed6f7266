"""Traces that a log vouches for, as scorers see them."""

from __future__ import annotations

from pathlib import Path

import attrs

from hylo_core.trace import EpisodeTrace
from hylo_eval.traces.grade_chain import BrokenChain
from hylo_eval.traces.reader import Digests, read_trace


@attrs.frozen(kw_only=True)
class RecordedTrace:
    """A trace and what identifies its file.

    Attributes:
        trace: As scorers see it: with the digest of its behaviour and without that of its bytes, which covers clocks.
        trace_sha256: Digest of the bytes up to and including the end event; empty without an end event.
        changed_grades: Where and how the chain of its grades is broken; empty where it is whole.
    """

    trace: EpisodeTrace
    trace_sha256: str
    changed_grades: str = ""


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
    trace, fault = _read(path, "trace" if trace_sha256 else "all")
    if trace_sha256 and trace.end is not None:
        written = trace.end.volatile.get("behaviour_sha256")
        if trace.trace_sha256 == trace_sha256 and isinstance(written, str):
            trace = attrs.evolve(trace, behaviour_sha256=written)
        else:
            trace, fault = _read(path, "all")
    return RecordedTrace(
        trace=attrs.evolve(trace, trace_sha256=""), trace_sha256=trace.trace_sha256, changed_grades=fault
    )


def _read(path: Path | str, digests: Digests) -> tuple[EpisodeTrace, str]:
    """The trace, and what is wrong with the chain of its grades."""
    try:
        return read_trace(path, digests=digests, by_column=True), ""
    except BrokenChain as broken:
        return broken.trace, broken.words
