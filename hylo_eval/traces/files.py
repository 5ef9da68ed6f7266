"""Writing whole files so that a reader never sees half of one."""

from __future__ import annotations

import os
from pathlib import Path

from hylo_eval.errors import EvalError


def write_atomically(path: Path, data: bytes) -> None:
    """Write a temporary neighbour, then rename it over ``path``.

    Raises:
        EvalError: The file cannot be written.
    """
    neighbour = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        neighbour.write_bytes(data)
        neighbour.replace(path)
    except OSError as error:
        raise EvalError(f"cannot write {path}: {error.strerror}") from error
    finally:
        neighbour.unlink(missing_ok=True)
