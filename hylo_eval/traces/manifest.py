"""The manifest of a run as a file: untrusted input, bounded and of one schema."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from hylo_eval.traces.documents import read_document

_RESTORE: Final = "restore the manifest as the run wrote it, or run it again"
MANIFEST_SCHEMA: Final = "hylo.manifest/v0.1"
MAX_MANIFEST_BYTES: Final = 16 * 1024 * 1024
"""A manifest larger than this is refused unread."""


def read_manifest(path: Path) -> dict[str, Any]:
    """Read a manifest back.

    Raises:
        EvalError: It is missing, too large, no JSON object or of another schema.
    """
    return read_document(
        path, what="the manifest", schema=MANIFEST_SCHEMA, max_bytes=MAX_MANIFEST_BYTES, restore=_RESTORE
    )
