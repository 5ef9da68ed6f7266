"""Calls into libraries that may never return, run in a warm child process with a deadline and a memory limit.

A thread cannot be stopped inside ``9**9**9``; a process can. One child serves all calls into one module, one
at a time, so a call costs a pipe round trip and not the import of sympy. Requests and replies are JSON lines:
no object of the candidate's making is ever unpickled.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import subprocess
import sys
import threading
import time
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from hylo_core.errors import HyloError
from hylo_eval.verify.verdict import GradingInfraError, InvalidTask

STARTUP_SECONDS: Final = 120.0
"""How long a child may take to import its libraries; a breach is the machine's fault, not the candidate's."""

MEMORY_BYTES: Final = 2 << 30
"""Address space of a child."""

_PACKAGE_ROOT: Final = str(Path(__file__).resolve().parents[2])
_KEPT_VARIABLES: Final = ("HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PATH", "TMPDIR")


class BoundedFailure(StrEnum):
    """Why a bounded call gave no value."""

    DEADLINE = "deadline"
    MEMORY = "memory"
    CRASH = "crash"
    ERROR = "error"


class BoundedCallError(HyloError):
    """A bounded call gave no value; whose fault that is, only the caller can tell.

    Attributes:
        failure: Why.
        error_type: The name of the exception that was raised in the child, for ``error``.
    """

    def __init__(self, failure: BoundedFailure, message: str, *, error_type: str = "") -> None:
        self.failure = failure
        self.error_type = error_type
        super().__init__(message)


class _ChildGone(Exception):
    """The child closed its end."""


def _current_folder() -> str | None:
    """The current folder; None where it was removed, and so provides nothing."""
    try:
        return str(Path.cwd())
    except OSError:
        return None


class _Child:
    """A process that serves calls into one module."""

    def __init__(self, module: str) -> None:
        self.served = 0
        self._received = b""
        environment = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
        # The working folder may be the candidate's: neither it nor a relative path may provide a module.
        here = _current_folder()
        paths = [_PACKAGE_ROOT, *(path for path in sys.path if path.startswith(os.sep) and path != here)]
        environment["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(paths))
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                [sys.executable, "-P", "-m", "hylo_eval.verify.bounded_child", module, str(MEMORY_BYTES)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env=environment,
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            raise GradingInfraError(f"the grading process for {module} cannot be started: {error}") from error
        try:
            started = self.receive(time.monotonic() + STARTUP_SECONDS)
        except (_ChildGone, TimeoutError) as error:
            self.close()
            raise GradingInfraError(f"the grading process for {module} did not start") from error
        if "value" not in started:
            self.close()
            raise _failure_of(started)

    def call(self, function: str, arguments: tuple[Any, ...], seconds: float) -> dict[str, Any]:
        """Sends one request and waits for its reply, at most ``seconds``."""
        request = json.dumps({"function": function, "arguments": arguments, "seconds": seconds}) + "\n"
        pipe = self._process.stdin
        if pipe is None:
            raise _ChildGone
        try:
            unsent = memoryview(request.encode())
            while unsent:
                unsent = unsent[pipe.write(unsent) or 0 :]
        except OSError as error:
            raise _ChildGone from error
        self.served += 1
        return self.receive(time.monotonic() + seconds)

    def receive(self, deadline: float) -> dict[str, Any]:
        """Reads one reply; raises TimeoutError at the deadline, a point of ``time.monotonic()``."""
        pipe = self._process.stdout
        if pipe is None:
            raise _ChildGone
        poller = select.poll()
        poller.register(pipe, select.POLLIN)
        while b"\n" not in self._received:
            remaining = deadline - time.monotonic()
            if remaining <= 0 or not poller.poll(remaining * 1000):
                raise TimeoutError
            chunk = os.read(pipe.fileno(), 1 << 20)
            if not chunk:
                raise _ChildGone
            self._received += chunk
        line, _, self._received = self._received.partition(b"\n")
        reply: dict[str, Any] = json.loads(line)
        return reply

    def close(self) -> None:
        """Ends the process, whatever it is doing."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()


class _Service:
    """The one child of a module and the lock that gives it one call at a time."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._lock = threading.Lock()
        self._child: _Child | None = None

    def call(self, function: str, arguments: tuple[Any, ...], seconds: float) -> Any:
        with self._lock:
            reply = self._answered(function, arguments, seconds)
        if "value" in reply:
            return reply["value"]
        raise _failure_of(reply)

    def close(self) -> None:
        if self._child is not None:
            self._child.close()
            self._child = None

    def _answered(self, function: str, arguments: tuple[Any, ...], seconds: float) -> dict[str, Any]:
        # Earlier calls may have left a used child short of memory: only a fresh one convicts this call.
        used = self._child is not None and self._child.served > 0
        reply = self._attempt(function, arguments, seconds)
        if used and reply.get("failure") in (BoundedFailure.MEMORY, BoundedFailure.CRASH):
            reply = self._attempt(function, arguments, seconds)
        return reply

    def _attempt(self, function: str, arguments: tuple[Any, ...], seconds: float) -> dict[str, Any]:
        if self._child is None:
            self._child = _Child(self._module)
        try:
            reply = self._child.call(function, arguments, seconds)
        except TimeoutError:
            reply = {"failure": BoundedFailure.DEADLINE, "message": f"no result within {seconds:g} s"}
        except _ChildGone:
            reply = {"failure": BoundedFailure.CRASH, "message": "the grading process died"}
        except BaseException:
            # An interrupt leaves a reply on its way that the next call would take for its own.
            self.close()
            raise
        if "failure" in reply and reply["failure"] != BoundedFailure.ERROR:
            self.close()
        return reply


def _failure_of(reply: dict[str, Any]) -> HyloError:
    message = str(reply.get("message", ""))
    error_type = str(reply.get("error_type", ""))
    if error_type == InvalidTask.__name__:
        return InvalidTask(message)
    if error_type == GradingInfraError.__name__:
        return GradingInfraError(message, **reply.get("detail", {}))
    return BoundedCallError(BoundedFailure(reply["failure"]), message, error_type=error_type)


_services: dict[str, _Service] = {}
_services_lock = threading.Lock()


def call_bounded(ref: str, *arguments: Any, timeout_seconds: float) -> Any:
    """Calls a function in a child process that is killed at the deadline.

    Args:
        ref: ``package.module:function``. The module must define ``prepare()``, which imports what the
            function needs and is not counted against the deadline.
        *arguments: JSON values.
        timeout_seconds: Seconds of wall clock that the function may take.

    Returns:
        The function's result, a JSON value.

    Raises:
        BoundedCallError: The deadline or memory limit was reached, the process died, or the function raised.
        InvalidTask: The function raised it.
        GradingInfraError: The function raised it, or the process could not be started.
    """
    module, _, function = ref.partition(":")
    with _services_lock:
        service = _services.setdefault(module, _Service(module))
    return service.call(function, arguments, timeout_seconds)


def close_bounded_calls() -> None:
    """Ends every child process; the next call starts a new one."""
    with _services_lock:
        services = list(_services.values())
        _services.clear()
    for service in services:
        service.close()


_parents: list[_Service] = []
"""Services of the process that this one was forked from; held, so that nothing of theirs is closed."""


def _forget_services() -> None:
    """A forked copy must neither talk into its parent's pipes nor wait for a lock of a thread there."""
    global _services_lock  # noqa: PLW0603 - the one lock of this process
    _services_lock = threading.Lock()
    _parents.extend(_services.values())
    _services.clear()


os.register_at_fork(after_in_child=_forget_services)
atexit.register(close_bounded_calls)
