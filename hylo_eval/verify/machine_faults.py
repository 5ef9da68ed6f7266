"""Errors of the machine that grades, told from those that speak of a candidate's file or program.

A file that is missing or a program that cannot be executed is the work of whoever was asked to write it. That no
descriptor, process, memory or disk is left says nothing about that work, and is never scored.
"""

from __future__ import annotations

import errno
from typing import Final

_MACHINE_ERRNOS: Final = frozenset(
    {
        errno.EMFILE,
        errno.ENFILE,
        errno.EAGAIN,
        errno.ENOMEM,
        errno.ENOBUFS,
        errno.ENOSPC,
        errno.EDQUOT,
        errno.EIO,
        errno.ESTALE,
        errno.ETIMEDOUT,
        errno.ENOTCONN,
    }
)
"""Limits of the process and of the machine; devices that fail, and network file systems that do not answer."""


def is_machine_fault(error: OSError) -> bool:
    """Whether an error tells of the grading machine, whatever file or program it was met at."""
    return error.errno in _MACHINE_ERRNOS
