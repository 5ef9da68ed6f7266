"""A worker process as its supervisor sees it: started, told, watched, ended."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
import time
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import attrs
import orjson

from hylo_core.errors import clean_text
from hylo_core.task import TaskInstance, TaskSpec
from hylo_eval.child import kill_group
from hylo_eval.errors import EnvUnready, EvalError
from hylo_eval.evaluation.phases import IDLE, Deadlines, PhaseBoard, PhaseReading
from hylo_eval.evaluation.recipe import Recipe, RunSetup
from hylo_eval.evaluation.source_files import source_digests
from hylo_eval.evaluation.workers.events import GarbledEvent, parse_event
from hylo_eval.evaluation.workers.process import BOARD_VARIABLE, EVENTS_VARIABLE
from hylo_eval.interpreters.own import hylo_version, is_own, safe_path, source_digest

MAX_EVENT_BYTES: Final = 16 * 1024 * 1024
"""A worker whose event is longer is broken, or its agent writes to a descriptor that is not its own."""

MAX_LOG_BYTES: Final = 32 * 1024 * 1024
"""What is kept of what one worker prints; simulators are known to print at every step."""

STOP_SECONDS: Final = 1.0
"""How long a worker that was told to stop may still be about what comes before the first step of an episode.

Imports, an agent's weights, an environment or a reset may take minutes, and nothing is lost with them."""

BEFORE_STEPS: Final = frozenset({"make", "reset", "open"})
"""The phases in which an episode has no step yet."""

_TAIL_LINES: Final = 12
_READ_BYTES: Final = 1 << 16
_READS_A_LOOK: Final = 64  # a worker that writes without end must not keep its supervisor from looking at deadlines
_TICK_SECONDS: Final = 0.005


@attrs.frozen(kw_only=True)
class Breach:
    """A phase that outlasted its deadline."""

    phase: str
    seconds: float
    deadline: float


