"""A worker on another machine: a supervisor beside it, its traces and videos carried back as bytes.

The queue stays with the driver. What is remote is one seat: it starts the same worker process that a local run starts,
holds the same deadlines, and writes into a folder of its own machine, so nodes need no disk in common.
"""

from __future__ import annotations

import contextlib
import selectors
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import attrs

from hylo_core.task import TaskInstance, TaskSpec
from hylo_eval.errors import EvalError
from hylo_eval.evaluation.activity import phase_of
from hylo_eval.evaluation.phases import IDLE, Deadlines
from hylo_eval.evaluation.recipe import Recipe
from hylo_eval.evaluation.workers.carried_videos import take_videos
from hylo_eval.evaluation.workers.events import DISTURBED, GarbledEvent, garbled_by
from hylo_eval.evaluation.workers.lost_episode import TOLD_TO_STOP
from hylo_eval.evaluation.workers.supervisor import WorkerProcess
from hylo_eval.traces.layout import RunFolder, episode_id, partial_of

_POLL_SECONDS: Final = 0.2


class RemoteWorker:
    """One seat. Answers are JSON-like: the outcome of an episode with its trace, or how the worker was lost.

    Args:
        recipe: What the worker is told; its run folder is replaced by one on this machine.
        python: The interpreter of the worker process.
        environment: Variables for it.
        deadlines: Seconds by phase.
        name: For messages.
    """

    def __init__(
        self,
        recipe: Mapping[str, Any],
        *,
        python: str,
        environment: Mapping[str, str],
        deadlines: Mapping[str, float],
        name: str,
    ) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="hylo-worker-")
        self._run = RunFolder(Path(self._folder.name))
        self._run.episodes.mkdir()
        self._recipe = attrs.evolve(Recipe.from_dict(recipe), run=self._folder.name)
        self._python = python
        self._environment = environment
        self._deadlines = Deadlines(**deadlines)
        self._name = name
        self._process: WorkerProcess | None = None
        self._interrupted = False

    def set_up(self, first: Mapping[str, Any] | None) -> dict[str, Any]:
        """Start the worker; answers with its event ``ready`` or ``refused``, or with ``lost``."""
        process = self._process = WorkerProcess(python=self._python, environment=self._environment, name=self._name)
        process.set_up(self._recipe, None if first is None else TaskSpec.from_dict(first))
        if self._interrupted:  # perhaps before there was a process to tell
            process.interrupt()
        return self._next_event(process)

    def run(self, instance: Mapping[str, Any], attempt: int) -> dict[str, Any]:
        """Run an episode.

        The answer has its trace under ``trace_bytes`` (what there is of it, where it was lost), and the videos that are
        kept of it under ``video_files``, by name. Where a worker was started for it, what that has made is under
        ``made``: whoever asked knows what the first worker of the run has made.
        """
        made: dict[str, Any] = {}
        if self._process is None:
            event = self.set_up(None)
            if event["type"] != "ready":
                return {**event, "before_start": True}
            made = {"made": {name: event[name] for name in ("agent", "sources")}}
        process = self._process
        if process is None:
            raise EvalError(f"{self._name} has no worker")
        wanted = TaskInstance.from_dict(instance)
        process.assign((wanted, attempt))
        event = self._next_event(process)
        if event["type"] == "cancelled" and not self._interrupted:
            # Nobody here told it to stop: its own agent or simulator may have.
            self.recycle()
            event = dict[str, Any](type="lost", phase="step", what=TOLD_TO_STOP, words="", breached=False)
        name = episode_id(wanted.key, attempt)
        videos = take_videos(self._run, name)
        if event["type"] == "outcome":
            event["video_files"] = videos
        path = self._run.trace(name)
        for written in (path, partial_of(path)):
            if written.exists():
                event["trace_bytes"] = written.read_bytes()
                written.unlink()
        return {**event, **made}

    def doing(self) -> dict[str, Any]:
        """The phase of the worker, and for how many seconds it has been in it; asked while an episode runs."""
        process, phase, seconds = self._process, IDLE, 0.0
        if process is not None:
            with contextlib.suppress(ValueError):  # it has ended meanwhile, and its memory is given back
                phase, seconds = phase_of(process)
        return {"phase": phase, "seconds": seconds}

    def interrupt(self) -> None:
        """Have the episode that runs end after its present step."""
        self._interrupted = True
        if self._process is not None:
            # Its commands are not ended here: the thread that waits for the episode may be giving it one.
            self._process.interrupt()

    def close(self) -> None:
        """End the worker, in time for it to close its env, and remove what it wrote here; nothing is run after that."""
        self.recycle()
        self._folder.cleanup()

    def recycle(self) -> None:
        """Let the worker close its env and end; the next episode starts another."""
        process, self._process = self._process, None
        if process is None:
            return
        process.ask_to_stop()
        until = time.monotonic() + self._deadlines.close
        while not process.ended(_POLL_SECONDS) and time.monotonic() < until:
            process.read_output()
        process.close()

    def _next_event(self, process: WorkerProcess) -> dict[str, Any]:
        """The next event of the worker, or how it was lost; a worker that is lost is ended."""
        with selectors.DefaultSelector() as selector:
            selector.register(process.events, selectors.EVENT_READ)
            selector.register(process.output, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select(_POLL_SECONDS):
                    if key.fd == process.output and not process.read_output():
                        selector.unregister(process.output)
                try:
                    for event in process.receive():
                        if event["type"] == DISTURBED:
                            raise garbled_by(event)
                        return event
                except EOFError:
                    return self._lost(process, process.board.read().phase, breached=False)
                except GarbledEvent as error:
                    return self._lost(process, "step", breached=False, what=error.message)
                breach = process.breach(self._deadlines, time.monotonic())
                if breach is not None:
                    what = f"outlasted its deadline of {breach.deadline:g} s in {breach.phase}"
                    return self._lost(process, breach.phase, breached=True, what=what)

    def _lost(self, process: WorkerProcess, phase: str, *, breached: bool, what: str = "") -> dict[str, Any]:
        process.ended(1.0)
        how = process.end()
        words = process.last_words()
        process.close()
        self._process = None
        if self._interrupted:
            return {"type": "cancelled"}
        return {
            "type": "lost",
            "phase": "make" if phase == "idle" else phase,
            "what": what or f"died: {how}",
            "words": words,
            "breached": breached,
        }
