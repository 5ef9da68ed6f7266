"""An environment and agents that fail in every way that real ones do, once or always, at a place a test says.

Loaded by real worker processes through PYTHONPATH. The task's id names the fault: ``faults/<fault>-<phase>``; ``steady``
never fails. It happens at the seed FAULT_SEED while the folder that the variable HYLO_FAULTS names has room for it: a
file there says that it has happened. Without the variable nothing ever fails.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import sys
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from hylo_core import AgentInfo, AgentSpec
from hylo_eval import Reply

FAULT_SEED = 1
FAULT_STEP = 3
FOLDER = "HYLO_FAULTS"
FOREVER = "HYLO_FAULTS_FOREVER"
KINDS: dict[str, Any] = {}


def fault(function: Any) -> Any:
    """Put a fault on the list."""
    KINDS[function.__name__] = function
    return function


@fault
def segfault() -> None:
    """Read what is at address 0."""
    ctypes.string_at(0)


@fault
def hang() -> None:
    """Sleep in native code with the interpreter locked: no signal handler and no thread of Python runs any more."""
    ctypes.PyDLL(None).sleep(3600)


@fault
def swallow() -> None:
    """Try again for ever, as a reset does that catches everything."""
    while True:
        try:
            time.sleep(0.01)
            raise RuntimeError("cannot place all objects")  # noqa: TRY301
        except BaseException:  # noqa: BLE001, S110
            pass


@fault
def leave() -> None:
    """End the process as a simulator does that does not know it is a library."""
    os._exit(0)


@fault
def kill() -> None:
    """What the kernel does when memory runs out."""
    os.kill(os.getpid(), signal.SIGKILL)


@fault
def orphan() -> None:
    """Die while a child that was forked lives on, with every descriptor that was open."""
    if os.fork() == 0:
        time.sleep(3600)
        os._exit(0)
    os.kill(os.getpid(), signal.SIGKILL)


@fault
def fail() -> None:
    """Raise."""
    raise RuntimeError("EGL_BAD_ALLOC")


@fault
def flood() -> None:
    """Print without end, faster than anybody reads."""
    block = b"x" * 65536
    while True:
        os.write(1, block)


@fault
def hold() -> None:
    """Say that this place is reached, and wait until a test has seen it."""
    folder = Path(os.environ[FOLDER])
    (folder / "reached").touch()
    while not (folder / "released").exists():
        time.sleep(0.005)


@fault
def freeze() -> None:
    """Have the run's own process be stopped, as by a scheduler that suspends a job."""
    os.kill(os.getppid(), signal.SIGSTOP)
    hold()


@fault
def behead() -> None:
    """Have the run's own process be killed, and this one with it."""
    (Path(os.environ[FOLDER]) / "reached").touch()
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(3600)


@fault
def scribble() -> None:
    """Write to every descriptor there may be: some library printed to a number that was its own once."""
    for descriptor in range(3, 51):
        with contextlib.suppress(OSError):
            os.write(descriptor, b"warning: x\xff\n" * 20)


@fault
def scrawl() -> None:
    """Write into the trace that is being written, as into some file of one's own."""
    for path in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            if path.readlink().name.endswith(".jsonl.partial"):
                os.write(int(path.name), b"step 3 of 6\n")


@fault
def shut() -> None:
    """Close every descriptor there may be, as daemons do when they begin."""
    os.closerange(3, 51)


