"""Progress: the share of the goal's conjuncts that hold, as the environment reports them at every step."""

from __future__ import annotations

from collections.abc import Sequence

from hylo_core.score import Score
from hylo_core.task import TaskInstance
from hylo_core.trace import EpisodeTrace
from hylo_eval.errors import EvalError
from hylo_eval.scoring.outcome import ENDED_ON_SUCCESS, NOT_RECORDED, REASONS, decided


class ProgressBest:
    """The largest share of the goal's conjuncts that held after any one step, in [0, 1].

    0 for an episode that a safety filter stopped or in which the simulation became unstable, as with success. Abstains
    with ``not_recorded`` where the environment does not report the goal.
    """

    name = "progress_best"

    def score(self, trace: EpisodeTrace, task: TaskInstance) -> Score:
        """Read the steps' own goal."""
        score = decided(trace)
        if score is not None:
            return score
        shares = [(share(goal), -index) for index, goal in enumerate(trace.column("goal")) if goal]
        if not shares:
            return Score.abstain(NOT_RECORDED, REASONS[NOT_RECORDED])
        best, first = max(shares)
        return Score(best, f"first at step {-first}", {"step": -first})


class ProgressAtEnd:
    """The share of the goal's conjuncts that held after the last step, in [0, 1].

    Abstains as ``success_at_end`` does when the episode ended because of its success, and with ``not_recorded`` where
    the environment does not report the goal at the last step.
    """

    name = "progress_at_end"

    def score(self, trace: EpisodeTrace, task: TaskInstance) -> Score:
        """Read the last step's goal."""
        score = decided(trace)
        if score is not None:
            return score
        if trace.end is None or trace.end.success_at_end is None:
            return Score.abstain(ENDED_ON_SUCCESS, REASONS[ENDED_ON_SUCCESS])
        goal = trace.column("goal")[-1]
        if not goal:
            return Score.abstain(NOT_RECORDED, REASONS[NOT_RECORDED])
        return Score(share(goal))


def share(goal: Sequence[bool]) -> float:
    """The share of the conjuncts that hold, in [0, 1].

    Args:
        goal: Whether each conjunct holds; at least one.

    Raises:
        EvalError: A member is no bool.
    """
    if any(type(holds) is not bool for holds in goal):
        raise EvalError(
            f"a goal is a list of true and false, not {list(goal)!r:.80}",
            fix="have the environment report a list of true and false",
        )
    return sum(goal) / len(goal)
