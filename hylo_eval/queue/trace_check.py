"""Whether the trace that a row names is still the one it names."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import attrs

from hylo_eval.traces.layout import RunFolder, episode_id, partial_of

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

    from hylo_eval.queue.values import Outcome

RECENT_SECONDS = 300.0
"""How long before the last recorded end an end counts as recent: longer than any system keeps writes in memory."""

RECENT_ENDS = 100
"""How many ends count as recent whatever the clock says: it may have jumped."""

_BLOCK_BYTES = 1 << 20
_ENDS = "SELECT id, ended_at FROM attempts ORDER BY id DESC"


@attrs.frozen(kw_only=True)
class Demotion:
    """An item that went back to pending.

    Attributes:
        key: The instance key.
        reason: What is wrong with its trace.
    """

    key: str
    reason: str


def left_a_trace(folder: Path, key: str, attempt: int) -> bool:
    """Whether an attempt has begun to write its trace into the folder of its run."""
    path = RunFolder(folder).trace(episode_id(key, attempt))
    return partial_of(path).exists() or path.exists()


def fault_of(outcome: Outcome, folder: Path) -> str:
    """What is wrong with the trace of an outcome; empty when its bytes are those on record.

    Grades stand after those bytes, so the file may be longer.
    """
    if not outcome.trace:
        return ""
    path = folder / outcome.trace
    sha, remaining = hashlib.sha256(), outcome.trace_bytes
    try:
        with path.open("rb") as file:
            while remaining:
                block = file.read(min(remaining, _BLOCK_BYTES))
                if not block:
                    there = outcome.trace_bytes - remaining
                    return f"the trace {outcome.trace} has {there} of {outcome.trace_bytes} bytes"
                sha.update(block)
                remaining -= len(block)
    except OSError as error:
        return f"the trace {outcome.trace} cannot be read: {error.strerror}"
    if f"sha256:{sha.hexdigest()}" != outcome.trace_sha256:
        return f"the trace {outcome.trace} does not have the digest on record"
    return ""


def first_recent(connection: sqlite3.Connection, seconds: float) -> int:
    """The number of the first attempt that counts as recent; attempts are numbered in the order of their ends."""
    first, last = 1, None
    for count, (number, ended_at) in enumerate(connection.execute(_ENDS)):
        last = ended_at if last is None else last
        if count >= RECENT_ENDS and ended_at < last - seconds:
            break
        first = number
    return first
