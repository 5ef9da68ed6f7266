"""The task's own files: paths in a specification that cannot leave the tests directory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hylo_eval.verify.file_ops.reading import UnreadableFile, relative_components
from hylo_eval.verify.verdict import InvalidTask

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


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
    """
    try:
        components = relative_components(relative)
    except UnreadableFile as error:
        raise InvalidTask(f"{what} {relative!r:.200} must be a relative path inside the tests directory") from error
    path = tests_dir.joinpath(*components)
    try:
        resolved = path.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise InvalidTask(f"{what} {relative!r:.200} is missing from the tests directory") from error
    if not resolved.is_relative_to(tests_dir.resolve()):
        raise InvalidTask(f"{what} {relative!r:.200} leads out of the tests directory")
    return path


def resource_file(tests_dir: Path, relative: str, *, what: str) -> Path:
    """A regular file of the tests directory; see :func:`resource_path`."""
    path = resource_path(tests_dir, relative, what=what)
    if not path.is_file():
        raise InvalidTask(f"{what} {relative!r:.200} is no regular file of the tests directory")
    return path


def check_inside(tests_dir: Path, files: Sequence[Path], *, what: str) -> None:
    """Refuses files below the tests directory that lead out of it through a link, as :func:`resource_path` does.

    Of many files in few folders only the folders and the links among the files are looked up.

    Args:
        tests_dir: The folder of ``verifier.toml``.
        files: Existing files that were found below it.
        what: What they are, for the error text.

    Raises:
        InvalidTask: A file leads out of the folder, or a link on the way to it leads to itself.
    """
    root = tests_dir.resolve()
    for path in (*{file.parent for file in files}, *(file for file in files if file.is_symlink())):
        try:
            is_inside = path.resolve(strict=True).is_relative_to(root)
        except (OSError, RuntimeError):
            is_inside = False
        if not is_inside:
            raise InvalidTask(f"{what} {str(path)!r:.200} leads out of the tests directory")
