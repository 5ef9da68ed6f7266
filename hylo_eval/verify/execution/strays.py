"""Processes that outlive the command that started them, found and ended before a verdict is given.

A process that leaves its process group (``setsid``, a double fork) survives the group's end. While a command
runs, this process is its descendants' sub-reaper (``PR_SET_CHILD_SUBREAPER``, Linux): an orphan becomes our
own child instead of init's, so it can be found, killed and reaped.

A program that starts its own children from other threads at the same time must not lose them. While other
threads run, only processes that carry the command's marker in their environment are ended; a stray that
replaced its environment then survives. The ``verify`` command runs one thread and ends them all.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hylo_eval.verify.execution.environment import MARKER_VARIABLE
from hylo_eval.verify.execution.hiding import runs_alone, system_library
from hylo_eval.verify.machine_faults import is_machine_fault
from hylo_eval.verify.verdict import GradingInfraError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

STRAY_DEADLINE_SECONDS = 5.0
"""How long strays are hunted after a command; a fork bomb may win beyond it."""

_PR_SET_CHILD_SUBREAPER = 36
_PR_GET_CHILD_SUBREAPER = 37
_POLL_SECONDS = 0.002
_EMPTY_LISTINGS = 3
_SESSION_FIELD = 3  # counted from the state, which follows the name

_reaping_lock = threading.Lock()
_reaping_count = 0
_was_reaper = False
_flag = ctypes.c_int(0)  # written and read under the lock
_flag_address = ctypes.byref(_flag)


def _prctl(option: int, argument: object) -> bool:
    return _prctl_function()(option, argument, 0, 0, 0) == 0


@cache
def _prctl_function() -> Callable[..., int]:
    """The system call's wrapper, or one that always fails where there is no such call."""
    found: Any = system_library().prctl if sys.platform.startswith("linux") else None
    return found or (lambda *_: -1)


def _is_sub_reaper() -> bool:
    return _prctl(_PR_GET_CHILD_SUBREAPER, _flag_address) and bool(_flag.value)


class adopting_orphans:  # noqa: N801 - a context, and no generator: their layers show in a short command's cost
    """Makes this process the sub-reaper of its descendants, and restores what it was before."""

    def __enter__(self) -> None:
        global _reaping_count, _was_reaper  # noqa: PLW0603 - the kernel's flag is one for the whole process
        with _reaping_lock:
            if _reaping_count == 0:
                _was_reaper = _is_sub_reaper()
                _prctl(_PR_SET_CHILD_SUBREAPER, 1)
            _reaping_count += 1

    def __exit__(self, *_: object) -> None:
        global _reaping_count  # noqa: PLW0603 - as above
        with _reaping_lock:
            _reaping_count -= 1
            if _reaping_count == 0 and not _was_reaper:
                _prctl(_PR_SET_CHILD_SUBREAPER, 0)


def has_children() -> bool:
    """Whether this process has any child, a zombie included; much cheaper than listing them."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def child_processes() -> frozenset[int]:
    """The process ids of this process's children, zombies included."""
    if not has_children():
        return frozenset()
    return frozenset(child.pid for child in _children())


class _Child(NamedTuple):
    """A child of this process, as the kernel lists it; a zombie too."""

    pid: int
    group: int
    session: int


def _children() -> Iterator[_Child]:
    own = os.getpid()
    for entry in Path("/proc").iterdir() if sys.platform.startswith("linux") else ():
        if not entry.name.isdecimal():
            continue
        try:
            status = (entry / "stat").read_bytes()
        except OSError as error:
            _raise_if_unseen(error)
            continue
        # The command's name stands in parentheses and may itself hold blanks and parentheses.
        fields = status.rpartition(b")")[2].split()
        if len(fields) > _SESSION_FIELD and int(fields[1]) == own:
            yield _Child(int(entry.name), int(fields[2]), int(fields[_SESSION_FIELD]))


def _raise_if_unseen(error: OSError) -> None:
    """A process that has gone tells nothing; one that cannot be looked at might be a stray.

    Raises:
        GradingInfraError: The machine cannot look at any process now.
    """
    if is_machine_fault(error):
        raise GradingInfraError(f"what a command left behind cannot be found: {error.strerror}") from error


def _carries(pid: int, marker: str | None) -> bool:
    if marker is None:
        return False
    try:
        environment = Path("/proc", str(pid), "environ").read_bytes()
    except OSError as error:
        _raise_if_unseen(error)
        return False
    return f"{MARKER_VARIABLE}={marker}".encode() in environment.split(b"\0")


def end_strays(*, known: frozenset[int], marker: str | None, session: int) -> int:
    """Kills and reaps the processes that a finished command left behind.

    Args:
        known: Children of this process that are not the command's; they stay.
        marker: The command's value of :data:`~hylo_eval.verify.execution.environment.MARKER_VARIABLE`, None for a
            command that no other thread ran beside.
        session: The session that the command led; all in it are the command's.

    Returns:
        How many processes were ended.
    """
    hunt = _Hunt(known, marker, session)
    deadline = time.monotonic() + STRAY_DEADLINE_SECONDS
    # A process that forks and exits all the time can slip through a listing, which takes more than a moment.
    empty_listings = 0
    while has_children() and empty_listings < _EMPTY_LISTINGS and time.monotonic() < deadline:
        strays = hunt.strays()
        empty_listings = 0 if strays else empty_listings + 1
        if not strays:
            continue
        # A stray's own children become ours only when it is gone: look again after reaping it.
        if not hunt.end(strays):
            time.sleep(_POLL_SECONDS)
    return hunt.ended


class _Hunt:
    """The search for one command's strays: what is known of them, and how many are gone."""

    def __init__(self, known: frozenset[int], marker: str | None, session: int) -> None:
        self.known = known
        self.marker = marker
        self.sessions = {session}
        self.ended = 0

    def strays(self) -> list[_Child]:
        """The command's processes among this process's children.

        A zombie has no environment left to carry the marker, but keeps its session: whoever shares a session
        with one of the command's processes is the command's, because a process enters a session by birth only.
        """
        alone = runs_alone()
        found: list[_Child] = []
        for child in _children():  # one by one: a process that is listed now may be gone a millisecond later
            if child.pid in self.known:
                continue
            if not alone and child.session not in self.sessions and _carries(child.pid, self.marker):
                self.sessions.add(child.session)
            found.append(child)
        return [child for child in found if alone or child.session in self.sessions]

    def end(self, strays: list[_Child]) -> bool:
        """Kills strays with all of their groups, and reaps whom it can; False when nobody was reaped."""
        own_group = os.getpgrp()
        # The kernel signals a group as a whole: a fork in it either precedes the signal and is hit, or is undone.
        # That ends a process that changes its number faster than it can be looked up.
        for group in {child.group for child in strays} - {own_group}:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(group, signal.SIGKILL)
        reaped = False
        for child in strays:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(child.pid, signal.SIGKILL)
            if _reaped(child.pid):
                self.ended += 1
                reaped = True
        return reaped


def _reaped(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return False
