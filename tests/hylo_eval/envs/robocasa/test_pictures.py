"""The three cameras: what they show, which way up, and that drawing changes nothing."""

import json
import os
import subprocess
import sys

import pytest

from hylo_eval.envs.robocasa.factory import make_robocasa_env
from tests.hylo_eval.envs.robocasa.conftest import ROOT, kitchen_task, reset

pytestmark = [pytest.mark.robocasa, pytest.mark.usefixtures("assets")]

PROGRAM = """
import hashlib, json
from hylo_eval.envs.robocasa.factory import make_robocasa_env
from tests.hylo_eval.envs.robocasa.conftest import kitchen_task, reset
task, shown = kitchen_task("NavigateKitchen"), {}
for orientation in ("upright", "flipped"):
    options = dict(cameras=True, camera_height=48, camera_width=64, orientation=orientation)
    env = make_robocasa_env(task, **options)
    observation, info = reset(env, task, 1)
    pictures = {name: value for name, value in observation.items() if name.endswith("_image")}
    rows = {name: [row.tobytes().hex() for row in value] for name, value in pictures.items()}
    shown[orientation] = {
        "rows": rows,
        "shapes": sorted({value.shape for value in pictures.values()}),
        "spread": min(float(value.std()) for value in pictures.values()),
        "state": info["state_digest"],
        "renderer": env.renderer,
    }
    env.close()
print(json.dumps(shown))
"""


def test_pictures_are_turned_as_asked_and_leave_the_episode_as_it_is(assets):
    """Another process draws: this one has switched drawing off."""
    backend = "egl"
    try:
        import ctypes

        ctypes.CDLL("libEGL.so.1")
    except OSError:
        pytest.skip("needs EGL")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=ROOT,
        env={**os.environ, "MUJOCO_GL": backend},
        capture_output=True,
        text=True,
        check=True,
    )
    shown = json.loads(done.stdout.splitlines()[-1])
    upright, flipped = shown["upright"], shown["flipped"]
    assert len(upright["rows"]) == 3
    assert upright["shapes"] == [[48, 64, 3]]
    assert upright["spread"] > 5.0
    assert {name: rows[::-1] for name, rows in upright["rows"].items()} == flipped["rows"]
    assert upright["renderer"] == f"mujoco/{backend}"
    task = kitchen_task("NavigateKitchen")
    env = make_robocasa_env(task)
    try:
        _, info = reset(env, task, 1)
    finally:
        env.close()
    assert upright["state"] == flipped["state"] == info["state_digest"]
