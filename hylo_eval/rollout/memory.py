"""How much memory this process holds: simulators are known to grow with every reset."""

from __future__ import annotations

import os
from typing import Final

_STATM: Final = "/proc/self/statm"
_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
_ENOUGH_BYTES: Final = 256


def resident_bytes() -> int | None:
    """Resident memory of this process; None where the system does not say (only Linux does, see proc(5))."""
    try:
        # Plain calls: it is read at the end of every episode.
        descriptor = os.open(_STATM, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return int(os.read(descriptor, _ENOUGH_BYTES).split()[1]) * _PAGE_BYTES
        finally:
            os.close(descriptor)
    except (OSError, ValueError, IndexError):
        return None
