"""The task's own files: paths in a specification that cannot leave the tests directory."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from hylo_eval.verify.file_ops.reading import UnreadableFile, relative_components
from hylo_eval.verify.machine_faults import is_machine_fault
from hylo_eval.verify.verdict import GradingInfraError, InvalidTask

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def lies_in(path: str, folder: str) -> bool:
    """Whether a path is a folder or lies in it; both are absolute and hold neither links nor ``..``."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def resource_path(tests_dir: Path, relative: str, *, what: str) -> Path:
    """The file or folder of the tests directory that a specification names.

    The tests directory is the task's: links inside it are followed, but not out of it.

    Args:
        tests_dir: The folder of ``verifier.toml``.
        relative: The path as the specification gives it.
        what: The field, for the error text.

    Raises:
        InvalidTask: The path is absolute, holds ``..``, leads out of the folder through a link, or names
            nothing.
        GradingInfraError: The machine cannot look it up.
    """
    try:
        components = relative_components(relative)
    except UnreadableFile as error:
        raise InvalidTask(f"{what} {relative!r:.200} must be a relative path inside the tests directory") from error
    path = tests_dir.joinpath(*components)
    try:
        # Only a link below the folder can lead out of it, so plain paths are not resolved from the root on.
        resolved = os.path.realpath(path, strict=True) if _has_link(tests_dir, components) else None
    except OSError as error:
        if is_machine_fault(error):
            raise GradingInfraError(f"{what} {relative!r:.200} cannot be looked up: {error.strerror}") from error
        raise InvalidTask(f"{what} {relative!r:.200} is missing from the tests directory") from error
    if resolved is not None and not lies_in(resolved, os.path.realpath(tests_dir)):
        raise InvalidTask(f"{what} {relative!r:.200} leads out of the tests directory")
    return path


def _has_link(folder: Path, components: Sequence[str]) -> bool:
    """Whether a component of a path below a folder is a link.

    Raises:
        OSError: The path names nothing.
    """
    folder.stat()
    place = str(folder)
    for component in components:
        place = f"{place}{os.sep}{component}"
        if stat.S_ISLNK(os.lstat(place).st_mode):
            return True
    return False


def resource_file(tests_dir: Path, relative: str, *, what: str) -> Path:
    """A regular file of the tests directory; see :func:`resource_path`."""
    path = resource_path(tests_dir, relative, what=what)
    if not path.is_file():
        raise InvalidTask(f"{what} {relative!r:.200} is no regular file of the tests directory")
    return path
