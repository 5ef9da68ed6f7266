"""Worker processes on this machine, watched by a supervisor that ends what outlasts its deadline."""

from __future__ import annotations

import contextlib
import selectors
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from hylo_core.spec import SpecDifference
from hylo_core.task import TaskSpec
from hylo_core.trace import INFRASTRUCTURE
from hylo_eval.errors import EvalError, QueueError
from hylo_eval.evaluation.activity import activity_of
from hylo_eval.evaluation.executor import Work, log_path, report_activity
from hylo_eval.evaluation.guardian import Guardian
from hylo_eval.evaluation.lost_episode import outcome_of_lost_worker
from hylo_eval.evaluation.phases import IDLE
from hylo_eval.evaluation.recipe import Recipe, RunSetup
from hylo_eval.evaluation.seat import Seat
from hylo_eval.evaluation.supervisor import WorkerProcess, refusal_of
from hylo_eval.evaluation.worker_limits import WorkerLimits, device_environment
from hylo_eval.queue import Heartbeat, Lease, Outcome, Owner
from hylo_eval.video.recorder import VideoTally

POLL_SECONDS: Final = 0.2
"""How often deadlines are looked at."""

STOPPED_SECONDS: Final = 5.0
"""A gap between two looks from which on this process must have been stopped itself."""

_CLOSE_POLL_SECONDS: Final = 0.02
_LAST_WORDS_SECONDS: Final = 1.0  # a process that dies closes its pipes a moment before it can be asked how

MAX_FAILED_STARTS: Final = 3
"""Workers in a row that die before they are ready, after which the run ends: trying on would not help."""


MAX_LOST_IN_A_ROW: Final = 20
"""Workers lost one after the other, whatever they ran, after which the run ends: that is no single bad episode."""


