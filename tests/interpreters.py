"""Second interpreters for tests: virtual environments that borrow this one's packages, and things that are no Python."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import hylo_eval
from hylo_eval.interpreters.registry import VARIABLE
from tests.benchmark_files import reach_file

HYLO = Path(hylo_eval.__file__).parents[1]
OTHER_PYTHON = "HYLO_OTHER_PYTHON"
"""Names an interpreter of another Python version with this Hylo in it, for the tests that need one."""

ROBOCASA_PYTHON = "HYLO_ROBOCASA_PYTHON"
"""Names an interpreter with RoboCasa and this Hylo in it, for the tests that start it from here."""

SIMULATOR = '''
"""A simulator that cannot be imported in most places, and prints wherever it can."""
import sys
print("welcome to simulators")
print('{"type": "ready"}', flush=True)

from hylo_eval.envs.reach import ReachEnv


class Simulator(ReachEnv):
    def __init__(self, task):
        super().__init__(task)
        print("made")
        self.versions = {**self.versions, "simulator": "7.1"}

    def reset(self, **options):
        print("reset")
        return super().reset(**options)
'''

BENCHMARK = reach_file("simulator_there:Simulator", benchmark_id="elsewhere", seeds=(7, 8, 9), max_steps=60)


def make_environment(folder: Path, *, hylo: Path = HYLO, lines: Sequence[str] = ()) -> Path:
    """A virtual environment with a Hylo and the packages of this one; gives its interpreter.

    Args:
        folder: Where to.
        hylo: The folder of the Hylo it has.
        lines: More lines of its ``.pth`` file, such as an import that prints.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    paths = [str(hylo), *dict.fromkeys(sysconfig.get_paths()[name] for name in ("purelib", "platlib"))]
    (site_packages(folder) / "borrowed.pth").write_text("\n".join([*lines, *paths, ""]))
    return folder / "bin" / "python"


def site_packages(folder: Path) -> Path:
    """Where the packages of a virtual environment of this Python version are."""
    return folder / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"


def pretended(folder: Path, body: str) -> Path:
    """A shell script in place of an interpreter."""
    folder.mkdir(exist_ok=True)
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def copy_hylo(folder: Path) -> Path:
    """A copy of this Hylo's packages, to be changed."""
    for name in ("hylo_core", "hylo_eval"):
        shutil.copytree(HYLO / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def other_python() -> str | None:
    """An interpreter of another version with Hylo in it, as the variable says."""
    return os.environ.get(OTHER_PYTHON)


class Ended:
    """A command that has ended."""

    def __init__(self, done: subprocess.CompletedProcess[str]) -> None:
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr

    @property
    def json(self) -> Any:
        """Standard output as JSON: fails when anything else stands there."""
        return json.loads(self.out)


def hylo(folder: Path, *arguments: object, **environment: str) -> Ended:
    """Run ``hylo-eval`` of this interpreter in a folder, with the registry in it."""
    done = subprocess.run(
        [sys.executable, "-m", "hylo_eval", *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "PYTHONSAFEPATH": "1", VARIABLE: str(folder / "interpreters.toml"), **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    return Ended(done)
