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
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator

MARKER_VARIABLE = "HYLO_VERIFY_RUN"
"""The environment variable that marks the processes of one command."""

STRAY_DEADLINE_SECONDS = 5.0
"""How long strays are hunted after a command; a fork bomb may win beyond it."""

_PR_SET_CHILD_SUBREAPER = 36
_PR_GET_CHILD_SUBREAPER = 37
_POLL_SECONDS = 0.002
_EMPTY_LISTINGS = 3

_reaping_lock = threading.Lock()
_reaping_count = 0
_was_reaper = False


def _prctl(option: int, argument: object) -> bool:
    if not sys.platform.startswith("linux"):
        return False
    return _library().prctl(option, argument, 0, 0, 0) == 0


@cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _is_sub_reaper() -> bool:
    flag = ctypes.c_int(0)
    return _prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(flag)) and bool(flag.value)


@contextmanager
def adopting_orphans() -> Generator[None]:
    """Makes this process the sub-reaper of its descendants, and restores what it was before."""
    global _reaping_count, _was_reaper  # noqa: PLW0603 - the kernel's flag is one for the whole process
    with _reaping_lock:
        if _reaping_count == 0:
            _was_reaper = _is_sub_reaper()
            _prctl(_PR_SET_CHILD_SUBREAPER, 1)
        _reaping_count += 1
    try:
        yield
    finally:
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
    own = os.getpid()
    children: set[int] = set()
    for entry in Path("/proc").iterdir() if sys.platform.startswith("linux") else ():
        if entry.name.isdecimal() and _parent_of(entry) == own:
            children.add(int(entry.name))
    return frozenset(children)


def _parent_of(process: Path) -> int | None:
    try:
        status = (process / "stat").read_bytes()
    except OSError:
        return None
    # The command's name stands in parentheses and may itself hold blanks and parentheses.
    fields = status.rpartition(b")")[2].split()
    return int(fields[1]) if len(fields) > 1 else None


def _carries(pid: int, marker: str) -> bool:
    try:
        environment = Path("/proc", str(pid), "environ").read_bytes()
    except OSError:
        return False
    return f"{MARKER_VARIABLE}={marker}".encode() in environment.split(b"\0")


def end_strays(*, known: frozenset[int], marker: str) -> int:
    """Kills and reaps the processes that a finished command left behind.

    Args:
        known: Children of this process that are not the command's; they stay.
        marker: The command's value of :data:`MARKER_VARIABLE`.

    Returns:
        How many processes were ended.
    """
    ended: set[int] = set()
    killed: set[int] = set()
    deadline = time.monotonic() + STRAY_DEADLINE_SECONDS
    # A process that forks and exits all the time can slip through a listing, which takes more than a moment.
    empty_listings = 0
    while has_children() and empty_listings < _EMPTY_LISTINGS and time.monotonic() < deadline:
        alone = threading.active_count() == 1
        strays = {pid for pid in child_processes() - known if pid in killed or alone or _carries(pid, marker)}
        if not strays:
            empty_listings += 1
            continue
        empty_listings = 0
        for pid in strays:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
                killed.add(pid)
        # A stray's own children become ours only when it is gone: look again after reaping it.
        if not _reap(strays, ended):
            time.sleep(_POLL_SECONDS)
    return len(ended)


def _reap(pids: set[int], ended: set[int]) -> bool:
    reaped = False
    for pid in pids:
        with suppress(ChildProcessError):
            if os.waitpid(pid, os.WNOHANG)[0] == pid:
                ended.add(pid)
                reaped = True
    return reaped