@fault
def limit() -> None:
    """Let no file grow any more, for good, as whoever keeps core dumps small may do by mistake."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


@fault
def stop() -> None:
    """Be told to end by somebody who is not the supervisor."""
    os.kill(os.getpid(), signal.SIGTERM)


def happen(task_id: str, seed: int | None, phase: str) -> bool:
    """Have the fault of a task happen if this is its place; True for one that the caller has to play."""
    kind, _, where = task_id.rpartition("/")[2].partition("-")
    if where != phase or seed not in {FAULT_SEED, None} or FOLDER not in os.environ:
        return False
    if FOREVER not in os.environ:
        try:
            Path(os.environ[FOLDER], task_id.replace("/", "-")).touch(exist_ok=False)
        except FileExistsError:
            return False
    if kind in KINDS:
        KINDS[kind]()
    return kind == "nan"


class FaultyEnv(gymnasium.Env[Any, Any]):
    """A point that walks as its seed and the actions say."""

    versions = {"faulty": "1"}  # noqa: RUF012
    renderer = "none"

    def __init__(self, task: Any) -> None:
        self.action_space = spaces.Box(-1, 1, (2,), np.float64)
        self.observation_space = spaces.Dict({"position": spaces.Box(-np.inf, np.inf, (2,), np.float64)})
        self.task = task
        self.seed: int | None = None
        self.kept: list[bytes] = []
        happen(task.id, None, "make")
        note("made", task.id)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """The start that the seed draws."""
        self.seed, self.taken = seed, 0
        self.random = np.random.default_rng(seed)
        happen(self.task.id, seed, "reset")
        self.position = self.random.normal(size=2)
        return {"position": self.position.copy()}, {"instruction": "walk", "success": False}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Walk a step."""
        index, self.taken = self.taken, self.taken + 1
        pause(self.task.params)
        now = index == FAULT_STEP
        if "chatter" in self.task.id:
            print("simulator: step", index, '{"type":"outcome"}')
            os.write(1, b'{"type":"gone"}\n\xff\x00')
            sys.stderr.write("warning: \x1b[31mred\n")
        if "litter" in self.task.id and now and FOLDER in os.environ and os.fork() == 0:
            time.sleep(3600)
            os._exit(0)
        if "leak" in self.task.id and index == 0 and FOLDER in os.environ:
            self.kept.append(b"x" * (160 << 20))
        self.position = self.position + np.asarray(action) + self.random.normal(size=2)
        observed = self.position.copy()
        if now and happen(self.task.id, self.seed, "step"):
            observed = observed * np.nan
        return {"position": observed}, 0.0, False, False, {"success": bool(index >= 4 and self.position[0] > 0)}

    def close(self) -> None:
        """Give everything back."""
        if self.seed is not None:
            happen(self.task.id, None, "close")
        note("closed", self.task.id)


class FaultyAgent:
    """Walks back to the origin; remembers what it saw, so that a session shared by two episodes shows."""

    info, spec = AgentInfo(name="faulty", version="1"), AgentSpec()

    def open_episode(self, instance: Any, instruction: str, seed: int) -> FaultySession:
        """A session of its own."""
        return FaultySession(instance, seed)

    def close(self) -> None:
        """Nothing is held."""


class FaultySession:
    """One episode."""

    def __init__(self, instance: Any, seed: int) -> None:
        self.instance, self.random, self.seen = instance, np.random.default_rng(seed), np.zeros(2)
        self.replies = 0

    def act(self, observation: Any) -> Reply:
        """Act on all that was seen."""
        self.replies += 1
        if self.replies == FAULT_STEP:
            happen(self.instance.spec.id, self.instance.seed, "act")
        self.seen = self.seen + np.nan_to_num(observation["position"])
        return Reply(np.clip(-0.1 * self.seen + 0.1 * self.random.normal(size=2), -1, 1))

    def close(self) -> None:
        """Nothing is held."""


def note(what: str, task_id: str) -> None:
    """Say on record that an env was made or closed."""
    if path := os.environ.get("HYLO_FAULTS_NOTES"):
        with Path(path).open("a") as file:
            file.write(f"{what} {task_id} {os.getpid()}\n")


def pause(params: Any) -> None:
    """Take time for a step, as the task says: on the clock, or of the processor."""
    if seconds := params.get("seconds"):
        time.sleep(seconds)
    until = time.thread_time() + params.get("cpu_seconds", 0.0)
    while time.thread_time() < until:
        pass
