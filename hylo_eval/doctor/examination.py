"""Runs every check in turn. A doctor that falls ill helps nobody: a check that raises becomes a finding."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import attrs

from hylo_core.errors import describe_error
from hylo_core.refs import load_ref
from hylo_eval.doctor import imports, interpreters, machine, packages, rendering, shared_mujoco
from hylo_eval.doctor.findings import Finding, Report
from hylo_eval.errors import EvalError
from hylo_eval.families import FAMILIES, Family, family_availability, has_module

Check = Callable[[], "Finding | tuple[Finding, ...]"]


def examine(
    run_root: Path,
    *,
    environment: Mapping[str, str] | None = None,
    found: Callable[[Finding], None] | None = None,
) -> Report:
    """Examine this installation. Never raises.

    Args:
        run_root: Where runs would be written.
        environment: Environment variables; this process's own unless given.
        found: Told of every finding as soon as it is made.
    """
    findings: list[Finding] = []
    for finding in _findings(run_root, os.environ if environment is None else environment):
        findings.append(finding)
        if found is not None:
            found(finding)
    return Report(findings=tuple(findings))


def _findings(run_root: Path, environment: Mapping[str, str]) -> Iterator[Finding]:
    yield from _guarded("python", machine.python_finding)
    yield from _guarded("hylo", machine.hylo_finding)
    installed: dict[str, packages.Package] = {}
    yield from _guarded("base", partial(_base, installed, environment))
    yield from _guarded("packages", lambda: packages.other_pairs(installed))
    yield from _guarded("packages", lambda: packages.requirement_findings(installed))
    elsewhere, damage = interpreters.other_interpreters()
    yield from damage
    sharing = [family for family in FAMILIES if family.name not in elsewhere and family.extra]
    yield from _guarded("mujoco", partial(_mujoco, sharing, installed))
    for family in sharing:
        yield from _guarded(family.name, partial(_family, family, installed, environment))
    for name, entry in elsewhere.items():
        yield from _guarded(name, partial(interpreters.interpreter_findings, entry, environment))
    gpus = _guarded("gpu", partial(machine.gpu_finding, environment))
    yield from gpus
    has_gpu = any(finding.outcome == "ok" for finding in gpus)
    yield from _guarded("rendering", partial(_rendering, environment, gpu=has_gpu))
    yield from _guarded("machine", machine.processor_finding)
    yield from _guarded("run root", lambda: machine.run_root_findings(run_root, machine.read_mounts()))


def examine_family(name: str, environment: Mapping[str, str]) -> tuple[Finding, ...]:
    """Examine one family in this interpreter, with what its packages say of each other. Never raises."""
    installed: dict[str, packages.Package] = {}
    base = _guarded("base", partial(_base, installed, environment))
    findings = [finding for finding in base if finding.outcome != "ok"]
    findings += _guarded("packages", lambda: packages.requirement_findings(installed))
    for family in FAMILIES:
        if family.name == name and family.extra:
            findings += _guarded(name, partial(_family, family, installed, environment))
    return tuple(attrs.evolve(finding, check=name) for finding in findings)


def _guarded(check: str, look: Check) -> tuple[Finding, ...]:
    try:
        found = look()
    except Exception as error:  # noqa: BLE001 - whatever is broken here, the other checks still say something
        return (Finding(check=check, outcome="warning", text=f"could not be checked: {describe_error(error)}"),)
    return found if isinstance(found, tuple) else (found,)


def _base(installed: dict[str, packages.Package], environment: Mapping[str, str]) -> Finding:
    installed.update(packages.installed_packages())
    finding = packages.base_finding(installed)
    if finding.outcome == "broken":
        return finding
    outcome = imports.try_imports(imports.BASE_MODULES, environment)
    return (
        imports.import_finding("base", imports.BASE_MODULES, outcome, requirements=tuple(map(str, packages.BASE)))
        or finding
    )


def _mujoco(sharing: Sequence[Family], installed: Mapping[str, packages.Package]) -> tuple[Finding, ...]:
    here = [family for family in sharing if not family_availability(family).missing]
    return shared_mujoco.mujoco_finding(installed, here, [family for family in sharing if family not in here])


def _family(
    family: Family, installed: Mapping[str, packages.Package], environment: Mapping[str, str]
) -> tuple[Finding, ...]:
    missing = family_availability(family).missing
    findings = packages.family_findings(family, installed, missing)
    if missing:
        return findings
    requirements = tuple(map(str, family.requirements))
    outcome = imports.try_imports(family.imports, environment)
    failed = imports.import_finding(family.name, family.imports, outcome, requirements=requirements)
    failed = failed or _incomplete(family)
    if failed is None:
        return findings
    # "ok" for the versions would contradict what the trial showed.
    return (*(finding for finding in findings if finding.outcome != "ok"), failed)


def _incomplete(family: Family) -> Finding | None:
    """What the family itself misses in its installation, such as assets."""
    if not family.inspect:
        return None
    try:
        load_ref(family.inspect)()
    except EvalError as error:
        return Finding(check=family.name, outcome="broken", text=error.message, fix=error.fix)
    return None


def _rendering(environment: Mapping[str, str], *, gpu: bool) -> Finding:
    if not has_module("mujoco"):
        return Finding(check="rendering", outcome="info", text="not tried: MuJoCo is not installed")
    chosen = environment.get("MUJOCO_GL", "").lower()
    if chosen in rendering.SWITCHED_OFF:
        text = f"switched off by MUJOCO_GL={chosen}: state-only runs work, cameras do not"
        return Finding(check="rendering", outcome="info", text=text, fix="unset MUJOCO_GL")
    return rendering.rendering_finding(rendering.try_backends(environment), chosen=chosen, gpu=gpu)
