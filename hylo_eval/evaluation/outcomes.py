"""What the queue keeps of an attempt."""

from __future__ import annotations

import os
from typing import Any, Final

from hylo_core.errors import clean_text
from hylo_core.task import TaskInstance
from hylo_core.trace import EpisodeEnd, ErrorEvent
from hylo_eval.rollout.result import EpisodeResult
from hylo_eval.scoring.success import RESPONSE_CORRECT
from hylo_eval.traces.layout import RunFolder

MAX_ERROR_CHARACTERS: Final = 2000
"""What the queue keeps of an error; the trace has all of it."""


def describe_failure(error: ErrorEvent) -> str:
    """What the queue keeps of an error."""
    return clean_text(f"{error.phase}: {error.error_type}: {error.message}", MAX_ERROR_CHARACTERS)


def _success(instance: TaskInstance, end: EpisodeEnd) -> bool | None:
    """Whether an episode succeeded in the meaning of its task; None where only the scorer of its response can tell."""
    if instance.spec.success.name == RESPONSE_CORRECT:
        return None
    return end.success_at_end if instance.spec.success_at == "end" else end.success_once


def outcome_members(
    result: EpisodeResult, instance: TaskInstance, run: RunFolder, started_at: float, seconds: float
) -> dict[str, Any]:
    """What the queue keeps of an attempt: the members of :class:`hylo_eval.queue.Outcome` but ``worker``, as JSON.

    Args:
        result: What the episode came to.
        instance: What was run.
        run: The run folder, which the trace lies in.
        started_at: When the attempt began, in seconds since 1970.
        seconds: How long it took on the wall clock.
    """
    error = result.error
    return {
        "status": str(result.end.status),
        "trace": os.fspath(result.path).removeprefix(f"{run.path}{os.sep}"),
        "trace_sha256": result.digests.trace_sha256,
        "behaviour_sha256": result.digests.behaviour_sha256,
        "trace_bytes": result.digests.size,
        "steps": result.end.steps,
        "success": _success(instance, result.end),
        "disagreements": result.disagreements,
        "error": "" if error is None else describe_failure(error),
        "lasting": result.lasting,
        "started_at": started_at,
        "seconds": seconds,
    }
