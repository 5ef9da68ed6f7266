"""One command, run in its own session with a deadline, capped output and nothing left behind."""

from __future__ import annotations

import errno
import math
import os
import select
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Self

from hylo_eval.verify.execution.deadline import Deadline
from hylo_eval.verify.execution.environment import CommandEnvironment, command_environment, command_user
from hylo_eval.verify.execution.programs import program_path
from hylo_eval.verify.execution.strays import adopting_orphans, child_processes, end_strays
from hylo_eval.verify.machine_faults import is_machine_fault
from hylo_eval.verify.verdict import GradingInfraError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hylo_eval.verify.execution.hiding import Launcher

OUTPUT_LIMIT_BYTES = 16 * 1024 * 1024
"""Most bytes kept of each output stream; a command that writes more is ended."""

DETAIL_CHARACTERS = 2000
"""Characters of an output's end that go into a verdict's detail."""

DRAIN_SECONDS = 0.5
"""How long output is still read after the command itself has ended: a last pipeline stage may lag."""

_CHUNK_BYTES = 64 * 1024
_TICK_SECONDS = 0.02
_LONGEST_POLL_MS = 2**31 - 1


class Completed(NamedTuple):
    """A command that has ended.

    Attributes:
        exit_code: Its exit code, negative for the signal that ended it; None when it was ended at its
            deadline or for its output.
        stdout: What it wrote to standard output, at most the limit.
        stderr: What it wrote to standard error, at most the limit.
        report: What it wrote to the report channel, empty without one.
        timed_out: Whether it was ended at its deadline.
        flooded: Whether it was ended because a stream passed the limit.
    """

    exit_code: int | None
    stdout: bytes
    stderr: bytes
    report: bytes = b""
    timed_out: bool = False
    flooded: bool = False

    @property
    def stdout_text(self) -> str:
        r"""Standard output as text with ``\\n`` line ends; bytes that are not UTF-8 are replaced."""
        return _text(self.stdout)

    @property
    def stderr_text(self) -> str:
        """Standard error as text, as :attr:`stdout_text`."""
        return _text(self.stderr)

    @property
    def stderr_tail(self) -> str:
        """The end of standard error for a verdict's detail."""
        return self.stderr_text[-DETAIL_CHARACTERS:]

    @property
    def succeeded(self) -> bool:
        """Whether it ended by itself with exit code 0."""
        return self.exit_code == 0


def _text(output: bytes) -> str:
    return output.decode(errors="replace").replace("\r\n", "\n").replace("\r", "\n")


class ReportChannel:
    """A pipe from a command to the grader that has no name in the file system.

    Attributes:
        write_descriptor: The command's end; it keeps this number in the command.
    """

    def __init__(self) -> None:
        self.read_descriptor, self.write_descriptor = os.pipe()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close_writer()
        os.close(self.read_descriptor)

    def close_writer(self) -> None:
        """Closes the grader's copy of the command's end, so that the pipe ends with the command."""
        if self.write_descriptor >= 0:
            os.close(self.write_descriptor)
            self.write_descriptor = -1


class _Stream:
    """One output stream and what was read of it."""

    def __init__(self, descriptor: int, limit_bytes: int) -> None:
        self.descriptor = descriptor
        self.limit_bytes = limit_bytes
        self.content = bytearray()

    def read(self) -> bool:
        """Reads what is there; False at the stream's end."""
        try:
            chunk = os.read(self.descriptor, _CHUNK_BYTES)
        except BlockingIOError:
            return True
        except OSError:
            return False
        self.content += chunk
        return bool(chunk)

    @property
    def flooded(self) -> bool:
        return len(self.content) > self.limit_bytes


