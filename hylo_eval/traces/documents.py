"""JSON files that say by a schema what they are: untrusted input, bounded."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import orjson

from hylo_eval.errors import EvalError, cannot_read
from hylo_eval.traces.files import size_to_read


def read_document(path: Path, *, what: str, schema: str, max_bytes: int, restore: str) -> dict[str, Any]:
    """Read a JSON object of one schema.

    Args:
        path: The file.
        what: What it is to people: ``the manifest``.
        schema: What its member ``schema`` has to be.
        max_bytes: A larger file is refused unread.
        restore: What mends a file that is not as it was written.

    Raises:
        EvalError: It is missing, no file, too large, no JSON object or of another schema.
    """
    try:
        if size_to_read(path) > max_bytes:
            raise EvalError(f"{path} is larger than {max_bytes} bytes", fix=restore)
        document = orjson.loads(path.read_bytes())
    except OSError as error:
        raise cannot_read(f"{what} {path}", error) from error
    except orjson.JSONDecodeError as error:
        raise EvalError(f"{path}: is not JSON: {error}", fix=restore) from error
    if not isinstance(document, dict):
        raise EvalError(f"{path}: is not a JSON object", fix=restore)
    members = cast("dict[str, Any]", document)
    if members.get("schema") != schema:
        raise EvalError(f"{path}: schema: must be {schema!r}, not {members.get('schema')!r:.100}", fix=restore)
    return members
