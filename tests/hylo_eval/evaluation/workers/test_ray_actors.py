"""A run on a real Ray cluster of two nodes on one machine: the same episodes, and a node may die."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from hylo_eval import read_evallog, read_trace
from hylo_eval.evaluation.activity import read_activities
from hylo_eval.queue import RunQueue, State
from hylo_eval.traces.layout import RunFolder, episode_id

pytestmark = pytest.mark.ray

MODULE = """
import time
import gymnasium
import numpy as np
from gymnasium import spaces
from hylo_core import AgentInfo, AgentSpec
from hylo_eval import Reply

class Slow(gymnasium.Env):
    versions, renderer = {"slow": "1"}, "none"
    action_space = spaces.Box(-1, 1, (2,))
    observation_space = spaces.Dict({"at": spaces.Box(-np.inf, np.inf, (2,))})
    def __init__(self, task): pass
    def reset(self, *, seed=None, options=None):
        self.at = np.full(2, float(seed))
        return {"at": self.at}, {"instruction": "go", "success": False}
    def step(self, action):
        time.sleep(0.1)
        self.at = self.at + action
        return {"at": self.at}, 0.0, False, False, {"success": False}

class Push:
    info, spec = AgentInfo(name="push", version="1"), AgentSpec()
    def open_episode(self, instance, instruction, seed): return self
    def act(self, observation): return Reply(np.full(2, 0.25))
    def close(self): pass
"""
BENCHMARK = """
id = "slow"
version = "1"
env = "slow_env:Slow"
splits = { heldout = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11] }
[[tasks]]
id = "slow/a"
version = "1"
instruction = "go"
max_steps = 10
init = { kind = "seed" }
success = { kind = "builtin", name = "env_success" }
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a benchmark, importable on every node that is started from here."""
    (tmp_path / "slow_env.py").write_text(MODULE)
    (tmp_path / "slow.toml").write_text(BENCHMARK)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), str(Path(__file__).parents[4])]))
    return tmp_path


@pytest.fixture
def cluster(folder: Path) -> Any:
    """A head that runs nothing, so that what is tested is on the other nodes."""
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    yield cluster
    cluster.shutdown()


def arguments(run_id: str, *more: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "hylo_eval",
        "run",
        "slow.toml",
        "--agent",
        "slow_env:Push",
        "--run-id",
        run_id,
        *more,
    ]


def behaviours(run: Path) -> dict[str, str]:
    """What identifies the behaviour of every episode, by key, after checking each trace's digest."""
    found = {}
    with RunQueue.open(run / "queue.db") as queue:
        for result in queue.results():
            assert result.outcome is not None
            trace = read_trace(run / result.outcome.trace)
            assert trace.trace_sha256 == result.outcome.trace_sha256
            found[result.key] = trace.behaviour_sha256
    return found


def finished(run: Path) -> int:
    if not (run / "queue.db").exists():
        return 0
    with RunQueue.open(run / "queue.db") as queue:
        return queue.counts()[State.DONE]


def test_a_node_that_is_killed_costs_attempts_and_nothing_else(folder: Path, cluster: Any) -> None:
    """Equal behaviour of every episode with a run in one process; the lost attempts are on record."""
    doomed = cluster.add_node(num_cpus=2)
    driver = subprocess.Popen(
        arguments("ray", "--executor", "ray", "--ray-address", cluster.address, "--workers", "2", "--json"),
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    until = time.monotonic() + 120
    while finished(folder / "runs" / "ray") < 2 and driver.poll() is None and time.monotonic() < until:
        time.sleep(0.05)
    cluster.add_node(num_cpus=2)
    cluster.remove_node(doomed, allow_graceful=False)
    output, errors = driver.communicate(timeout=240)
    assert driver.returncode == 0, errors
    assert json.loads(output)["complete"], output

    subprocess.run(arguments("here", "--workers", "0"), cwd=folder, check=True, capture_output=True)
    assert behaviours(folder / "runs" / "ray") == behaviours(folder / "runs" / "here")
    log = read_evallog(folder / "runs" / "ray" / "evallog.json")
    assert {sample.status for sample in log.samples} == {"completed"}
    with RunQueue.open(folder / "runs" / "ray" / "queue.db") as queue:
        statuses = [attempt.outcome.status for attempt in queue.attempts()]
    assert statuses.count("completed") == 12
    assert 1 <= statuses.count("worker_lost") <= 4


def test_an_address_where_no_cluster_answers_is_refused(folder: Path) -> None:
    """Exit code 2, one sentence, nothing written."""
    done = subprocess.run(
        arguments("ray", "--executor", "ray", "--ray-address", "127.0.0.1:1"),
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )
    assert done.returncode == 2
    assert "no Ray cluster answers at 127.0.0.1:1" in done.stderr
    assert not (folder / "runs").exists()


PICTURES = """

class Filmed(Slow):
    observation_space = spaces.Dict({"camera": spaces.Box(0, 255, (16, 16, 3), np.uint8)})
    def reset(self, *, seed=None, options=None):
        _, info = super().reset(seed=seed, options=options)
        return {"camera": np.zeros((16, 16, 3), np.uint8)}, info
    def step(self, action):
        _, *rest = super().step(action)
        return {"camera": np.full((16, 16, 3), 200, np.uint8)}, *rest
"""


def test_videos_come_back_from_the_nodes_and_phases_are_seen(folder: Path, cluster: Any) -> None:
    """One finished file an episode in the run's own folder; meanwhile ``status`` says what each actor does."""
    (folder / "slow_env.py").write_text(MODULE + PICTURES)
    (folder / "slow.toml").write_text(BENCHMARK.replace("slow_env:Slow", "slow_env:Filmed"))
    cluster.add_node(num_cpus=2)
    driver = subprocess.Popen(
        arguments(
            "ray", "--executor", "ray", "--ray-address", cluster.address, "--workers", "2", "--video", "all", "--json"
        ),
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    phases: set[str] = set()
    run = RunFolder(folder / "runs" / "ray")
    while driver.poll() is None:
        for activity in read_activities(run)[0]:
            phases |= {worker.phase for worker in activity.workers if worker.key}
        time.sleep(0.05)
    output, errors = driver.communicate()
    assert driver.returncode == 0, errors
    assert json.loads(output)["videos"] == {"written": 12, "failed": 0, "first_error": ""}
    with RunQueue.open(run.queue) as queue:
        names = {f"{episode_id(result.key, result.attempt)}.camera.mp4" for result in queue.results()}
    assert {path.name for path in run.videos.iterdir()} == names
    assert all(path.stat().st_size for path in run.videos.iterdir())
    # Each episode spends a second in its steps, and is looked at once a second.
    assert "step" in phases
    assert phases <= {"make", "reset", "open", "act", "filter", "step", "record", "close", "idle"}
