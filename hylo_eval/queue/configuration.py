"""What a run was begun with, and how two of them differ."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

import attrs

from hylo_core.canonical import describe, join

CODE_MEMBER = "hylo"
"""The member that names Hylo's own version and sources."""

SOURCE_DIGEST = "source_digest"
"""The member that names the content of the file that a plug-in of one's own is written in."""

MAX_LINES = 20
"""Differences that an error text shows."""

_FILE_DIGEST: Final = re.compile(rf"(?:agent|env|safety\[\d+\])\.{SOURCE_DIGEST}")


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
    def is_other_file(self) -> bool:
        """Whether somebody's agent, environment or safety filter is written in a file of other bytes."""
        return self._is_of_file and not self._is_one_sided

    @property
    def is_file_off_record(self) -> bool:
        """Whether one side has no digest of such a file: older releases of Hylo kept fewer of them."""
        return self._is_of_file and self._is_one_sided

    @property
    def _is_of_file(self) -> bool:
        return _FILE_DIGEST.fullmatch(self.path) is not None

    @property
    def _is_one_sided(self) -> bool:
        return self.stored is ABSENT or self.given is ABSENT


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


def differ_by_release(found: Sequence[Difference]) -> bool:
    """Whether all that differs is Hylo's own code, and what only one of the two releases keeps on record."""
    return any(item.is_code for item in found) and all(item.is_code or item.is_file_off_record for item in found)


def describe_differences(found: list[Difference]) -> str:
    """A line a difference; what is too much is counted."""
    lines = [f"  {difference}" for difference in found[:MAX_LINES]]
    if len(found) > MAX_LINES:
        lines.append(f"  and {len(found) - MAX_LINES} more")
    return "\n".join(lines)


def _shown(value: Any) -> str:
    # repr escapes control characters: a stored name must not move the cursor.
    return "nothing" if value is ABSENT else describe(value)
