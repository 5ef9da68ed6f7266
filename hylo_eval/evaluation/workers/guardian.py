"""Ends what workers have started when the process that watched them was killed and cannot.

The kernel ends a worker with its supervisor, but not what the worker has forked: such a child would keep its GPU memory
for ever. So a small process of its own knows the process groups of the workers; when the pipe to it closes, whatever
the reason, it ends those that are left. It is this file, run as a script: it needs nothing but the standard library.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from typing import IO

_CLOSE_SECONDS = 5.0


class Guardian:
    """The supervisor's end of the pipe; the process starts with the first group that is watched."""

    def __init__(self) -> None:
        self._pipe: IO[bytes] | None = None
        self._wait = lambda: None

    def watch(self, group: int) -> None:
        """From now on, end this process group when this process is gone."""
        if self._pipe is None:
            with contextlib.suppress(OSError):
                self._start()
        self._say(f"+{group}\n")

    def forget(self, group: int) -> None:
        """The group has been ended; its number may be given to somebody else."""
        self._say(f"-{group}\n")

    def close(self) -> None:
        """End the guardian, and first of all the groups that it still watches."""
        pipe, self._pipe = self._pipe, None
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
            self._wait()

    def _start(self) -> None:
        import subprocess

        process = subprocess.Popen(  # noqa: S603 - a list of arguments, no shell
            [sys.executable, "-I", "-S", __file__],
            stdin=subprocess.PIPE,
            # Whoever reads what the run prints must not wait for this process.
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,
        )
        self._pipe = process.stdin

        def wait() -> None:
            try:
                process.wait(_CLOSE_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

        self._wait = wait

    def _say(self, line: str) -> None:
        # Without a guardian a run loses nothing but its tidiness after a SIGKILL.
        if self._pipe is not None:
            with contextlib.suppress(OSError):
                self._pipe.write(line.encode())


def guard(lines: IO[bytes]) -> None:
    """Keep the list of groups until the pipe ends, then end them."""
    groups: set[int] = set()
    for line in lines:
        group = int(line[1:])
        if line.startswith(b"+"):
            groups.add(group)
        else:
            groups.discard(group)
    for group in groups:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    guard(sys.stdin.buffer)
