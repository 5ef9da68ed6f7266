"""The record of every comparison: a file each under ``<run_root>/comparisons``, never overwritten."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import orjson

from hylo_eval.compare.ledger import COMPARISON_SCHEMA
from hylo_eval.errors import EvalError, cannot_read, cannot_write
from hylo_eval.traces.documents import read_document
from hylo_eval.traces.files import write_atomically

_RESTORE: Final = "restore the record as it was written, or move the file out of comparisons/"
FOLDER: Final = "comparisons"
MAX_RECORD_BYTES: Final = 64 * 1024 * 1024
"""A larger record is not read."""
MAX_RECORDS: Final = 100_000
"""More records than this are refused: counting them would be slower than any gate."""


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


def record_paths(run_root: Path) -> list[Path]:
    """The records of a run root, by name.

    Raises:
        EvalError: The folder cannot be listed, or holds more than :data:`MAX_RECORDS` files.
    """
    folder = run_root / FOLDER
    if not folder.is_dir():
        return []
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix == ".json" and not path.name.startswith("."))
    except OSError as error:
        raise cannot_read(f"the records in {folder}", error) from error
    if len(paths) > MAX_RECORDS:
        raise EvalError(f"{folder} holds {len(paths)} records, more than {MAX_RECORDS}", fix="move old ones away")
    return paths


def read_record(path: Path) -> Mapping[str, Any]:
    """A record as JSON; it is untrusted like any other file.

    Raises:
        EvalError: It cannot be read, is too large, or is of another schema.
    """
    return read_document(
        path, what="the record", schema=COMPARISON_SCHEMA, max_bytes=MAX_RECORD_BYTES, restore=_RESTORE
    )


def write_report(path: Path, content: bytes) -> None:
    """Write a report, atomically, with the folders above it.

    Raises:
        EvalError: It cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, content)
    except OSError as error:
        raise cannot_write(str(path), error) from error


def append_summary(path: Path, markdown: str) -> None:
    """Add a page to a job summary that other steps write too.

    Raises:
        EvalError: It cannot be written.
    """
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{markdown}\n")
    except OSError as error:
        raise cannot_write(f"the job summary {path}", error) from error
