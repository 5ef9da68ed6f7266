"""Comparing version numbers, as far as pins and floors need it: release segments, no pre-release order.

A pre-release counts as its release: ``4.0.0rc1`` is not below ``4``, which is the careful side for an upper bound.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, cast

STAND_IN: Final = "stand-in"
"""The first word of the version of something that only stands in for the real thing, such as a simulator's assets."""

ASSETS_SUFFIX: Final = "-assets"
"""How the name ends under which a family records the digest of its assets as a version."""

_RELEASE: Final = re.compile(r"v?(?:\d+!)?(\d{1,9}(?:\.\d{1,9}){0,9})")
_CLAUSE: Final = re.compile(r"(~=|===?|!=|<=|>=|<|>)\s*([^\s,]+)")


def release(version: str) -> tuple[int, ...]:
    """The numbers of a version: ``3.10.0.post1`` is ``(3, 10)``. Trailing zeros mean nothing and are cut off.

    Raises:
        ValueError: The text does not start with a number.
    """
    numbers = list(_numbers(version))
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def satisfies(version: str, specifiers: str) -> bool:
    """Whether a version meets comma-separated clauses such as ``>=3.3,<3.10``; no clause accepts everything.

    Raises:
        ValueError: A version or a clause that is not understood.
    """
    return all(_meets(version, clause.strip()) for clause in specifiers.split(",") if clause.strip())


def _meets(version: str, clause: str) -> bool:
    match = _CLAUSE.fullmatch(clause)
    if match is None:
        raise ValueError(f"{clause!r} is no version clause")
    operator, bound = match.groups()
    if bound.endswith(".*"):
        prefix = _numbers(bound.removesuffix(".*"))
        inside = (*_numbers(version), *(0,) * len(prefix))[: len(prefix)] == prefix
        return inside if operator == "==" else not inside
    found, wanted = release(version), release(bound)
    if operator == "~=":
        prefix = _numbers(bound)[:-1]
        return found >= wanted and (*_numbers(version), *(0,) * len(prefix))[: len(prefix)] == prefix
    return {
        "==": found == wanted,
        "===": version == bound,
        "!=": found != wanted,
        "<=": found <= wanted,
        ">=": found >= wanted,
        "<": found < wanted,
        ">": found > wanted,
    }[operator]


def _numbers(version: str) -> tuple[int, ...]:
    match = _RELEASE.match(version.strip())
    if match is None:
        raise ValueError(f"{version!r} is no version number")
    return tuple(map(int, match.group(1).split(".")))


def stand_ins(versions: object) -> tuple[str, ...]:
    """What of a run only stood in for the real thing: name and version, in order; what is no versions names nothing."""
    members: Mapping[Any, Any] = cast("Mapping[Any, Any]", versions) if isinstance(versions, Mapping) else {}
    return tuple(
        f"{name} {version}"
        for name, version in members.items()
        if isinstance(version, str) and version.split(" ")[0] == STAND_IN
    )


def stand_in_sentence(subject: str, versions: object) -> str:
    """The sentence that stands wherever a number of such a run is shown; empty where nothing stood in.

    Args:
        subject: Who ran, such as ``the run``.
        versions: Name to version, as a manifest holds them; may be anything.
    """
    found = stand_ins(versions)
    return f"{subject} ran on stand-ins ({', '.join(found)}): this says nothing about the real thing" if found else ""
