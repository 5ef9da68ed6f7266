"""Worker processes on this machine, watched by a supervisor that ends what outlasts its deadline."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from hylo_core.spec import SpecDifference
from hylo_core.task import TaskSpec
from hylo_core.trace import INFRASTRUCTURE
from hylo_eval.errors import EvalError, QueueError
from hylo_eval.evaluation.activity import activity_of
from hylo_eval.evaluation.executor import Work, report_activity
from hylo_eval.evaluation.phases import IDLE
from hylo_eval.evaluation.recipe import Recipe, RunSetup
from hylo_eval.evaluation.workers.events import GARBLED, GONE, GarbledEvent, garbled_by
from hylo_eval.evaluation.workers.guardian import Guardian
from hylo_eval.evaluation.workers.limits import WorkerLimits, device_environment
from hylo_eval.evaluation.workers.listening import Listening
from hylo_eval.evaluation.workers.lookahead import GATHER_SECONDS, STALLED_SECONDS, can_wait, wanted_ahead
from hylo_eval.evaluation.workers.losses import MAX_FAILED_STARTS, Losses
from hylo_eval.evaluation.workers.lost_episode import Loss
from hylo_eval.evaluation.workers.seat import Seat
from hylo_eval.evaluation.workers.supervisor import WorkerProcess, refusal_of, refuse_other_worker
from hylo_eval.queue import Heartbeat, Lease, Owner

POLL_SECONDS: Final = 0.2
"""How often deadlines are looked at."""

SIGNAL_SECONDS: Final = 2.0
"""How long after a worker was told to stop this process may still be: a scheduler signals every process of a job."""

_CLOSE_POLL_SECONDS: Final = 0.02
_LAST_WORDS_SECONDS: Final = 1.0  # a process that dies closes its pipes a moment before it can be asked how


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
        self._listening = Listening(self._seats)
        self._owner = Owner.here()
        self._guardian = Guardian()
        self._setup: RunSetup | None = None
        self._losses = Losses(recipe)

    def prepare(self, first: TaskSpec) -> tuple[RunSetup, tuple[SpecDifference, ...]]:
        """Start the first worker and have it make the first env and the agent; one that dies is started again."""
        seat = self._seats[0]
        while True:
            process = self._start(seat, first)
            event = self._first_event(seat, process)
            if event["type"] == "ready" and "setup" in event:
                seat.ready, seat.task = True, first.id
                self._setup = RunSetup.from_dict(event["setup"])
                return self._setup, tuple(SpecDifference(**item) for item in event["differences"])
            if event["type"] == "refused":
                raise refusal_of(event, self._python)
            how = process.end() if event["type"] == GONE else str(garbled_by(event))
            words = process.last_words()
            self._vacate(seat)
            seat.failed_starts += 1
            if seat.failed_starts >= MAX_FAILED_STARTS:
                raise EvalError(
                    f"the first worker ended before it was ready, {MAX_FAILED_STARTS} times: {how}\n{words}"
                )

    def _first_event(self, seat: Seat, process: WorkerProcess) -> Mapping[str, Any]:
        while True:
            for sitting, events in self._listening.wait(POLL_SECONDS):
                if sitting is seat and events:
                    return events[0]
            if self._stop is not None and self._stop():
                raise KeyboardInterrupt("stopped before the first episode")
            self._refuse_slow_start(process)

    def execute(self, work: Work) -> None:
        """Hand out what can be claimed until nothing is left."""
        for seat in self._seats:
            if seat.process is not None:
                seat.process.log_to(work.run.worker_log(seat.name))
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
            self._vacate(*self._seats)
            self._guardian.close()
            self._listening.close()

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
            seat.hold(lease)
            if seat.process is None:
                self._start(seat, None).log_to(work.run.worker_log(seat.name))
            else:
                self._assign(work, seat, lease)
        self._hand_out_ahead(work)
        # A worker that is being replaced works on nothing, but its place will.
        busy = any(seat.lease is not None or seat.leaving for seat in self._seats)
        return busy or work.others_hold_leases()

    def _hand_out_ahead(self, work: Work) -> None:
        for seat in self._seats:
            count = wanted_ahead(seat, self._limits)
            if not count or seat.lease is None or seat.process is None:
                continue
            leases = work.claim_more(self._owner, seat.lease.task, count)
            seat.ahead.extend(leases)
            seat.process.assign(*((work.instance(lease.key), lease.attempt) for lease in leases))

    def _assign(self, work: Work, seat: Seat, lease: Lease) -> None:
        if seat.process is None:
            raise ValueError("only a worker can be given something to do")
        instance = work.instance(lease.key)
        if seat.task != lease.task:
            seat.pace = None  # another env has yet to be made, and its episodes may be long ones
        seat.task = lease.task
        work.begin(instance, lease.attempt, seat.name)
        seat.number = seat.process.assign((instance, lease.attempt))

    def _look(self, work: Work) -> None:
        """Wait for something to happen, and see whose time is over."""
        if can_wait(self._seats):
            time.sleep(GATHER_SECONDS)
        for seat, events in self._listening.wait(POLL_SECONDS):
            self._take_all(work, seat, events)
        now = time.monotonic()
        for seat in self._seats:
            if seat.ahead and seat.process is not None and now - seat.begun > STALLED_SECONDS:
                self._withdraw(work, seat)
            if seat.cancelled is not None and now - seat.cancelled > SIGNAL_SECONDS:
                self._lose_cancelled(work, seat)
            breach = None if seat.process is None else seat.process.breach(self._limits.deadlines, now)
            if breach is None:
                continue
            what = f"outlasted its deadline of {breach.deadline:g} s in {breach.phase}"
            self._lose(work, seat, phase=breach.phase, what=what, breached=seat.ready and not seat.leaving)

    def _take_all(self, work: Work, seat: Seat, events: Sequence[Mapping[str, Any]]) -> None:
        try:
            for are_outcomes, group in groupby(events, lambda event: event["type"] == "outcome"):
                if are_outcomes:
                    self._settle(work, seat, [*group])
                    continue
                for event in group:
                    self._take(work, seat, event)
        except GarbledEvent as error:
            # Nothing that this worker says is to be believed any more, nor what it has written about its phase.
            self._lose(work, seat, phase="step", what=error.message, breached=False)

    def _lose_cancelled(self, work: Work, seat: Seat) -> None:
        """A signal reached a worker and not this process: no operator sent it, its own agent or simulator may have."""
        lease, seat.lease, seat.cancelled = seat.lease, None, None
        if lease is not None and self._setup is not None:
            self._losses.settle_told_to_stop(work, self._setup, lease, worker=seat.name, since=seat.leased_at)

    def _take(self, work: Work, seat: Seat, event: Mapping[str, Any]) -> None:
        kind = event["type"]
        if kind == GONE:
            self._gone(work, seat)
        elif kind == "ready":
            self._read_ready(seat, event)
            if seat.lease is not None:
                self._assign(work, seat, seat.lease)
        elif kind == "cancelled" and seat.lease is not None:
            # A scheduler signals every process of a job, and may reach the workers first.
            seat.leaving, seat.cancelled = True, time.monotonic()
            self._give_back_ahead(work, seat)
        elif kind == "skipped" and seat.is_of_withdrawn(event):
            pass
        elif kind in ("fault", "refused"):
            raise refusal_of(event, self._python)
        else:
            raise garbled_by(event)

    def _settle(self, work: Work, seat: Seat, events: Sequence[Mapping[str, Any]]) -> None:
        """Commit outcomes that have come in one go, in one transaction.

        Raises:
            GarbledEvent: One of them was none; what came before it counts.
        """
        ended, garbled = seat.take_outcomes(events)
        with work.queue.together():
            states = [work.record(each.lease, each.outcome) for each in ended]
            if seat.lease is not None and ended:
                work.queue.begin(seat.lease)
        for each, state in zip(ended, states, strict=True):
            work.videos.add(each.videos)
            work.tell(each.lease, each.outcome, state)
            seat.episodes, seat.pace = seat.episodes + 1, each.outcome.seconds
            self._losses.forget()
            if each.outcome.status in INFRASTRUCTURE:
                seat.task = None
            if state is None:  # this process was stopped, and others have taken over what it held
                self._withdraw(work, seat)
            if self._limits.exceeded(seat.episodes, each.resident_bytes):
                self._dismiss(seat)
        if garbled is not None:
            raise garbled

    def _gone(self, work: Work, seat: Seat) -> None:
        if seat.leaving and (seat.lease is None or seat.cancelled is not None):
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
        self._give_back_ahead(work, seat)
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
        loss = Loss(phase=phase, what=what, words=words, breached=breached, started_at=seat.leased_at, worker=seat.name)
        self._losses.settle(work, self._setup, lease, loss)

    def _interrupt(self, work: Work) -> None:
        """Have every worker end after its present step, and release what it was about."""
        busy = [seat for seat in self._seats if seat.process is not None and seat.lease is not None]
        for seat in busy:
            if seat.process is not None:
                seat.process.ask_to_stop(interrupt=True)
        while any(seat.lease is not None for seat in busy):
            for seat, events in self._listening.wait(POLL_SECONDS):
                for event in events:
                    self._take_last(work, seat, event)
            now = time.monotonic()
            for seat in busy:
                # A step that never ends, or none yet; the end of its events follows.
                if seat.process is not None and seat.process.breach(self._limits.deadlines, now):
                    seat.process.kill()

    def _take_last(self, work: Work, seat: Seat, event: Mapping[str, Any]) -> None:
        try:
            if event["type"] == "outcome" and seat.lease is not None:
                self._settle(work, seat, [event])
            elif event["type"] == GONE:
                self._give_back(work, seat)
            elif event["type"] == GARBLED:
                raise garbled_by(event)
        except GarbledEvent:
            if seat.process is not None:
                seat.process.end()
            self._give_back(work, seat)

    def _give_back(self, work: Work, seat: Seat) -> None:
        with work.queue.together():
            for lease in seat.take_all():
                work.queue.release(lease)

    def _withdraw(self, work: Work, seat: Seat) -> None:
        """Take back what a worker was given and has not begun."""
        if seat.process is not None:
            seat.withdrawn, seat.pace = seat.process.withdraw(), None
        self._give_back_ahead(work, seat)

    def _give_back_ahead(self, work: Work, seat: Seat) -> None:
        with work.queue.together():
            while seat.ahead:
                work.queue.release(seat.ahead.pop())

    def _release(self, work: Work) -> None:
        """Give back what is leased, after ending whoever works on it."""
        self._vacate(*(seat for seat in self._seats if seat.lease is not None))
        # A queue that cannot be written is not the error to tell of; it takes the leases of a dead process back.
        with contextlib.suppress(QueueError):
            for seat in self._seats:
                self._give_back(work, seat)

    def _start(self, seat: Seat, first: TaskSpec | None) -> WorkerProcess:
        process = WorkerProcess(python=self._python, environment=seat.environment, name=seat.name)
        self._guardian.watch(process.pid)
        seat.process, seat.ready, seat.leaving, seat.episodes, seat.task = process, False, False, 0, None
        seat.withdrawn, seat.pace = 0, None
        self._listening.begin(seat, process)
        process.set_up(self._recipe, first)
        return process

    def _dismiss(self, seat: Seat) -> None:
        """Replace a worker: it closes its env and ends, and the next thing to do starts another."""
        if seat.process is not None:
            seat.leaving = True
            seat.process.ask_to_stop()

    def _vacate(self, *seats: Seat) -> None:
        for seat in seats:
            if seat.process is not None:
                seat.process.kill()
        for seat in seats:
            process, seat.process = seat.process, None
            seat.ready = seat.leaving = False
            seat.task = None
            if process is not None:
                self._listening.end(process)
                process.close()
                self._guardian.forget(process.pid)

    def _read_ready(self, seat: Seat, event: Mapping[str, Any]) -> None:
        seat.ready, seat.failed_starts = True, 0
        if self._setup is not None:
            refuse_other_worker(event, self._setup, seat.name)

    def _refuse_slow_start(self, process: WorkerProcess) -> None:
        slow = process.breach(self._limits.deadlines, time.monotonic())
        if slow:
            raise EvalError(
                f"the first worker outlasted its deadline of {slow.deadline:g} s in {slow.phase}\n"
                f"{process.last_words()}",
                fix=f"--deadline {slow.phase}=SECONDS, if it needs longer",
            )
