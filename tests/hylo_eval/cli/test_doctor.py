"""``hylo-eval doctor``: the screen and the exit code, from made-up findings; the checks have tests of their own."""

import pytest

from hylo_eval import doctor
from hylo_eval.doctor import Finding, Report

OK = Finding(check="python", outcome="ok", text="3.12.1")
MISSING = Finding(check="libero", outcome="info", text="not installed", fix="python -m pip install x")
WARNING = Finding(check="run root", outcome="warning", text="on nfs", fix="use a local disk")
BROKEN = Finding(check="rendering", outcome="broken", text="no picture\nat all", fix="apt-get install y")


@pytest.fixture
def findings(monkeypatch):
    """Let the doctor find what a test says."""

    def use(*found: Finding) -> None:
        def examine(run_root, *, found=None, _findings=found):
            for finding in _findings:
                if found is not None:
                    found(finding)
            return Report(findings=_findings)

        monkeypatch.setattr(doctor, "examine", examine)

    return use


def test_the_screen_says_what_is_broken_and_the_command_that_mends_it(findings, hylo):
    """One line a finding where output is no terminal, the fix below it; exit code 2."""
    findings(OK, MISSING, WARNING, BROKEN)
    outcome = hylo("doctor")
    assert outcome.code == 2
    assert outcome.out.splitlines() == [
        "ok       python     3.12.1",
        "-        libero     not installed",
        "                    to install: python -m pip install x",
        "WARNING  run root   on nfs",
        "                    fix: use a local disk",
        "BROKEN   rendering  no picture\\nat all",
        "                    fix: apt-get install y",
        "",
        "1 broken, 1 warning",
    ]


def test_missing_extras_and_warnings_end_with_0(findings, hylo):
    """Nothing that is installed is broken."""
    findings(OK, MISSING, WARNING)
    outcome = hylo("doctor")
    assert outcome.code == 0
    assert outcome.out.endswith("\neverything that is installed works, 1 warning\n")


def test_json_holds_the_findings_and_nothing_else_is_on_standard_output(findings, hylo):
    """Typed, with the same exit code."""
    findings(OK, BROKEN)
    outcome = hylo("doctor", "--json")
    assert outcome.code == 2
    assert outcome.json["ok"] is False
    assert outcome.json["findings"][1] == {
        "check": "rendering",
        "outcome": "broken",
        "text": "no picture\nat all",
        "fix": "apt-get install y",
    }


@pytest.mark.slow
def test_this_installation_is_examined_for_real(hylo, tmp_path):
    """Every family and the rendering get a finding, in real child processes."""
    outcome = hylo("doctor", "--json", "--run-root", tmp_path)
    checks = {finding["check"] for finding in outcome.json["findings"]}
    assert {
        "python",
        "hylo",
        "base",
        "mujoco",
        "fetch",
        "metaworld",
        "libero",
        "rendering",
        "gpu",
        "run root",
    } <= checks
    assert outcome.code == (0 if outcome.json["ok"] else 2)
