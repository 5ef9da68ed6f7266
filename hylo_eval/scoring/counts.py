"""Counts: steps and safety interventions."""

from __future__ import annotations

from hylo_core.score import Score
from hylo_core.task import TaskInstance
from hylo_core.trace import EpisodeTrace
from hylo_eval.scoring.outcome import abstention


class Steps:
    """Actions that reached the environment, in a scored episode."""

    name = "steps"

    def score(self, trace: EpisodeTrace, task: TaskInstance) -> Score:
        """Count the steps."""
        return abstention(trace) or Score(float(len(trace.steps)))


class SafetyInterventions:
    """Actions that a safety filter changed or stopped, in a scored episode; several filters at one step count once."""

    name = "safety_interventions"

    def score(self, trace: EpisodeTrace, task: TaskInstance) -> Score:
        """Count the steps with an intervention."""
        abstained = abstention(trace)
        if abstained is not None:
            return abstained
        by_filter: dict[str, int] = {}
        for event in trace.safety:
            by_filter[event.filter] = by_filter.get(event.filter, 0) + 1
        return Score(float(len({event.index for event in trace.safety})), metadata={"by_filter": by_filter})