def run_command(
    argv: Sequence[str],
    *,
    cwd: Path,
    timeout_seconds: float,
    stdin: bytes = b"",
    environment: CommandEnvironment | Mapping[str, str] | None = None,
    candidate: bool = True,
    credentials: bool = False,
    program: str | None = None,
    output_limit_bytes: int = OUTPUT_LIMIT_BYTES,
    channel: ReportChannel | None = None,
    launcher: Launcher | None = None,
) -> Completed:
    """Runs a program to its end, its deadline or its output limit, and ends all it started.

    The program leads a session and process group of its own, which is killed after every run; processes that
    left the group are found and killed as well (:mod:`hylo_eval.verify.execution.strays`).

    Args:
        argv: The program and its arguments; no shell reads them.
        cwd: The working folder.
        timeout_seconds: Seconds of wall-clock time.
        stdin: Bytes for standard input, which then ends.
        environment: The variables, or those on top of this process's own; commands that run one after the
            other may share theirs.
        candidate: Whether the command runs the candidate's code: it then runs as the user that is configured
            for candidates, if there is one.
        credentials: Whether the command may see the product's own credentials, if its variables are made here.
        program: Where the program named by ``argv`` was found before, so that several runs search for it once;
            if it cannot be started from there, it is searched for.
        output_limit_bytes: Most bytes kept of each stream.
        channel: A pipe that the command writes its report to.
        launcher: What starts the program with a folder hidden from it (:mod:`hylo_eval.verify.execution.hiding`).
            Not used where another user runs it, from whom a folder is hidden by its permissions.

    Raises:
        GradingInfraError: The machine cannot start any program now, or how it ended cannot be known.
        OSError: The program cannot be started, or the working folder cannot be entered.
        ValueError: An argument holds a NUL.
    """
    if not isinstance(environment, CommandEnvironment):
        environment = command_environment(environment, credentials=credentials)
    runner = command_user(candidate=candidate)
    deadline = Deadline.after(timeout_seconds)
    # Changing users takes the rights that a launcher has given up; so one or the other.
    start = subprocess.Popen[bytes] if launcher is None or runner.user is not None else launcher.popen
    arguments: dict[str, Any] = {
        "args": list(argv),
        "cwd": str(cwd),
        "env": environment.variables,
        "stdin": subprocess.PIPE if stdin else subprocess.DEVNULL,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "bufsize": 0,
        "start_new_session": True,
        "pass_fds": (channel.write_descriptor,) if channel else (),
        "user": runner.user,
        "group": runner.group,
        "extra_groups": runner.extra_groups,
    }
    with adopting_orphans():
        known = child_processes()
        process = _started(start, arguments, program or program_path(argv[0], environment.variables))
        if channel is not None:
            channel.close_writer()
        exchange = _Exchange(process, stdin, output_limit_bytes, channel)
        try:
            exchange.run(deadline)
        finally:
            exchange.end(known, environment.marker)
    return exchange.completed()


def _started(start: Any, arguments: Mapping[str, Any], program: str | None) -> subprocess.Popen[bytes]:
    """The running process; see :func:`run_command`."""
    try:
        try:
            return start(**arguments, executable=program)
        except OSError:
            if program is None:
                raise
            return start(**arguments)
    except OSError as error:
        # A program whose tables point beyond its own end is an EIO as well, and its author's fault.
        is_its_own = error.errno == errno.EIO and _is_readable(arguments["cwd"], error.filename)
        if is_machine_fault(error) and not is_its_own:
            name = str(arguments["args"][0])
            raise GradingInfraError(f"{name!r:.200} cannot be started: {error.strerror}") from error
        raise


def _is_readable(folder: str, name: str | None) -> bool:
    """Whether a file, named from a folder on, can be read from its first byte to its last."""
    try:
        with Path(folder, name or "").open("rb") as file:
            while file.read(_CHUNK_BYTES):
                pass
    except OSError:
        return False
    return True