class WorkerProcess:
    """One worker: a process group of its own, with pipes for commands, events and what it prints.

    Args:
        python: The interpreter, which may belong to another virtual environment.
        environment: Variables on top of this process's own, such as the GPU.
        name: For its log and for messages.
    """

    def __init__(self, *, python: str, environment: Mapping[str, str], name: str) -> None:
        self.name = name
        self.board = PhaseBoard.create()
        self._watched: PhaseReading | None = None
        self._assigned: float | None = None
        self._outstanding = 0
        self._interrupted: float | None = None
        self._number = 0
        self._buffer = bytearray()
        self._tail: deque[bytes] = deque(maxlen=_TAIL_LINES)
        self._printed = 0
        self._log: Any = None
        self._unlogged: list[bytes] = []
        self._tasks: set[str] = set()
        self.events, writer = os.pipe()
        try:
            self._process = subprocess.Popen(  # noqa: S603 - a list of arguments, no shell
                [python, *(["-P"] if safe_path() else []), "-m", "hylo_eval.evaluation.workers"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                bufsize=0,
                start_new_session=True,
                pass_fds=(writer, self.board.descriptor),
                env={
                    **os.environ,
                    **environment,
                    EVENTS_VARIABLE: str(writer),
                    BOARD_VARIABLE: str(self.board.descriptor),
                },
            )
        except OSError as error:
            os.close(self.events)
            self.board.close()
            is_its_fault = error.errno in (errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ENOEXEC)
            raise EvalError(
                f"the interpreter {python!r} cannot be started: {error.strerror}",
                fix="choose one with --python" if is_its_fault else "fewer --workers, or a higher limit (ulimit -a)",
            ) from error
        finally:
            os.close(writer)
        self.started = time.monotonic()
        self._not_before = self.started
        for descriptor in (self.events, self.output):
            os.set_blocking(descriptor, False)

    @property
    def pid(self) -> int:
        """The process id, which is also the id of its group."""
        return self._process.pid

    @property
    def output(self) -> int:
        """The descriptor that what it prints arrives at."""
        if self._process.stdout is None:
            raise ValueError("the process was started without this pipe")
        return self._process.stdout.fileno()

    def set_up(self, recipe: Recipe, first: TaskSpec | None) -> None:
        """Send the first command."""
        self._send(
            {
                "type": "setup",
                "hylo": {"version": hylo_version(), "source_digest": source_digest()},
                "recipe": recipe.to_dict(),
                "first": None if first is None else first.to_dict(),
            }
        )

    def assign(self, *episodes: tuple[TaskInstance, int]) -> int:
        """Have it run instances in this order, each with the number of its attempt.

        What it is given while it works must be small and of a task it knows: it does not read meanwhile, and whoever
        fills its pipe waits for it.

        Returns:
            The number of the first assignment; the others' follow.
        """
        first, commands = self._number + 1, list[dict[str, Any]]()
        for instance, attempt in episodes:
            if instance.spec.id not in self._tasks:
                self._tasks.add(instance.spec.id)
                commands.append({"type": "task", "spec": instance.spec.to_dict()})
            self._number += 1
            commands.append(
                {
                    "type": "episode",
                    "number": self._number,
                    "task": instance.spec.id,
                    "seed": instance.seed,
                    "episode_index": instance.episode_index,
                    "split": instance.split,
                    "attempt": attempt,
                }
            )
        # Before the commands, so that a worker that never gets to them is not idle for ever.
        if not self._outstanding:
            self._assigned = time.monotonic()
        self._outstanding += len(episodes)
        self._send(*commands)
        return first

    def withdraw(self) -> int:
        """Have it begin nothing more of what it was given; returns the number up to which that holds.

        It may be about to begin one just now: the outcome of that one is then not to be taken.
        """
        self.board.withdraw(self._number)
        return self._number

    def ask_to_stop(self, *, interrupt: bool = False) -> None:
        """Let it end by itself; with ``interrupt`` after the present step instead of after the episode."""
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        if interrupt:
            self.interrupt()

    def interrupt(self) -> None:
        """Have its episode end after the present step; any thread may ask that.

        One that has not come to a step has :data:`STOP_SECONDS`; then :meth:`breach` says that it is late.
        """
        self._interrupted = time.monotonic()
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGTERM)

    def receive(self) -> Iterator[dict[str, Any]]:
        """Events that have arrived; after many it stops, and goes on at the next call.

        Raises:
            EOFError: There will be no more: the process is gone, or has closed its end.
            GarbledEvent: What arrived is no event; nothing that follows is to be believed.
        """
        ended = False
        for _ in range(_READS_A_LOOK):
            try:
                chunk = os.read(self.events, _READ_BYTES)
            except BlockingIOError:
                break
            ended = not chunk
            if ended:
                break
            self._buffer += chunk
        while (end := self._buffer.find(b"\n")) >= 0:
            line = bytes(self._buffer[:end])
            del self._buffer[: end + 1]
            event = parse_event(line)
            if event["type"] in {"outcome", "cancelled", "skipped"}:
                self._outstanding = max(0, self._outstanding - 1)
                self._assigned = time.monotonic() if self._outstanding else None
            yield event
        if len(self._buffer) > MAX_EVENT_BYTES:
            raise GarbledEvent(f"sent an event of more than {MAX_EVENT_BYTES} bytes")
        if ended:
            raise EOFError

    def log_to(self, path: Path) -> None:
        """Keep what it has printed and will print in a file."""
        path.parent.mkdir(exist_ok=True)
        self._log = path.open("ab")
        for chunk in self._unlogged:
            self._log.write(chunk)
        self._log.flush()
        self._unlogged.clear()

    def read_output(self) -> bool:
        """Take what it has printed, or a good part of it; False at the end."""
        for _ in range(_READS_A_LOOK):
            try:
                chunk = os.read(self.output, _READ_BYTES)
            except BlockingIOError:
                return True
            if not chunk:
                return False
            self._tail.extend(line for line in chunk.split(b"\n") if line.strip())
            self._printed += len(chunk)
            if self._printed > MAX_LOG_BYTES:
                continue
            if self._log is None:
                self._unlogged.append(chunk)
            else:
                # A full disk is found by the traces, which matter.
                with contextlib.suppress(OSError):
                    self._log.write(chunk)
                    self._log.flush()
        return True

    def doing(self) -> PhaseReading:
        """What it does now: what it wrote, or that it has yet to begin what it was told."""
        reading = self.board.read()
        if reading.sequence == 0:  # the interpreter is not up yet
            return PhaseReading(0, self.started, "make")
        if reading.phase == IDLE and self._assigned is not None:
            return PhaseReading(reading.sequence, self._assigned, "make")
        return reading

    def breach(self, deadlines: Deadlines, now: float) -> Breach | None:
        """The deadline that has passed, if one has: seen twice, in the same phase."""
        reading = self.doing()
        watched, self._watched = self._watched, reading
        deadline = deadlines.of(reading.phase)
        taken = now - max(reading.since, self._not_before)
        if self._interrupted is not None and reading.phase in BEFORE_STEPS:
            deadline, taken = STOP_SECONDS, now - self._interrupted
        if deadline is None or watched != reading or taken <= deadline:
            return None
        return Breach(phase=reading.phase, seconds=taken, deadline=deadline)

    def give_time(self, now: float) -> None:
        """Let its present phase begin now: this process, and perhaps the whole machine, was stopped for a while."""
        self._not_before = now

    def kill(self) -> None:
        """Kill the process with all that it started, without waiting: many that are large end side by side."""
        if self._process.returncode is None:
            kill_group(self.pid)

    def end(self) -> str:
        """Kill the process with all that it started, and say how it ended, in words."""
        self.kill()
        if self._process.returncode is None:
            self._process.wait()
            self.read_output()
        return describe_exit(self._process.wait())

    def exited(self) -> bool:
        """Whether it has ended; it is not reaped, so that nobody else gets its number."""
        if self._process.returncode is not None:
            return True
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def ended(self, seconds: float) -> bool:
        """Whether it ends by itself in time; it is not reaped."""
        until = time.monotonic() + seconds
        while True:
            if self.exited():
                return True
            if time.monotonic() >= until:
                return False
            time.sleep(_TICK_SECONDS)

    def last_words(self) -> str:
        """The end of what it printed."""
        return clean_text(b"\n".join(self._tail).decode(errors="replace"), 4000)

    def close(self) -> None:
        """End it and give back what it took here."""
        self.end()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        os.close(self.events)
        self.board.close()
        if self._log is not None:
            with contextlib.suppress(OSError):
                self._log.close()

    def _send(self, *commands: Mapping[str, Any]) -> None:
        data = memoryview(b"".join(orjson.dumps(command) + b"\n" for command in commands))
        # A worker that is gone is noticed where its events end.
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError, ValueError):
                while data:
                    data = data[self._process.stdin.write(data) :]


