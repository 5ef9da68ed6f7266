"""Traces of episodes that ended with an answer."""

from __future__ import annotations

from typing import Any

from hylo_core import AgentInfo, EpisodeTrace
from hylo_core.trace import BenchmarkRef, EpisodeEnd, EpisodeStart, EpisodeStatus, ErrorEvent, ResetEvent, StepEvent
from tests.episodes import instance, task

REF = BenchmarkRef(id="unit", version="1", digest="sha256:0", split="heldout")


def step(index: int, action: Any, *, inference: bool = True, reply: Any = None, **observation: Any) -> StepEvent:
    """A step whose action is a text."""
    volatile = {} if reply is None else {"reply": reply}
    return StepEvent(index, action, action, inference, 0.0, False, False, False, observation, volatile=volatile)


def episode(*steps: StepEvent, status: str | None = "completed", params: Any = None, **changes: Any) -> EpisodeTrace:
    """A trace of these steps, under a task with these params; unfinished where the status is None."""
    item = instance(task(params=params or {}))
    end = None if status is None else EpisodeEnd(status=EpisodeStatus(status), steps=len(steps))
    failed = status not in (None, "completed", "safety_abort", "sim_unstable")
    errors = (ErrorEvent(phase="act", error_type="Lost", message="gone"),) if failed else ()
    start = EpisodeStart(instance=item, benchmark=REF, agent=AgentInfo(name="a"))
    reset = ResetEvent(instruction="go")
    return EpisodeTrace(start=start, reset=reset, steps=steps, errors=errors, end=end, **changes)


def answered(text: Any, *, params: Any = None, **changes: Any) -> EpisodeTrace:
    """A finished episode of one step, whose action is the answer."""
    return episode(step(0, text), params=params, **changes)
