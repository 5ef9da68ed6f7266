"""What works off the queue of a run: in this process here, in worker processes in :mod:`.local_processes`."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import attrs

from hylo_core.errors import describe_error
from hylo_core.spec import SpecDifference
from hylo_core.task import TaskInstance, TaskSpec
from hylo_core.trace import INFRASTRUCTURE
from hylo_eval.evaluation.outcomes import outcome_of
from hylo_eval.evaluation.preflight import preflight
from hylo_eval.evaluation.recipe import RunSetup
from hylo_eval.evaluation.worker import Episode, Worker
from hylo_eval.queue import Heartbeat, Lease, Outcome, Owner, RunQueue, State
from hylo_eval.traces.layout import RunFolder
from hylo_eval.video.recorder import VideoTally, make_recorder

if TYPE_CHECKING:
    from hylo_eval.agents.protocol import Agent
    from hylo_eval.video.recorder import VideoChoice


_WAIT_SECONDS = 0.5


@attrs.frozen(kw_only=True)
class Work:
    """A run that is to be worked off.

    Attributes:
        queue: What is left of it.
        run: Where its files are.
        instance: The instance of a key.
        until: When to take nothing new any more, in seconds of the monotonic clock; None is never.
        in_order: Whether the instances are taken in declared order, so that what is done is a prefix of it.
        stop: Whether the operator wants it to stop.
        started: Told of every attempt: instance, attempt, name of the worker.
        finished: Told of every episode that has its outcome.
        videos: Counts the videos as they come.
    """

    queue: RunQueue
    run: RunFolder
    instance: Callable[[str], TaskInstance]
    until: float | None = None
    in_order: bool = False
    stop: Callable[[], bool] | None = None
    started: Callable[[TaskInstance, int, str], None] | None = None
    finished: Callable[[Episode], None] | None = None
    videos: VideoTally = attrs.field(factory=VideoTally)

    def stopped(self) -> bool:
        """Whether the operator wants it to stop."""
        return self.stop is not None and self.stop()

    def begin(self, instance: TaskInstance, attempt: int, worker: str) -> None:
        """Say that an attempt begins."""
        if self.started is not None:
            self.started(instance, attempt, worker)

    def claim(self, owner: Owner, prefer: str | None) -> Lease | None:
        """The next thing to do, if there is time."""
        if self.until is not None and time.monotonic() >= self.until:
            return None
        return self.queue.claim(owner, prefer=prefer, in_order=self.in_order)

    def others_hold_leases(self) -> bool:
        """Whether something is left that another process works on, and that may come back if it dies."""
        in_time = self.until is None or time.monotonic() < self.until
        return in_time and self.queue.counts()[State.LEASED] > 0

    def settle(self, lease: Lease, outcome: Outcome) -> None:
        """Commit what an attempt came to; an infrastructure failure is tried again while there are tries left."""
        if outcome.status in INFRASTRUCTURE:
            final = self.queue.retry(lease, outcome) is State.ABSTAINED
        else:
            final = self.queue.finish(lease, outcome)
        if final and self.finished is not None:
            self.finished(Episode.recorded(self.run, self.instance(lease.key), lease.attempt, outcome))


class Executor(Protocol):
    """Runs the episodes of a queue. It is prepared before anything is written, and closed whatever happens."""

    def prepare(self, first: TaskSpec) -> tuple[RunSetup, tuple[SpecDifference, ...]]:
        """Make the first env and the agent, and refuse what can be refused.

        Raises:
            EvalError: Something does not exist, cannot be made, or does not fit.
        """
        ...

    def execute(self, work: Work) -> None:
        """Claim, run and settle until nothing is left to claim.

        Raises:
            KeyboardInterrupt: The operator stopped the run; what was leased is released.
            EvalError: No episode can be run any more (a full disk, a simulator that went missing).
        """
        ...

    def close(self) -> None:
        """End what was started."""
        ...


@attrs.define
class InProcess:
    """Runs episodes in this process, one after the other.

    An env that hangs hangs the run, and one that crashes ends it; the queue then knows what is left.
    """

    worker: Worker
    agent: Agent
    env_ref: Mapping[str, Any]
    agent_ref: Mapping[str, Any]
    closes_agent: bool = False
    video: VideoChoice = "none"
    _task: str | None = attrs.field(default=None, init=False)

    def prepare(self, first: TaskSpec) -> tuple[RunSetup, tuple[SpecDifference, ...]]:
        """As the protocol says."""
        self._task = first.id
        setup, differences = preflight(self.worker, first, self.agent, self.env_ref, self.agent_ref)
        self.worker.video = make_recorder(self.worker.run, self.video, setup.env_spec)
        return setup, differences

    def execute(self, work: Work) -> None:
        """As the protocol says."""
        owner = Owner.here()
        if self.worker.video is not None:
            self.worker.video.tally = work.videos
        with Heartbeat(work.queue, owner):
            self._work_off(work, owner)

    def _work_off(self, work: Work, owner: Owner) -> None:
        while True:
            if work.stopped():
                raise KeyboardInterrupt("the run was stopped")
            lease = work.claim(owner, self._task)
            if lease is not None:
                self._task = lease.task
                self._run(work, lease)
            elif work.others_hold_leases():
                time.sleep(_WAIT_SECONDS)
            else:
                return

    def _run(self, work: Work, lease: Lease) -> None:
        instance = work.instance(lease.key)
        work.begin(instance, lease.attempt, "")
        started_at, began = time.time(), time.monotonic()
        try:
            result = self.worker.attempt(instance, lease.attempt)
        except BaseException:
            work.queue.release(lease)
            raise
        recorded = outcome_of(result, work.run, started_at, time.monotonic() - began)
        work.settle(lease, Outcome(**recorded))

    def close(self) -> None:
        """As the protocol says; the agent too, if it was made for this run."""
        self.worker.close()
        if self.closes_agent:
            self.closes_agent = False
            close_agent(self.agent)


def close_agent(agent: Agent) -> None:
    """Close an agent after the last episode; what it raises now changes no outcome, and is said."""
    try:
        agent.close()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - every outcome is on disk
        logging.getLogger(__name__).warning("closing the agent raised %s", describe_error(error))


def log_path(run: RunFolder, name: str) -> Path:
    """What a worker prints."""
    return run.path / "logs" / f"{name}.log"
