"""Bounded reads of regular files, without following a link that the candidate planted."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager
from enum import StrEnum
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from hylo_eval.verify.machine_faults import is_machine_fault
from hylo_eval.verify.verdict import GradingInfraError

if TYPE_CHECKING:
    from collections.abc import Generator

MAX_ANSWER_BYTES = 16 * 1024 * 1024
"""Largest answer file that is read; a larger one is scored 0 with reason ``output_too_large``."""

MAX_ARTIFACT_BYTES = 1_000_000
"""Largest reward or verdict file that is read from a grading script."""

MAX_REPORT_BYTES = 64 * 1024 * 1024
"""Most bytes that are read of a test suite's report, or of all of them where there are several."""

_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ_CHUNK_BYTES = 1024 * 1024
_SMALLEST_READ_BYTES = 4096


class UnreadableReason(StrEnum):
    """Why a file was not read."""

    MISSING = "missing"
    NOT_REGULAR = "not_regular"
    TOO_LARGE = "too_large"
    OUTSIDE = "outside"


class UnreadableFile(Exception):
    """A file that cannot be read as a bounded regular file.

    Attributes:
        path: The file as it was asked for.
        reason: Why it was not read.
    """

    def __init__(self, path: Path | str, reason: UnreadableReason) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"{path} was not read: {reason}")


class UnusableFolder(GradingInfraError):
    """A folder that the caller named and that cannot be entered: a mistyped path is nobody's failed attempt.

    Attributes:
        path: The folder.
    """

    def __init__(self, path: Path | str, problem: str) -> None:
        self.path = path
        super().__init__(f"the folder {str(path)!r:.500} cannot be entered: {problem}")


@lru_cache
def relative_components(relative: str) -> tuple[str, ...]:
    """The components of a path that must stay inside its folder; ``.`` has none.

    Raises:
        UnreadableFile: The path is empty or absolute, holds ``..`` or a NUL (reason ``outside``).
    """
    path = PurePosixPath(relative)
    if not relative or path.is_absolute() or ".." in path.parts or "\0" in relative:
        raise UnreadableFile(relative, UnreadableReason.OUTSIDE)
    return path.parts


def _reason_of(error: OSError, name: str, folder: int | None, asked: Path | str) -> UnreadableReason:
    """Why a file or folder could not be opened.

    Raises:
        GradingInfraError: For a reason that is the machine's.
    """
    if error.errno in (errno.ELOOP, errno.ENXIO, errno.EISDIR, errno.ENODEV) or _is_special(name, folder):
        return UnreadableReason.NOT_REGULAR
    # Opening a file needs no process: EAGAIN is a lease that somebody holds on it.
    if is_machine_fault(error) and error.errno != errno.EAGAIN:
        raise GradingInfraError(f"{str(asked)!r:.200} cannot be read: {error.strerror}") from error
    return UnreadableReason.MISSING


def _is_special(name: str, folder: int | None) -> bool:
    """Whether there is a device, a fifo or a socket, whose errors are of its maker's choice."""
    try:
        kind = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(kind) or stat.S_ISDIR(kind))


@contextmanager
def open_folder_beneath(root: Path, components: tuple[str, ...]) -> Generator[int]:
    """A descriptor of a folder below ``root``, no component of which is a link.

    ``root`` itself is the caller's and may be reached through links.

    Raises:
        UnreadableFile: A component is absent, is a link or is no folder.
        GradingInfraError: ``root`` cannot be entered, or the machine cannot open any more.
    """
    asked = os.path.join(root, *components)  # noqa: PTH118 - a text for errors, which mostly nobody sees
    try:
        descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise UnusableFolder(root, error.strerror or str(error)) from error
    try:
        for component in components:
            try:
                below = os.open(component, _FOLDER_FLAGS, dir_fd=descriptor)
            except OSError as error:
                raise UnreadableFile(asked, _reason_of(error, component, descriptor, asked)) from error
            os.close(descriptor)
            descriptor = below
        yield descriptor
    finally:
        os.close(descriptor)


