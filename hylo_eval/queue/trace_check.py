"""Whether the trace that a row names is still the one it names."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from pathlib import Path

    from hylo_eval.queue.values import Outcome

_BLOCK_BYTES = 1 << 20


@attrs.frozen(kw_only=True)
class Demotion:
    """An item that went back to pending.

    Attributes:
        key: The instance key.
        reason: What is wrong with its trace.
    """

    key: str
    reason: str


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
