"""The registry of interpreters: written whole, read strictly, found where a person keeps such files."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from hylo_eval import EvalError
from hylo_eval.interpreters import registry
from hylo_eval.interpreters.registry import (
    VARIABLE,
    Registered,
    read_registry,
    register,
    registry_path,
    unregister,
)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A registry file of this test's own, which does not exist yet."""
    path = tmp_path / "deep" / "interpreters.toml"
    monkeypatch.setenv(VARIABLE, str(path))
    return path


def test_what_was_registered_is_read_back_until_it_is_taken_off(path: Path) -> None:
    """Sorted by name; a second one of the same name takes the place of the first, which is given back."""
    casa = Registered(name="robocasa", python="/opt/ca sa/bin/python", environment="/opt/ca sa")
    assert register(casa) is None
    assert register(Registered(name="fetch", python="/opt/old/bin/python")) is None
    newer = Registered(name="fetch", python='/opt/"new"\n/python')
    assert register(newer) == Registered(name="fetch", python="/opt/old/bin/python")
    assert read_registry() == {"fetch": newer, "robocasa": casa}
    assert list(read_registry()) == ["fetch", "robocasa"]
    assert unregister("robocasa") == casa
    assert list(read_registry()) == ["fetch"]
    assert [item.name for item in path.parent.iterdir() if item.suffix == ".tmp"] == []


def test_a_name_nobody_registered_is_refused_with_a_near_one(path: Path) -> None:
    """Nothing is written."""
    register(Registered(name="robocasa", python="/x"))
    before = path.read_bytes()
    with pytest.raises(EvalError, match=r"no interpreter is registered for 'robocsa'.*robocasa"):
        unregister("robocsa")
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", ["", "a.b", "a/b", "-x", "a b", "x" * 101])
def test_what_is_no_name_is_not_registered(name: str, path: Path) -> None:
    """A name is a key of the file, and perhaps of a folder."""
    with pytest.raises(EvalError, match="no name of a family or of a package"):
        register(Registered(name=name, python="/x"))
    assert not path.exists()


def test_two_at_once_both_get_in(path: Path) -> None:
    """Reading and writing back is one act."""
    names = [f"family_{number}" for number in range(8)]
    threads = [threading.Thread(target=register, args=[Registered(name=name, python="/x")]) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(read_registry()) == names


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "schema: must be 'hylo.interpreters/v0.1', not None"),
        ('schema = "hylo.interpreters/v9"', "not 'hylo.interpreters/v9'"),
        ("schema =", "is not valid TOML"),
        ("[interpreters]\n[other]", "schema"),
        ("{}\n[other]", "'other' is no key of it"),
        ("{}\ninterpreters = 3", "interpreters: must be a table"),
        ("{}\n[interpreters]\nfetch = 3", "interpreters.fetch: must be a table"),
        ('{}\n[interpreters."a.b"]\npython = "/x"', r"interpreters.a\.b: is no name"),
        ("{}\n[interpreters.fetch]\n", r"interpreters.fetch.python: is missing"),
        ("{}\n[interpreters.fetch]\npython = 3", r"interpreters.fetch.python: must be an absolute path"),
        ('{}\n[interpreters.fetch]\npython = "python3"', "must be an absolute path"),
        ('{}\n[interpreters.fetch]\npython = "/x\\u0000"', "must be an absolute path"),
        ('{}\n[interpreters.fetch]\npython = "/x"\npyhton = "/y"', "'pyhton' is no key of it"),
    ],
)
def test_another_file_is_refused_by_name(text: str, reason: str, path: Path) -> None:
    """It may have been edited by hand: what is wrong is said, and nothing is guessed."""
    path.parent.mkdir()
    path.write_text(text.replace("{}", 'schema = "hylo.interpreters/v0.1"'), encoding="utf-8")
    with pytest.raises(EvalError, match=reason) as caught:
        read_registry()
    assert str(path) in str(caught.value)
    with pytest.raises(EvalError, match=reason):
        register(Registered(name="fetch", python="/x"))


def test_a_registry_without_end_is_not_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its size is bounded."""
    register(Registered(name="fetch", python="/x"))
    monkeypatch.setattr(registry, "MAX_BYTES", 10)
    with pytest.raises(EvalError, match="too large for a registry of interpreters"):
        read_registry()


def test_the_registry_lies_among_the_persons_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the XDG specification, which ignores relative paths; the variable names another file, or none."""
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    assert registry_path() == tmp_path / ".config" / "hylo" / "interpreters.toml"
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    assert registry_path() == tmp_path / ".config" / "hylo" / "interpreters.toml"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "elsewhere"))
    assert registry_path() == tmp_path / "elsewhere" / "hylo" / "interpreters.toml"
    monkeypatch.setenv(VARIABLE, str(tmp_path / "mine.toml"))
    assert registry_path() == tmp_path / "mine.toml"
    monkeypatch.setenv(VARIABLE, "")
    assert registry_path() is None
    assert read_registry() == {}
    with pytest.raises(EvalError, match="there is no registry to change"):
        register(Registered(name="fetch", python="/x"))


def test_a_registry_that_cannot_be_written_is_an_error_with_a_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another file can be named."""
    (tmp_path / "file").touch()
    monkeypatch.setenv(VARIABLE, str(tmp_path / "file" / "interpreters.toml"))
    with pytest.raises(EvalError, match="cannot write") as caught:
        register(Registered(name="fetch", python="/x"))
    assert VARIABLE in caught.value.fix
