"""The bytes of a log as untrusted input: bounded, and JSON or refused with the file's name."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, cast

import orjson

from hylo_core.errors import SchemaError
from hylo_eval.errors import EvalError
from hylo_eval.traces.files import size_to_read

MAX_LOG_BYTES: Final = 1024**3
"""A log larger than this is refused unread."""


def read_bytes(path: Path) -> bytes:
    """The bytes of a log.

    Raises:
        EvalError: The file cannot be read, or is too large.
    """
    try:
        if size_to_read(path) > MAX_LOG_BYTES:
            raise EvalError(f"{path} is larger than {MAX_LOG_BYTES} bytes")
        return path.read_bytes()
    except OSError as error:
        raise EvalError(f"cannot read the log {path}: {error.strerror}") from error


def parse_object(data: bytes, path: Path, line: int = 0) -> dict[str, Any]:
    """A JSON object.

    Args:
        data: Its bytes.
        path: Where they are from.
        line: The line they stand in, from 1; 0 where they are the whole file.

    Raises:
        EvalError: It is not JSON.
        SchemaError: It is not an object.
    """
    where = f"{path}:{line}" if line else str(path)
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise EvalError(f"{where}: is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise SchemaError("is not a JSON object", source=where)
    return cast("dict[str, Any]", document)
