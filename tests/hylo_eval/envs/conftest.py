"""Fixtures of the environment tests: instances, whole episodes and their digests."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hylo_core.seeds import derive_seed
from hylo_core.task import TaskInstance

ROOT = Path(__file__).parents[3]


def _instance(task, seed):
    return TaskInstance(spec=task, seed=seed, episode_index=0, split="test")


def _run(env, agent, instance, steps):
    """One episode to the horizon; returns success after every step and a digest of all that was seen."""
    observation, info = env.reset(seed=instance.seed, options={"instance": instance})
    sha = hashlib.sha256(repr(sorted(info.items())).encode())
    session = agent.open_episode(instance, info["instruction"], derive_seed(instance.key, "agent"))
    successes = []
    for _ in range(steps):
        for name in sorted(observation):
            sha.update(observation[name].tobytes())
        observation, reward, _, truncated, info = env.step(session.act(observation).actions)
        assert not truncated
        assert "unstable" not in info
        successes.append(info["success"])
        sha.update(repr((reward, info["success"])).encode())
    session.close()
    return successes, sha.hexdigest()


@pytest.fixture(scope="session")
def instance_of():
    """``instance_of(task, seed)``."""
    return _instance


@pytest.fixture(scope="session")
def episode():
    """``episode(env, agent, instance, steps)`` -> successes after every step, digest."""
    return _run


@pytest.fixture(scope="session")
def digest_elsewhere():
    """The digest of an episode run by another process; everything is named by text."""

    def run(benchmark, seed, steps, env_ref, agent_ref):
        code = (
            "import sys; sys.path[:0] = [sys.argv[1], sys.argv[2]]\n"
            "import conftest\n"
            "from hylo_core.refs import load_ref\n"
            "from hylo_eval.benchmarks import find_benchmark\n"
            "task = find_benchmark(sys.argv[3]).tasks[int(sys.argv[8])]\n"
            "env, agent = load_ref(sys.argv[6])(task), load_ref(sys.argv[7])()\n"
            "instance = conftest._instance(task, int(sys.argv[4]))\n"
            "print(conftest._run(env, agent, instance, int(sys.argv[5]))[1])\n"
        )
        name, _, index = benchmark.partition(":")
        arguments = [str(ROOT), str(Path(__file__).parent), name, str(seed), str(steps), env_ref, agent_ref]
        result = subprocess.run(
            [sys.executable, "-c", code, *arguments, index or "0"],
            capture_output=True,
            text=True,
            check=True,
            timeout=300,
            env={**os.environ, "PYTHONHASHSEED": "123"},
        )
        return result.stdout.split()[-1]

    return run
