"""Digests of a simulator's asset files, for the metadata of a benchmark."""

from __future__ import annotations

import hashlib
from pathlib import Path


def tree_digest(root: Path, *folders: str) -> str:
    """Digest of every file below some folders: relative paths and contents, in the order of the paths.

    Args:
        root: The folder that paths are relative to.
        *folders: Folders below it.

    Returns:
        ``sha256:<hex>``.

    Raises:
        FileNotFoundError: A folder holds no file.
    """
    sha = hashlib.sha256()
    for folder in folders:
        files = sorted(path for path in (root / folder).rglob("*") if path.is_file())
        if not files:
            raise FileNotFoundError(f"no asset files in {root / folder}")
        for path in files:
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            sha.update(f"{path.relative_to(root).as_posix()}\n{content}\n".encode())
    return f"sha256:{sha.hexdigest()}"
