"""Asking another interpreter what it is, and refusing one that cannot serve, with the command that mends it."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, cast

import attrs

from hylo_core.errors import clean_text
from hylo_eval import plugins
from hylo_eval.child import ChildOutcome, run_child
from hylo_eval.errors import EvalError
from hylo_eval.families import BASE_PACKAGES, FAMILIES, Family, family_availability
from hylo_eval.installing import install_apart, install_command
from hylo_eval.interpreters import probe
from hylo_eval.interpreters.own import checkout, hylo_version, is_own, safe_path, source_digest
from hylo_eval.interpreters.registry import default_folder, read_registry

DEADLINE_SECONDS: Final = 60.0
"""Starting Python from a cold network disk takes a while; more than this is no answer."""

LEAST_PYTHON: Final = (3, 11)

_VERSION: Final = re.compile(r"[0-9]{1,4}\.[0-9]{1,4}")
_MAX_ANSWER_BYTES: Final = 1024 * 1024


class NoInterpreter(EvalError):
    """There is nothing at this path that could run anything of Hylo; another interpreter is needed."""


@attrs.frozen(kw_only=True)
class Interpreter:
    """What an interpreter said of itself.

    Attributes:
        python: Its path, as it was asked for.
        version: Of Python, ``3.11.7``.
        hylo: The version of Hylo that is installed there; empty where none is.
        source_digest: Of the Hylo that is found there; empty where none is.
        packages: Versions of the distributions that were asked for and are there.
        missing: The modules that were asked for and are not there.
    """

    python: str
    version: str
    hylo: str = ""
    source_digest: str = ""
    packages: dict[str, str] = attrs.field(factory=dict[str, str])
    missing: tuple[str, ...] = ()


def resolve_python(text: str) -> str:
    """The absolute path of an interpreter as people name it: a path, or a name on the search path.

    Links stay as they are: the interpreter of a virtual environment is one.

    Raises:
        EvalError: There is none.
    """
    if "/" not in text:
        found = shutil.which(text)
        if found is None:
            raise EvalError(f"there is no interpreter {text!r} on the search path", fix="name it by its path")
        return os.path.abspath(found)  # noqa: PTH100 - pathlib's would follow the link out of the environment
    path = Path(os.path.abspath(Path(text).expanduser()))  # noqa: PTH100 - likewise
    if path.is_dir():
        inside = path / "bin" / "python"
        raise EvalError(
            f"{path} is a folder, not an interpreter", fix=f"--python {inside}" if inside.exists() else "--python FILE"
        )
    return str(path)


def packages_of(name: str) -> tuple[str, ...]:
    """The distributions that matter to a family: its own, and those of every one."""
    family = family_named(name)
    own = () if family is None else tuple(requirement.name for requirement in family.requirements)
    return tuple(dict.fromkeys((*own, *BASE_PACKAGES)))


def family_named(name: str) -> Family | None:
    """The family of that name; None for somebody else's package."""
    return next((family for family in FAMILIES if family.name == name), None)


def look_at(
    python: str,
    *,
    packages: Sequence[str] = (),
    modules: Sequence[str] = (),
    deadline_seconds: float | None = None,
) -> Interpreter:
    """Ask an interpreter what it is; nothing of what is installed there is imported.

    Args:
        python: Its path.
        packages: Distributions whose versions it is asked for.
        modules: Top-level modules it is asked to find.
        deadline_seconds: When it is given up; :data:`DEADLINE_SECONDS` unless given.

    Raises:
        NoInterpreter: It cannot be started, does not answer in time, or is no Python that could.
    """
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    if safe_path():
        environment["PYTHONSAFEPATH"] = "1"
    source = Path(probe.__file__).read_text(encoding="utf-8")
    with tempfile.TemporaryFile() as answer:
        request = {"packages": list(packages), "modules": list(modules), "answer": answer.fileno()}
        outcome = run_child(
            [python, "-c", source, json.dumps(request)],
            deadline_seconds=DEADLINE_SECONDS if deadline_seconds is None else deadline_seconds,
            environment=environment,
            keep=(answer.fileno(),),
        )
        answer.seek(0)
        data = answer.read(_MAX_ANSWER_BYTES)
    if outcome.returncode == 0:
        try:
            return _read(python, json.loads(data))
        except (ValueError, TypeError, KeyError, AttributeError):
            pass
    raise _no_answer(python, outcome, environment)


def require_hylo(found: Interpreter) -> None:
    """Refuse an interpreter that could not run workers of this Hylo.

    Raises:
        EvalError: Python is too old, Hylo is missing there, or is another one.
    """
    least = ".".join(map(str, LEAST_PYTHON))
    if tuple(map(int, found.version.split(".")[:2])) < LEAST_PYTHON:
        raise NoInterpreter(f"{found.python} is Python {found.version}, and Hylo needs {least} or later")
    install = install_hylo(found.python)
    if not found.hylo or not found.source_digest:
        raise EvalError(f"Hylo is not installed in {found.python}, which workers need", fix=install)
    if found.hylo != hylo_version():
        raise EvalError(f"{found.python} has Hylo {found.hylo}, and this is {hylo_version()}", fix=install)
    if found.source_digest != source_digest():
        raise EvalError(
            f"{found.python} has another Hylo {found.hylo}: its source files differ from those here "
            f"({found.source_digest[:17]}… there, {source_digest()[:17]}… here)",
            fix=install,
        )


