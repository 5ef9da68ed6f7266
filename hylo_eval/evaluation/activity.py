"""What the processes of a run do now: a small file of each in the run folder, for whoever looks from outside.

The queue knows who holds which episode; that a worker has been in ``reset`` for two minutes only its supervisor knows.
There is a file for each process that claims, because two terminals may work on one run. The files are only shown:
nothing is decided by them, and a run goes on where they cannot be written.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Protocol, Self, cast

import attrs
import orjson

from hylo_core.contract import Record, integer, number, one_of, text
from hylo_core.errors import HyloError, describe_error
from hylo_eval.errors import EvalError
from hylo_eval.evaluation.phases import IDLE, PHASE_NAMES, PhaseBoard
from hylo_eval.queue import Lease, Machine, Owner
from hylo_eval.traces.files import write_atomically
from hylo_eval.traces.layout import RunFolder

SCHEMA: Final = "hylo.activity/v0.1"
REFRESH_SECONDS: Final = 1.0
"""How often the file is written."""

SILENT_SECONDS: Final = 60.0
"""A file that is older is of a process that is stopped, or on a machine that is gone."""

OTHER_HOST_SECONDS: Final = 900.0
"""Silence after which a process on another machine, which cannot be seen from here, counts as gone.

Longer than its lease and the difference the queue allows between the clocks of two machines.
"""

MAX_BYTES: Final = 1 << 20
MAX_FILES: Final = 1000


@attrs.frozen(kw_only=True)
class WorkerActivity(Record):
    """What one worker does.

    Attributes:
        name: Its name.
        pid: Its process; 0 where none sits at its place.
        phase: What it is about (:data:`hylo_core.trace.PHASES`), or ``idle``.
        since: When that began, in seconds since 1970.
        key: The instance it holds; empty for none.
        attempt: Which attempt; 0 for none.
        attempt_since: When it was given the instance, in seconds since 1970; 0 for none.
        episodes: Episodes that its process has ended.
    """

    name: str = attrs.field(validator=text(empty=False))
    pid: int = attrs.field(default=0, validator=integer(minimum=0))
    phase: str = attrs.field(default=IDLE, validator=one_of(*PHASE_NAMES))
    since: float = attrs.field(default=0.0, validator=number())
    key: str = attrs.field(default="", validator=text())
    attempt: int = attrs.field(default=0, validator=integer(minimum=0))
    attempt_since: float = attrs.field(default=0.0, validator=number())
    episodes: int = attrs.field(default=0, validator=integer(minimum=0))


@attrs.frozen(kw_only=True)
class Activity(Record):
    """What one process that claims episodes does.

    Attributes:
        schema: Of the file.
        owner: Who it is, as the members of :class:`hylo_eval.queue.Owner`.
        began_at: When it began to work on the run, in seconds since 1970.
        written_at: When it said so.
        workers: What each of its workers does.
    """

    schema: str = attrs.field(validator=one_of(SCHEMA))
    owner: Mapping[str, Any]
    began_at: float = attrs.field(validator=number())
    written_at: float = attrs.field(validator=number())
    workers: tuple[WorkerActivity, ...] = attrs.field(default=(), converter=tuple)

    @property
    def holder(self) -> Owner:
        """Who it is.

        Raises:
            EvalError: A member is missing.
            QueueError: A member is not what it must be.
        """
        names = {field.name for field in attrs.fields(Owner)}
        members = {name: value for name, value in self.owner.items() if name in names}
        if members.keys() != names:
            raise EvalError("owner: lacks members")
        return Owner(**members)


class Presence(StrEnum):
    """Whether a process that claimed episodes still works on them."""

    WORKING = "working"
    SILENT = "silent"
    """Not known to be gone, and without a word for a while: stopped, or on another machine."""
    GONE = "gone"


def presence(activity: Activity, machine: Machine) -> Presence:
    """Whether the process of an activity still works."""
    owner = activity.holder
    if machine.is_dead(owner):
        return Presence.GONE
    silence = machine.wall_seconds() - activity.written_at
    if owner.host != machine.host and silence > OTHER_HOST_SECONDS:
        return Presence.GONE
    return Presence.SILENT if silence > SILENT_SECONDS else Presence.WORKING


class SeatedProcess(Protocol):
    """The process of a worker, as far as one can tell what it does without asking it."""

    @property
    def pid(self) -> int:
        """Its number."""
        ...

    @property
    def board(self) -> PhaseBoard:
        """Where it writes what it does."""
        ...

    @property
    def started(self) -> float:
        """When it was started, by the monotonic clock."""
        ...


class Seat(Protocol):
    """The place of a worker, as a supervisor keeps it."""

    @property
    def name(self) -> str:
        """The worker's name."""
        ...

    @property
    def process(self) -> SeatedProcess | None:
        """Who sits there."""
        ...

    @property
    def lease(self) -> Lease | None:
        """What it is to run."""
        ...

    @property
    def leased_at(self) -> float:
        """When it was given that, in seconds since 1970."""
        ...

    @property
    def episodes(self) -> int:
        """Episodes that the process has ended."""
        ...


