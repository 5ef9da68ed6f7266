"""Runs the first steps of LIBERO instances and prints digests of everything a policy would see.

``python episode_digest.py BENCHMARK TASK_INDEX CAMERAS SEED [SEED ...]`` prints one JSON object: the digests of the
last seed's episode, run after the others in the same environment.
"""

from __future__ import annotations

import hashlib
import json
import sys
from typing import Any

import numpy as np

from hylo_core.task import TaskInstance
from hylo_eval.benchmarks import benchmark_files, load_benchmark
from hylo_eval.envs.libero import LiberoFactory

STEPS = 4
PIXELS = 64


def instances(benchmark_id: str, task_index: int) -> list[TaskInstance]:
    """The instances of one task of a shipped benchmark, by seed."""
    benchmark = load_benchmark(benchmark_files()[benchmark_id])
    task = benchmark.tasks[task_index]
    return [instance for instance in benchmark.instances("heldout") if instance.spec.id == task.id]


def make_env(instance: TaskInstance, *, cameras: bool) -> Any:
    """The environment of an instance, with small pictures where it has any."""
    pictures = {"camera_height": PIXELS, "camera_width": PIXELS} if cameras else {}
    return LiberoFactory(instance.spec, cameras=cameras, **pictures)


def episode_digests(env: Any, instance: TaskInstance) -> dict[str, str]:
    """Reset and step; digests of the states, of low-dimensional observations and of pictures."""
    observation, info = env.reset(seed=instance.seed, options={"instance": instance})
    states, pictures = hashlib.sha256(), hashlib.sha256()
    actions = np.random.default_rng(instance.seed).uniform(-1, 1, (STEPS, 7))
    for action in (None, *actions):
        if action is not None:
            observation, *_ = env.step(action)
        for key, value in observation.items():
            (pictures if value.dtype == np.uint8 else states).update(key.encode() + value.tobytes())
        states.update(env._simulation.data.qpos.tobytes() + env._simulation.data.qvel.tobytes())
    return {
        "states": states.hexdigest(),
        "pictures": pictures.hexdigest(),
        "reset_state": info["state_digest"],
        "reset_model": info["model_digest"],
    }


def main(benchmark_id: str, task_index: str, cameras: str, *seeds: str) -> None:
    """Run the episodes and print the last one's digests."""
    found = instances(benchmark_id, int(task_index))
    env = make_env(found[0], cameras=cameras == "cameras")
    digests: dict[str, str] = {}
    for seed in seeds:
        digests = episode_digests(env, found[int(seed)])
    env.close()
    print(json.dumps(digests))


if __name__ == "__main__":
    main(*sys.argv[1:])
