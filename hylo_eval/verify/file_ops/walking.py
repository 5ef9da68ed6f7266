"""Files of the workspace that match a glob, found without following links and whatever the nesting."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from hylo_eval.verify.machine_faults import is_machine_fault
from hylo_eval.verify.verdict import GradingInfraError, InvalidTask

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_ANY_FOLDERS = "**"


def check_glob(pattern: str, *, field: str) -> None:
    """Refuses a glob that could match outside its folder.

    Raises:
        InvalidTask: It is empty or absolute, holds ``..`` or a NUL, or ``**`` beside other characters.
    """
    path = PurePosixPath(pattern)
    if not path.parts or path.is_absolute() or ".." in path.parts or "\0" in pattern:
        raise InvalidTask(f"{field} {pattern!r:.200} must be a glob that stays inside the workspace")
    if any(_ANY_FOLDERS in part and part != _ANY_FOLDERS for part in path.parts):
        raise InvalidTask(f"{field} {pattern!r:.200} has '**' beside other characters of a component")


def files_matching(root: Path, pattern: str) -> list[str]:
    """The paths below ``root`` that match a glob, sorted; ``**`` stands for any number of folders.

    Folders are not entered through links. What is returned may itself be a link or a special file: the
    bounded readers refuse those.

    Raises:
        GradingInfraError: The machine cannot open or list any more.
    """
    wanted = PurePosixPath(pattern).parts
    return sorted(path for path in _files_below(root) if _matches(path.split("/"), wanted))


def _files_below(root: Path) -> Iterator[str]:
    pending = [""]
    while pending:
        folder = pending.pop()
        try:
            entries = list(os.scandir(root / folder if folder else root))
        except OSError as error:
            if is_machine_fault(error):
                raise GradingInfraError(f"{str(root / folder)!r:.200} cannot be listed: {error.strerror}") from error
            # Gone, not ours to read, or nested beyond the longest path: no report can be read there either.
            continue
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_dir(follow_symlinks=False):
                pending.append(path)
            else:
                yield path


def _matches(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Whether the components match, in time proportional to the product of the two lengths."""
    reached = {0}
    for part in parts:
        reached = _skip_any_folders(reached, pattern)
        following: set[int] = set()
        for position in reached:
            if position < len(pattern):
                if pattern[position] == _ANY_FOLDERS:
                    following.add(position)
                elif fnmatchcase(part, pattern[position]):
                    following.add(position + 1)
        reached = following
    return len(pattern) in reached


def _skip_any_folders(reached: set[int], pattern: Sequence[str]) -> set[int]:
    """``**`` may stand for no folder at all."""
    positions = set(reached)
    for position, component in enumerate(pattern):
        if position in positions and component == _ANY_FOLDERS:
            positions.add(position + 1)
    return positions
