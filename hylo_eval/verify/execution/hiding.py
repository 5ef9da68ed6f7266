"""A folder that commands cannot see: the hidden cases, which lie on the same disk under the same user id.

Where this process may make mount namespaces (root with ``CAP_SYS_ADMIN``, on Linux), the commands of one grade
are started by a thread that has a namespace of its own, in which an empty file system covers the folder. They
lack the two capabilities by which they could undo that: ``CAP_SYS_ADMIN`` (unmounting) and ``CAP_SYS_PTRACE``
(reading another process's view of the disk).

A mount namespace and the bounding set of capabilities belong to a thread, and a new process gets those of the
thread that starts it. So nothing has to run between fork and exec, where only one thread would be safe, and
all cases of a task share one namespace: making and unmaking one costs more than starting a program.

Elsewhere nothing is hidden. The container that runs the verifier, or another user for the candidate
(:mod:`hylo_eval.verify.execution.environment`), must then keep the cases out of reach.
"""

from __future__ import annotations

import ctypes
import errno
import os
import subprocess
import sys
import threading
from contextlib import contextmanager
from functools import cache
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from hylo_eval.verify.verdict import GradingInfraError

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from pathlib import Path

_CLONE_NEWNS: Final = 0x00020000
_MS_RDONLY: Final = 1
_MS_NOSUID: Final = 2
_MS_NODEV: Final = 4
_MS_REC: Final = 1 << 14
_MS_PRIVATE: Final = 1 << 18
_PR_CAPBSET_DROP: Final = 24
_CAP_SYS_PTRACE: Final = 19
_CAP_SYS_ADMIN: Final = 21

_SHORTAGES: Final = frozenset({errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM})
"""Not ENOSPC: a machine that allows no namespaces says so."""

_Outcome: TypeAlias = "subprocess.Popen[bytes] | BaseException | None"


class Launcher(threading.Thread):
    """Starts processes that do not see a folder; made by :func:`hiding`.

    It runs nothing but these starts, one at a time, while the thread that asks for them waits.
    """

    def __init__(self, folder: Path | str) -> None:
        super().__init__(name="verify-launcher", daemon=True)
        self._folder = folder
        self._requests: SimpleQueue[dict[str, Any] | None] = SimpleQueue()
        # An event and not a second queue: a signal may come between taking an outcome and keeping it.
        self._answered = threading.Event()
        self._outcome: _Outcome = None

    def run(self) -> None:
        """Covers the folder, then serves until it is told to end."""
        try:
            _cover(self._folder)
        except OSError as error:
            self._answer(error)
            return
        self._answer(None)
        while (request := self._requests.get()) is not None:
            self._answer(_started(request))

    def popen(self, **arguments: Any) -> subprocess.Popen[bytes]:
        """As ``subprocess.Popen``, with its exceptions."""
        self._answered.clear()
        self._requests.put(arguments)
        try:
            self._answered.wait()
        except BaseException:  # a signal: the process that is being started must not be left behind
            self._answered.wait()
            if isinstance(self._outcome, subprocess.Popen):
                self._outcome.kill()
                self._outcome.wait()
            raise
        if isinstance(self._outcome, subprocess.Popen):
            return self._outcome
        raise self._outcome or RuntimeError("the launcher started nothing")

    def covered(self) -> bool:
        """Begins; whether the folder is now hidden from what this starts.

        Raises:
            GradingInfraError: The machine is out of threads, memory or descriptors: another time it may be.
        """
        try:
            self.start()
        except RuntimeError as error:
            raise GradingInfraError(f"the thread that starts programs cannot be started: {error}") from error
        self._answered.wait()
        if isinstance(self._outcome, OSError) and self._outcome.errno in _SHORTAGES:
            raise GradingInfraError(f"the folder of the cases cannot be hidden: {self._outcome}") from self._outcome
        return self._outcome is None

    def _answer(self, outcome: _Outcome) -> None:
        self._outcome = outcome
        self._answered.set()

    def end(self) -> None:
        """Ends the thread, and with it its namespace."""
        self._requests.put(None)
        self.join()


@cache
def system_library() -> ctypes.CDLL:
    """The C library; opening it anew makes a class and looks its functions up again."""
    return ctypes.CDLL(None, use_errno=True)


@contextmanager
def hiding(folder: Path | None) -> Generator[Launcher | None]:
    """What starts processes that do not see a folder; None where it cannot be hidden, or for no folder."""
    if folder is None or not is_possible():
        yield None
        return
    launcher = Launcher(folder)
    hidden = launcher.covered()
    try:
        yield launcher if hidden else None
    finally:
        launcher.end()


@cache
def is_possible() -> bool:
    """Whether this process may hide folders from its children, found out by trying once."""
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        return False
    # Covering the folder of temporary files disturbs nobody: the thread's namespace ends with it.
    launcher = Launcher("/tmp")  # noqa: S108 - a place that always exists
    possible = launcher.covered()
    launcher.end()
    return possible


def runs_alone() -> bool:
    """Whether this thread is the only one of the process that may start children of its own accord."""
    return sum(not isinstance(thread, Launcher) for thread in threading.enumerate()) == 1


def _started(arguments: Mapping[str, Any]) -> subprocess.Popen[bytes] | BaseException:
    try:
        process: Any = subprocess.Popen(**arguments)
    except BaseException as error:  # noqa: BLE001 - it is raised where the process was asked for
        return error
    return process


def _cover(folder: Path | str) -> None:
    """Gives this thread a view of the disk without the folder, and what it starts no right to change it.

    Raises:
        OSError: This process may not.
    """
    library = system_library()

    def require(result: int) -> None:
        if result != 0:
            raise OSError(ctypes.get_errno(), "a folder cannot be hidden")

    require(library.unshare(_CLONE_NEWNS))
    # Without this the cover would appear in the namespace that this one was copied from.
    require(library.mount(None, b"/", None, _MS_REC | _MS_PRIVATE, None))
    flags = ctypes.c_ulong(_MS_RDONLY | _MS_NOSUID | _MS_NODEV)
    require(library.mount(b"hidden", os.fsencode(folder), b"tmpfs", flags, b"size=4k,mode=0555"))
    for capability in (_CAP_SYS_ADMIN, _CAP_SYS_PTRACE):
        require(library.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0))
