"""A virtual environment with a family's pins and this Hylo inside."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from hylo_eval.errors import EvalError
from hylo_eval.families import Family
from hylo_eval.interpreters.looking import LEAST_PYTHON, NoInterpreter, look_at
from hylo_eval.interpreters.own import checkout
from hylo_eval.interpreters.own_wheel import pack_own_wheel


def create_environment(family: Family, folder: Path, *, base: str | None = None) -> Path:
    """Make a virtual environment and install a family and this Hylo in it; what pip says goes to standard error.

    Args:
        family: Whose pins are installed.
        folder: Where to; it must not exist, or be empty.
        base: The interpreter it is made with; None is the one that is running.

    Returns:
        Its interpreter.

    Raises:
        EvalError: The folder is taken, or a step fails; what was made of it is removed again.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise EvalError(f"{folder} is not empty", fix=_instead_of(folder, family.name))
    if base is not None:
        _refuse_old(base)
    python = folder / "bin" / "python"
    try:
        with tempfile.TemporaryDirectory(prefix="hylo-wheel-") as packed:
            _step([base or sys.executable, "-m", "venv", str(folder)], f"the virtual environment {folder}")
            pip = [str(python), "-m", "pip", "install", "--disable-pip-version-check"]
            hylo = _own_requirement(Path(packed))
            # In one call: pip then looks for versions that go with both.
            _step([*pip, *hylo, *map(str, family.requirements)], f"the packages of {family.name} in {folder}")
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return python


def _instead_of(folder: Path, name: str) -> str:
    """The command that uses what a folder holds already, or another folder that is free."""
    python = folder / "bin" / "python"
    if python.exists():
        return shlex.join(["hylo-eval", "env", "add", name, "--python", str(python)])
    number = 2
    while (free := folder.with_name(f"{folder.name}-{number}")).exists():
        number += 1
    return shlex.join(["hylo-eval", "env", "add", name, "--create", "--folder", str(free)])


def _own_requirement(folder: Path) -> Sequence[str]:
    found = checkout()
    return ["-e", str(found)] if found is not None else [str(pack_own_wheel(folder))]


def _refuse_old(base: str) -> None:
    fix = "leave --base out, or name a later Python"
    try:
        found = look_at(base)
    except NoInterpreter as error:
        raise EvalError(error.message, fix=fix) from error
    if tuple(map(int, found.version.split(".")[:2])) < LEAST_PYTHON:
        least = ".".join(map(str, LEAST_PYTHON))
        raise EvalError(f"{base} is Python {found.version}, and Hylo needs {least} or later", fix=fix)


def _step(command: Sequence[str], what: str) -> None:
    """Run a command that may take as long as a download does; the operator sees what it does."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=2, check=False)  # noqa: S603 - no shell
    except OSError as error:
        raise EvalError(f"cannot make {what}: {error.strerror}") from error
    if done.returncode:
        raise EvalError(f"cannot make {what}: {' '.join(command[1:4])} ended with {done.returncode}; see above")
