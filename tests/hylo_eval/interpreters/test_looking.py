"""Asking an interpreter what it is: real ones, old ones, wrong ones, and things that are none."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import attrs
import pytest

from hylo_eval import EvalError
from hylo_eval.interpreters.looking import (
    Interpreter,
    NoInterpreter,
    look_at,
    look_for,
    require_family,
    require_hylo,
    resolve_python,
)
from hylo_eval.interpreters.own import hylo_version, is_own, source_digest
from hylo_eval.interpreters.registry import VARIABLE, Registered, register
from tests.interpreters import copy_hylo, make_environment, pretended, site_packages

GOOD = Interpreter(python="/opt/x/bin/python", version="3.11.2", hylo=hylo_version(), source_digest=source_digest())


def test_this_interpreter_says_what_this_process_knows() -> None:
    """Version, Hylo and its sources, packages; what is not there is missing."""
    import numpy as np

    found = look_at(sys.executable, packages=["numpy", "no-such-package"], modules=["numpy", "no_such_module"])
    assert found.version == ".".join(map(str, sys.version_info[:3]))
    assert found.hylo == hylo_version()
    assert found.packages == {"numpy": np.__version__}
    assert found.missing == ("no_such_module",)
    require_hylo(found)


def test_what_packages_print_when_python_starts_is_not_the_answer(tmp_path: Path) -> None:
    """On both streams, also something that looks like an answer."""
    noise = """import sys; print('{"python": "2.7"}'); print("warning", file=sys.stderr)"""
    python = make_environment(tmp_path / "noisy", lines=[noise])
    found = look_for("reach", str(python))
    assert found.version == ".".join(map(str, sys.version_info[:3]))
    assert found.python == str(python)


def test_another_state_of_the_sources_is_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One byte of one file is enough, though the version is the same; the fix installs this one there."""
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.chdir(tmp_path)  # `python -m pytest` imports from the working folder, and what is asked would too
    python = make_environment(tmp_path / "venv", hylo=copy_hylo(tmp_path / "hylo"))
    require_hylo(look_at(str(python)))
    seeds = tmp_path / "hylo" / "hylo_core" / "seeds.py"
    seeds.write_text(seeds.read_text() + "\n")
    with pytest.raises(EvalError, match=r"has another Hylo .*: its source files differ") as caught:
        look_for("reach", str(python))
    assert caught.value.fix.startswith(f"{python} -m pip install ")


