"""Removing a folder that somebody else filled, however deep it is and without following links."""

from __future__ import annotations

import os
import stat
from contextlib import suppress

_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def make_writable(folder: int) -> None:
    """Gives the owner back a folder that was made read-only, if this process may."""
    mode = stat.S_IMODE(os.fstat(folder).st_mode)
    if mode & stat.S_IRWXU != stat.S_IRWXU:
        with suppress(PermissionError):
            os.fchmod(folder, mode | stat.S_IRWXU)


def remove_folder(name: str, *, parent: int) -> None:
    """Removes a folder and all that is in it.

    ``shutil.rmtree`` recurses and keeps a descriptor open for every level: a deep nest ends it. Here inner
    folders are moved up beside the outermost one first, so that one level at a time is enough.

    Args:
        name: The folder's name.
        parent: A descriptor of the folder it stands in.

    Raises:
        OSError: Something in it cannot be removed.
    """
    pending = [name]
    while pending:
        current = pending.pop()
        folder = os.open(current, _OPEN_FOLDER, dir_fd=parent)
        try:
            make_writable(folder)
            with os.scandir(folder) as listing:
                entries = list(listing)
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    aside = f".removed-{os.urandom(8).hex()}"
                    os.rename(entry.name, aside, src_dir_fd=folder, dst_dir_fd=parent)
                    pending.append(aside)
                else:
                    os.unlink(entry.name, dir_fd=folder)
        finally:
            os.close(folder)
        os.rmdir(current, dir_fd=parent)
