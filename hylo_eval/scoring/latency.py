"""How long the agent takes to answer."""

from __future__ import annotations

from typing import Any

from hylo_core.score import Score
from hylo_core.task import TaskInstance
from hylo_core.trace import EpisodeTrace
from hylo_eval.scoring.outcome import NOT_RECORDED, REASONS, abstention


class LatencyP95:
    """95th percentile, in seconds, of the time ``act`` took, over the steps at which the agent was asked.

    Linear interpolation between order statistics (definition 7 of Hyndman and Fan 1996, numpy's default).
    """

    name = "latency_p95"
    unit = "s"

    def score(self, trace: EpisodeTrace, task: TaskInstance) -> Score:
        """Read the durations on record."""
        abstained = abstention(trace)
        if abstained is not None:
            return abstained
        seconds = sorted(value for value in reply_durations(trace) if isinstance(value, float))
        if not seconds:
            return Score.abstain(NOT_RECORDED, REASONS[NOT_RECORDED])
        return Score(percentile(seconds, 0.95), metadata={"replies": len(seconds), "unit": "s"})


def reply_durations(trace: EpisodeTrace) -> list[Any]:
    """Seconds from request to reply, at each step at which the agent was asked and something is on record.

    What is on record may be anything: it is in the part of a step that no contract binds.
    """
    asked = zip(trace.column("inference"), trace.column("volatile"), strict=True)
    return [volatile.get("act_seconds") for inference, volatile in asked if inference and volatile]


def percentile(ordered: list[float], share: float) -> float:
    """The ``share`` quantile of an ascending list, linearly interpolated."""
    position = share * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])