def require_family(found: Interpreter, name: str) -> None:
    """Refuse an interpreter that lacks what an environment needs.

    Raises:
        EvalError: Modules of the family are missing there; they must have been asked for.
    """
    if not found.missing:
        return
    family, missing = family_named(name), ", ".join(found.missing)
    if family is None:
        raise EvalError(f"{found.python} cannot import {missing}", fix=f"install what provides {name} there")
    pins = install_command(*map(str, family.requirements), python=found.python)
    # Into the interpreter that is running, its packages would break those of the other families.
    fix = install_apart(name) if family.apart and is_own(found.python) else pins
    raise EvalError(f"the {name} environments are not installed in {found.python} ({missing} missing)", fix=fix)


def modules_of(name: str) -> tuple[str, ...]:
    """The modules that an environment needs: those of its family, or the package of somebody else's."""
    family = family_named(name)
    if family is not None:
        return family.modules
    try:
        return (plugins.ref_of("envs", name).partition(":")[0].partition(".")[0],)
    except EvalError:
        return (name,)


def look_for(name: str, python: str) -> Interpreter:
    """Ask an interpreter about one family, and refuse it where it could not run that family.

    Raises:
        EvalError: As :func:`look_at`, :func:`require_hylo` and :func:`require_family`.
    """
    try:
        found = look_at(python, packages=packages_of(name), modules=modules_of(name))
        require_hylo(found)
    except NoInterpreter as error:
        raise NoInterpreter(error.message, fix=another_for(name, python)) from error
    require_family(found, name)
    return found


def another_for(name: str, python: str) -> str:
    """The commands that give a family an interpreter in place of one that cannot be used.

    Args:
        name: The family, or the top-level package of somebody else's environments.
        python: The one that cannot.
    """
    family, entry = family_named(name), read_registry().get(name)
    made = entry.environment if entry is not None and entry.python == python else ""
    if family is not None and made:
        return f"hylo-eval env remove {name} --delete && {install_apart(name)}"
    if family is not None and entry is not None and entry.python == python and family_availability(family).usable:
        return f"hylo-eval env remove {name}"
    if family is not None and family.requirements:
        return install_apart(name)
    folder = default_folder(name)
    fresh = str(folder / "bin" / "python")
    steps = [
        shlex.join([sys.executable, "-m", "venv", str(folder)]),
        install_hylo(fresh, fresh=True),
        shlex.join(["hylo-eval", "env", "add", name, "--python", fresh]),
    ]
    return " && ".join(steps)


def install_hylo(python: str, *, fresh: bool = False) -> str:
    """The command that puts this Hylo into another interpreter.

    Args:
        python: Which one.
        fresh: Whether nothing of Hylo is there yet, not even what it needs.
    """
    folder = checkout()
    if folder is not None:
        return install_command("-e", str(folder), python=python)
    anew = () if fresh else ("--force-reinstall", "--no-deps")
    return install_command(*anew, f"hylo-eval=={hylo_version()}", python=python)


def _read(python: str, answer: Any) -> Interpreter:
    members = cast("dict[str, Any]", answer)
    if not _VERSION.match(members["python"]):
        raise ValueError(members["python"])
    packages = {str(name): clean_text(str(version), 100) for name, version in dict(members.get("packages", {})).items()}
    return Interpreter(
        python=python,
        version=clean_text(members["python"], 100),
        hylo=clean_text(str(members.get("hylo", "")), 100),
        source_digest=str(members.get("source_digest", "")),
        packages=packages,
        missing=tuple(map(str, members.get("missing", ()))),
    )


def _no_answer(python: str, outcome: ChildOutcome, environment: dict[str, str]) -> NoInterpreter:
    """Why an interpreter did not answer. One that is too old to read the question can still say how old it is."""
    if outcome.returncode is None:
        return NoInterpreter(f"the interpreter {python} cannot be used: {outcome.reason}")
    question = "import sys; sys.stderr.write('\\nPython %d.%d' % sys.version_info[:2])"
    old = run_child([python, "-c", question], deadline_seconds=10.0, environment=environment)
    told = old.stderr.rpartition("\n")[2]
    if old.returncode == 0 and told.startswith("Python ") and told < f"Python {LEAST_PYTHON[0]}":
        return NoInterpreter(f"{python} is {told}, and Hylo needs {LEAST_PYTHON[0]}.{LEAST_PYTHON[1]} or later")
    if old.returncode == 0 and told.startswith("Python "):
        return NoInterpreter(f"{python} is {told} and gave no answer: {outcome.reason}")
    return NoInterpreter(f"{python} is no Python interpreter ({outcome.reason})")
