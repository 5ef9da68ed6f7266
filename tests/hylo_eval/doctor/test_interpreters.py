"""What the doctor says of families that run in an interpreter of their own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hylo_eval.doctor import interpreters
from hylo_eval.doctor.examination import examine_family
from hylo_eval.doctor.findings import Finding
from hylo_eval.doctor.interpreters import interpreter_findings, other_interpreters
from hylo_eval.interpreters.looking import Interpreter
from hylo_eval.interpreters.registry import VARIABLE, Registered, register
from tests.interpreters import pretended

ENTRY = Registered(name="fetch", python="/opt/fetch/bin/python")
FOUND = Interpreter(python=ENTRY.python, version="3.12.1", hylo="0.1.0", packages={"mujoco": "3.9.0"})


@pytest.fixture(autouse=True)
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A registry of this test's own."""
    path = tmp_path / "interpreters.toml"
    monkeypatch.setenv(VARIABLE, str(path))
    return path


def test_families_that_run_here_are_not_looked_for_elsewhere() -> None:
    """Also where somebody has registered them with the running interpreter."""
    register(ENTRY)
    register(Registered(name="reach", python=sys.executable))
    assert other_interpreters() == ({"fetch": ENTRY}, ())


def test_a_registry_that_cannot_be_read_is_a_finding(registry: Path) -> None:
    """The other checks still say something."""
    registry.write_text("schema = 3\n")
    entries, (finding,) = other_interpreters()
    assert entries == {}
    assert (finding.check, finding.outcome) == ("env", "broken")
    assert str(registry) in finding.text
    assert finding.fix


def test_an_interpreter_that_cannot_serve_is_broken_with_its_fix(tmp_path: Path) -> None:
    """Nothing of the family is tried there."""
    entry = Registered(name="fetch", python=str(pretended(tmp_path / "it", "exit 1")))
    (finding,) = interpreter_findings(entry, {})
    assert (finding.check, finding.outcome) == ("fetch", "broken")
    assert "is no Python interpreter" in finding.text
    assert finding.fix


WARNING = Finding(check="fetch", outcome="warning", text="untested", fix="pip")


@pytest.mark.parametrize(
    ("told", "outcomes"),
    [
        ((), ["ok"]),
        ((Finding(check="fetch", outcome="ok", text="versions"),), ["ok"]),
        ((WARNING,), ["info", "warning"]),
    ],
)
def test_what_is_found_there_stands_below_what_it_is(
    told: tuple[Finding, ...], outcomes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line where all is well; the interpreter is no "ok" where something in it is not."""
    monkeypatch.setattr(interpreters, "look_for", lambda name, python: FOUND)
    monkeypatch.setattr(interpreters, "_findings_there", lambda entry, environment: told)
    findings = interpreter_findings(ENTRY, {})
    assert [finding.outcome for finding in findings] == outcomes
    assert findings[0].text == "runs in /opt/fetch/bin/python: Python 3.12.1, Hylo 0.1.0, mujoco 3.9.0"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("echo no module >&2; exit 1", "could not be examined there: no module"),
        ("exit 0", "could not be examined there: the process ended with code 0"),
    ],
)
def test_an_examination_that_fails_is_a_finding(
    body: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the last thing it said."""
    monkeypatch.setattr(interpreters, "look_for", lambda name, python: FOUND)
    entry = Registered(name="fetch", python=str(pretended(tmp_path / "it", body)))
    first, second = interpreter_findings(entry, {})
    assert (first.outcome, second.outcome) == ("info", "broken")
    assert second.text == text


def test_a_family_is_examined_with_the_packages_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """All under its own name; the base installation is told of only where it is broken."""
    from hylo_eval.doctor import examination

    broken = Finding(check="base", outcome="broken", text="Hylo needs numpy")
    mine = Finding(check="fetch", outcome="ok", text="versions")
    monkeypatch.setattr(examination, "_family", lambda family, installed, environment: (mine,))
    monkeypatch.setattr(examination.packages, "requirement_findings", lambda installed: ())
    monkeypatch.setattr(examination, "_base", lambda installed, environment: mine)
    assert examine_family("fetch", {}) == (mine,)
    monkeypatch.setattr(examination, "_base", lambda installed, environment: broken)
    assert [(item.check, item.text) for item in examine_family("fetch", {})] == [
        ("fetch", "Hylo needs numpy"),
        ("fetch", "versions"),
    ]
