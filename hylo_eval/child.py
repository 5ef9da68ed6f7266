"""Running something that may hang, crash or print without end: a child process with a deadline.

Not :func:`subprocess.run`: after its timeout that waits for the child without a limit, and a child stuck in a driver
does not die even of SIGKILL.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from typing import IO

import attrs

MAX_OUTPUT_BYTES = 64 * 1024
"""How much of each stream is read: the end, where the error stands."""
_SECONDS_TO_DIE = 2.0


@attrs.frozen(kw_only=True)
class ChildOutcome:
    """How a child process ended.

    Attributes:
        returncode: As of :class:`subprocess.Popen`; None when it ran past its deadline or could not be started.
        stdout: The end of what it printed.
        stderr: The end of its error stream, or why it could not be started.
        seconds: Wall time.
    """

    returncode: int | None
    stdout: str
    stderr: str
    seconds: float

    @property
    def reason(self) -> str:
        """Why it failed, in one line: the last line it wrote, the signal, or the deadline."""
        # What Python says while it cleans up comes after the error and hides it.
        told = self.stderr.partition("Exception ignored in")[0]
        lines = [line.strip() for line in told.splitlines() if line.strip()]
        if self.returncode is None:
            return f"no answer within {self.seconds:.0f} s" if not lines else lines[-1][:400]
        if self.returncode < 0:
            with contextlib.suppress(ValueError):
                return f"the process was killed by {signal.Signals(-self.returncode).name}"
        return lines[-1][:400] if lines else f"the process ended with code {self.returncode}"


def run_child(
    command: Sequence[str], *, deadline_seconds: float, environment: Mapping[str, str], keep: Sequence[int] = ()
) -> ChildOutcome:
    """Run a command without a terminal, in a process group of its own that is killed at the deadline.

    Args:
        command: The program and its arguments.
        deadline_seconds: When it is killed.
        environment: All its environment variables.
        keep: Descriptors it has under the same numbers.
    """
    started = time.monotonic()
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        try:
            process = subprocess.Popen(  # noqa: S603 - a list of our own, no shell
                command,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                env=dict(environment),
                start_new_session=True,
                pass_fds=keep,
            )
        except OSError as error:
            return ChildOutcome(returncode=None, stdout="", stderr=f"cannot start: {error.strerror}", seconds=0.0)
        returncode = _wait(process, deadline_seconds)
        errors = "" if returncode is None else _tail(stderr)
        return ChildOutcome(
            returncode=returncode, stdout=_tail(stdout), stderr=errors, seconds=time.monotonic() - started
        )


def kill_group(leader: int) -> None:
    """Kill a process that leads a group, with all that it started there; to be called before its leader is reaped.

    Until then no other group can have its number.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def _wait(process: subprocess.Popen[bytes], deadline_seconds: float) -> int | None:
    """Its exit code, None at the deadline; what it started in its group ends with it, also where we are interrupted."""
    descriptor = os.pidfd_open(process.pid)
    ended = False
    try:
        waiting = select.poll()
        waiting.register(descriptor, select.POLLIN)
        ended = bool(waiting.poll(deadline_seconds * 1000.0))
    finally:
        os.close(descriptor)
        kill_group(process.pid)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_SECONDS_TO_DIE)
    return process.returncode if ended else None


def _tail(stream: IO[bytes]) -> str:
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(0, size - MAX_OUTPUT_BYTES))
    return stream.read(MAX_OUTPUT_BYTES).decode("utf-8", errors="replace")
