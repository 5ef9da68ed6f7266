"""What works off the queue of a run: in this process here, in worker processes in :mod:`.local_processes`."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import attrs

from hylo_core.errors import describe_error
from hylo_core.spec import SpecDifference
from hylo_core.task import TaskInstance, TaskSpec
from hylo_core.trace import INFRASTRUCTURE
from hylo_eval.errors import Disturbance, DisturbedTrace
from hylo_eval.evaluation.activity import Activity, ActivityReport, WorkerActivity
from hylo_eval.evaluation.file_size import FileSizeLimit
from hylo_eval.evaluation.outcomes import outcome_members
from hylo_eval.evaluation.phases import IDLE
from hylo_eval.evaluation.preflight import preflight
from hylo_eval.evaluation.recipe import RunSetup
from hylo_eval.evaluation.worker import Episode, Worker
from hylo_eval.queue import Attempt, Ending, Heartbeat, Lease, Outcome, Owner, RunQueue, State
from hylo_eval.traces.layout import RunFolder, episode_id
from hylo_eval.video.recorder import VideoTally, make_recorder

if TYPE_CHECKING:
    from hylo_eval.agents.protocol import Agent
    from hylo_eval.video.recorder import VideoChoice


_WAIT_SECONDS = 0.5


class RunWatcher(Protocol):
    """Somebody who shows how far a run is; what it is told may not stop the run."""

    def opened(self, run: RunFolder, queue: RunQueue) -> None:
        """The queue of the run is open; what it holds already is from before."""
        ...

    def settled(self, attempt: Attempt) -> None:
        """An attempt of this process has ended and is on record."""
        ...

    def active(self, activity: Activity) -> None:
        """What the workers of this process do now; told about once a second."""
        ...


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
        watcher: Who shows how far the run is.
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
    watcher: RunWatcher | None = None

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

    def claim_more(self, owner: Owner, task: str, count: int) -> list[Lease]:
        """Up to so many further items of a task, if there is time, and if the order does not matter."""
        if self.in_order or self.until is not None:
            return []
        return self.queue.claim_more(owner, task, count)

    def others_hold_leases(self) -> bool:
        """Whether something is left that another process works on, and that may come back if it dies."""
        in_time = self.until is None or time.monotonic() < self.until
        return in_time and self.queue.counts()[State.LEASED] > 0

    def settle(self, lease: Lease, outcome: Outcome) -> None:
        """Commit what an attempt came to, and tell of it."""
        self.tell(lease, outcome, self.record(lease, outcome))

    def record(self, lease: Lease, outcome: Outcome) -> State | None:
        """Commit what an attempt came to; an infrastructure failure is tried again while there are tries left.

        Returns:
            The state of the item; None where somebody else has taken it over.
        """
        if outcome.status in INFRASTRUCTURE:
            return self.queue.retry(lease, outcome)
        return State.DONE if self.queue.finish(lease, outcome) else None

    def tell(self, lease: Lease, outcome: Outcome, state: State | None) -> None:
        """Tell whoever wants to know what was committed."""
        if state is None:
            return
        if self.watcher is not None:
            self.watcher.settled(_ended(lease, outcome, state))
        if state is not State.PENDING and self.finished is not None:
            self.finished(Episode.recorded(self.run, self.instance(lease.key), lease.attempt, outcome))


def report_activity(work: Work, owner: Owner) -> ActivityReport:
    """What a process that works on a run says of itself while it does."""
    return ActivityReport(work.run, owner, None if work.watcher is None else work.watcher.active)


def _ended(lease: Lease, outcome: Outcome, state: State) -> Attempt:
    endings = {State.DONE: Ending.DONE, State.ABSTAINED: Ending.ABSTAINED, State.PENDING: Ending.RETRIED}
    return Attempt(
        key=lease.key,
        task=lease.task,
        position=lease.position,
        attempt=lease.attempt,
        owner=lease.owner,
        ending=endings[state],
        outcome=outcome,
    )


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

    An env that hangs hangs the run, and one that crashes ends it; the queue then knows what is left. So does one that
    limits the size of files and keeps a trace, the queue or the log from being written.

    Attributes:
        worker: Runs the episodes.
        agent: Who acts.
        env_ref: What the env was made from, for the manifest.
        agent_ref: The same of the agent.
        closes_agent: Whether the agent was made for this run.
        video: Which episodes are kept as video.
        file_size_limit: The one that holds before agent and env are made, and again after every episode.
    """

    worker: Worker
    agent: Agent
    env_ref: Mapping[str, Any]
    agent_ref: Mapping[str, Any]
    closes_agent: bool = False
    video: VideoChoice = "none"
    file_size_limit: FileSizeLimit = attrs.field(factory=FileSizeLimit.now)
    _task: str | None = attrs.field(default=None, init=False)
    _doing: WorkerActivity = attrs.field(default=WorkerActivity(name="in-process"), init=False)
    _phase: str = attrs.field(default=IDLE, init=False)
    _since: float = attrs.field(factory=time.time, init=False)

    def prepare(self, first: TaskSpec) -> tuple[RunSetup, tuple[SpecDifference, ...]]:
        """As the protocol says."""
        self._task = first.id
        setup, differences = preflight(self.worker, first, self.agent, self.env_ref, self.agent_ref)
        self.worker.video = make_recorder(self.worker.run, self.video, setup.env_spec)
        if not self.file_size_limit.restore():
            raise DisturbedTrace(self.worker.run.trace("*"), Disturbance.FILE_SIZE)
        return setup, differences

    def execute(self, work: Work) -> None:
        """As the protocol says."""
        owner = Owner.here()
        if self.worker.video is not None:
            self.worker.video.tally = work.videos
        with Heartbeat(work.queue, owner), report_activity(work, owner) as report:
            self._doing = attrs.evolve(self._doing, pid=os.getpid())
            self.worker.on_phase = partial(self._enter, report)
            self._work_off(work, owner)

    def _enter(self, report: ActivityReport, phase: str) -> None:
        self._phase, self._since = phase, time.time()
        report.refresh(self._activities)

    def _activities(self) -> Sequence[WorkerActivity]:
        return (attrs.evolve(self._doing, phase=self._phase, since=self._since),)

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
        self._doing = attrs.evolve(self._doing, key=lease.key, attempt=lease.attempt, attempt_since=started_at)

        def limited() -> DisturbedTrace:
            return DisturbedTrace(work.run.trace(episode_id(lease.key, lease.attempt)), Disturbance.FILE_SIZE)

        try:
            result = self.worker.attempt(instance, lease.attempt)
        except BaseException as error:
            explained = self.file_size_limit.explains(error)
            # Where it stays, the queue cannot be told; it takes the lease back from a process that is gone.
            if self.file_size_limit.restore():
                work.queue.release(lease)
            if explained:
                raise limited() from error
            raise
        if not self.file_size_limit.restore():
            raise limited()
        recorded = outcome_members(result, instance, work.run, started_at, time.monotonic() - began)
        work.settle(lease, Outcome(**recorded))
        self._doing = attrs.evolve(self._doing, episodes=self._doing.episodes + 1)

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
