"""A folder that a command cannot see: the hidden cases, which lie on the same disk under the same user id.

Where this process may make mount namespaces (root with ``CAP_SYS_ADMIN``, on Linux), the command gets one of
its own in which an empty file system covers the folder. It loses the two capabilities by which it could undo
that: ``CAP_SYS_ADMIN`` (unmounting) and ``CAP_SYS_PTRACE`` (reading another process's view of the disk).

Elsewhere nothing is hidden. The container that runs the verifier, or another user for the candidate
(:mod:`hylo_eval.verify.execution.environment`), must then keep the cases out of reach.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable
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


def covering(folder: Path) -> Callable[[], None] | None:
    """What a new process calls before it becomes the command; None where no folder can be hidden.

    It runs between fork and exec, where only one thread is safe: with other threads in this process it is
    None.
    """
    if threading.active_count() > 1 or not is_possible():
        return None
    return _covering(folder)


@cache
def is_possible() -> bool:
    """Whether this process may hide folders from its children, found out by trying once."""
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        return False
    try:
        # Covering the root folder of the disk's temporary files disturbs nobody: the namespace ends with it.
        subprocess.run(
            [sys.executable, "-I", "-S", "-c", "pass"],
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=_covering("/tmp"),  # noqa: S108 - a place that always exists
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return True


def _covering(folder: Path | str) -> Callable[[], None]:
    library = ctypes.CDLL(None, use_errno=True)
    target = os.fsencode(folder)

    def require(result: int) -> None:
        if result != 0:
            raise OSError(ctypes.get_errno(), "a folder cannot be hidden")

    def cover() -> None:
        require(library.unshare(_CLONE_NEWNS))
        # Without this the cover would appear in the namespace that this one was copied from.
        require(library.mount(None, b"/", None, _MS_REC | _MS_PRIVATE, None))
        flags = ctypes.c_ulong(_MS_RDONLY | _MS_NOSUID | _MS_NODEV)
        require(library.mount(b"hidden", target, b"tmpfs", flags, b"size=4k,mode=0555"))
        for capability in (_CAP_SYS_ADMIN, _CAP_SYS_PTRACE):
            require(library.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0))

    return cover
