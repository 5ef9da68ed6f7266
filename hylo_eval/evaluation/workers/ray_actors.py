"""Workers on the nodes of a Ray cluster: the queue, the leases and every file stay with the driver.

An actor is one seat (:mod:`hylo_eval.evaluation.workers.remote_worker`): on its node it starts the same worker process
that a local run starts, so faults and deadlines have the same outcomes. A node that is lost costs the attempts that ran
there. Ray carries plain values alone: names and options there, outcomes and the bytes of traces and videos back.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast

import attrs

from hylo_core.spec import SpecDifference
from hylo_core.task import TaskSpec
from hylo_core.trace import INFRASTRUCTURE
from hylo_eval.errors import EvalError, QueueError
from hylo_eval.evaluation.activity import WorkerActivity
from hylo_eval.evaluation.executor import Work, report_activity
from hylo_eval.evaluation.recipe import Recipe, RunSetup
from hylo_eval.evaluation.workers.carried_videos import store_videos
from hylo_eval.evaluation.workers.events import GarbledEvent, videos_of
from hylo_eval.evaluation.workers.limits import WorkerLimits
from hylo_eval.evaluation.workers.losses import MAX_FAILED_STARTS, Losses
from hylo_eval.evaluation.workers.lost_episode import TOLD_TO_STOP, Loss
from hylo_eval.evaluation.workers.ray_cluster import connected
from hylo_eval.evaluation.workers.remote_worker import RemoteWorker
from hylo_eval.evaluation.workers.supervisor import refusal_of, refuse_other_worker
from hylo_eval.queue import Heartbeat, Lease, Outcome, Owner
from hylo_eval.traces.files import write_once
from hylo_eval.traces.layout import episode_id, partial_of
from hylo_eval.video.recorder import VideoTally

_WAIT_SECONDS: Final = 0.5


@attrs.define
class _Seat:
    name: str
    actor: Any = None
    answer: Any = None
    lease: Lease | None = None
    leased_at: float = 0.0
    task: str | None = None
    episodes: int = 0
    failed_starts: int = 0
    phase: str = "make"
    since: float = 0.0
    asked: Any = None
    asked_at: float = 0.0


@attrs.frozen(kw_only=True)
class RayOptions:
    """How actors are placed.

    Attributes:
        address: Of an existing cluster (``auto``, ``host:port``); None is what ``RAY_ADDRESS`` says, or the cluster of
            this machine.
        gpus: Share of a GPU an actor takes, such as 0.25.
        cpus: Processors an actor takes.
    """

    address: str | None = None
    gpus: float = 0.0
    cpus: float = 1.0


class RayActors:
    """Runs episodes on a Ray cluster.

    Args:
        recipe: What the workers are told. Names, interpreters and benchmark files must mean the same on every node.
        workers: How many actors at a time.
        python: The interpreter of the worker processes; None is the one the node's Ray runs on.
        limits: When a worker is ended or replaced.
        options: How actors are placed.
    """

    def __init__(
        self, recipe: Recipe, *, workers: int, python: str | None, limits: WorkerLimits, options: RayOptions
    ) -> None:
        self._ray, self._disconnects = connected(options.address)
        self._recipe = recipe
        self._python = python
        self._limits = limits
        self._options = options
        self._seats = [_Seat(name=f"actor-{index}") for index in range(workers)]
        self._owner = Owner.here()
        self._setup: RunSetup | None = None
        self._losses = Losses(recipe)

    def prepare(self, first: TaskSpec) -> tuple[RunSetup, tuple[SpecDifference, ...]]:
        """Start the first actor and have it make the first env and the agent."""
        seat = self._seats[0]
        self._start(seat)
        seat.answer = seat.actor.set_up.remote(first.to_dict())
        event = self._answers([seat], None)[0][1]
        if event["type"] == "refused":
            raise refusal_of(event, sys.executable)
        if event["type"] != "ready":
            raise EvalError(f"the first worker {event['what']} before it was ready\n{event['words']}")
        seat.task = first.id
        self._setup = RunSetup.from_dict(event["setup"])
        return self._setup, tuple(SpecDifference(**item) for item in event["differences"])

    def execute(self, work: Work) -> None:
        """Hand out what can be claimed until nothing is left."""
        with Heartbeat(work.queue, self._owner), report_activity(work, self._owner) as report:
            try:
                while self._hand_out(work):
                    report.refresh(self._activities)
                    self._collect(work, _WAIT_SECONDS)
            except BaseException:
                self._release(work)
                raise

    def close(self) -> None:
        """End the actors, with time for their envs to close."""
        closing = [seat.actor.close.remote() for seat in self._seats if seat.actor is not None and seat.lease is None]
        if closing:
            self._ray.wait(closing, num_returns=len(closing), timeout=self._limits.deadlines.close)
        for seat in self._seats:
            self._end(seat)
        if self._disconnects:
            # Connected, Ray prints what becomes of its nodes, at any time and on standard output.
            self._disconnects = False
            self._ray.shutdown()

    def _hand_out(self, work: Work) -> bool:
        if work.stopped():
            self._interrupt(work)
            raise KeyboardInterrupt("the run was stopped")
        for seat in self._seats:
            if seat.lease is not None:
                continue
            lease = work.claim(self._owner, seat.task)
            if lease is None:
                break
            seat.lease, seat.leased_at, seat.task = lease, time.time(), lease.task
            seat.phase, seat.since = "make", seat.leased_at
            if seat.actor is None:
                self._start(seat)
            instance = work.instance(lease.key)
            work.begin(instance, lease.attempt, seat.name)
            actor: Any = seat.actor
            seat.answer = actor.run.remote(instance.to_dict(), lease.attempt)
        return any(seat.lease is not None for seat in self._seats) or work.others_hold_leases()

    def _collect(self, work: Work, seconds: float) -> None:
        busy = [seat for seat in self._seats if seat.lease is not None]
        if not busy:
            time.sleep(seconds)
        for seat, event in self._answers(busy, seconds):
            self._take(work, seat, event)

    def _answers(self, seats: list[_Seat], seconds: float | None) -> list[tuple[_Seat, dict[str, Any]]]:
        """The answers that have come; an actor whose node or process is gone answers that it is lost."""
        if not seats:
            return []
        done, _ = self._ray.wait([seat.answer for seat in seats], timeout=seconds)
        found: list[tuple[_Seat, dict[str, Any]]] = []
        for seat in seats:
            if seat.answer not in done:
                continue
            try:
                event = cast("dict[str, Any]", self._ray.get(seat.answer))
            except self._ray.exceptions.RayActorError as error:
                event = {
                    "type": "lost",
                    "phase": "step",
                    "what": f"was lost with its node or Ray process: {type(error).__name__}",
                    "words": "",
                    "breached": False,
                    "actor_gone": True,
                }
            found.append((seat, event))
        return found

    def _take(self, work: Work, seat: _Seat, event: dict[str, Any]) -> None:
        lease, seat.lease, seat.answer = seat.lease, None, None
        if lease is None:
            return
        if event.get("actor_gone"):
            self._end(seat)
        kind = event["type"]
        self._refuse_other(work, seat, lease, event)
        if kind == "cancelled":
            work.queue.release(lease)
            return
        if kind in ("fault", "refused"):
            work.queue.release(lease)
            raise refusal_of(event, sys.executable)
        if kind == "lost" and event.get("before_start"):
            self._failed_start(work, seat, lease, event)
            return
        outcome = self._outcome(work, seat, lease, event)
        seat.failed_starts = 0
        lost = kind == "lost"
        seat.episodes = 0 if lost else seat.episodes + 1
        seat.task = None if outcome.status in INFRASTRUCTURE else seat.task
        work.settle(lease, outcome)
        if not lost:
            self._losses.forget()
        elif event["what"] != TOLD_TO_STOP:
            self._losses.count(event["what"])
        if not lost and self._limits.exceeded(seat.episodes, event.get("resident_bytes")):
            self._ray.get(seat.actor.recycle.remote())
            seat.episodes, seat.task = 0, None

    def _refuse_other(self, work: Work, seat: _Seat, lease: Lease, event: Mapping[str, Any]) -> None:
        """Where a worker was started for the episode, hold what it has made against what the first one had."""
        if "made" in event and self._setup is not None:
            try:
                refuse_other_worker(event["made"], self._setup, seat.name)
            except EvalError:
                work.queue.release(lease)
                raise

    def _failed_start(self, work: Work, seat: _Seat, lease: Lease, event: Mapping[str, Any]) -> None:
        work.queue.release(lease)
        seat.failed_starts += 1
        if seat.failed_starts >= MAX_FAILED_STARTS:
            raise EvalError(f"{seat.name} {event['what']}, {seat.failed_starts} times before it was ready")

    def _outcome(self, work: Work, seat: _Seat, lease: Lease, event: Mapping[str, Any]) -> Outcome:
        episode = episode_id(lease.key, lease.attempt)
        path, trace = work.run.trace(episode), cast("bytes | None", event.get("trace_bytes"))
        if event["type"] == "outcome" and trace is not None:
            try:
                outcome, told = _told(event, seat.name, path.relative_to(work.run.path).as_posix(), trace)
            except GarbledEvent as error:
                event = {**event, "what": error.message}
            else:
                _store(path, trace, fsync=self._recipe.fsync)
                work.videos.add(store_videos(work.run, episode, event["video_files"], told))
                return outcome
        elif trace is not None:
            partial_of(path).write_bytes(trace)
        if self._setup is None:
            raise EvalError("an outcome before the first worker was ready")
        loss = Loss(
            phase=event.get("phase", "record"),
            what=event.get("what", "sent no trace"),
            words=event.get("words", ""),
            breached=bool(event.get("breached")),
            started_at=seat.leased_at,
            worker=seat.name,
        )
        return self._losses.among(work, self._setup).outcome(work.instance(lease.key), lease.attempt, loss)

    def _activities(self) -> list[WorkerActivity]:
        """What the actors do, as far as it has been heard; waits for none of them."""
        for seat in self._seats:
            if seat.asked is not None and self._ray.wait([seat.asked], timeout=0)[0]:
                # Of one that is gone its answer tells.
                with contextlib.suppress(self._ray.exceptions.RayError):
                    doing = cast("dict[str, Any]", self._ray.get(seat.asked))
                    seat.phase, seat.since = doing["phase"], seat.asked_at - doing["seconds"]
                seat.asked = None
            if seat.asked is None and seat.actor is not None and seat.lease is not None:
                seat.asked, seat.asked_at = seat.actor.doing.remote(), time.time()
        return [*map(_activity_of, self._seats)]

    def _interrupt(self, work: Work) -> None:
        busy = [seat for seat in self._seats if seat.lease is not None]
        for seat in busy:
            seat.actor.interrupt.remote()
        while any(seat.lease is not None for seat in busy):
            self._collect(work, _WAIT_SECONDS)

    def _release(self, work: Work) -> None:
        for seat in self._seats:
            lease, seat.lease = seat.lease, None
            if lease is not None:
                self._end(seat)
                work.queue.release(lease)

    def _start(self, seat: _Seat) -> None:
        # Three calls at a time: an episode, what is being done, and the wish that it end.
        actor_class = self._ray.remote(_Actor)
        seat.actor = actor_class.options(
            num_cpus=self._options.cpus, num_gpus=self._options.gpus, max_concurrency=3
        ).remote(self._recipe.to_dict(), self._python, attrs.asdict(self._limits.deadlines), seat.name)
        seat.episodes, seat.task = 0, None

    def _end(self, seat: _Seat) -> None:
        actor, seat.actor, seat.answer, seat.asked = seat.actor, None, None, None
        if actor is not None:
            self._ray.kill(actor)


def _activity_of(seat: _Seat) -> WorkerActivity:
    """What is known here of an actor, as of the last time it was heard."""
    if seat.lease is None:
        return WorkerActivity(name=seat.name, episodes=seat.episodes)
    return WorkerActivity(
        name=seat.name,
        phase=seat.phase,
        since=seat.since,
        key=seat.lease.key,
        attempt=seat.lease.attempt,
        attempt_since=seat.leased_at,
        episodes=seat.episodes,
    )


class _Actor:
    """What runs on a node: a remote worker, on the interpreter and the GPU that Ray gives."""

    def __init__(
        self, recipe: Mapping[str, Any], python: str | None, deadlines: Mapping[str, float], name: str
    ) -> None:
        import sys

        import ray

        module = cast("Any", ray)
        gpus = [str(number) for number in module.get_gpu_ids()]
        self._worker = RemoteWorker(
            recipe,
            python=python or sys.executable,
            environment={"MUJOCO_EGL_DEVICE_ID": gpus[0]} if gpus else {},
            deadlines=deadlines,
            name=name,
        )

    def set_up(self, first: Mapping[str, Any] | None) -> dict[str, Any]:
        return self._worker.set_up(first)

    def run(self, instance: Mapping[str, Any], attempt: int) -> dict[str, Any]:
        return self._worker.run(instance, attempt)

    def doing(self) -> dict[str, Any]:
        return self._worker.doing()

    def recycle(self) -> None:
        self._worker.recycle()

    def interrupt(self) -> None:
        self._worker.interrupt()

    def close(self) -> None:
        self._worker.close()


def _told(event: Mapping[str, Any], worker: str, trace: str, written: bytes) -> tuple[Outcome, VideoTally]:
    """The outcome that an actor tells of, and its videos; its trace is named as it is here, and is what it says.

    Raises:
        GarbledEvent: One of them is none.
    """
    members: dict[str, Any] = {**event["outcome"], "worker": worker, "trace": trace}
    try:
        outcome = Outcome(**members)
    except (TypeError, QueueError) as error:
        raise GarbledEvent("sent an outcome that is none") from error
    if f"sha256:{hashlib.sha256(written[: outcome.trace_bytes]).hexdigest()}" != outcome.trace_sha256:
        raise GarbledEvent("sent a trace that is not the one it wrote")
    return outcome, videos_of(event)


def _store(path: Path, data: bytes, *, fsync: bool) -> None:
    try:
        write_once(path, data)
        if fsync:
            with path.open("rb") as file:
                os.fsync(file.fileno())
    except OSError as error:
        raise EvalError(f"cannot write the trace {path}: {error.strerror}", fix="make room and continue") from error
