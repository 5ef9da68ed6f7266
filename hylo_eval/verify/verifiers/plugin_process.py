"""Kind ``plugin`` with its function in a process of its own, so that it has a deadline and can end nobody else.

A thread cannot be stopped, and code of the same process can end it, fork it, leave its folder or close its files. A
process can be stopped, and what a plugin does to itself stays there. Requests and replies are JSON lines in two pipes:
nothing of the plugin's making is unpickled.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from hylo_core.frozen import thaw
from hylo_core.verifier import VerifierRef
from hylo_eval.child import kill_group
from hylo_eval.errors import EvalError
from hylo_eval.verify.execution.deadline import Deadline
from hylo_eval.verify.verifiers.contract import Verification, check_option_seconds, failure, finite_reward
from hylo_eval.verify.verifiers.plugin import PluginVerifier

TIMEOUT_SECONDS: Final = 600.0
"""For one call of the function, with the import at the first."""

MAX_REPLY_BYTES: Final = 1024 * 1024

_CHILD: Final = "hylo_eval.verify.verifiers.plugin_child"
_CHUNK_BYTES: Final = 1 << 16
_ENDING_SECONDS: Final = 1.0
_TICK_SECONDS: Final = 0.005


class PluginCallInterrupted(KeyboardInterrupt):
    """The verifier was closed before the function had returned: nothing failed, and there is no reward."""


class PluginProcesses:
    """A plugin's function, called in processes that are kept from one task to the next.

    The plugin is checked and imported as :class:`.plugin.PluginVerifier` says, once in each process. A call that
    takes too long, and one in which the process ends, is the failure of that task, and the next one gets a new process.
    One that ends in the import is a failed import, and stays one.

    Args:
        ref: Of kind ``plugin``.
        folder: The plugin.
        pinned: The digest of the whole folder that this run is to use. Unless given, that of the folder as it is now.
        timeout_seconds: For one call.
        processes: How many tasks may be judged at once, each in a process of its own.

    Raises:
        EvalError: An option is out of range.
    """

    takes_events = True

    def __init__(
        self,
        ref: VerifierRef,
        folder: Path,
        *,
        pinned: str = "",
        timeout_seconds: float = TIMEOUT_SECONDS,
        processes: int = 1,
    ) -> None:
        if not 1 <= processes <= 64:
            raise EvalError(f"option 'processes' must be from 1 to 64, not {processes}")
        check_option_seconds(timeout_seconds)
        self._unstarted = PluginVerifier(ref, folder, pinned=pinned)
        self.ref = ref
        self.digest = self._unstarted.digest
        self.parallel = processes > 1
        self._folder = folder.absolute()
        self._timeout_seconds = timeout_seconds
        self._slots = threading.BoundedSemaphore(processes)
        self._lock = threading.Lock()
        self._unusable = ""
        self._processes = _Processes()
        weakref.finalize(self, self._processes.end_all)

    def verify(self, task: Mapping[str, Any], trajectory: Any) -> Verification:
        """Call the function; the task and the trajectory must be JSON values."""
        if not self._unstarted.pinned:
            return self._unstarted.verify(task, trajectory)  # it says why there is no plugin to import
        request = self._request(task, trajectory)
        with self._slots:
            with self._lock:
                unusable = self._unusable
            if unusable:
                raise failure(self.ref, unusable)
            reply = self._asked(request)
        if "failure" in reply:
            raise failure(self.ref, str(reply["failure"]))
        reward = finite_reward(self.ref, reply.get("reward"))
        return Verification(reward=reward, metadata={"plugin": self._unstarted.pinned})

    def __call__(self, task: Mapping[str, Any], trajectory: Any) -> float:
        """The reward."""
        return self.verify(task, trajectory).reward

    def close(self) -> None:
        """End the processes; calls that are under way, or come later, raise :class:`PluginCallInterrupted`."""
        self._processes.end_all()

    def _request(self, task: Mapping[str, Any], trajectory: Any) -> bytes:
        document = {"seconds": self._timeout_seconds, "task": thaw(task), "trajectory": trajectory}
        try:
            return json.dumps(document).encode("ascii") + b"\n"
        except (TypeError, ValueError, RecursionError) as error:
            raise failure(self.ref, f"task and trajectory cannot be handed over as JSON: {error}") from error

    def _asked(self, request: bytes) -> dict[str, Any]:
        process = self._processes.take() or self._start()
        try:
            reply = process.ask(request, self._timeout_seconds)
        except _NoReply as error:
            self._processes.end(process)
            if self._processes.closed:
                raise PluginCallInterrupted from None
            reason = str(error) if process.has_loaded else f"while it was imported, {error}"
            reply = {"failure": reason, "loaded": process.has_loaded}
        except BaseException:
            self._processes.end(process)
            raise
        else:
            self._processes.give_back(process)
        if "failure" in reply and not reply.get("loaded"):
            with self._lock:
                self._unusable = str(reply["failure"])
        return reply

    def _start(self) -> _Process:
        setup = {"ref": self.ref.to_dict(), "folder": str(self._folder), "pinned": self._unstarted.pinned}
        try:
            return self._processes.start(json.dumps(setup).encode("ascii") + b"\n")
        except OSError as error:
            raise failure(self.ref, f"no process can be started for it: {error.strerror}") from error


class _NoReply(Exception):
    """The process gave no answer; the text says why."""


class _Processes:
    """The processes of one plugin, and the folder for what they write on the way.

    Attributes:
        closed: Whether no other is to be started.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[_Process] = []
        self._all: set[_Process] = set()
        self._scratch = ""
        self.closed = False

    def start(self, setup: bytes) -> _Process:
        """A new one; raises OSError when there can be none."""
        with self._lock:
            if self.closed:
                raise PluginCallInterrupted
            if not self._scratch:
                # What a process that is killed leaves among its temporary files goes with this folder.
                self._scratch = tempfile.mkdtemp(prefix="hylo-plugin-process-")
            process = _Process(setup, self._scratch)
            self._all.add(process)
            return process

    def take(self) -> _Process | None:
        """One that waits for a task, if any still runs."""
        while True:
            with self._lock:
                process = self._idle.pop() if self._idle else None
            if process is None or process.exit_status() is None:
                return process
            self.end(process)

    def give_back(self, process: _Process) -> None:
        """Keeps one for the next task, if there is to be any."""
        with self._lock:
            if not self.closed:
                self._idle.append(process)
                return
        self.end(process)

    def end(self, process: _Process) -> None:
        """Ends one that this thread has taken."""
        with self._lock:
            self._all.discard(process)
        process.end()

    def end_all(self) -> None:
        """Ends those that wait, and kills those that work: the threads that wait for these end them."""
        with self._lock:
            self.closed = True
            idle, self._idle = self._idle, []
            working = self._all.difference(idle)
            self._all.difference_update(idle)
            for process in working:
                process.kill()
            scratch, self._scratch = self._scratch, ""
        for process in idle:
            process.end()
        if scratch:
            shutil.rmtree(scratch, ignore_errors=True)


