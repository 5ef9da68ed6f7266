"""Standard output that stays ours while simulators run, and whose reader may leave."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from collections.abc import Generator
from typing import Any


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


def let_readers_leave() -> None:
    """Have the reader of standard output or error leave, as ``head`` does, without ending the command.

    What is written after that goes nowhere. What the command came to is on disk and in its exit code, which must not
    depend on how much of it somebody wanted to read.
    """
    for name in ("stdout", "stderr"):
        stream: Any = getattr(sys, name)
        if stream is None:
            continue
        stream.flush()
        line_buffering = stream.line_buffering or name == "stderr"
        kept = io.TextIOWrapper(_Deserted(stream), stream.encoding, stream.errors, line_buffering=line_buffering)
        setattr(sys, name, kept)


def reader_left() -> bool:
    """Whether whoever read standard output has left: nothing more need be shown there."""
    written_to = getattr(sys.stdout, "buffer", None)
    return isinstance(written_to, _Deserted) and written_to.deserted


class _Deserted(io.FileIO):
    """The descriptor of a stream; it leads nowhere as soon as its reader has left.

    Text is gathered by the stream above. A buffer in between would refuse what a signal handler says meanwhile.
    """

    def __init__(self, stream: Any) -> None:
        super().__init__(stream.fileno(), "w", closefd=False)
        self.deserted = False
        self._owner = stream  # which would close the descriptor when nobody knows it any more

    def write(self, data: Any, /) -> int:
        """Write all of it, or let go of the rest."""
        rest = memoryview(data).cast("B")
        size = len(rest)
        while rest:
            try:
                written = super().write(rest)
            except BrokenPipeError:
                self._let_go()
                break
            if written is None:
                raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN), size - len(rest))
            rest = rest[written:]
        return size

    def _let_go(self) -> None:
        self.deserted = True
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())
        os.close(nowhere)


def _flush_c_buffers() -> None:
    """What C has printed and not yet written would follow us onto standard output."""
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).fflush(None)
