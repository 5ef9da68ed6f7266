"""What a worker does now and since when, in memory it shares with its supervisor, and how long it may take.

A worker that hangs in native code with the interpreter locked cannot say so. It need not: it wrote what it was about
to do before it did it, and the supervisor reads that without asking.
"""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import struct
import tempfile
import time
from typing import Final, Self

import attrs

from hylo_core.trace import AGENT_PHASES, PHASES, EpisodeStatus
from hylo_eval.errors import EvalError

IDLE: Final = "idle"
"""Between two episodes: nothing that has a deadline."""

PHASE_NAMES: Final[tuple[str, ...]] = (IDLE, *PHASES)
"""What a board can say."""

_CODES: Final[dict[str, int]] = {name: code for code, name in enumerate(PHASE_NAMES)}
_LAYOUT: Final = struct.Struct("=qdq")
_WITHDRAWN: Final = struct.Struct("=q")
"""Stands behind the phase, and is written by the supervisor."""

# From <linux/fcntl.h>; Python names the last one from 3.13 on.
_ADD_SEALS: Final = 1033
_SEAL_SHRINK: Final = 0x2
_SEAL_GROW: Final = 0x4
_SEAL_FUTURE_WRITE: Final = 0x10


@attrs.frozen
class PhaseReading:
    """One look at a worker.

    Attributes:
        sequence: Grows with every phase; two looks with the same number saw the same phase.
        since: When it began, in seconds of the monotonic clock, which all processes of a machine share.
        phase: Its name, or ``idle``.
    """

    sequence: int
    since: float
    phase: str


class PhaseBoard:
    """The shared memory of one worker; the worker writes, the supervisor reads."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._memory = mmap.mmap(descriptor, _LAYOUT.size + _WITHDRAWN.size)
        self._sequence = 0

    @classmethod
    def create(cls) -> Self:
        """A new board, as the supervisor makes it."""
        if hasattr(os, "memfd_create"):
            descriptor = os.memfd_create("hylo-phase", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        else:
            descriptor, name = tempfile.mkstemp(prefix="hylo-phase-")
            os.unlink(name)  # noqa: PTH108 - the descriptor is all that is needed of it
        os.ftruncate(descriptor, _LAYOUT.size + _WITHDRAWN.size)
        # A worker that cut it would have its supervisor die at the next look.
        _seal(descriptor, _SEAL_SHRINK | _SEAL_GROW)
        return cls(descriptor)

    def close_to_others(self) -> None:
        """Let nobody write here any more who has not done so yet: whoever writes to any descriptor finds this one."""
        _seal(self.descriptor, _SEAL_FUTURE_WRITE)

    def enter(self, phase: str) -> None:
        """Write that a phase begins; several times a step, so it costs little."""
        self._sequence += 1
        _LAYOUT.pack_into(self._memory, 0, self._sequence, time.monotonic(), _CODES[phase])

    def read(self) -> PhaseReading:
        """What is written now; a worker can be caught between two of the values, so look twice before acting on it."""
        found: tuple[int, float, int] = _LAYOUT.unpack_from(self._memory, 0)
        sequence, since, code = found
        # The worker's memory is not to be trusted: its agent may have written anything here. What says that it began
        # later than now would never be late.
        if not since <= time.monotonic():
            since = 0.0
        return PhaseReading(sequence, since, PHASE_NAMES[int(code)] if 0 <= code < len(PHASE_NAMES) else IDLE)

    def withdraw(self, number: int) -> None:
        """Write that what was assigned up to a number is not to be begun any more."""
        _WITHDRAWN.pack_into(self._memory, _LAYOUT.size, number)

    def withdrawn(self) -> int:
        """The number up to which nothing is to be begun; 0 at first."""
        number: int = _WITHDRAWN.unpack_from(self._memory, _LAYOUT.size)[0]
        return number

    def close(self) -> None:
        """Give the memory back."""
        self._memory.close()
        os.close(self.descriptor)


def _seal(descriptor: int, seals: int) -> None:
    """Forbid what seals name; where files know no seals, nothing is forbidden."""
    with contextlib.suppress(OSError):
        fcntl.fcntl(descriptor, _ADD_SEALS, seals)


SHORTEST_DEADLINE: Final = 0.2
"""Seconds: a shorter one could not be told from this one."""


@attrs.frozen(kw_only=True)
class Deadlines:
    """Seconds of wall-clock time that one phase may take before the worker is ended.

    Attributes:
        make: Starting the interpreter, loading the agent, making an environment.
        reset: One reset.
        step: One step of the simulator, or what the harness does beside it.
        act: One reply of the agent, or the opening of its session.
        close: Closing the environment.
    """

    make: float = 600.0
    reset: float = 180.0
    step: float = 120.0
    act: float = 300.0
    close: float = 60.0

    def __attrs_post_init__(self) -> None:
        for name, seconds in attrs.asdict(self).items():
            if not SHORTEST_DEADLINE <= seconds < float("inf"):
                raise EvalError(
                    f"the deadline of {name} must be at least {SHORTEST_DEADLINE:g} seconds, for that is how often "
                    f"it is looked at, not {seconds!r}"
                )

    def of(self, phase: str) -> float | None:
        """The deadline of a phase of :data:`hylo_core.trace.PHASES`; None where there is none."""
        return None if phase == IDLE else float(getattr(self, _DEADLINE_OF[phase]))


_DEADLINE_OF: Final = {
    "make": "make",
    "reset": "reset",
    "open": "act",
    "act": "act",
    "filter": "step",
    "step": "step",
    "record": "step",
    "close": "close",
}


def blame_for_breach(phase: str) -> EpisodeStatus:
    """The status of an episode whose worker outlasted the deadline of a phase."""
    return EpisodeStatus.AGENT_ERROR if phase in AGENT_PHASES else EpisodeStatus.TIMEOUT