class LocalProcesses:
    """Runs episodes in worker processes.

    Args:
        recipe: What the workers are told.
        workers: How many at a time.
        python: Their interpreter.
        devices: GPUs, handed out in turn (``CUDA_VISIBLE_DEVICES``, ``MUJOCO_EGL_DEVICE_ID``).
        limits: When a worker is ended or replaced.
        stop: Asked while the first worker starts; a simulator may take minutes to come up.
    """

    def __init__(
        self,
        recipe: Recipe,
        *,
        workers: int,
        python: str,
        devices: Sequence[str] = (),
        limits: WorkerLimits,
        stop: Callable[[], bool] | None = None,
    ) -> None:
        if workers < 1:
            raise EvalError(f"--workers must be at least 1, not {workers}")
        self._recipe = recipe
        self._python = python
        self._limits = limits
        self._stop = stop
        self._seats = [
            Seat(name=f"worker-{index}", environment=device_environment(devices, index)) for index in range(workers)
        ]
        self._selector = selectors.DefaultSelector()
        self._owner = Owner.here()
        self._guardian = Guardian()
        self._setup: RunSetup | None = None
        self._looked = time.monotonic()
        self._lost_in_a_row = 0

    def prepare(self, first: TaskSpec) -> tuple[RunSetup, tuple[SpecDifference, ...]]:
        """Start the first worker and have it make the first env and the agent; one that dies is started again."""
        seat = self._seats[0]
        while True:
            process = self._start(seat, first)
            event = self._first_event(seat, process)
            if event["type"] == "ready":
                seat.ready, seat.task = True, first.id
                self._setup = RunSetup.from_dict(event["setup"])
                return self._setup, tuple(SpecDifference(**item) for item in event["differences"])
            if event["type"] == "refused":
                raise refusal_of(event, self._python)
            how, words = process.end(), process.last_words()
            self._vacate(seat)
            seat.failed_starts += 1
            if seat.failed_starts >= MAX_FAILED_STARTS:
                raise EvalError(
                    f"the first worker ended before it was ready, {MAX_FAILED_STARTS} times: {how}\n{words}"
                )

    def _first_event(self, seat: Seat, process: WorkerProcess) -> Mapping[str, Any]:
        while True:
            for event in self._wait(POLL_SECONDS).get(seat.name, ()):
                return event
            if self._stop is not None and self._stop():
                raise KeyboardInterrupt("stopped before the first episode")
            self._refuse_slow_start(process)

    def execute(self, work: Work) -> None:
        """Hand out what can be claimed until nothing is left."""
        for seat in self._seats:
            if seat.process is not None:
                seat.process.log_to(log_path(work.run, seat.name))
        with Heartbeat(work.queue, self._owner), report_activity(work, self._owner) as report:
            try:
                while self._hand_out(work):
                    report.refresh(lambda: [*map(activity_of, self._seats)])
                    self._look(work)
            except BaseException:
                self._release(work)
                raise

    def close(self) -> None:
        """Let idle workers close their envs in time, and end them all, whatever happens meanwhile."""
        try:
            self._let_close()
        finally:
            for seat in self._seats:
                self._vacate(seat)
            self._guardian.close()
            self._selector.close()

    def _let_close(self) -> None:
        idle = [seat.process for seat in self._seats if seat.process and seat.ready and seat.lease is None]
        for process in idle:
            process.ask_to_stop()
        until = time.monotonic() + self._limits.deadlines.close
        for process in idle:
            while time.monotonic() < until:
                process.read_output()
                if process.ended(_CLOSE_POLL_SECONDS):
                    break

    def _hand_out(self, work: Work) -> bool:
        """Give every worker something to do; False when nothing is left to do or to wait for."""
        if work.stopped():
            self._interrupt(work)
            raise KeyboardInterrupt("the run was stopped")
        for seat in self._seats:
            if seat.lease is not None or seat.leaving or (seat.process is not None and not seat.ready):
                continue
            lease = work.claim(self._owner, seat.task)
            if lease is None:
                break
            seat.lease, seat.leased_at = lease, time.time()
            if seat.process is None:
                self._start(seat, None).log_to(log_path(work.run, seat.name))
            else:
                self._assign(work, seat, lease)
        # A worker that is being replaced works on nothing, but its place will.
        busy = any(seat.lease is not None or seat.leaving for seat in self._seats)
        return busy or work.others_hold_leases()

    def _assign(self, work: Work, seat: Seat, lease: Lease) -> None:
        if seat.process is None:
            raise ValueError("only a worker can be given something to do")
        instance = work.instance(lease.key)
        seat.task = lease.task
        work.begin(instance, lease.attempt, seat.name)
        seat.process.assign(instance, lease.attempt)

    def _look(self, work: Work) -> None:
        """Wait for something to happen, and see whose time is over."""
        for name, events in self._wait(POLL_SECONDS).items():
            seat = next(seat for seat in self._seats if seat.name == name)
            for event in events:
                self._take(work, seat, event)
        now = time.monotonic()
        for seat in self._seats:
            if seat.process is None:
                continue
            breach = seat.process.breach(self._limits.deadlines, now)
            if breach is None:
                continue
            what = f"outlasted its deadline of {breach.deadline:g} s in {breach.phase}"
            self._lose(work, seat, phase=breach.phase, what=what, breached=seat.ready and not seat.leaving)

    def _wait(self, seconds: float) -> dict[str, list[dict[str, Any]]]:
        """The events of each worker; one without a type ``{}`` where a worker is gone."""
        found: dict[str, list[dict[str, Any]]] = {}
        for key, _ in self._selector.select(seconds):
            seat, is_event = key.data
            process = seat.process
            if process is None or key.fd not in (process.events, process.output):
                continue
            if not is_event:
                if not process.read_output():
                    self._selector.unregister(process.output)
                continue
            events = found.setdefault(seat.name, [])
            try:
                events.extend(process.receive())
            except EOFError:
                events.append({"type": "gone"})
                self._selector.unregister(process.events)
        self._find_ended(found)
        now = time.monotonic()
        if now - self._looked > max(STOPPED_SECONDS, 10 * seconds):
            for seat in self._seats:
                if seat.process is not None:
                    seat.process.give_time(now)
        self._looked = now
        return found

    def _find_ended(self, found: dict[str, list[dict[str, Any]]]) -> None:
        """See who has ended without an end of its events: a child it left behind may hold its pipes open."""
        for seat in self._seats:
            process = seat.process
            if process is None or process.events not in self._selector.get_map() or not process.exited():
                continue
            self._selector.unregister(process.events)
            events = found.setdefault(seat.name, [])
            with contextlib.suppress(EOFError):
                events.extend(process.receive())
            events.append({"type": "gone"})

    def _take(self, work: Work, seat: Seat, event: Mapping[str, Any]) -> None:
        kind = event["type"]
        if kind == "gone":
            self._gone(work, seat)
        elif kind == "ready":
            self._read_ready(seat, event)
            if seat.lease is not None:
                self._assign(work, seat, seat.lease)
        elif kind == "outcome" and seat.lease is not None and event.get("attempt") == seat.lease.attempt:
            outcome = _outcome(event.get("outcome"), seat.name)
            lease, seat.lease = seat.lease, None
            if event.get("videos") is not None:
                work.videos.add(VideoTally(**event["videos"]))
            work.settle(lease, outcome)
            seat.episodes += 1
            self._lost_in_a_row = 0
            if outcome.status in INFRASTRUCTURE:
                seat.task = None
            if self._limits.exceeded(seat.episodes, event.get("resident_bytes")):
                self._dismiss(seat)
        elif kind == "cancelled" and seat.lease is not None:
            # A scheduler signals every process of a job, and may reach the workers first.
            self._give_back(work, seat)
            seat.leaving = True
            self._count_loss("was told to stop by somebody else")
        elif kind in ("fault", "refused"):
            raise refusal_of(event, self._python)
        else:
            raise EvalError(f"{seat.name} sent the event {kind!r} where none belongs")

    def _gone(self, work: Work, seat: Seat) -> None:
        if seat.leaving:
            self._vacate(seat)
            return
        process = seat.process
        if process is None:
            return
        phase = process.doing().phase
        process.ended(_LAST_WORDS_SECONDS)
        how = process.end()
        self._lose(work, seat, phase="make" if phase == IDLE else phase, what=f"died: {how}", breached=False)

    def _lose(self, work: Work, seat: Seat, *, phase: str, what: str, breached: bool) -> None:
        """A worker is dead or to be ended: its attempt has an outcome, and its place is free."""
        process, lease, was_ready = seat.process, seat.lease, seat.ready
        if process is None:
            return
        process.end()
        words = process.last_words()
        self._vacate(seat)
        seat.lease = None
        if not was_ready:
            seat.failed_starts += 1
            if lease is not None:
                work.queue.release(lease)
            if seat.failed_starts >= MAX_FAILED_STARTS:
                raise EvalError(f"{seat.name} {what}, {MAX_FAILED_STARTS} times before it was ready\n{words}")
            return
        if lease is None or self._setup is None:
            return
        outcome = outcome_of_lost_worker(
            work.instance(lease.key),
            lease.attempt,
            run=work.run,
            benchmark=self._recipe.benchmark,
            setup=self._setup,
            phase=phase,
            what=what,
            words=words,
            breached=breached,
            started_at=seat.leased_at,
            worker=seat.name,
            fsync=self._recipe.fsync,
        )
        if outcome is None:
            work.queue.release(lease)
        else:
            work.settle(lease, outcome)
        self._count_loss(f"{what} in {phase}\n{words}")

    def _count_loss(self, what: str) -> None:
        self._lost_in_a_row += 1
        if self._lost_in_a_row >= MAX_LOST_IN_A_ROW:
            raise EvalError(
                f"{MAX_LOST_IN_A_ROW} workers in a row were lost without one finished episode; the last one {what}",
                fix="mend what ends them and continue the run; what is finished is kept",
            )

    def _interrupt(self, work: Work) -> None:
        """Have every worker end after its present step, and release what it was about."""
        busy = [seat for seat in self._seats if seat.process is not None and seat.lease is not None]
        for seat in busy:
            if seat.process is not None:
                seat.process.ask_to_stop(interrupt=True)
        while any(seat.lease is not None for seat in busy):
            for name, events in self._wait(POLL_SECONDS).items():
                seat = next(seat for seat in self._seats if seat.name == name)
                for event in events:
                    self._take_last(work, seat, event)
            now = time.monotonic()
            for seat in busy:
                # A step that never ends; the end of its events follows.
                if seat.process is not None and seat.process.breach(self._limits.deadlines, now):
                    seat.process.end()

    def _take_last(self, work: Work, seat: Seat, event: Mapping[str, Any]) -> None:
        if event["type"] == "outcome":
            self._take(work, seat, event)
        elif event["type"] == "gone":
            self._give_back(work, seat)

    def _give_back(self, work: Work, seat: Seat) -> None:
        lease, seat.lease = seat.lease, None
        if lease is not None:
            work.queue.release(lease)

    def _release(self, work: Work) -> None:
        """Give back what is leased, after ending whoever works on it."""
        for seat in self._seats:
            if seat.lease is not None:
                self._vacate(seat)
        # A queue that cannot be written is not the error to tell of; it takes the leases of a dead process back.
        with contextlib.suppress(QueueError):
            for seat in self._seats:
                self._give_back(work, seat)

    def _start(self, seat: Seat, first: TaskSpec | None) -> WorkerProcess:
        process = WorkerProcess(python=self._python, environment=seat.environment, name=seat.name)
        self._guardian.watch(process.pid)
        seat.process, seat.ready, seat.leaving, seat.episodes, seat.task = process, False, False, 0, None
        self._selector.register(process.events, selectors.EVENT_READ, (seat, True))
        self._selector.register(process.output, selectors.EVENT_READ, (seat, False))
        process.set_up(self._recipe, first)
        return process

    def _dismiss(self, seat: Seat) -> None:
        """Replace a worker: it closes its env and ends, and the next thing to do starts another."""
        if seat.process is not None:
            seat.leaving = True
            seat.process.ask_to_stop()

    def _vacate(self, seat: Seat) -> None:
        process, seat.process = seat.process, None
        seat.ready = seat.leaving = False
        seat.task = None
        if process is None:
            return
        for descriptor in (process.events, process.output):
            if descriptor in self._selector.get_map():
                self._selector.unregister(descriptor)
        process.close()
        self._guardian.forget(process.pid)

    def _read_ready(self, seat: Seat, event: Mapping[str, Any]) -> None:
        seat.ready, seat.failed_starts = True, 0
        if self._setup is not None and event["agent"] != self._setup.agent.to_dict():
            raise EvalError(f"{seat.name} made another agent than the first worker: its manifest differs")

    def _refuse_slow_start(self, process: WorkerProcess) -> None:
        slow = process.breach(self._limits.deadlines, time.monotonic())
        if slow:
            raise EvalError(
                f"the first worker outlasted its deadline of {slow.deadline:g} s in {slow.phase}\n"
                f"{process.last_words()}",
                fix=f"--deadline {slow.phase}=SECONDS, if it needs longer",
            )


def _outcome(recorded: Any, worker: str) -> Outcome:
    try:
        return Outcome(**recorded, worker=worker)
    except (TypeError, QueueError) as error:
        raise EvalError(f"{worker} sent an outcome that is none: {error}") from error
