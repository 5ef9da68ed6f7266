"""Time to success, as the censored quantity it is."""

from __future__ import annotations

from hylo_core.score import Score
from hylo_core.task import TaskInstance
from hylo_core.trace import EpisodeTrace
from hylo_eval.numerals import counted
from hylo_eval.scoring.outcome import CENSORED, REASONS, abstention, failure


class TimeToSuccess:
    """Steps until success first held, restricted to the task's horizon: ``min(T, max_steps)``.

    An episode without success has no time to success. Leaving it out would reward an agent that is fast and seldom
    succeeds, so the score is the restricted time, which is defined for both, and the plain mean of the scores is the
    restricted mean (Royston and Parmar 2013, BMC Med. Res. Methodol. 13:152): the expected steps spent without success
    up to the horizon. ``metadata`` says which it is: ``success``, ``steps`` (until success, or as far as the episode
    was followed) and ``horizon``; :mod:`hylo_eval.scoring.survival` makes the Kaplan-Meier curve of them.

    An episode that the task itself, a safety filter or an unstable simulation ended without success never succeeds: it
    counts up to the horizon. One that the environment's own time limit cut off before the horizon is censored there:
    its restricted time is unknown, so the value is None, with reason ``censored`` and the same metadata.
    """

    name = "time_to_success"
    unit = "steps"

    def score(self, trace: EpisodeTrace, task: TaskInstance) -> Score:
        """Read the steps' own success."""
        abstained = abstention(trace)
        if abstained is not None:
            return abstained
        horizon = task.spec.max_steps
        failed = failure(trace)
        if not failed and trace.first_success is not None:
            first = trace.first_success + 1
            return Score(
                float(first),
                f"success after {counted(first, 'step')}",
                {"success": True, "steps": first, "horizon": horizon},
            )
        cut_off = trace.end is not None and trace.end.reason == "truncated" and not failed
        if cut_off and len(trace.steps) < horizon:
            followed = {"success": False, "steps": len(trace.steps), "horizon": horizon}
            return Score(None, REASONS[CENSORED], {"reason": CENSORED, **followed})
        return Score(
            float(horizon),
            failed or f"no success within {counted(horizon, 'step')}",
            {"success": False, "steps": horizon, "horizon": horizon},
        )
