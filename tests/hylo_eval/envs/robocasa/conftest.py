"""Fixtures of the tests that run RoboCasa: the stand-in asset root, written once, and environments on it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hylo_core.task import TaskInstance
from hylo_eval.envs.robocasa.catalogue import catalogue
from hylo_eval.envs.robocasa.installation import ASSETS_VARIABLE
from hylo_eval.envs.robocasa.settings import KitchenSettings, kitchen_task_spec

ROOT = Path(__file__).parents[4]


def write_assets(folder):
    """Write a stand-in asset root, in a process that may import RoboCasa as it is."""
    command = [sys.executable, "-m", "tests.kitchen_assets", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="session")
def assets(tmp_path_factory):
    """The stand-in asset root; this process and those it starts use it."""
    folder = write_assets(tmp_path_factory.mktemp("robocasa") / "assets")
    patch = pytest.MonkeyPatch()
    patch.setenv(ASSETS_VARIABLE, str(folder))
    if "MUJOCO_GL" not in os.environ:
        patch.setenv("MUJOCO_GL", "disable")
    yield folder
    patch.undo()


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """A folder on the path with a robocasa and the robosuite it needs; without assets."""
    for name in ("robocasa", "robosuite"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    (tmp_path / "robocasa/models/assets").mkdir(parents=True)
    (tmp_path / "robosuite/environments").mkdir(parents=True)
    (tmp_path / "robosuite/environments/base.py").write_text("def __init__(self, load_model_on_init=True): ...\n")
    for name in ("robocasa", "robosuite"):
        (tmp_path / name / "__init__.py").write_text("raise RuntimeError('imported')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delenv(ASSETS_VARIABLE, raising=False)
    return tmp_path


def kitchen_task(name, layout=1, **changes):
    """A task in the stand-in kitchen."""
    settings = KitchenSettings(task=name, scenes=((layout, 1),), **changes)
    return kitchen_task_spec(catalogue().task(name), settings)


def kitchen_instance(task, seed=0):
    """One of its instances."""
    return TaskInstance(spec=task, seed=seed, episode_index=0, split="test")


def reset(env, task, seed=0):
    """Reset an env to one of its task's instances."""
    instance = kitchen_instance(task, seed)
    return env.reset(seed=seed, options={"instance": instance})
