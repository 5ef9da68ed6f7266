"""How far something is, on standard error: on a terminal what is going on, elsewhere a line every 30 seconds."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any, Final

from hylo_eval.cli.terminal import console, printable_line
from hylo_eval.errors import EvalError, QueueError
from hylo_eval.numerals import counted
from hylo_eval.traces.manifest import read_manifest

if TYPE_CHECKING:
    from hylo_core.task import TaskInstance
    from hylo_eval.evaluation.activity import Activity
    from hylo_eval.evaluation.grade_run import EpisodeGrade
    from hylo_eval.evaluation.score_pool import RecordedScores
    from hylo_eval.evaluation.status import RunStatus
    from hylo_eval.evaluation.worker import Episode
    from hylo_eval.queue import Attempt, RunQueue
    from hylo_eval.traces.layout import RunFolder

LINE_SECONDS: Final = 30.0
"""How often a log gets a line."""

_SHARE: Final = 20.0  # looking at the queue and drawing may take a twentieth of the time


class RunDisplay:
    """Shows what ``hylo-eval status`` shows while a run goes on (:class:`hylo_eval.evaluation.executor.RunWatcher`).

    Args:
        quiet: Show nothing.
        continues: Whether there is a run of that name already, of which it is then said how much is done.
    """

    def __init__(self, *, quiet: bool, continues: bool = False) -> None:
        self._quiet = quiet
        self._continues = continues
        self._clock = time.monotonic
        self._next_look = self._clock() + LINE_SECONDS
        self._next_count = 0.0
        self._notice = ""
        self._live: Any = None
        self._run: RunFolder | None = None
        self._queue: RunQueue | None = None
        self._tally: Any = None
        self._manifest: dict[str, Any] = {}
        self._shown: RunStatus | None = None
        out = console(stderr=True, redrawn=True)
        if out.is_terminal and not quiet:
            from rich.live import Live

            self._live = Live("making agent and environment", console=out, auto_refresh=False, transient=True)
            self._live.start(refresh=True)
            self._next_look = 0.0

    def opened(self, run: RunFolder, queue: RunQueue) -> None:
        """As the protocol says."""
        self._run, self._queue = run, queue
        if self._continues:
            self._say_what_is_done(run, queue)
        if not self._quiet:
            self._count(queue)
            # Its settings stand in the display; a run goes on without them.
            with contextlib.suppress(EvalError):
                self._manifest = read_manifest(run.manifest)

    def settled(self, attempt: Attempt) -> None:
        """As the protocol says."""
        if self._tally is not None:
            self._tally.add(attempt)

    def active(self, activity: Activity) -> None:
        """As the protocol says."""
        now = self._clock()
        if self._quiet or self._run is None or self._queue is None or now < self._next_look:
            return
        try:
            status = self._status(self._run, self._queue, activity)
        except QueueError:
            return  # a locked queue is found by those that work
        self._shown = status
        if self._live is not None:
            self._draw()
            self._next_look = now + _SHARE * (self._clock() - now)
            return
        from hylo_eval.cli.status_view import one_line

        self._next_look = now + LINE_SECONDS
        console(stderr=True).print(one_line(status))

    def notice(self, text: str) -> None:
        """Say something in between, also from a signal handler."""
        self._notice = text
        if self._live is None:
            console(stderr=True).print(text)
        else:
            self._draw()

    def close(self) -> None:
        """Take the display away."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _say_what_is_done(self, run: RunFolder, queue: RunQueue) -> None:
        """One line of a run that is continued; of one that is whole, its end says that nothing was run."""
        from hylo_eval.queue import State

        counts = queue.counts()
        done, planned = counts[State.DONE] + counts[State.ABSTAINED], sum(counts.values())
        if done < planned:
            out = console(stderr=True) if self._live is None else self._live.console
            out.print(
                f"the run {printable_line(run.run_id)} is continued: {done} of {counted(planned, 'episode')} had "
                "their outcome already"
            )

    def _draw(self) -> None:
        from hylo_eval.cli.status_view import as_renderable

        drawn = (
            self._notice if self._shown is None else as_renderable(self._shown, self._live.console.width, self._notice)
        )
        self._live.update(drawn, refresh=True)

    def _status(self, run: RunFolder, queue: RunQueue, activity: Activity) -> RunStatus:
        from hylo_eval.evaluation.activity import Presence
        from hylo_eval.evaluation.status import Presently, RunStatus
        from hylo_eval.queue import State

        counts = queue.counts()
        if self._tally.ended != counts[State.DONE] + counts[State.ABSTAINED] and self._clock() >= self._next_count:
            self._count(queue)  # another process works on the run too
        return RunStatus(
            run=run,
            config=queue.config,
            manifest=self._manifest,
            counts=counts,
            tally=self._tally,
            processes=(Presently(activity=activity, presence=Presence.WORKING),),
            now=activity.written_at,
        )

    def _count(self, queue: RunQueue) -> None:
        from hylo_eval.evaluation.tally import Tally

        began = self._clock()
        self._tally = Tally.of(queue.attempts())
        self._next_count = self._clock() + _SHARE * (self._clock() - began)


class Progress:
    """Counts episodes: a bar on a terminal, a line every 30 seconds elsewhere."""

    def __init__(self, total: int, *, quiet: bool) -> None:
        self._clock = time.monotonic
        self._total = total
        self._done = 0
        self._next = self._clock() + LINE_SECONDS
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

    def started(self, instance: TaskInstance, attempt: int, worker: str = "") -> None:
        """An attempt begins."""
        if self._bar is not None:
            again = f" (attempt {attempt})" if attempt > 1 else ""
            self._bar.update(self._row, description=printable_line(instance.key) + again)

    def finished(self, episode: Episode | RecordedScores | EpisodeGrade | None = None) -> None:
        """An episode has its outcome, its scores or its grade, or was read."""
        self._done += 1
        if self._bar is not None:
            self._bar.advance(self._row)
        elif not self._quiet and self._clock() >= self._next:
            self._next = self._clock() + LINE_SECONDS
            console(stderr=True).print(f"{self._done}/{counted(self._total, 'episode')}")

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
