"""Files of the workspace that match a glob, found without following links and whatever the nesting."""

from __future__ import annotations

import os
import sys
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from hylo_eval.verify.machine_faults import is_machine_fault
from hylo_eval.verify.verdict import GradingInfraError, InvalidTask

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hylo_eval.verify.execution.deadline import Deadline

MAX_NAME_BYTES = 64 * 1024 * 1024
"""Most memory for the names of folders that are still to be entered, and as much for the files that were found."""

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


class TooManyFiles(Exception):
    """More folders or files than anybody needs, which somebody made to exhaust the grader."""


def files_matching(
    root: Path, pattern: str, *, deadline: Deadline | None = None, max_files: int | None = None
) -> list[str]:
    """The paths below ``root`` that match a glob, sorted; ``**`` stands for any number of folders.

    Folders are not entered through links. What is returned may itself be a link or a special file: the
    bounded readers refuse those.

    Args:
        root: The folder.
        pattern: A glob that :func:`check_glob` accepts.
        deadline: When to stop looking.
        max_files: The most paths that are wanted.

    Raises:
        DeadlinePassed: The time is over.
        TooManyFiles: More than ``max_files`` match, or the folders' names alone fill :data:`MAX_NAME_BYTES`.
        GradingInfraError: The machine cannot open or list any more.
    """
    wanted = PurePosixPath(pattern).parts
    found: list[str] = []
    held_bytes = 0
    for path in _files_below(root, deadline):
        if not _matches(path.split("/"), wanted):
            continue
        found.append(path)
        held_bytes += sys.getsizeof(path)
        if held_bytes > MAX_NAME_BYTES or (max_files is not None and len(found) > max_files):
            raise TooManyFiles
    return sorted(found)


def _files_below(root: Path, deadline: Deadline | None) -> Iterator[str]:
    pending = [""]
    pending_bytes = 0
    while pending:
        folder = pending.pop()
        pending_bytes -= sys.getsizeof(folder)
        try:
            # Listed one by one: a folder may hold more entries than there is memory for.
            with os.scandir(root / folder if folder else root) as entries:
                for entry in entries:
                    if deadline is not None:
                        deadline.check()
                    path = f"{folder}/{entry.name}" if folder else entry.name
                    if not entry.is_dir(follow_symlinks=False):
                        yield path
                        continue
                    pending.append(path)
                    pending_bytes += sys.getsizeof(path)
                    if pending_bytes > MAX_NAME_BYTES:
                        raise TooManyFiles
        except OSError as error:
            if is_machine_fault(error):
                raise GradingInfraError(f"{str(root / folder)!r:.200} cannot be listed: {error.strerror}") from error
            # Gone, not ours to read, or nested beyond the longest path: no report can be read there either.
            continue


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