def test_an_interpreter_without_hylo_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the command that installs it."""
    monkeypatch.delenv("PYTHONPATH", raising=False)
    python = make_environment(tmp_path / "venv")
    (site_packages(tmp_path / "venv") / "borrowed.pth").unlink()
    with pytest.raises(EvalError, match="Hylo is not installed in") as caught:
        look_for("reach", str(python))
    assert caught.value.fix.startswith(f"{python} -m pip install ")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"version": "3.10.13"}, "is Python 3.10.13, and Hylo needs 3.11 or later"),
        ({"version": "3.9.18"}, "is Python 3.9.18"),
        ({"hylo": ""}, "Hylo is not installed in /opt/x/bin/python"),
        ({"source_digest": ""}, "Hylo is not installed in /opt/x/bin/python"),
        ({"hylo": "0.0.9"}, f"has Hylo 0.0.9, and this is {hylo_version()}"),
        ({"source_digest": "sha256:00"}, "has another Hylo"),
    ],
)
def test_an_interpreter_that_could_not_run_workers_is_refused(changes: dict[str, str], reason: str) -> None:
    """Each with a command that mends it, where the interpreter can stay the one it is."""
    require_hylo(GOOD)
    with pytest.raises(EvalError, match=reason) as caught:
        require_hylo(attrs.evolve(GOOD, **changes))
    assert isinstance(caught.value, NoInterpreter) == ("version" in changes)
    assert caught.value.fix.startswith("/opt/x/bin/python -m pip install ") == ("version" not in changes)


def test_missing_modules_are_named_with_the_pins_of_the_family() -> None:
    """Installed into the other interpreter, not into this one."""
    require_family(GOOD, "fetch")
    with pytest.raises(
        EvalError, match=r"fetch environments are not installed in /opt/x/bin/python \(mujoco"
    ) as caught:
        require_family(attrs.evolve(GOOD, missing=("mujoco",)), "fetch")
    assert caught.value.fix.startswith("/opt/x/bin/python -m pip install gymnasium-robotics==")
    with pytest.raises(EvalError, match="robocasa environments are not installed") as caught:
        require_family(attrs.evolve(GOOD, python=sys.executable, missing=("robocasa",)), "robocasa")
    assert caught.value.fix == "hylo-eval env add robocasa --create"
    with pytest.raises(EvalError, match="cannot import theirs"):
        require_family(attrs.evolve(GOOD, missing=("theirs",)), "theirs")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("exit 0", "is no Python interpreter"),
        ("echo no >&2; exit 3", r"is no Python interpreter \(no\)"),
        ("kill -SEGV $$", "killed by SIGSEGV"),
        (
            "case $2 in *sys.stderr*) printf '\\nPython 2.7' >&2;; *) exit 1;; esac",
            "is Python 2.7, and Hylo needs 3.11",
        ),
        ("case $2 in *sys.stderr*) printf '\\nPython 3.12' >&2;; *) echo odd >&2; exit 1;; esac", "no answer: odd"),
    ],
)
def test_what_is_no_python_is_refused_in_words(body: str, reason: str, tmp_path: Path) -> None:
    """A program of another kind, one that dies, one that is too old to read the question."""
    with pytest.raises(NoInterpreter, match=reason):
        look_at(str(pretended(tmp_path / "it", body)))


def test_the_fix_of_one_that_cannot_be_used_is_a_command_that_ends_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A registration is taken back or replaced; what was never registered is made. None asks for the same again."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "interpreters.toml"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data with spaces"))
    none = str(tmp_path / "none")

    def fix(name: str) -> str:
        with pytest.raises(NoInterpreter) as caught:
            look_for(name, none)
        return caught.value.fix

    assert fix("robocasa") == "hylo-eval env add robocasa --create"
    folder = f"'{tmp_path}/data with spaces/hylo/environments/reach"
    made, installed, added = fix("reach").split(" && ")
    assert made == f"{sys.executable} -m venv {folder}'"
    assert installed.startswith(f"{folder}/bin/python' -m pip install ")
    assert "--no-deps" not in installed
    assert added == f"hylo-eval env add reach --python {folder}/bin/python'"
    register(Registered(name="reach", python=none))
    assert fix("reach") == "hylo-eval env remove reach"
    register(Registered(name="robocasa", python=none, environment=str(tmp_path / "made")))
    assert fix("robocasa") == "hylo-eval env remove robocasa --delete && hylo-eval env add robocasa --create"


@pytest.mark.parametrize(
    "answer",
    ["null", "[]", "{}", '{"python": 3}', '{"python": "abc"}', '{"python": ""}', '{"python": "3.11.1", "packages": 3}'],
)
def test_an_answer_of_another_form_is_none(answer: str, tmp_path: Path) -> None:
    """The program answered where it was asked to, with something else."""
    body = f"""{sys.executable} -c 'import json, os, sys; os.write(json.loads(sys.argv[2])["answer"], sys.argv[1].encode())' '{answer}' "$3" """
    python = pretended(tmp_path / "it", body)
    with pytest.raises(EvalError, match="is no Python interpreter"):
        look_at(str(python))


def test_one_that_hangs_is_given_up(tmp_path: Path) -> None:
    """At its deadline, and not asked again."""
    python = pretended(tmp_path / "it", "exec sleep 600")
    with pytest.raises(EvalError, match="cannot be used: no answer within"):
        look_at(str(python), deadline_seconds=0.2)


def test_one_that_is_gone_is_named(tmp_path: Path) -> None:
    """As somebody registered it."""
    with pytest.raises(EvalError, match=f"{tmp_path}/none cannot be used: cannot start: No such file"):
        look_at(str(tmp_path / "none"))


def test_a_path_is_made_absolute_and_links_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The interpreter of a virtual environment is a link, and is that environment's only under its own name."""
    python = make_environment(tmp_path / "venv")
    monkeypatch.chdir(tmp_path)
    assert resolve_python("venv/bin/python") == str(python)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert resolve_python("~/venv/bin/python") == str(python)
    monkeypatch.setenv("PATH", str(python.parent))
    assert resolve_python("python") == str(python)
    with pytest.raises(EvalError, match="no interpreter 'python9'"):
        resolve_python("python9")
    with pytest.raises(EvalError, match="is a folder, not an interpreter") as caught:
        resolve_python("./venv")
    assert caught.value.fix == f"--python {python}"


def test_the_running_interpreter_is_known_under_its_names(tmp_path: Path) -> None:
    """Another name in its folder is the same; another environment of the same Python is not."""
    assert is_own(sys.executable)
    names = [path for path in Path(sys.executable).parent.glob("python3*") if path.samefile(sys.executable)]
    assert all(is_own(str(path)) for path in names)
    assert not is_own(str(make_environment(tmp_path / "venv")))
    assert not is_own(str(tmp_path / "none"))


@pytest.mark.parametrize("version", ["3.9", "3.8", "3.7"])
def test_a_real_python_that_is_too_old_says_so(version: str) -> None:
    """The question is one that it can read."""
    python = shutil.which(f"python{version}")
    if python is None or look_fails(python):
        pytest.skip(f"there is no Python {version} on the search path")
    with pytest.raises(EvalError, match=rf"is Python {version}.*, and Hylo needs 3\.11 or later"):
        require_hylo(look_at(python))


def look_fails(python: str) -> bool:
    """Whether a name on the search path leads to nothing, as those of version switchers do."""
    import subprocess

    return subprocess.run([python, "-c", "pass"], check=False, capture_output=True).returncode != 0
