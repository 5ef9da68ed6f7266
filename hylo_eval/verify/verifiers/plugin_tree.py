"""The files of a plugin, and the three digests they must have before any of them is imported.

1. **declared**: the files are the ones the plugin's own ``manifest.json`` states the digest of;
2. **fetched**: the whole folder is the one that was pinned for this run;
3. **installed**: the private copy that is about to be imported is that folder again.

This reading of the three gates is ours.
"""

from __future__ import annotations

import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast

import attrs

from hylo_core.canonical import describe, digest, digest_bytes, is_digest
from hylo_core.errors import DigestMismatch
from hylo_eval.errors import EvalError
from hylo_eval.verify.spec import decode_json

MANIFEST: Final = "manifest.json"
KIND: Final = "environment"

MAX_FILES: Final = 4096
MAX_TREE_BYTES: Final = 256 * 1024 * 1024
"""A larger plugin is refused: it holds code, and no weights."""

_BYTECODE: Final = "__pycache__"


@attrs.frozen
class PluginTree:
    """The files of a folder by their path in it.

    Attributes:
        files: Path with ``/`` -> content.
    """

    files: Mapping[str, bytes] = attrs.field(repr=False)

    @classmethod
    def read(cls, folder: Path) -> PluginTree:
        """Read a folder. Byte code that Python left there is no part of it.

        Raises:
            EvalError: It is no folder, holds a link or what is no plain file, cannot be read, or is too large.
        """
        files: dict[str, bytes] = {}
        size = 0
        try:
            if not folder.is_dir():
                raise EvalError(f"the plugin {folder} is no folder")
            for path in sorted(folder.rglob("*")):
                name = path.relative_to(folder)
                kind = path.lstat().st_mode
                if _BYTECODE in name.parts or stat.S_ISDIR(kind):
                    continue
                if not stat.S_ISREG(kind):
                    raise EvalError(
                        f"the plugin {folder} holds {str(name)!r}, which is no plain file (links are refused)"
                    )
                size += path.stat().st_size
                if len(files) >= MAX_FILES or size > MAX_TREE_BYTES:
                    raise EvalError(f"the plugin {folder} holds more than {MAX_FILES} files or {MAX_TREE_BYTES} bytes")
                files[name.as_posix()] = path.read_bytes()
        except OSError as error:
            raise EvalError(f"the plugin {folder} cannot be read: {error.strerror}") from error
        return cls(files)

    def write(self, folder: Path) -> None:
        """Write the files into a folder that is empty.

        Raises:
            EvalError: It cannot be written.
        """
        try:
            for name, content in self.files.items():
                path = folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
        except OSError as error:
            raise EvalError(f"the plugin cannot be copied to {folder}: {error.strerror}") from error

    def digest(self) -> str:
        """Of every name and content."""
        return digest([[name, digest_bytes(content)] for name, content in sorted(self.files.items())])

    def content_digest(self) -> str:
        """The same without ``manifest.json``, which states it."""
        return PluginTree({name: content for name, content in self.files.items() if name != MANIFEST}).digest()

    def check_declared(self) -> None:
        """The first gate.

        Raises:
            EvalError: There is no manifest, it is not of kind ``environment``, or it declares no digest.
            DigestMismatch: The files are not the ones it declares.
        """
        manifest = self._manifest()
        if manifest.get("kind") != KIND:
            raise EvalError(f"{MANIFEST}: kind: must be {KIND!r}, not {describe(manifest.get('kind'))}")
        declared, actual = manifest.get("digest"), self.content_digest()
        if not isinstance(declared, str) or not is_digest(declared):
            raise EvalError(f"{MANIFEST} declares no digest of the other files", fix=f'"digest": "{actual}"')
        check_digest(declared, actual, what=f"the plugin, as its {MANIFEST} declares it,")

    def _manifest(self) -> dict[str, Any]:
        try:
            manifest = decode_json(self.files[MANIFEST].decode())
        except KeyError:
            raise EvalError(f"the plugin holds no {MANIFEST}") from None
        except ValueError as error:
            raise EvalError(f"{MANIFEST} is not JSON: {error}") from error
        if not isinstance(manifest, dict):
            raise EvalError(f"{MANIFEST} is no JSON object")
        return cast("dict[str, Any]", manifest)


def check_digest(expected: str, actual: str, *, what: str) -> None:
    """Refuse another digest.

    Raises:
        DigestMismatch: It differs.
    """
    if actual != expected:
        raise DigestMismatch(expected, actual, what=what)
