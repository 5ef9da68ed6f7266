"""The manifest of a run as a file: untrusted input, bounded and of one schema."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, cast

import orjson

from hylo_eval.errors import EvalError
from hylo_eval.traces.files import size_to_read

_RESTORE: Final = "restore the manifest as the run wrote it, or run it again"
MANIFEST_SCHEMA: Final = "hylo.manifest/v0.1"
MAX_MANIFEST_BYTES: Final = 16 * 1024 * 1024
"""A manifest larger than this is refused unread."""


def read_manifest(path: Path) -> dict[str, Any]:
    """Read a manifest back.

    Raises:
        EvalError: It is missing, too large, no JSON object or of another schema.
    """
    try:
        if size_to_read(path) > MAX_MANIFEST_BYTES:
            raise EvalError(f"{path} is larger than {MAX_MANIFEST_BYTES} bytes", fix=_RESTORE)
        document = orjson.loads(path.read_bytes())
    except OSError as error:
        raise EvalError(f"cannot read the manifest {path}: {error.strerror}", fix="name a run folder") from error
    except orjson.JSONDecodeError as error:
        raise EvalError(f"{path}: is not JSON: {error}", fix=_RESTORE) from error
    if not isinstance(document, dict):
        raise EvalError(f"{path}: is not a JSON object", fix=_RESTORE)
    members = cast("dict[str, Any]", document)
    if members.get("schema") != MANIFEST_SCHEMA:
        raise EvalError(f"{path}: schema: must be {MANIFEST_SCHEMA!r}, not {members.get('schema')!r}", fix=_RESTORE)
    return members