def activity_of(seat: Seat) -> WorkerActivity:
    """What the worker at a place does, read from its shared memory without asking it."""
    now, process, lease = time.time(), seat.process, seat.lease
    phase, since = "make" if lease else IDLE, seat.leased_at or now
    if process is not None:
        phase, seconds = phase_of(process)
        since = now - seconds
    return WorkerActivity(
        name=seat.name,
        pid=0 if process is None else process.pid,
        phase=phase,
        since=since,
        key="" if lease is None else lease.key,
        attempt=0 if lease is None else lease.attempt,
        attempt_since=0.0 if lease is None else seat.leased_at,
        episodes=seat.episodes,
    )


def phase_of(process: SeatedProcess) -> tuple[str, float]:
    """The phase a process is in, and for how many seconds it has been; for as long as it has lived at most."""
    reading, now = process.board.read(), time.monotonic()
    if not reading.sequence:  # the interpreter is not up yet
        return "make", now - process.started
    return reading.phase, min(max(now - reading.since, 0.0), now - process.started)


class ActivityReport:
    """Keeps the file of one process, and tells whoever watches, at most once a second; gone when the context is left.

    Args:
        run: The run folder.
        owner: The process.
        watch: Told the same as the file.
    """

    def __init__(self, run: RunFolder, owner: Owner, watch: Callable[[Activity], None] | None = None) -> None:
        self._path = run.activity / f"{owner.id}.json"
        self._owner = attrs.asdict(owner)
        self._watch = watch
        self._began_at = time.time()
        self._next = -math.inf
        sweep(run)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self._path.parent.rmdir()

    def refresh(self, look: Callable[[], Sequence[WorkerActivity]]) -> None:
        """Look and tell, if it is time to."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + REFRESH_SECONDS
        activity = Activity(
            schema=SCHEMA,
            owner=self._owner,
            began_at=self._began_at,
            written_at=time.time(),
            workers=tuple(look()),
        )
        # A full disk is found by the traces, which matter.
        with contextlib.suppress(EvalError, OSError):
            self._path.parent.mkdir(exist_ok=True)
            write_atomically(self._path, orjson.dumps(activity.to_dict()) + b"\n")
        if self._watch is not None:
            self._watch(activity)


def read_activities(run: RunFolder) -> tuple[list[Activity], list[str]]:
    """The files of all processes of a run, by when they began, and what is wrong with those that cannot be read."""
    found: list[Activity] = []
    faults: list[str] = []
    for path in _files(run):
        try:
            found.append(read_activity(path))
        except FileNotFoundError:
            continue  # its process has just ended
        except (HyloError, OSError, ValueError, TypeError) as error:
            faults.append(f"{path.relative_to(run.path)} cannot be read: {describe_error(error)}")
    return sorted(found, key=lambda activity: activity.began_at), faults


def read_activity(path: Path) -> Activity:
    """One file.

    Raises:
        FileNotFoundError: It is gone.
        OSError: It cannot be read.
        ValueError: It is not JSON.
        HyloError: It is no activity.
    """
    with path.open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise EvalError(f"it is larger than {MAX_BYTES} bytes")
    document = orjson.loads(data)
    if not isinstance(document, dict):
        raise EvalError("it is no JSON object")
    activity = Activity.from_dict(cast("dict[str, Any]", document))
    if activity.holder.id != path.stem:
        raise EvalError("it is of another process than its name says")
    return activity


def _files(run: RunFolder) -> list[Path]:
    with contextlib.suppress(OSError):
        found = sorted(path for path in run.activity.iterdir() if path.suffix == ".json" and path.name[0] != ".")
        return found[:MAX_FILES]
    return []


def sweep(run: RunFolder) -> None:
    """Remove what processes left that were killed."""
    machine = Machine()
    for activity in read_activities(run)[0]:
        if presence(activity, machine) is Presence.GONE:
            with contextlib.suppress(OSError):
                (run.activity / f"{activity.holder.id}.json").unlink(missing_ok=True)
