"""The return of an episode."""

from __future__ import annotations

import math

from hylo_core.score import Score
from hylo_core.task import TaskInstance
from hylo_core.trace import EpisodeTrace
from hylo_eval.scoring.outcome import NOT_FINITE, REASONS, abstention


class RewardSum:
    """The undiscounted sum of the environment's rewards, in the environment's own unit, in a scored episode.

    Exactly rounded (Shewchuk's algorithm, :func:`math.fsum`), so it does not depend on an order of summation.
    """

    name = "reward_sum"

    def score(self, trace: EpisodeTrace, task: TaskInstance) -> Score:
        """Add up the rewards."""
        abstained = abstention(trace)
        if abstained is not None:
            return abstained
        rewards = trace.column("reward")
        if not all(map(math.isfinite, rewards)):
            return Score.abstain(NOT_FINITE, REASONS[NOT_FINITE])
        try:
            return Score(math.fsum(rewards))
        except OverflowError:
            return Score.abstain(NOT_FINITE, "the sum of the rewards is not finite")
