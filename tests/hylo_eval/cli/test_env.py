"""``hylo-eval env``."""

from __future__ import annotations

import sys

import pytest

from hylo_eval.interpreters import creating
from hylo_eval.interpreters.registry import VARIABLE, Registered, read_registry, register
from tests.interpreters import make_environment, pretended


@pytest.fixture(autouse=True)
def registry(tmp_path, monkeypatch):
    """A registry of this test's own."""
    path = tmp_path / "interpreters.toml"
    monkeypatch.setenv(VARIABLE, str(path))
    return path


@pytest.fixture
def python(tmp_path):
    """An interpreter that has all that this one has."""
    return make_environment(tmp_path / "venv")


def test_an_interpreter_is_added_listed_and_removed(hylo, python):
    """What it has is said at once; JSON holds the same, typed."""
    added = hylo("env", "add", "reach", "--python", python)
    assert added.code == 0
    assert added.out.startswith(f"reach runs in {python}: Python {sys.version_info[0]}.{sys.version_info[1]}.")
    assert read_registry() == {"reach": Registered(name="reach", python=str(python))}
    (listed,) = hylo("env", "list", "--json").json
    assert listed["usable"] is True
    assert listed["interpreter"] == str(python)
    assert "numpy" in listed["packages"]
    lines = hylo("env", "list").out.splitlines()
    assert lines[1].split()[:2] == ["reach", "yes"]
    assert lines[1].endswith(str(python))
    removed = hylo("env", "remove", "reach")
    assert (removed.code, removed.out) == (0, "reach runs in this interpreter again\n")
    left = hylo("env", "list").out
    assert left.startswith("no interpreter is registered; this one has reach, ")
    assert hylo("env", "remove", "reach").code == 2


def test_without_a_registry_nothing_is_made(hylo, tmp_path, monkeypatch):
    """An environment takes minutes to make, and could not be registered."""
    monkeypatch.setenv(VARIABLE, "")
    monkeypatch.setattr(creating, "create_environment", pytest.fail, raising=False)
    refused = hylo("env", "add", "reach", "--create", "--folder", tmp_path / "made")
    assert refused.code == 2
    assert "fix: unset HYLO_INTERPRETERS" in refused.err
    assert not (tmp_path / "made").exists()


def test_adding_again_says_what_it_takes_the_place_of(hylo, python):
    """A typo in the second call is noticed."""
    register(Registered(name="reach", python="/opt/old/bin/python"))
    assert hylo("env", "add", "reach", "--python", python).out.endswith("before, it ran in /opt/old/bin/python\n")


def test_what_cannot_serve_is_not_registered(hylo, tmp_path, registry):
    """Exit code 2, and the registry is as it was."""
    outcome = hylo("env", "add", "reach", "--python", pretended(tmp_path / "it", "exit 1"))
    assert outcome.code == 2
    assert "is no Python interpreter" in outcome.err
    assert not registry.exists()


def test_a_mistyped_family_is_not_taken_for_a_package(hylo, python, registry):
    """Nothing of that name can be imported there; the near family is suggested."""
    outcome = hylo("env", "add", "metaword", "--python", python)
    assert outcome.code == 2
    assert "metaworld" in outcome.err
    assert not registry.exists()


def test_a_registered_interpreter_that_is_gone_is_listed_with_what_is_wrong(hylo, tmp_path):
    """The listing stays a listing; the reason and its fix stand on standard error."""
    register(Registered(name="reach", python=str(tmp_path / "gone")))
    outcome = hylo("env", "list")
    assert outcome.code == 0
    assert outcome.out.splitlines()[1].split()[:2] == ["reach", "no"]
    assert f"reach: the interpreter {tmp_path}/gone cannot be used: cannot start: No such file" in outcome.err
    assert "fix: hylo-eval env remove reach" in outcome.err
    (listed,) = hylo("env", "list", "--json").json
    assert listed["usable"] is False
    assert "cannot start" in listed["problem"]
    assert listed["fix"] == "hylo-eval env remove reach"
    assert hylo("env", "remove", "reach").code == 0


def test_a_removal_says_where_the_family_runs_now(hylo):
    """Nowhere, where its packages are not in this interpreter."""
    for name in ("theirs", "reach"):
        register(Registered(name=name, python="/opt/x/bin/python"))
    removed = hylo("env", "remove", "theirs")
    assert (removed.code, removed.out) == (
        0,
        "theirs is registered no more, and this interpreter does not have it\n",
    )
    assert hylo("env", "remove", "reach").out == "reach runs in this interpreter again\n"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((), "say one of --python PATH and --create"),
        (("--create", "--python", "x"), "say one of --python PATH and --create"),
        (("--python", "x", "--folder", "y"), "--folder and --base change nothing without --create"),
        (("--python", "x", "--base", "y"), "--folder and --base change nothing without --create"),
        (("--create",), "--create knows the pins of fetch, "),
    ],
)
def test_options_that_would_change_nothing_are_refused(arguments, reason, hylo):
    """Nothing is made."""
    outcome = hylo("env", "add", "reach", *arguments)
    assert outcome.code == 2
    assert reason in outcome.err


def test_create_makes_registers_and_remove_deletes(hylo, tmp_path, monkeypatch):
    """What was made is deleted only when that is asked for, and only what was made."""

    def create(family, folder, *, base=None):
        assert family.name == "fetch"
        return make_environment(folder)

    monkeypatch.setattr(creating, "create_environment", create)
    made = tmp_path / "made"
    added = hylo("env", "add", "fetch", "--create", "--folder", made, "--json")
    assert added.code == 0, added.err
    assert added.json["environment"] == str(made)
    assert hylo("env", "remove", "fetch").out.endswith(f"its environment is still there: {made}\n")
    assert made.is_dir()
    register(Registered(name="fetch", python=str(made / "bin" / "python"), environment=str(made)))
    assert hylo("env", "remove", "fetch", "--delete").out.endswith(f"deleted {made}\n")
    assert not made.exists()
    register(Registered(name="fetch", python="/opt/mine/bin/python"))
    refused = hylo("env", "remove", "fetch", "--delete")
    assert refused.code == 2
    assert "was not made by --create" in refused.err
    assert "fetch" in read_registry()


@pytest.mark.slow
def test_an_environment_is_made_for_real(hylo, tmp_path):
    """With pip, the pins of a small family and this Hylo; a run of it happens there."""
    outcome = hylo("env", "add", "fetch", "--create", "--folder", tmp_path / "made", "--json")
    assert outcome.code == 0, outcome.err
    assert outcome.json["packages"]["gymnasium-robotics"] == "1.4.2"
    run = hylo("run", "fetch_reach", "--agent", "fetch-scripted", "--episodes", "1", "--run-root", tmp_path, "--json")
    assert run.code == 0, run.err