def _open_entry(name: str, folder: int | None, asked: Path | str, limit_bytes: int) -> tuple[int, int]:
    """A descriptor of a regular file of at most ``limit_bytes``, and its size of now."""
    try:
        descriptor = os.open(name, _READ_FLAGS, dir_fd=folder)
    except ValueError as error:
        if isinstance(error, UnicodeEncodeError) and error.encoding != "utf-8":
            raise  # the file may be there: it is this process that cannot name it
        raise UnreadableFile(asked, UnreadableReason.MISSING) from error
    except OSError as error:
        raise UnreadableFile(asked, _reason_of(error, name, folder, asked)) from error
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        refused = UnreadableReason.NOT_REGULAR
    elif status.st_size > limit_bytes:
        refused = UnreadableReason.TOO_LARGE
    else:
        return descriptor, status.st_size
    os.close(descriptor)
    raise UnreadableFile(asked, refused)


def _read_entry(name: str, folder: int | None, asked: Path | str, limit_bytes: int) -> bytes:
    descriptor, size = _open_entry(name, folder, asked, limit_bytes)
    try:
        # The file may still grow while it is read: its size at the start bounds nothing.
        content = bytearray()
        while len(content) <= limit_bytes:
            expected = max(size - len(content) + 1, _SMALLEST_READ_BYTES)
            chunk = os.read(descriptor, min(expected, _READ_CHUNK_BYTES, limit_bytes + 1 - len(content)))
            if not chunk:
                return bytes(content)
            content += chunk
    except OSError as error:
        raise GradingInfraError(f"{str(asked)!r:.200} cannot be read: {error.strerror}") from error
    finally:
        os.close(descriptor)
    raise UnreadableFile(asked, UnreadableReason.TOO_LARGE)


def read_bounded(path: Path, *, limit_bytes: int) -> bytes:
    """The content of a regular file of at most ``limit_bytes``.

    The file itself is not followed if it is a link, and opening a fifo or a device does not block.

    Raises:
        UnreadableFile: There is no such file, it is no regular file, or it is larger.
        GradingInfraError: The machine cannot open or read any more.
    """
    return _read_entry(str(path), None, path, limit_bytes)


def read_beneath(root: Path, relative: str, *, limit_bytes: int) -> bytes:
    """The content of a regular file below ``root``, no component of whose path is a link.

    Args:
        root: The folder, which may itself be reached through links.
        relative: The path below it.
        limit_bytes: The largest size that is read.

    Raises:
        UnreadableFile: As :func:`read_bounded`, and for a path that is absolute or holds ``..``.
        GradingInfraError: As :func:`read_bounded`, and where ``root`` cannot be entered.
    """
    folders, name = _folders_and_name(relative)
    with open_folder_beneath(root, folders) as folder:
        return _read_entry(name, folder, f"{root}/{relative}", limit_bytes)


def chunks_beneath(root: Path, relative: str, *, limit_bytes: int, chunk_bytes: int) -> Generator[bytes]:
    """The content of a file as :func:`read_beneath`, a chunk at a time: it is never whole in memory.

    Args:
        root: The folder, which may itself be reached through links.
        relative: The path below it.
        limit_bytes: The largest size that is read.
        chunk_bytes: The largest size of a chunk.

    Raises:
        UnreadableFile: As :func:`read_beneath`; also after some chunks, for a file that grows beyond the limit.
    """
    folders, name = _folders_and_name(relative)
    asked = f"{root}/{relative}"
    with open_folder_beneath(root, folders) as folder:
        descriptor, _ = _open_entry(name, folder, asked, limit_bytes)
    try:
        left = limit_bytes
        while chunk := os.read(descriptor, min(chunk_bytes, left + 1)):
            left -= len(chunk)
            if left < 0:
                raise UnreadableFile(asked, UnreadableReason.TOO_LARGE)
            yield chunk
    finally:
        os.close(descriptor)


def _folders_and_name(relative: str) -> tuple[tuple[str, ...], str]:
    components = relative_components(relative)
    if not components:
        raise UnreadableFile(relative, UnreadableReason.NOT_REGULAR)
    return components[:-1], components[-1]
