"""The task's own files copied over the workspace, whatever the candidate put in their place.

The candidate owns the workspace and may have planted links, folders and hard links where files are restored.
Nothing is written through them: every folder is opened without following links, a link or file in the place
of a folder is removed, and a file is written under a new name and renamed over the old one.
"""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from hylo_eval.verify.file_ops.removal import make_writable, remove_folder
from hylo_eval.verify.file_ops.resources import resource_path
from hylo_eval.verify.verdict import InvalidTask

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator
    from pathlib import Path

MAX_RESTORE_DEPTH = 64
"""Deepest folder that is restored; a loop of links in the tests directory ends here."""

_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_CREATE_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def restore(entries: Iterable[str], *, tests_dir: Path, workspace: Path) -> tuple[Path, ...]:
    """Copies files and folders of the tests directory over the same paths of the workspace.

    A folder is merged: files of the workspace that it does not hold stay. All entries are checked before
    the first is written.

    Returns:
        The restored files, as paths in the workspace.

    Raises:
        InvalidTask: An entry is missing from the tests directory or leads out of it.
        OSError: The workspace is no folder, or cannot be written.
    """
    sources = {entry: resource_path(tests_dir, entry, what="restore entry") for entry in entries}
    files = [file for source in sources.values() for file in _files_below(source, tests_dir)]
    if not files:
        return ()
    root = os.open(workspace, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for file in files:
            _restore_file(file, file.relative_to(tests_dir).parts, root)
    finally:
        os.close(root)
    return tuple(workspace / file.relative_to(tests_dir) for file in files)


def _files_below(source: Path, tests_dir: Path, depth: int = 0) -> Iterator[Path]:
    if depth > MAX_RESTORE_DEPTH:
        raise InvalidTask(f"restore entry {source} is nested deeper than {MAX_RESTORE_DEPTH} folders")
    if source.is_file():
        yield source
    elif source.is_dir():
        for below in sorted(source.iterdir()):
            relative = str(below.relative_to(tests_dir))
            yield from _files_below(resource_path(tests_dir, relative, what="restored file"), tests_dir, depth + 1)
    else:
        raise InvalidTask(f"restore entry {source} is neither a file nor a folder")


def _restore_file(source: Path, components: tuple[str, ...], root: int) -> None:
    import shutil

    *folders, name = components
    with _opened_folder(root, folders) as folder:
        temporary = f".restore-{os.urandom(8).hex()}"
        descriptor = os.open(temporary, _CREATE_FILE, 0o600, dir_fd=folder)
        try:
            with source.open("rb") as content, os.fdopen(descriptor, "wb") as target:
                shutil.copyfileobj(content, target)
                os.fchmod(target.fileno(), stat.S_IMODE(source.stat().st_mode) | stat.S_IRUSR)
            _remove_folder(folder, name)
            os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=folder)
            raise


@contextmanager
def _opened_folder(root: int, folders: list[str]) -> Generator[int]:
    """The folder below ``root``, made where it is missing and in place of whatever else has its name."""
    descriptor = os.dup(root)
    try:
        make_writable(descriptor)
        for name in folders:
            if not _is_folder(descriptor, name):
                with suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=descriptor)
                os.mkdir(name, 0o755, dir_fd=descriptor)
            below = os.open(name, _OPEN_FOLDER, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = below
            make_writable(descriptor)
        yield descriptor
    finally:
        os.close(descriptor)


def _is_folder(folder: int, name: str) -> bool:
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


def _remove_folder(folder: int, name: str) -> None:
    """Removes a folder that stands where a file is restored; links below it are not followed."""
    if _is_folder(folder, name):
        remove_folder(name, parent=folder)
