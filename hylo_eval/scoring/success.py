"""Success: at any step, per chunk of actions, at the last step, and as the task defines it.

Where the task's predicate is ``response_correct`` the environment judges nothing: all three score the recorded
text against the truth in the task's params, so that no two of them can disagree about a response.
"""

from __future__ import annotations

from hylo_core.score import Score
from hylo_core.task import TaskInstance
from hylo_core.trace import EpisodeTrace
from hylo_eval.numerals import counted
from hylo_eval.scoring.outcome import ENDED_ON_SUCCESS, REASONS, decided

RESPONSE_CORRECT = "response_correct"
"""The builtin predicate that is scored from the text of the response."""


class SuccessOnce:
    """1 when success held after any step, else 0. A safety abort or an unstable simulation is a failure."""

    name = "success_once"
    binary = True

    def score(self, trace: EpisodeTrace, task: TaskInstance) -> Score:
        """Read the steps' own success."""
        score = decided(trace)
        if score is not None:
            return score
        if _is_response(task):
            return _response_success(trace, task)
        first = trace.first_success
        if first is None:
            return Score(0.0, f"no success in {counted(len(trace.steps), 'step')}")
        return Score(1.0, f"success at step {first}")


class SuccessAtEnd:
    """1 when success held after the last step (ManiSkill's meaning), else 0.

    Abstains when the episode ended because of its first success: what would have followed is unknown.
    """

    name = "success_at_end"
    binary = True

    def score(self, trace: EpisodeTrace, task: TaskInstance) -> Score:
        """Read the last step's success."""
        score = decided(trace)
        if score is not None:
            return score
        if _is_response(task):
            return _response_success(trace, task)
        at_end = trace.end.success_at_end if trace.end else None
        if at_end is None:
            return Score.abstain(ENDED_ON_SUCCESS, REASONS[ENDED_ON_SUCCESS])
        return Score(float(at_end), "success held at the end" if at_end else "success did not hold at the end")


class SuccessPerChunk:
    """1 when success held after any step of some chunk of actions: success latched over the chunk, read at its end.

    Evaluators that execute a whole chunk before they look (the multi-step wrappers of RoboCasa's policies) decide so.
    The verdict is that of ``success_once``; what differs is where such an evaluator stops. ``metadata`` says it:
    ``first_step`` (steps until success first held) and ``steps`` (until the end of its chunk, where it would have
    stopped, or None where the episode ended before). A chunk lasts from one reply of the agent to the next.
    """

    name = "success_per_chunk"
    binary = True

    def score(self, trace: EpisodeTrace, task: TaskInstance) -> Score:
        """Read the steps' own success, and at which steps the agent was asked."""
        once = SuccessOnce().score(trace, task)
        first = trace.first_success
        if once.value != 1.0 or first is None:
            return once
        asked = trace.column("inference")
        stop = next((index for index in range(first + 1, len(asked)) if asked[index]), None)
        return Score(
            1.0,
            f"success at step {first}, in a chunk that "
            + ("the episode ended in" if stop is None else f"ends after {counted(stop, 'step')}"),
            {"first_step": first + 1, "steps": stop},
        )


class Success:
    """Success as the task defines it: ``success_once`` or ``success_at_end``, by ``TaskSpec.success_at``."""

    name = "success"
    binary = True

    def score(self, trace: EpisodeTrace, task: TaskInstance) -> Score:
        """Score by the task's own meaning of success."""
        scorer = SuccessAtEnd() if task.spec.success_at == "end" else SuccessOnce()
        return scorer.score(trace, task)


def _is_response(task: TaskInstance) -> bool:
    return task.spec.success.name == RESPONSE_CORRECT


def _response_success(trace: EpisodeTrace, task: TaskInstance) -> Score:
    from hylo_eval.scoring.response import ResponseSuccess

    return ResponseSuccess().score(trace, task)
