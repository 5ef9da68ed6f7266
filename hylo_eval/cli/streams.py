"""Standard output that stays ours while simulators run."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Generator


@contextlib.contextmanager
def stdout_to_stderr() -> Generator[None, None, None]:
    """Send what anything prints meanwhile to standard error, also from C and from child processes.

    Simulators print when they are imported, made and reset; standard output is for the result alone.
    """
    sys.stdout.flush()
    ours = os.dup(1)
    os.dup2(2, 1)
    try:
        # Python's own stream too: where somebody has replaced it, it does not lead through descriptor 1.
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        sys.stdout.flush()
        _flush_c_buffers()
        os.dup2(ours, 1)
        os.close(ours)


def _flush_c_buffers() -> None:
    """What C has printed and not yet written would follow us onto standard output."""
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).fflush(None)
