"""What the queue keeps of an attempt."""

from __future__ import annotations

from typing import Any, Final

from hylo_core.errors import clean_text
from hylo_core.trace import ErrorEvent
from hylo_eval.rollout.episode import EpisodeResult
from hylo_eval.traces.layout import RunFolder

MAX_ERROR_CHARACTERS: Final = 2000
"""What the queue keeps of an error; the trace has all of it."""


def describe_failure(error: ErrorEvent) -> str:
    """What the queue keeps of an error."""
    return clean_text(f"{error.phase}: {error.error_type}: {error.message}", MAX_ERROR_CHARACTERS)


def outcome_of(result: EpisodeResult, run: RunFolder, started_at: float, seconds: float) -> dict[str, Any]:
    """What the queue keeps of an attempt, as JSON."""
    error = result.error
    return {
        "status": str(result.end.status),
        "trace": result.path.relative_to(run.path).as_posix(),
        "trace_sha256": result.digests.trace_sha256,
        "behaviour_sha256": result.digests.behaviour_sha256,
        "trace_bytes": result.digests.size,
        "steps": result.end.steps,
        "success": result.end.success_once,
        "disagreements": result.disagreements,
        "error": "" if error is None else describe_failure(error),
        "started_at": started_at,
        "seconds": seconds,
    }
