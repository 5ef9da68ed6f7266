"""Worker processes on this machine, watched by a supervisor that ends what outlasts its deadline."""

from __future__ import annotations

import selectors
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from hylo_core.spec import SpecDifference
from hylo_core.task import TaskSpec
from hylo_core.trace import INFRASTRUCTURE
from hylo_eval.errors import EvalError
from hylo_eval.evaluation.activity import activity_of
from hylo_eval.evaluation.executor import Work, log_path, report_activity
from hylo_eval.evaluation.lost_episode import outcome_of_lost
from hylo_eval.evaluation.phases import Deadlines
from hylo_eval.evaluation.recipe import Recipe, RunSetup
from hylo_eval.evaluation.supervisor import WorkerProcess
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


@attrs.frozen(kw_only=True)
class WorkerLimits:
    """When a worker is ended or replaced.

    Attributes:
        deadlines: Of its phases.
        recycle_after: Episodes after which a worker is replaced; None is never.
        max_rss_mb: Resident memory (MiB) after an episode above which it is replaced; None is any.
    """

    deadlines: Deadlines = attrs.field(factory=Deadlines)
    recycle_after: int | None = None
    max_rss_mb: int | None = None

    def __attrs_post_init__(self) -> None:
        for name in ("recycle_after", "max_rss_mb"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise EvalError(f"--{name.replace('_', '-')} must be at least 1, not {value}")

    def exceeded(self, episodes: int, resident_bytes: object) -> bool:
        """Whether a worker that ran so many episodes and holds so much memory is to be replaced."""
        if self.recycle_after is not None and episodes >= self.recycle_after:
            return True
        if self.max_rss_mb is None or not isinstance(resident_bytes, int):
            return False
        return resident_bytes > self.max_rss_mb << 20


@attrs.define
class _Seat:
    """A place for one worker: the process that sits there now, and what it does."""

    name: str
    environment: Mapping[str, str]
    process: WorkerProcess | None = None
    ready: bool = False
    leaving: bool = False
    lease: Lease | None = None
    leased_at: float = 0.0
    task: str | None = None
    episodes: int = 0
    failed_starts: int = 0


class LocalProcesses:
    """Runs episodes in worker processes.

    Args:
        recipe: What the workers are told.
        workers: How many at a time.
        python: Their interpreter.
        devices: GPUs, handed out in turn (``CUDA_VISIBLE_DEVICES``, ``MUJOCO_EGL_DEVICE_ID``).
        limits: When a worker is ended or replaced.
    """

    def __init__(
        self, recipe: Recipe, *, workers: int, python: str, devices: Sequence[str] = (), limits: WorkerLimits
    ) -> None:
        if workers < 1:
            raise EvalError(f"--workers must be at least 1, not {workers}")
        self._recipe = recipe
        self._python = python
        self._limits = limits
        self._seats = [
            _Seat(name=f"worker-{index}", environment=device_environment(devices, index)) for index in range(workers)
        ]
        self._selector = selectors.DefaultSelector()
        self._owner = Owner.here()
        self._setup: RunSetup | None = None
        self._looked = time.monotonic()
        self._lost_in_a_row = 0

    def prepare(self, first: TaskSpec) -> tuple[RunSetup, tuple[SpecDifference, ...]]:
        """Start the first worker and have it make the first env and the agent."""
        seat = self._seats[0]
        process = self._start(seat, first)
        while not seat.ready:
            for event in self._wait(POLL_SECONDS).get(seat.name, ()):
                self._setup, differences = self._read_setup(seat, event)
                seat.task = first.id
                return self._setup, differences
            self._refuse_slow_start(process)
        raise AssertionError("the loop above returns or raises")

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
        """Let idle workers close their envs in time, and end them all."""
        for seat in self._seats:
            if seat.process is not None and seat.lease is None:
                seat.process.ask_to_stop()
        until = time.monotonic() + self._limits.deadlines.close
        for seat in self._seats:
            if seat.process is None:
                continue
            while seat.ready and seat.lease is None and time.monotonic() < until:
                seat.process.read_output()
                if seat.process.ended(_CLOSE_POLL_SECONDS):
                    break
            self._vacate(seat)
        self._selector.close()

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
        return any(seat.lease is not None for seat in self._seats) or work.others_hold_leases()

    def _assign(self, work: Work, seat: _Seat, lease: Lease) -> None:
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
        now = time.monotonic()
        if now - self._looked > max(STOPPED_SECONDS, 10 * seconds):
            for seat in self._seats:
                if seat.process is not None:
                    seat.process.give_time(now)
        self._looked = now
        return found

    def _take(self, work: Work, seat: _Seat, event: Mapping[str, Any]) -> None:
        kind = event["type"]
        if kind == "gone":
            self._gone(work, seat)
        elif kind == "ready":
            self._read_ready(seat, event)
            if seat.lease is not None:
                self._assign(work, seat, seat.lease)
        elif kind == "outcome" and seat.lease is not None and event["attempt"] == seat.lease.attempt:
            lease, seat.lease = seat.lease, None
            outcome = _outcome(event["outcome"], seat.name)
            if event["videos"] is not None:
                work.videos.add(VideoTally(**event["videos"]))
            work.settle(lease, outcome)
            seat.episodes += 1
            self._lost_in_a_row = 0
            if outcome.status in INFRASTRUCTURE:
                seat.task = None
            if self._limits.exceeded(seat.episodes, event.get("resident_bytes")):
                self._dismiss(seat)
        elif kind in ("fault", "refused"):
            raise EvalError(event["message"], fix=event["fix"])
        else:
            raise EvalError(f"{seat.name} sent the event {kind!r} where none belongs")

    def _gone(self, work: Work, seat: _Seat) -> None:
        if seat.leaving:
            self._vacate(seat)
            return
        process = seat.process
        if process is None:
            return
        phase = process.board.read().phase
        process.ended(_LAST_WORDS_SECONDS)
        how = process.end()
        self._lose(work, seat, phase="make" if phase == "idle" else phase, what=f"died: {how}", breached=False)

    def _lose(self, work: Work, seat: _Seat, *, phase: str, what: str, breached: bool) -> None:
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
        self._lost_in_a_row += 1
        outcome = outcome_of_lost(
            work.instance(lease.key),
            lease.attempt,
            run=work.run,
            benchmark=self._recipe.benchmark,
            setup=self._setup,
            phase=phase,
            what=f"{seat.name} {what}",
            words=words,
            breached=breached,
            started_at=seat.leased_at,
            worker=seat.name,
            fsync=self._recipe.fsync,
        )
        work.settle(lease, outcome)
        if self._lost_in_a_row >= MAX_LOST_IN_A_ROW:
            raise EvalError(
                f"{MAX_LOST_IN_A_ROW} workers in a row were lost without one finished episode; "
                f"the last one {what} in {phase}\n{words}",
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

    def _take_last(self, work: Work, seat: _Seat, event: Mapping[str, Any]) -> None:
        if event["type"] == "outcome":
            self._take(work, seat, event)
        elif event["type"] == "gone" and seat.lease is not None:
            work.queue.release(seat.lease)
            seat.lease = None

    def _release(self, work: Work) -> None:
        """Give back what is leased, after ending whoever works on it."""
        for seat in self._seats:
            lease, seat.lease = seat.lease, None
            if lease is not None:
                self._vacate(seat)
                work.queue.release(lease)

    def _start(self, seat: _Seat, first: TaskSpec | None) -> WorkerProcess:
        process = WorkerProcess(python=self._python, environment=seat.environment, name=seat.name)
        seat.process, seat.ready, seat.leaving, seat.episodes, seat.task = process, False, False, 0, None
        self._selector.register(process.events, selectors.EVENT_READ, (seat, True))
        self._selector.register(process.output, selectors.EVENT_READ, (seat, False))
        process.set_up(self._recipe, first)
        return process

    def _dismiss(self, seat: _Seat) -> None:
        """Replace a worker: it closes its env and ends, and the next thing to do starts another."""
        if seat.process is not None:
            seat.leaving = True
            seat.process.ask_to_stop()

    def _vacate(self, seat: _Seat) -> None:
        process, seat.process = seat.process, None
        seat.ready = seat.leaving = False
        seat.task = None
        if process is None:
            return
        for descriptor in (process.events, process.output):
            if descriptor in self._selector.get_map():
                self._selector.unregister(descriptor)
        process.close()

    def _read_setup(self, seat: _Seat, event: Mapping[str, Any]) -> tuple[RunSetup, tuple[SpecDifference, ...]]:
        if event["type"] == "refused":
            raise EvalError(event["message"], fix=event["fix"])
        if event["type"] != "ready":
            words = seat.process.last_words() if seat.process is not None else ""
            how = seat.process.end() if seat.process is not None else "gone"
            raise EvalError(f"the first worker ended before it was ready: {how}\n{words}")
        seat.ready = True
        return RunSetup.from_dict(event["setup"]), tuple(SpecDifference(**item) for item in event["differences"])

    def _read_ready(self, seat: _Seat, event: Mapping[str, Any]) -> None:
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
    except TypeError as error:
        raise EvalError(f"{worker} sent an outcome that is none: {error}") from error


def device_environment(devices: Sequence[str], index: int) -> dict[str, str]:
    """The variables that give a worker its GPU; none where no devices are named."""
    if not devices:
        return {}
    device = devices[index % len(devices)]
    return {"CUDA_VISIBLE_DEVICES": device, "MUJOCO_EGL_DEVICE_ID": device}
