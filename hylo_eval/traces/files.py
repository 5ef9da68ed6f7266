"""Writing whole files so that a reader never sees half of one."""

from __future__ import annotations

import os
from pathlib import Path


def write_atomically(path: Path, data: bytes) -> None:
    """Write a temporary neighbour, then rename it over ``path``."""
    neighbour = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        neighbour.write_bytes(data)
        neighbour.replace(path)
    finally:
        neighbour.unlink(missing_ok=True)
