"""Who may import whom, and what an import may do."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

HEAVY = ("gymnasium", "mujoco", "rich", "scipy.stats", "sqlite3", "sqlite_utils")
"""What costs a tenth of a second or more, and so waits until it is used."""

REPORT_LOADED = """
import sys
import {module}
print("\\n".join(sys.modules))
"""

IMPORT_ALL = """
import importlib, json, os, sys

BLOCKED = {"mujoco", "gymnasium_robotics", "metaworld", "libero", "robosuite", "torch", "OpenGL", "glfw", "cv2",
           "sympy", "math_verify", "jsonschema", "yaml", "defusedxml", "httpx", "reasoning_gym", "pytest",
           "websockets", "msgpack", "ray", "matplotlib"}
OWN = tuple(os.path.realpath(path) + os.sep for path in (sys.prefix, sys.base_prefix, *sys.path) if path)
CODE = (".py", ".pyc", ".so", ".pth", ".zip", ".egg-link")
did = []

class NoSimulator:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"{name} is not installed", name=name)

def watch(event, arguments):
    if event == "open":
        path, mode = arguments[0], arguments[1] or "r"
        if isinstance(path, int):
            return
        path = os.path.realpath(os.fsdecode(path))
        code = path.endswith(CODE) or ".pyc." in path
        ours = path.startswith(root)
        if (ours and not code) or not path.startswith(OWN) or (set(mode) & set("wax+") and not code):
            did.append(f"{event} {path} {mode}")
    elif event.startswith(("socket.", "subprocess.", "os.mkdir", "os.remove", "os.rename", "os.putenv", "os.system",
                           "os.chdir", "os.fork", "tempfile.", "shutil.")):
        did.append(f"{event} {arguments}")

root, names = os.path.realpath(sys.argv[1]) + os.sep, sys.argv[2:]
sys.meta_path.insert(0, NoSimulator())
import numpy, gymnasium  # what the base install brings may do as it likes
sys.addaudithook(watch)
for name in names:
    before = len(did)
    importlib.import_module(name)
    did[before:] = [f"{name}: {deed}" for deed in did[before:]]
print(json.dumps(did))
"""


def run(*arguments: str) -> str:
    """Run Python in the checkout and give back what it printed."""
    done = subprocess.run(
        [sys.executable, "-W", "error", *arguments], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def modules() -> list[str]:
    """Every module of the two packages."""
    paths = [
        path.relative_to(ROOT).with_suffix("")
        for name in ("hylo_core", "hylo_eval")
        for path in (ROOT / name).rglob("*.py")
    ]
    return sorted(".".join(path.parts).removesuffix(".__init__") for path in paths if path.name != "__main__")


def test_the_layers_hold() -> None:
    """The contracts in pyproject.toml, checked by import-linter."""
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " kept, 0 broken." in done.stdout


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("hylo_core", ("numpy", "attrs", "cattrs", "rfc8785", *HEAVY)),
        (
            "hylo_core.trace, hylo_core.benchmark, hylo_core.spec, hylo_core.score",
            ("numpy", "cattrs", "rfc8785", *HEAVY),
        ),
        ("hylo_eval", ("numpy", "attrs", "click", *HEAVY)),
        ("hylo_eval.cli.group", ("numpy", "scipy", "cattrs", *HEAVY)),
        ("hylo_eval.plugins, hylo_eval.benchmarks", ("numpy", "scipy", *HEAVY)),
        ("hylo_eval.compare, hylo_eval.scoring.success", ("scipy", *HEAVY)),
    ],
)
def test_an_import_brings_nothing_heavy(module: str, absent: tuple[str, ...]) -> None:
    """What is heavy is imported where it is used, never on the way to ``--help``."""
    loaded = set(run("-c", REPORT_LOADED.format(module=module)).split())
    assert module.split(", ", maxsplit=1)[0] in loaded
    assert loaded.isdisjoint(absent)


def test_every_module_imports_without_a_simulator_and_touches_nothing() -> None:
    """No module reads or writes a file, starts a process or opens a socket when it is imported."""
    names = modules()
    assert {"hylo_core.task", "hylo_eval.cli.run", "hylo_eval.envs.libero.env"} <= set(names)
    assert json.loads(run("-c", IMPORT_ALL, str(ROOT), *names)) == []
