"""How far a run is, on standard error: a bar on a terminal, a line every 30 seconds elsewhere."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from hylo_eval.cli.terminal import console, printable_line

if TYPE_CHECKING:
    from hylo_core.task import TaskInstance
    from hylo_eval.evaluation.grade_run import EpisodeGrade
    from hylo_eval.evaluation.score_pool import RecordedScores
    from hylo_eval.evaluation.worker import Episode


class Progress:
    """Says on standard error how far the run is: a bar on a terminal, a line every 30 seconds elsewhere."""

    _SECONDS = 30.0

    def __init__(self, total: int, *, quiet: bool) -> None:
        self._clock = time.monotonic
        self._total = total
        self._done = 0
        self._next = self._clock() + self._SECONDS
        self._bar: Any = None
        self._quiet = quiet
        terminal = console(stderr=True)
        if terminal.is_terminal and not quiet:
            from rich import progress

            self._bar = progress.Progress(
                progress.TextColumn("{task.description}", markup=False),
                progress.BarColumn(),
                progress.MofNCompleteColumn(),
                progress.TimeRemainingColumn(),
                console=terminal,
                transient=True,
            )
            self._row = self._bar.add_task("episodes", total=total)
            self._bar.start()

    def started(self, instance: TaskInstance, attempt: int) -> None:
        """An attempt begins."""
        if self._bar is not None:
            again = f" (attempt {attempt})" if attempt > 1 else ""
            self._bar.update(self._row, description=printable_line(instance.key) + again)

    def finished(self, episode: Episode | RecordedScores | EpisodeGrade) -> None:
        """An episode has its outcome, its scores or its grade."""
        self._done += 1
        if self._bar is not None:
            self._bar.advance(self._row)
        elif not self._quiet and self._clock() >= self._next:
            self._next = self._clock() + self._SECONDS
            console(stderr=True).print(f"{self._done}/{self._total} episodes")

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
