"""Runs of the faulty env as real processes, and what is left of them on disk and among the processes."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from hylo_core import Benchmark, Predicate, SeedInit, TaskSpec
from hylo_eval import evaluate, read_trace
from hylo_eval.benchmarks import dump_benchmark, load_benchmark
from hylo_eval.queue import Attempt, Result, RunQueue, State
from tests.faults.faulty import FOLDER, FOREVER, FaultyAgent, FaultyEnv

ROOT = Path(__file__).parents[2]
MARK = "HYLO_FAULTS_MARK"
PATIENCE_SECONDS = 90.0
"""How long a condition is waited for before a test fails; on a machine with nothing else to do it takes a moment."""
SHORT_DEADLINES = {"make": 20, "reset": 5, "step": 5, "act": 6, "close": 5}
NO_DEADLINES = dict.fromkeys(SHORT_DEADLINES, 3600)


def wait_for(condition: Callable[[], Any], seconds: float = PATIENCE_SECONDS) -> Any:
    """Look again and again until a condition holds; gives its value."""
    until = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < until, f"did not come about in {seconds:g} s"
        time.sleep(0.005)
    return value


class Disturbed:
    """A benchmark of faulty tasks in a folder, and processes that run it.

    Args:
        folder: Everything goes there.
        tasks: What follows ``faults/`` in their ids: ``segfault-step``.
        seeds: Of each task.
        max_steps: Of each episode.
        params: Of each task.
        env: Who makes the environment.
    """

    def __init__(
        self,
        folder: Path,
        *tasks: str,
        seeds: Sequence[int] = (0, 1),
        max_steps: int = 6,
        params: Mapping[str, Any] | None = None,
        env: str = "faulty:FaultyEnv",
    ) -> None:
        self.folder, self.runs, self.faults = folder, folder / "runs", folder / "faults"
        self.faults.mkdir(parents=True, exist_ok=True)
        self.mark = secrets.token_hex(8)
        specs = tuple(
            TaskSpec(
                id=f"faults/{name}",
                version="1",
                instruction="walk",
                init=SeedInit(),
                success=Predicate("builtin", "env_success"),
                max_steps=max_steps,
                params=params or {},
            )
            for name in tasks
        )
        self.file = folder / "faults.toml"
        written = Benchmark(
            id="faults",
            version="1",
            tasks=specs,
            splits={"heldout": tuple(seeds)},
            metadata={"env": env},
        )
        self.file.write_text(dump_benchmark(written))
        self.benchmark = load_benchmark(self.file)

    def undisturbed(self) -> dict[str, str]:
        """The behaviour of every episode where nothing fails: one after the other, in this process."""
        result = evaluate(
            self.benchmark,
            "heldout",
            env_factory=FaultyEnv,
            agent=FaultyAgent(),
            run_root=self.folder / "undisturbed",
        )
        assert result.exit_code == 0
        return {
            episode.episode.instance.key: episode.episode.result.digests.behaviour_sha256 for episode in result.scored
        }

    def command(
        self,
        *arguments: object,
        run_id: str = "run",
        workers: int = 2,
        deadlines: Mapping[str, float] = SHORT_DEADLINES,
    ) -> list[str]:
        """The command that runs it."""
        limits = [part for phase, seconds in deadlines.items() for part in ("--deadline", f"{phase}={seconds}")]
        named = ["--run-id", run_id, "--run-root", self.runs, "--workers", workers]
        return list(map(str, ["run", self.file, "--agent", "faulty:FaultyAgent", *named, *limits, *arguments]))

    def resume(self, *arguments: object, run_id: str = "run", workers: int = 2) -> list[str]:
        """The command that continues it."""
        return list(map(str, ["run", "--resume", run_id, "--run-root", self.runs, "--workers", workers, *arguments]))

    def start(
        self,
        arguments: Sequence[str],
        *,
        faults: bool = True,
        forever: bool = False,
        before: Sequence[str] = (),
        module: str = "hylo_eval",
        path: Path | None = None,
    ) -> subprocess.Popen[bytes]:
        """Start ``hylo-eval`` with arguments in a session of its own."""
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, (Path(__file__).parent, ROOT, *([path] if path else [])))),
            MARK: self.mark,
            "HYLO_FAULTS_NOTES": str(self.folder / "notes"),
        }
        if faults:
            environment[FOLDER] = str(self.faults)
        if forever:
            environment[FOREVER] = "1"
        with (self.folder / "printed").open("ab") as printed:
            return subprocess.Popen(
                [*before, sys.executable, "-m", module, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=printed,
                cwd=self.folder,
                env=environment,
                start_new_session=True,
            )

    def run(self, arguments: Sequence[str], **options: Any) -> int:
        """Run ``hylo-eval`` to its end; gives its exit code."""
        return self.end(self.start(arguments, **options))

    def end(self, process: subprocess.Popen[bytes]) -> int:
        """Wait for the end of a process; gives its exit code."""
        try:
            return process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise AssertionError(f"still running after {PATIENCE_SECONDS:g} s:\n{self.printed()}") from None

    def printed(self) -> str:
        """What all commands have printed."""
        return (self.folder / "printed").read_text(errors="replace")

    def queue(self, run_id: str = "run") -> RunQueue:
        """The queue, to read."""
        return RunQueue.open(self.runs / run_id / "queue.db")

    def results(self, run_id: str = "run") -> dict[str, Result]:
        """Every item by key."""
        with closing(self.queue(run_id)) as queue:
            return {result.key: result for result in queue.results()}

    def attempts(self, run_id: str = "run") -> list[Attempt]:
        """Every attempt."""
        with closing(self.queue(run_id)) as queue:
            return list(queue.attempts())

    def done(self, run_id: str = "run") -> int:
        """Episodes that have their outcome; 0 where there is no queue yet."""
        if not (self.runs / run_id / "queue.db").exists():
            return 0
        with closing(self.queue(run_id)) as queue:
            return queue.counts()[State.DONE]

    def behaviours(self, run_id: str = "run") -> dict[str, str]:
        """The behaviour of every episode, after checking that its trace is the one on record and that no other counts."""
        found: dict[str, str] = {}
        for key, result in self.results(run_id).items():
            assert result.outcome is not None, f"{key} is {result.state}"
            trace = read_trace(self.runs / run_id / result.outcome.trace)
            assert trace.end is not None
            assert not trace.torn
            assert (trace.key, trace.trace_sha256, trace.behaviour_sha256, str(trace.status)) == (
                key,
                result.outcome.trace_sha256,
                result.outcome.behaviour_sha256,
                result.outcome.status,
            )
            assert trace.start.volatile["attempt"] == result.attempt
            found[key] = trace.behaviour_sha256
        return found

    def survivors(self) -> list[int]:
        """Processes that belong to a run of this benchmark and live."""
        return [pid for pid in processes() if self.mark.encode() in environment_of(pid)]

    def reached(self) -> bool:
        """Whether a fault that holds has come to its place."""
        return (self.faults / "reached").exists()

    def let_go(self) -> None:
        """Let what holds go on."""
        (self.faults / "released").touch()

    def notes(self) -> list[str]:
        """Which envs were made and closed."""
        path = self.folder / "notes"
        return path.read_text().splitlines() if path.exists() else []

    def sweep(self) -> None:
        """Leave nothing behind, whatever a test came to."""
        for pid in self.survivors():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def processes() -> Iterator[int]:
    """All processes."""
    for path in Path("/proc").iterdir():
        if path.name.isdecimal():
            yield int(path.name)


def environment_of(pid: int) -> bytes:
    """The environment a process was started with; empty for one that is gone or belongs to somebody else."""
    with suppress(OSError):
        return Path("/proc", str(pid), "environ").read_bytes()
    return b""


def workers_of(pid: int) -> list[int]:
    """The worker processes that a process has started and that live."""
    found: list[int] = []
    for child in processes():
        with suppress(OSError):
            fields = Path("/proc", str(child), "stat").read_bytes().rpartition(b")")[2].split()
            if int(fields[1]) != pid or fields[0] == b"Z":
                continue
            if b"hylo_eval.evaluation.worker" in Path("/proc", str(child), "cmdline").read_bytes():
                found.append(child)
    return found
