"""The verdict of a grading: a reward that counts, or a typed reason why there is none.

::

    HyloError
    ├── InvalidTask            the task is malformed: no answer could be graded against it
    └── GradingInfraError      grading failed for a reason that is neither the task's nor the candidate's
"""

from __future__ import annotations

import json
import math
from enum import StrEnum
from typing import Any

import attrs

from hylo_core.errors import HyloError


class Status(StrEnum):
    """Whether a verdict counts: only ``scored`` does, the other two are masked and never a zero."""

    SCORED = "scored"
    INVALID_TASK = "invalid_task"
    INFRA_ERROR = "infra_error"


class InvalidTask(HyloError):
    """The task is malformed: a reference is missing, or the specification contradicts itself."""


class GradingInfraError(HyloError):
    """Grading failed for a reason that is neither the task's nor the candidate's.

    Attributes:
        detail: Diagnostics for the verdict, a JSON object.
    """

    def __init__(self, message: str, **detail: Any) -> None:
        self.detail = detail
        super().__init__(message)


@attrs.frozen
class Reward:
    """One verdict.

    The constructor checks nothing, so that a foreign grader's answer can be held and examined;
    :func:`malformation` says what is wrong with it and :func:`validated` replaces it.

    Attributes:
        reward: A finite number in [0, 1]; 0.0 unless the status is ``scored``.
        status: Whether the reward counts.
        detail: A JSON object of diagnostics.
    """

    reward: float
    status: Status = Status.SCORED
    detail: dict[str, Any] = attrs.field(factory=dict[str, Any])


def scored(reward: float, **detail: Any) -> Reward:
    """A verdict that counts."""
    return Reward(float(reward), Status.SCORED, detail)


def zero(reason: str, **detail: Any) -> Reward:
    """A failed attempt: a scored 0.0 with its reason."""
    return Reward(0.0, Status.SCORED, {"reason": reason, **detail})


def invalid_task(message: str, **detail: Any) -> Reward:
    """An unscored verdict that blames the task."""
    return Reward(0.0, Status.INVALID_TASK, {"error": message, **detail})


def infra_error(message: str, **detail: Any) -> Reward:
    """An unscored verdict that blames neither the task nor the candidate."""
    return Reward(0.0, Status.INFRA_ERROR, {"error": message, **detail})


def malformation(verdict: object) -> str | None:  # noqa: PLR0911 - one rule, one return
    """What makes ``verdict`` unfit to be recorded, or None for a well-formed one."""
    if not isinstance(verdict, Reward):
        return f"the grader returned {type(verdict).__name__}, not a Reward"
    # A foreign grader may have put anything into the fields, whatever their annotations say.
    reward: object = verdict.reward
    status: object = verdict.status
    detail: object = verdict.detail
    if not isinstance(status, Status):
        return f"the verdict's status {status!r:.80} is not one of {', '.join(Status)}"
    if isinstance(reward, bool) or not isinstance(reward, int | float):
        return f"the reward is {type(reward).__name__}, not a number"
    if not 0.0 <= reward <= 1.0 or not math.isfinite(reward):
        return "the reward is not a finite number in [0, 1]"
    if status is not Status.SCORED and reward != 0.0:
        return f"a verdict with status {status} must have reward 0.0"
    if not isinstance(detail, dict):
        return "the verdict's detail is not a JSON object"
    try:
        json.dumps(detail, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError, OverflowError) as error:
        return f"the verdict's detail is not JSON: {type(error).__name__}"
    return None


def validated(verdict: object) -> Reward:
    """``verdict`` itself if it is well formed, else an ``infra_error`` that says what is wrong with it."""
    problem = malformation(verdict)
    if problem is None and isinstance(verdict, Reward):
        return verdict
    return infra_error(problem or "the grader returned no verdict")
