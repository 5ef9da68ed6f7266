"""The whole examination never raises, and its report decides what is broken."""

from inspect import signature

import pytest

from hylo_core.refs import load_ref
from hylo_eval import families
from hylo_eval.child import ChildOutcome
from hylo_eval.doctor import Finding, Report, examine, imports, machine, packages
from hylo_eval.errors import EvalError
from hylo_eval.families import FAMILIES

LIBERO = next(family for family in FAMILIES if family.name == "libero")


def test_without_simulators_nothing_is_broken(tmp_path, monkeypatch):
    """A base installation is whole by itself; rendering is not tried."""
    monkeypatch.setattr(families, "has_module", lambda _: False)
    monkeypatch.setattr("hylo_eval.doctor.examination.has_module", lambda _: False)
    monkeypatch.setattr(
        packages,
        "installed_packages",
        lambda: (
            {item.name: packages.Package("99") for item in packages.BASE if "<" not in item.versions}
            | {"gymnasium": packages.Package("1.2")}
        ),
    )
    told: list[Finding] = []
    report = examine(tmp_path, environment={"PATH": ""}, found=told.append)
    assert report.ok
    assert tuple(told) == report.findings
    checks = [finding.check for finding in report.findings]
    assert checks == [
        "python",
        "hylo",
        "base",
        "fetch",
        "metaworld",
        "libero",
        "robocasa",
        "gpu",
        "rendering",
        "machine",
        *["run root"] * (len(checks) - 10),
    ]


def test_a_check_that_raises_becomes_a_finding(tmp_path, monkeypatch):
    """And the others still speak."""

    def fall_ill(*_: object, **__: object):
        raise ZeroDivisionError("made up")

    for module, name in (
        (packages, "installed_packages"),
        (packages, "requirement_findings"),
        (packages, "family_findings"),
        (machine, "gpu_finding"),
        (machine, "python_finding"),
        (machine, "run_root_findings"),
    ):
        monkeypatch.setattr(module, name, fall_ill)
    monkeypatch.setattr("hylo_eval.doctor.examination.has_module", fall_ill)
    report = examine(tmp_path, environment={})
    ill = [finding.check for finding in report.findings if "ZeroDivisionError: made up" in finding.text]
    families = ["fetch", "metaworld", "libero", "robocasa"]
    assert ill == ["python", "base", "packages", *families, "gpu", "rendering", "run root"]


@pytest.mark.parametrize("value", ["disable", "off", "0"])
def test_rendering_that_is_switched_off_is_information(value, tmp_path, monkeypatch):
    """Somebody chose it: state-only runs work."""
    monkeypatch.setattr(families, "has_module", lambda _: False)
    monkeypatch.setattr("hylo_eval.doctor.examination.has_module", lambda _: True)
    report = examine(tmp_path, environment={"MUJOCO_GL": value})
    (finding,) = [finding for finding in report.findings if finding.check == "rendering"]
    assert (finding.outcome, finding.fix) == ("info", "unset MUJOCO_GL")


def test_a_family_that_cannot_be_imported_is_broken():
    """Versions may look right while a compiled module does not load."""
    failed = ChildOutcome(returncode=1, stdout="", stderr="ImportError: numpy.core failed to import\n", seconds=1)
    requirements = ("robosuite==1.4.0", "mujoco==3.3.0")
    finding = imports.import_finding("libero", LIBERO.imports, failed, requirements=requirements)
    assert finding is not None
    assert finding.outcome == "broken"
    assert "numpy.core failed to import" in finding.text
    assert finding.fix.endswith("pip install --force-reinstall robosuite==1.4.0 mujoco==3.3.0")
    worked = ChildOutcome(returncode=0, stdout="", stderr="", seconds=1)
    assert imports.import_finding("libero", LIBERO.imports, worked, requirements=requirements) is None


def test_the_report_is_broken_by_broken_findings_alone():
    """Warnings and missing extras leave it whole."""
    findings = {
        outcome: Finding(check="x", outcome=outcome, text="") for outcome in ("ok", "info", "warning", "broken")
    }
    whole = Report(findings=tuple(findings[outcome] for outcome in ("ok", "info", "warning")))
    assert whole.ok
    assert whole.warnings == (findings["warning"],)
    assert not Report(findings=tuple(findings.values())).ok


def test_an_installation_without_its_assets_is_broken(tmp_path, monkeypatch):
    """Every module is there and imports; the family itself says what is missing."""

    def refuse() -> None:
        raise EvalError("LIBERO is installed without its assets", fix="install them")

    worked = ChildOutcome(returncode=0, stdout="", stderr="", seconds=1)
    monkeypatch.setattr(families, "has_module", lambda _: True)
    monkeypatch.setattr("hylo_eval.doctor.examination.has_module", lambda _: False)
    monkeypatch.setattr(imports, "try_imports", lambda *_: worked)
    monkeypatch.setattr("hylo_eval.doctor.examination.load_ref", lambda _: refuse)
    report = examine(tmp_path, environment={"PATH": ""})
    # Where LIBERO is not installed at all, its missing packages are findings of their own.
    findings = {(finding.outcome, finding.fix) for finding in report.findings if finding.check == "libero"}
    assert ("broken", "install them") in findings


def test_what_a_family_inspects_exists():
    """The reference leads to something callable without arguments."""
    for family in FAMILIES:
        if family.inspect:
            signature(load_ref(family.inspect)).bind()