def refusal_of(event: Mapping[str, Any], python: str) -> EvalError:
    """What a worker refuses. Where it is another interpreter that lacks something, that one is named."""
    where = "" if is_own(python) else f" (in {python}, where agent and environment are made)"
    kind = EnvUnready if event.get("unready") is True else EvalError
    return kind(f"{event['message']}{where}", fix=event["fix"])


def refuse_other_worker(event: Mapping[str, Any], setup: RunSetup, name: str) -> None:
    """Episodes of one run are run by one agent in one environment, also where a worker is replaced meanwhile.

    Args:
        event: What the worker says when it is ready.
        setup: What the first worker has said.
        name: Of the worker.

    Raises:
        EvalError: It has made another agent, or from other files.
    """
    if event["agent"] != setup.agent.to_dict():
        raise EvalError(f"{name} made another agent than the first worker: its manifest differs")
    if event["sources"] != source_digests(setup.agent_ref, setup.env_ref, setup.safety):
        raise EvalError(
            f"{name} found another file of the agent, the environment or a safety filter than the first worker: "
            "it was changed while the run went on",
            fix="put the file back and continue with --resume, or begin another run",
        )


def describe_exit(code: int) -> str:
    """An exit code in words."""
    if code >= 0:
        return f"exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    hint = " (the system's memory may have run out)" if name == "SIGKILL" else ""
    return f"{name}{hint}"
