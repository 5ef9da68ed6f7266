"""The interpreter of an environment: of its family, of its package, or the running one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hylo_eval import EvalError
from hylo_eval.interpreters.choosing import (
    names_of,
    refuse_elsewhere,
    refuse_forgotten,
    registered_for,
    workers_interpreter,
)
from hylo_eval.interpreters.registry import VARIABLE, Registered, register
from tests.interpreters import make_environment, pretended


@pytest.fixture(autouse=True)
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A registry of this test's own."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "interpreters.toml"))


@pytest.mark.parametrize(
    ("env", "names"),
    [
        ("libero", ("libero",)),
        ("hylo_eval.envs.libero:LiberoFactory", ("libero",)),
        ("hylo_eval.envs.reach:ReachEnv", ("reach",)),
        ("their_package.deep.envs:Env", ("their_package",)),
        ("unheard-of", ("unheard-of",)),
    ],
)
def test_an_environment_is_looked_up_by_family_or_package(env: str, names: tuple[str, ...]) -> None:
    """An alias and a reference of one family have one interpreter."""
    assert names_of(env) == names


def test_an_environment_runs_where_its_family_is_registered(tmp_path: Path) -> None:
    """Others do not; and one that is registered with the running interpreter runs right here."""
    assert registered_for("reach") is None
    there = Registered(name="reach", python=str(tmp_path / "python"))
    register(there)
    register(Registered(name="fetch", python=sys.executable))
    assert registered_for("reach") == registered_for("hylo_eval.envs.reach:ReachEnv") == there
    assert registered_for("fetch") is None
    assert registered_for("gymnasium") is None


def test_what_needs_the_environment_in_this_process_is_refused_with_the_other_command(tmp_path: Path) -> None:
    """The same command with that interpreter, as a shell reads it."""
    refuse_elsewhere("reach", "this")
    register(Registered(name="reach", python=str(tmp_path / "a b" / "python")))
    with pytest.raises(EvalError, match="this, and the environments of reach are registered to run in") as caught:
        refuse_elsewhere("reach", "this")
    assert f"'{tmp_path}/a b/python' -m hylo_eval" in caught.value.fix


def test_workers_run_in_the_given_interpreter_else_in_the_registered_one(tmp_path: Path) -> None:
    """None stands for the running one, which nobody has to ask."""
    assert workers_interpreter("reach", None) is None
    assert workers_interpreter("reach", sys.executable) is None
    given, registered = (str(make_environment(tmp_path / name)) for name in ("given", "registered"))
    register(Registered(name="reach", python=registered))
    assert workers_interpreter("reach", None) == registered
    assert workers_interpreter("reach", given) == given
    assert workers_interpreter("reach", sys.executable) is None


def test_an_interpreter_that_cannot_serve_is_refused_and_the_registration_named(tmp_path: Path) -> None:
    """Whoever reads it may have forgotten that there is one."""
    python = str(pretended(tmp_path / "it", "exit 1"))
    with pytest.raises(EvalError, match="is no Python interpreter") as caught:
        workers_interpreter("reach", python)
    assert "registered" not in caught.value.message
    assert "leave --python out" in caught.value.fix
    register(Registered(name="reach", python=python))
    with pytest.raises(EvalError, match=r"is no Python interpreter .*\(registered for reach\)"):
        workers_interpreter("reach", None)


def test_a_run_whose_interpreter_was_forgotten_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only where the environment is not here: what can go on here goes on."""
    there = f"{tmp_path}/a b/python"
    for recorded in ("", sys.executable):
        refuse_forgotten("not_here:Env", recorded)
    refuse_forgotten("reach", there)
    with pytest.raises(EvalError, match="the not_here environments are not installed here") as caught:
        refuse_forgotten("not_here.envs:Env", there)
    assert caught.value.fix == f"hylo-eval env add not_here --python '{there}'"
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(EvalError) as caught:
        refuse_forgotten("not_here.envs:Env", "~/a b/python")
    assert caught.value.fix == f"hylo-eval env add not_here --python '{there}'"
    register(Registered(name="not_here", python=f"{tmp_path}/another"))
    refuse_forgotten("not_here.envs:Env", there)
