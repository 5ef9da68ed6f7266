"""The Hylo that is running, as a wheel: what an environment made for a family gets, without asking any index for it."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from importlib import metadata
from pathlib import Path, PurePosixPath
from typing import Final

from hylo_eval.errors import EvalError

_OF_THE_INSTALLER: Final = frozenset({"INSTALLER", "REQUESTED", "direct_url.json", "RECORD"})
"""Files beside the metadata that say how a distribution came here, and not what it is."""


def pack_own_wheel(folder: Path) -> Path:
    """Pack the installed distribution back into a wheel: the files that its record names, and a new record.

    Args:
        folder: Where to; it exists.

    Raises:
        EvalError: The distribution has no record, or lacks a file.
    """
    distribution = metadata.distribution("hylo-eval")
    members = {
        path.as_posix(): Path(str(distribution.locate_file(path)))
        for path in distribution.files or ()
        if _belongs(path)
    }
    record = next((name.rpartition("/")[0] for name in members if name.endswith(".dist-info/METADATA")), None)
    if record is None:
        raise EvalError(
            "the installed Hylo has no record of its files, so it cannot be installed anywhere else from here",
            fix="install it in that environment yourself, then hylo-eval env add NAME --python PATH",
        )
    wheel = folder / f"hylo_eval-{distribution.version}-py3-none-any.whl"
    lines: list[str] = []
    try:
        with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, path in sorted(members.items()):
                data = path.read_bytes()
                archive.writestr(name, data)
                sha = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                lines.append(f"{name},sha256={sha},{len(data)}")
            archive.writestr(f"{record}/RECORD", "\n".join([*lines, f"{record}/RECORD,,", ""]))
    except OSError as error:
        raise EvalError(f"the installed Hylo cannot be packed: {error.strerror}: {error.filename}") from error
    return wheel


def _belongs(path: PurePosixPath) -> bool:
    """Whether a file is part of the distribution: no script outside, no compiled copy, no note of an installer."""
    outside = path.is_absolute() or ".." in path.parts
    of_installer = path.parent.name.endswith(".dist-info") and path.name in _OF_THE_INSTALLER
    return not outside and not of_installer and path.suffix != ".pyc"
