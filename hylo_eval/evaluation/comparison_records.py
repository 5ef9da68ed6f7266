"""The record of every comparison: a file each under ``<run_root>/comparisons``, never overwritten."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from hylo_eval.errors import EvalError
from hylo_eval.traces.files import write_atomically

FOLDER = "comparisons"


def write_record(run_root: Path, document: Mapping[str, Any]) -> tuple[Path, dict[str, Any]]:
    """Write a comparison under a new id, atomically.

    Returns:
        The file, and the document with ``id`` and ``created_at``.

    Raises:
        EvalError: It cannot be written.
    """
    now = datetime.now(UTC)
    identity = f"{now:%Y%m%dT%H%M%S}-{document['kind']}-{secrets.token_hex(4)}"
    complete = {**document, "id": identity, "created_at": now.isoformat(timespec="seconds")}
    path = run_root / FOLDER / f"{identity}.json"
    write_report(path, orjson.dumps(complete, option=orjson.OPT_INDENT_2) + b"\n")
    return path, complete


def write_report(path: Path, content: bytes) -> None:
    """Write a report, atomically, with the folders above it.

    Raises:
        EvalError: It cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, content)
    except OSError as error:
        raise EvalError(f"cannot write {path}: {error.strerror}") from error


def append_summary(path: Path, markdown: str) -> None:
    """Add a page to a job summary that other steps write too.

    Raises:
        EvalError: It cannot be written.
    """
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{markdown}\n")
    except OSError as error:
        raise EvalError(f"cannot write the job summary {path}: {error.strerror}") from error
