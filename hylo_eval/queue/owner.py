"""Who holds a lease, and whether that process can still be alive."""

from __future__ import annotations

import os
import secrets
import sys
import time
from functools import cache
from pathlib import Path

import attrs

from hylo_eval.queue import checks

_START_FIELD = 19
_GONE = frozenset({b"Z", b"X", b"x"})
"""States of a process that has ended and was not yet reaped."""


@attrs.frozen(kw_only=True)
class Owner:
    """A process that claims items.

    A process id alone names nobody: it is given again, and other machines and containers have the same ones.

    Attributes:
        id: A random id, given once.
        host: The name of the machine.
        pid: The process id.
        boot_id: Names this run of the machine: it changes whenever the machine starts. Empty where it is unknown.
        started: When the process started, in clock ticks after the machine did; 0 where it is unknown.
        pid_namespace: Names the set of processes among which ``pid`` counts; empty where it is unknown.
    """

    id: str = attrs.field(validator=checks.text(limit=64))
    host: str = attrs.field(validator=checks.text(empty=True, limit=255))
    pid: int = attrs.field(validator=checks.whole_number(1))
    boot_id: str = attrs.field(validator=checks.text(empty=True, limit=64))
    started: int = attrs.field(validator=checks.whole_number())
    pid_namespace: str = attrs.field(default="", validator=checks.text(empty=True, limit=64))

    @classmethod
    def here(cls) -> Owner:
        """This process, under an id of its own: every call is another owner."""
        machine = Machine()
        stat = _stat_fields(os.getpid())
        return cls(
            id=secrets.token_hex(8),
            host=machine.host,
            pid=os.getpid(),
            boot_id=machine.boot_id,
            started=int(stat[_START_FIELD]) if stat else 0,
            pid_namespace=machine.pid_namespace,
        )


class Machine:
    """What this process can know of time and of other processes.

    Off Linux there is no boot id, and the clock may stop while the machine sleeps: leases then last longer, and a lease
    from before a restart of the machine is held for at most its own length.
    """

    @property
    def host(self) -> str:
        """The name of this machine."""
        return os.uname().nodename

    @property
    def boot_id(self) -> str:
        """Names this run of the machine; empty where it is unknown."""
        return _boot_id()

    @property
    def pid_namespace(self) -> str:
        """Names the processes that this one sees; containers on one machine see different ones."""
        return _pid_namespace(os.getpid())

    def seconds(self) -> float:
        """Seconds since the machine started, time asleep included; it never jumps."""
        if sys.platform == "linux":
            return time.clock_gettime(time.CLOCK_BOOTTIME)
        return time.monotonic()

    def wall_seconds(self) -> float:
        """Seconds since 1970; it jumps."""
        return time.time()

    def is_dead(self, owner: Owner) -> bool:
        """Whether an owner is certainly gone: of an earlier run of this machine, or its process has ended.

        False is no promise: of another machine, or another container, nothing is known.
        """
        if owner.boot_id != self.boot_id:
            return owner.host == self.host
        if owner.host != self.host or owner.pid_namespace != self.pid_namespace:
            return False
        return self.has_ended(owner)

    def has_ended(self, owner: Owner) -> bool:
        """Whether the process of an owner among those this one sees has ended; one that started later is another."""
        if sys.platform == "linux":
            stat = _stat_fields(owner.pid)
            return stat is None or stat[0] in _GONE or int(stat[_START_FIELD]) != owner.started
        return not _accepts_signals(owner.pid)


@cache
def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


@cache
def _pid_namespace(_: int) -> str:
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def _stat_fields(pid: int) -> list[bytes] | None:
    """The fields of ``/proc/<pid>/stat`` from the state on; None when there is no such process."""
    try:
        status = Path("/proc", str(pid), "stat").read_bytes()
    except OSError:
        return None
    # The command's name stands in parentheses and may itself hold blanks and parentheses.
    fields = status.rpartition(b")")[2].split()
    return fields if len(fields) > _START_FIELD else None


def _accepts_signals(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
