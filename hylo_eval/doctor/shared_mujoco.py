"""The one MuJoCo of an interpreter, and the families that share it: an extra may exchange it for all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from hylo_eval.doctor.findings import Finding
from hylo_eval.doctor.packages import Package, fits
from hylo_eval.families import Family, Requirement
from hylo_eval.installing import install_apart, install_command

_MUJOCO: Final = "mujoco"


def mujoco_finding(
    packages: Mapping[str, Package], here: Sequence[Family], not_here: Sequence[Family]
) -> tuple[Finding, ...]:
    """Which MuJoCo the families find, and who wants another one; nothing where there is none.

    Args:
        packages: What is installed.
        here: The families that are installed in this interpreter.
        not_here: Those that could be: installing one exchanges what it does not take.
    """
    package = packages.get(_MUJOCO)
    if package is None:
        return ()
    wanted = {family.name: item for family in (*here, *not_here) if (item := _wanted(family)) is not None}
    finding = [f"{name} (takes {wanted[name].versions})" for name in _names(here) if name in wanted]
    text = f"{package.version}, found by {_listed(finding) or 'no family'}"
    unsuited = [name for name in _names(here) if name in wanted and not fits(package, wanted[name])]
    to_come = [name for name in _names(not_here) if name in wanted and not fits(package, wanted[name])]
    if unsuited:
        verb = "takes" if len(unsuited) == 1 else "take"
        exchange = install_command(str(wanted[unsuited[0]]))
        return (
            Finding(
                check=_MUJOCO,
                outcome="warning",
                text=f"{text}: not what {_listed(unsuited)} {verb}; runs on two versions are not compared",
                fix=f"{exchange}; or, to keep {package.version}: {_apart(unsuited)}",
            ),
        )
    if to_come:
        asked = _listed([f"{name} (takes {wanted[name].versions})" for name in to_come])
        return (
            Finding(
                check=_MUJOCO,
                outcome="info",
                text=f"{text}; installing {asked} here exchanges it, and runs on two versions are not compared",
                fix=f"to keep {package.version}: {_apart(to_come)}",
            ),
        )
    return (Finding(check=_MUJOCO, outcome="ok", text=text),)


def _wanted(family: Family) -> Requirement | None:
    # One that lives apart never shares.
    return None if family.apart else next((item for item in family.requirements if item.name == _MUJOCO), None)


def _names(families: Sequence[Family]) -> list[str]:
    return [family.name for family in families]


def _apart(names: Sequence[str]) -> str:
    return _listed([*map(install_apart, names)])


def _listed(texts: Sequence[str]) -> str:
    """Texts as an enumeration: ``a``, ``a and b``, ``a, b and c``."""
    return " and ".join(filter(None, (", ".join(texts[:-1]), *texts[-1:])))
