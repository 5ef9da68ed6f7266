"""What a run was begun with, and how two of them differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

import attrs

from hylo_core.canonical import describe, join

CODE_MEMBER = "hylo"
"""The member that names Hylo's own version and sources."""

SOURCE_DIGEST = "source_digest"
"""The member that names the content of the file that a plug-in of one's own is written in."""

MAX_LINES = 20
"""Differences that an error text shows."""


class _Absent:
    """The side of a difference on which there is nothing."""

    def __repr__(self) -> str:
        return "nothing"


ABSENT = _Absent()


@attrs.frozen
class Difference:
    """One place at which two configurations differ.

    Attributes:
        path: The place, ``agent.options.noise``.
        stored: What the run was begun with, or :data:`ABSENT`.
        given: What was given now, or :data:`ABSENT`.
    """

    path: str
    stored: Any
    given: Any

    def __str__(self) -> str:
        return f"{self.path}: stored {_shown(self.stored)}, given {_shown(self.given)}"

    @property
    def is_code(self) -> bool:
        """Whether it is about Hylo's own code."""
        return self.path == CODE_MEMBER or self.path.startswith(f"{CODE_MEMBER}.")

    @property
    def is_own_file(self) -> bool:
        """Whether it is the content of the file that somebody's own agent, env or filter is written in."""
        return not self.is_code and self.path.rpartition(".")[2] == SOURCE_DIGEST


def differences(stored: Any, given: Any, path: str = "") -> Iterator[Difference]:
    """The places at which two JSON values differ, in order; ``1`` and ``1.0`` are the same number."""
    if isinstance(stored, Mapping) and isinstance(given, Mapping):
        left, right = cast("Mapping[str, Any]", stored), cast("Mapping[str, Any]", given)
        for name in sorted(left.keys() | right.keys()):
            yield from differences(left.get(name, ABSENT), right.get(name, ABSENT), join(path, name))
    elif isinstance(stored, (list, tuple)) and isinstance(given, (list, tuple)):
        first, second = cast("tuple[Any, ...]", stored), cast("tuple[Any, ...]", given)
        for index in range(max(len(first), len(second))):
            yield from differences(
                first[index] if index < len(first) else ABSENT,
                second[index] if index < len(second) else ABSENT,
                f"{path}[{index}]",
            )
    elif isinstance(stored, bool) is not isinstance(given, bool) or stored != given:
        yield Difference(path, stored, given)


def describe_differences(found: list[Difference]) -> str:
    """A line a difference; what is too much is counted."""
    lines = [f"  {difference}" for difference in found[:MAX_LINES]]
    if len(found) > MAX_LINES:
        lines.append(f"  and {len(found) - MAX_LINES} more")
    return "\n".join(lines)


def _shown(value: Any) -> str:
    # repr escapes control characters: a stored name must not move the cursor.
    return "nothing" if value is ABSENT else describe(value)
