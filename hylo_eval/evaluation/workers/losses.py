"""Attempts that a run has lost with their workers: what they come to, and when there have been too many."""

from __future__ import annotations

from typing import Final

from hylo_eval.errors import EvalError
from hylo_eval.evaluation.executor import Work
from hylo_eval.evaluation.recipe import Recipe, RunSetup
from hylo_eval.evaluation.workers.lost_episode import TOLD_TO_STOP, Loss, LostEpisodes
from hylo_eval.queue import Lease

MAX_FAILED_STARTS: Final = 3
"""Workers in a row that die before they are ready, after which the run ends: another try would not help."""

MAX_LOST_IN_A_ROW: Final = 20
"""Workers lost in a row, whatever they ran, after which the run ends: no single episode is to blame."""


class Losses:
    """Gives lost attempts their outcomes, and counts losses without a finished episode between them.

    Args:
        recipe: What the workers are told.
    """

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._in_a_row = 0

    def forget(self) -> None:
        """An episode was finished."""
        self._in_a_row = 0

    def settle(self, work: Work, setup: RunSetup, lease: Lease, loss: Loss) -> None:
        """Commit what the attempt of a worker that is gone came to; one that has not taken place is given back.

        Raises:
            EvalError: So many were lost in a row that no single episode is to blame.
        """
        outcome = self.among(work, setup).outcome_of_worker(work.instance(lease.key), lease.attempt, loss)
        if outcome is None:
            work.queue.release(lease)
        else:
            work.settle(lease, outcome)
        self.count(f"{loss.what} in {loss.phase}\n{loss.words}")

    def settle_told_to_stop(self, work: Work, setup: RunSetup, lease: Lease, *, worker: str, since: float) -> None:
        """The same for a worker that says it was stopped. It is not counted: nothing was wrong with its process."""
        loss = Loss(phase="step", what=TOLD_TO_STOP, started_at=since, worker=worker)
        lost = self.among(work, setup)
        work.settle(lease, lost.outcome_of_told_to_stop(work.instance(lease.key), lease.attempt, loss))

    def count(self, what: str) -> None:
        """One more was lost.

        Raises:
            EvalError: It is one too many.
        """
        self._in_a_row += 1
        if self._in_a_row >= MAX_LOST_IN_A_ROW:
            raise EvalError(
                f"{MAX_LOST_IN_A_ROW} workers in a row were lost without one finished episode; the last one {what}",
                fix="mend what ends them and continue the run; what is finished is kept",
            )

    def among(self, work: Work, setup: RunSetup) -> LostEpisodes:
        """What gives the lost attempts of a run their outcomes."""
        recipe = self._recipe
        return LostEpisodes(run=work.run, benchmark=recipe.benchmark, setup=setup, fsync=recipe.fsync)
