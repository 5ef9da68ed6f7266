"""Pictures: reproducible, and without effect on the simulation. Needs EGL; skipped without."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

SCRIPT = """
import hashlib, json, sys
sys.path.insert(0, sys.argv[1])
import mujoco
try:
    context = mujoco.GLContext(8, 8)
except Exception as error:
    print(json.dumps({"skip": f"{type(error).__name__}: {error}"}))
    sys.exit()
import numpy as np
from hylo_core.refs import load_ref
from hylo_core.task import TaskInstance
from hylo_eval.benchmarks import find_benchmark
from hylo_eval.envs.conformance import check_env

Env = load_ref(sys.argv[2])
task = find_benchmark(sys.argv[3]).tasks[int(sys.argv[4])]
instance = TaskInstance(spec=task, seed=7, episode_index=0, split="test")


def run(size):
    env = Env(task, image_size=size)
    observation, _ = env.reset(seed=7, options={"instance": instance})
    generator, state, picture = np.random.default_rng(0), hashlib.sha256(), hashlib.sha256()
    for _ in range(25):
        for name in sorted(observation):
            (picture if name == "image" else state).update(observation[name].tobytes())
        observation, *_ = env.step(generator.uniform(-1, 1, 4))
    env.close()
    return state.hexdigest(), picture.hexdigest()


report = check_env(Env, task, seeds=(7, 8), horizon_steps=3, image_size=64)
print(json.dumps({"without": run(0), "with": run(64), "again": run(64), "broken": list(map(str, report.broken))}))
"""


def draw(env_ref, benchmark, index):
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(ROOT), env_ref, benchmark, str(index)],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
        env={**os.environ, "MUJOCO_GL": "egl", "PYOPENGL_PLATFORM": "egl"},
    )
    answer = json.loads(result.stdout.splitlines()[-1])
    if "skip" in answer:
        pytest.skip(f"no EGL here: {answer['skip']}")
    return answer


@pytest.mark.slow
@pytest.mark.parametrize(
    ("env_ref", "benchmark", "index"),
    [
        ("hylo_eval.envs.fetch:FetchEnv", "fetch_pick_and_place", 0),
        pytest.param("hylo_eval.envs.metaworld:MetaworldEnv", "metaworld_mt10", 3, marks=pytest.mark.metaworld),
    ],
)
def test_pictures_leave_no_mark_and_repeat(env_ref, benchmark, index):
    """States are equal with and without pictures, pictures are equal twice, and the env conforms with them."""
    answer = draw(env_ref, benchmark, index)
    assert answer["broken"] == []
    assert answer["without"][0] == answer["with"][0]
    assert answer["with"] == answer["again"]