class _Exchange:
    """The traffic with one running process.

    It is watched with the bare ``poll``: of a short command's cost, the layers of :mod:`selectors` are a part
    that shows.
    """

    def __init__(
        self, process: subprocess.Popen[bytes], stdin: bytes, limit_bytes: int, channel: ReportChannel | None
    ) -> None:
        self._process = process
        self._unsent = memoryview(stdin)
        self._watched = select.poll()
        self._has_ended = False
        self._status_is_lost = False
        self._timed_out = False
        self._flooded = False
        self._streams = [_Stream(_descriptor(pipe), limit_bytes) for pipe in (process.stdout, process.stderr)]
        if channel is not None:
            self._streams.append(_Stream(channel.read_descriptor, limit_bytes))
        self._open_streams = {stream.descriptor: stream for stream in self._streams}
        for descriptor in self._open_streams:
            os.set_blocking(descriptor, False)
            self._watched.register(descriptor, select.POLLIN)
        if process.stdin is not None:
            os.set_blocking(process.stdin.fileno(), False)
            self._watched.register(process.stdin.fileno(), select.POLLOUT)
        # The process descriptor becomes readable when the process ends; without one, look in at every tick.
        self._process_descriptor = _open_process(process.pid)
        if self._process_descriptor is not None:
            self._watched.register(self._process_descriptor, select.POLLIN)

    def run(self, deadline: Deadline) -> None:
        """Exchanges input and output until the process ends, its time is over, or it floods a stream."""
        while not self._ended() and not self._flooded:
            wait = deadline.remaining_seconds
            if wait <= 0.0:
                self._timed_out = True
                return
            self._serve(wait if self._process_descriptor is not None else min(wait, _TICK_SECONDS))
        if self._open_streams:
            drained = Deadline.after(min(DRAIN_SECONDS, deadline.remaining_seconds))
            while self._open_streams and not self._flooded and not drained.passed:
                self._serve(drained.remaining_seconds)

    def end(self, known: frozenset[int], marker: str | None) -> None:
        """Kills the process group and the strays, and reads what they had already written."""
        # The group is killed before its leader is reaped: until then no other group can have its number.
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            self._process.kill()
        self._close_process_descriptor()
        self._status_is_lost = _is_reaped(self._process.pid)
        self._process.wait()
        try:
            end_strays(known=known, marker=marker, session=self._process.pid)
            while self._open_streams and not self._flooded and self._serve(0.0):
                pass
        finally:
            for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
                if pipe is not None:
                    with suppress(BrokenPipeError):
                        pipe.close()

    def completed(self) -> Completed:
        """The outcome, after :meth:`end`.

        Raises:
            GradingInfraError: Something else in this process took the exit status, or has the kernel drop it.
        """
        if self._status_is_lost and not (self._timed_out or self._flooded):
            raise GradingInfraError(
                "how the command ended is not known: this process ignores SIGCHLD or waits for every child "
                "(fix: signal.signal(signal.SIGCHLD, signal.SIG_DFL) in the program that grades)"
            )
        contents = [bytes(memoryview(stream.content)[: stream.limit_bytes]) for stream in self._streams]
        stopped = self._timed_out or self._flooded
        return Completed(
            exit_code=None if stopped else self._process.returncode,
            stdout=contents[0],
            stderr=contents[1],
            report=contents[2] if len(contents) > 2 else b"",
            timed_out=self._timed_out,
            flooded=self._flooded,
        )

    def _ended(self) -> bool:
        """Whether the process has ended; it is not reaped, so that its number stays its own."""
        if not self._has_ended and self._process_descriptor is None:
            try:
                state = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:  # Somebody else has reaped it.
                self._has_ended = True
            else:
                self._has_ended = state is not None
        return self._has_ended

    def _close_process_descriptor(self) -> None:
        if self._process_descriptor is not None:
            self._watched.unregister(self._process_descriptor)
            os.close(self._process_descriptor)
            self._process_descriptor = None

    def _serve(self, wait_seconds: float) -> bool:
        """Moves what can be moved within the wait; False when nothing could."""
        served = False
        for descriptor, _ in self._watched.poll(min(math.ceil(wait_seconds * 1000.0), _LONGEST_POLL_MS)):
            stream = self._open_streams.get(descriptor)
            if stream is not None:
                served = True
                if not stream.read():
                    self._watched.unregister(descriptor)
                    del self._open_streams[descriptor]
                self._flooded = self._flooded or stream.flooded
            elif descriptor == self._process_descriptor:
                self._has_ended = True
                self._close_process_descriptor()
            else:
                served = True
                self._send()
        return served

    def _send(self) -> None:
        pipe = self._process.stdin
        if pipe is None or pipe.closed:
            return
        try:
            sent = os.write(pipe.fileno(), self._unsent[:_CHUNK_BYTES])
        except BlockingIOError:
            return
        except OSError:
            sent = len(self._unsent)  # The process closed its input: the rest interests nobody.
        self._unsent = self._unsent[sent:]
        if not self._unsent:
            self._watched.unregister(pipe.fileno())
            pipe.close()


def _descriptor(pipe: IO[bytes] | None) -> int:
    if pipe is None:
        raise ValueError("the process was started without this pipe")
    return pipe.fileno()


def _open_process(pid: int) -> int | None:
    """A descriptor that becomes readable when the process ends; None where there is none to be had."""
    if not hasattr(os, "pidfd_open"):
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:  # reaped by somebody else, no descriptor left, or a kernel that has no such call
        return None


def _is_reaped(pid: int) -> bool:
    """Whether a child of ours, which has ended or is about to, was waited for by something else."""
    try:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    except ChildProcessError:
        return True
    return False
