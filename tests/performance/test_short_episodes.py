"""Episodes so short that only the harness counts, each with its durable trace, beside two peers' episodes."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import attrs
import pytest

from hylo_core import Benchmark, Predicate, SeedInit, TaskSpec
from hylo_eval import read_trace
from hylo_eval.benchmarks import dump_benchmark
from hylo_eval.queue import Outcome, RunQueue

HERE = Path(__file__).parent
EPISODES = 2000
TURNS, MORE_TURNS = 3, 4
TIMES_VLA_EVAL = 5.0
TIMES_INSPECT_ROBOTS = 1.5
TRACE_BYTES = 1500
COMMAND_EPISODES = 200
"""Of inspect-robots' command, whose time grows with their square: more of them would be slower still."""


@attrs.frozen
class Ours:
    """One run of ours.

    Attributes:
        rate: Episodes a second, from the first one's beginning to the last one's end.
        whole: The same over the whole command: starting, scoring and writing the log, too.
        outcomes: As they stand in the queue.
    """

    rate: float
    whole: float
    outcomes: tuple[Outcome, ...]


def our_run(folder: Path, name: str, *arguments: str) -> Ours:
    """The command as its users give it, with one worker process."""
    file = folder / "one_step.toml"
    task = TaskSpec(
        id="one/step",
        version="1",
        instruction="go",
        init=SeedInit(),
        success=Predicate("builtin", "env_success"),
        max_steps=2,
    )
    splits = {"heldout": tuple(range(EPISODES))}
    metadata = {"env": "one_step:OneStepEnv"}
    file.write_text(dump_benchmark(Benchmark(id="one", version="1", tasks=(task,), splits=splits, metadata=metadata)))
    command = ["run", str(file), "--agent", "one_step:StillAgent", "--run-id", name, "--run-root", str(folder)]
    path = os.pathsep.join(map(str, (HERE, HERE.parents[1])))
    begun = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "hylo_eval", *command, *arguments],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.perf_counter() - begun
    assert done.returncode == 0, done.stdout + done.stderr
    with RunQueue.open(folder / name / "queue.db") as queue:
        outcomes = tuple(result.outcome for result in queue.results() if result.outcome)
    assert len(outcomes) == EPISODES
    assert {outcome.status for outcome in outcomes} == {"completed"}
    ended = max(outcome.started_at + outcome.seconds for outcome in outcomes)
    rate = EPISODES / (ended - min(outcome.started_at for outcome in outcomes))
    return Ours(rate, EPISODES / seconds, outcomes)


def bare_files(folder: Path) -> float:
    """Files a second of this disk: written and renamed as a trace is, by a loop that does nothing else."""
    folder.mkdir()
    begun = time.perf_counter()
    for number in range(EPISODES):
        partial = folder / f"{number}.partial"
        partial.write_bytes(b"x" * TRACE_BYTES)
        partial.rename(folder / f"{number}.jsonl")
    return EPISODES / (time.perf_counter() - begun)


def output(*command: object, folder: Path | None = None) -> dict[str, float]:
    """The JSON that a peer's side prints on its last line; what it writes goes to the folder."""
    env = {**os.environ} if folder is None else {**os.environ, "TMPDIR": str(folder)}
    done = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True, env=env)
    return json.loads(done.stdout.splitlines()[-1])


@attrs.frozen
class Turn:
    """All sides, one after the other; episodes a second."""

    ours: Ours
    with_database: float
    without: float
    inspect_robots: float
    in_memory: float
    disk: float


@pytest.mark.peer
@pytest.mark.slow
@pytest.mark.parametrize("peer_script", ["inspect_robots_runner.py"], indirect=True)
def test_one_step_episodes_beside_two_peers(
    vla_eval_python: Path, peer_python: Path, peer_script: Path, unworn_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """2,000 episodes of one step: the medians of ratios over turns. A first round that misses a bound is continued.

    The three do not do the same. Ours writes a file an episode, digests and a row, in a worker process that holds env and
    policy. vla-eval asks a policy server over a WebSocket and commits rows of episode and steps, waiting for the disk at
    every commit; without its database it keeps nothing that survives a kill. inspect-robots' command writes its live log
    anew after every episode; its ``eval`` keeps everything in memory and writes one log at the end, so a kill loses all of
    it: printed, and not what durable traces are held against. The disk is a part of the first ratio; our own run that waits
    for it stands beside, and what it does for a bare loop. All write to one folder.
    """
    folder = unworn_folder
    turns: list[Turn] = []

    def median(ratio: str) -> float:
        ratios = {
            "vla": [turn.ours.rate / turn.with_database for turn in turns],
            "inspect": [turn.ours.rate / turn.inspect_robots for turn in turns],
        }
        return statistics.median(ratios[ratio])

    for wanted in (TURNS, TURNS + MORE_TURNS):
        while len(turns) < wanted:
            disk = bare_files(folder / f"bare{len(turns)}")
            ours = our_run(folder, f"turn{len(turns)}")
            theirs = output(vla_eval_python, HERE / "vla_eval_one_step.py", EPISODES, folder=folder)
            third = output(peer_python, peer_script, COMMAND_EPISODES, 1, "cli-default", folder=folder)
            fourth = output(peer_python, peer_script, EPISODES, 1, "json", folder=folder)
            rates = third["steps_per_s"], fourth["steps_per_s"]
            turns.append(Turn(ours, theirs["database"], theirs["none"], *rates, disk))
        if median("vla") >= TIMES_VLA_EVAL and median("inspect") >= TIMES_INSPECT_ROBOTS:
            break
    for outcome in turns[0].ours.outcomes:
        trace = read_trace(folder / "turn0" / outcome.trace)
        assert (trace.trace_sha256, trace.behaviour_sha256) == (outcome.trace_sha256, outcome.behaviour_sha256)
    fsync = our_run(folder, "fsync", "--fsync")
    assert [item.behaviour_sha256 for item in fsync.outcomes] == [
        item.behaviour_sha256 for item in turns[0].ours.outcomes
    ]
    with capsys.disabled():
        heads = (
            "ours",
            "whole run",
            "vla-eval",
            "no database",
            "ratio",
            "inspect-r.",
            "ratio",
            "in memory",
            "ratio",
            "disk",
        )
        print(f"\n{'episodes a second':<20}" + "".join(f"{head:>13}" for head in heads))
        for number, turn in enumerate(turns, 1):
            ours = turn.ours
            print(
                f"{f'turn {number}':<20}{ours.rate:>13.0f}{ours.whole:>13.0f}{turn.with_database:>13.0f}{turn.without:>13.0f}"
                f"{ours.rate / turn.with_database:>13.1f}{turn.inspect_robots:>13.0f}{ours.rate / turn.inspect_robots:>13.1f}"
                f"{turn.in_memory:>13.0f}{ours.rate / turn.in_memory:>13.2f}{turn.disk:>13.0f}"
            )
        print(f"{'ours with --fsync':<20}{fsync.rate:>13.0f}{fsync.whole:>13.0f}")
        print(f"{'medians':<20}{'':>52}{median('vla'):>13.1f}{'':>13}{median('inspect'):>13.1f}")
    assert median("vla") >= TIMES_VLA_EVAL
    assert median("inspect") >= TIMES_INSPECT_ROBOTS
