"""Files of a run: read to their end, written whole so that a reader never sees half of one, and never over another."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from pathlib import Path

from hylo_eval.errors import EvalError, cannot_write


def size_to_read(path: Path) -> int:
    """The size in bytes of a file that is about to be read to its end.

    Raises:
        OSError: There is none, or it is a pipe, a socket or a device, whose end would be waited for.
    """
    found = path.stat()
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
        raise OSError(errno.EINVAL, "it is a pipe, a socket or a device")
    return found.st_size


def neighbour_of(path: Path) -> Path:
    """Where a file is written before it gets its name: the same folder, hidden, one a process."""
    return path.with_name(f".{path.name}.{os.getpid()}.tmp")


def write_atomically(path: Path, data: bytes) -> None:
    """Write a temporary neighbour, then rename it over ``path``; a link stays one, and its target is written.

    Raises:
        EvalError: The file cannot be written, or is no regular file: a device must not become one.
    """
    neighbour = None
    try:
        target = path.resolve() if path.is_symlink() else path
        if target.exists() and not target.is_file():
            raise EvalError(f"cannot write {path}: it is no regular file", fix="name a file")
        neighbour = neighbour_of(target)
        neighbour.write_bytes(data)
        neighbour.replace(target)
    except OSError as error:
        raise cannot_write(str(path), error) from error
    finally:
        if neighbour is not None:
            # A name that is too long cannot even be looked for.
            with contextlib.suppress(OSError):
                neighbour.unlink(missing_ok=True)


def write_once(path: Path, data: bytes) -> None:
    """Write a file that must not exist yet, atomically; see :func:`name_once`."""
    neighbour = neighbour_of(path)
    try:
        neighbour.write_bytes(data)
        name_once(neighbour, path)
    finally:
        neighbour.unlink(missing_ok=True)


def name_once(written: Path, path: Path) -> None:
    """Give a whole file its final name in the same folder; of two processes, one gets it.

    Raises:
        FileExistsError: The name is taken; what has it stays as it is.
    """
    try:
        path.hardlink_to(written)
    except FileExistsError:
        raise
    except OSError:
        # A file system without hard links: reserve the name, then fill it.
        path.touch(exist_ok=False)
        written.replace(path)
    else:
        written.unlink()
