"""Private folders for what a grading writes and its candidate should not find."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from hylo_eval.verify.file_ops.removal import remove_folder

if TYPE_CHECKING:
    from collections.abc import Generator


@contextmanager
def private_folder(purpose: str) -> Generator[Path]:
    """A new folder of an unguessable name that only this user may enter; removed at the end.

    What cannot be removed is left behind rather than raised: the verdict stands.
    """
    import tempfile

    folder = Path(os.path.realpath(tempfile.mkdtemp(prefix=f"hylo-{purpose}-")))
    try:
        yield folder
    finally:
        with suppress(OSError):
            parent = os.open(folder.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                remove_folder(folder.name, parent=parent)
            finally:
                os.close(parent)