class _Process:
    """A process that serves one plugin, and the two pipes to it.

    Attributes:
        has_loaded: Whether the plugin's import has succeeded in it.
    """

    def __init__(self, setup: bytes, scratch: str) -> None:
        self.has_loaded = False
        self._unsent = setup
        self._received = b""
        requests, self._requests = os.pipe()
        self._replies, replies = os.pipe()
        # What the parent would import is what the plugin may import.
        paths = [path or str(Path.cwd()) for path in sys.path]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths)), "TMPDIR": scratch}
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                [sys.executable, "-P", "-m", _CHILD, str(requests), str(replies)],
                stdin=subprocess.DEVNULL,
                stdout=2,  # standard output may be the command's result
                env=environment,
                pass_fds=(requests, replies),
                start_new_session=True,
            )
        except BaseException:
            os.close(self._requests)
            os.close(self._replies)
            raise
        finally:
            os.close(requests)
            os.close(replies)
        os.set_blocking(self._requests, False)

    def ask(self, request: bytes, seconds: float) -> dict[str, Any]:
        """Sends a task and waits for the answer, at most so long.

        Raises:
            _NoReply: The deadline has passed, the process has ended, or what came is no answer.
        """
        unsent = memoryview(self._unsent + request)
        self._unsent = b""
        deadline = Deadline.after(seconds)
        poller = select.poll()
        poller.register(self._replies, select.POLLIN)
        poller.register(self._requests, select.POLLOUT)
        while True:
            if deadline.passed:
                raise _NoReply(f"it did not answer within {seconds:g} seconds, and its process was ended")
            for descriptor, _ in poller.poll(deadline.remaining_seconds * 1000):
                if descriptor == self._requests:
                    unsent = self._sent(unsent)
                    if not unsent:
                        poller.unregister(self._requests)
                    continue
                reply = self._read()
                if reply is not None:
                    return reply

    def _sent(self, unsent: memoryview) -> memoryview:
        try:
            return unsent[os.write(self._requests, unsent[:_CHUNK_BYTES]) :]
        except BlockingIOError:
            return unsent
        except OSError:
            raise _NoReply(self._end_of_process()) from None

    def _read(self) -> dict[str, Any] | None:
        """The answer, when all of it is there."""
        chunk = os.read(self._replies, _CHUNK_BYTES)
        if not chunk:
            raise _NoReply(self._end_of_process())
        self._received += chunk
        if len(self._received) > MAX_REPLY_BYTES:
            raise _NoReply("its process wrote what is no answer")
        while b"\n" in self._received:
            line, _, self._received = self._received.partition(b"\n")
            try:
                reply: Any = json.loads(line)
            except ValueError:
                reply = None
            if not isinstance(reply, dict):
                raise _NoReply("its process wrote what is no answer")
            if "reward" in reply or "failure" in reply:
                return reply  # pyright: ignore[reportUnknownVariableType]
            self.has_loaded = True
        return None

    def _end_of_process(self) -> str:
        """How it ended; the pipe is closed a moment before the process is gone."""
        ending = Deadline.after(_ENDING_SECONDS)
        while (status := self.exit_status()) is None and not ending.passed:
            time.sleep(_TICK_SECONDS)
        if status is None:
            return "its process closed the pipe to the grader"
        if status < 0:
            return f"its process was ended by {signal.Signals(-status).name}"
        return f"its process ended with exit code {status}"

    def exit_status(self) -> int | None:
        """Its exit code, or minus the signal that ended it; None while it runs. It is not reaped."""
        ended = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if ended is None:
            return None
        return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status

    def kill(self) -> None:
        """Kills it with what it started in its session; callable from any thread until it has been ended."""
        kill_group(self._process.pid)

    def end(self) -> None:
        """Kills it, reaps it and closes the pipes; called once."""
        self.kill()
        self._process.wait()
        os.close(self._requests)
        os.close(self._replies)
