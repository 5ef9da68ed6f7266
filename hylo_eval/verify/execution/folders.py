"""Private folders for what a grading writes and its candidate should not find."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator


@contextmanager
def private_folder(purpose: str) -> Generator[Path]:
    """A new folder of an unguessable name that only this user may enter; removed at the end.

    What cannot be removed is left behind rather than raised: the verdict stands.
    """
    with tempfile.TemporaryDirectory(prefix=f"hylo-{purpose}-", ignore_cleanup_errors=True) as folder:
        yield Path(folder).resolve()
