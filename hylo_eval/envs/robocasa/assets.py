"""What identifies the kitchen assets: the digest of their tree, and whether they only stand in for RoboCasa's own.

The assets are part of the simulator, as its packages are: they stand among the versions in trace, manifest, log and
report, and runs on different ones are not compared.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from hylo_eval.versions import ASSETS_SUFFIX, STAND_IN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hylo_eval.envs.robocasa.installation import Installation

ASSETS: Final = f"robocasa{ASSETS_SUFFIX}"
"""The name under which the assets stand among the versions."""

_PASSING: Final = re.compile(r"\d+_\d+_\d+\.xml")
"""Files that RoboCasa writes beside an object's model while it reads it, and removes again."""
_REMEMBERED_BYTES: Final = 256 * 1024 * 1024
"""The digest of a larger tree is kept in the user's cache: the real assets take minutes to read."""


def assets_version(installation: Installation) -> str:
    """``sha256:<hex>``, with ``stand-in assets`` in front where they stand in for RoboCasa's own."""
    digest = assets_digest(installation.assets)
    return f"{STAND_IN} assets {digest}" if installation.stand_in else digest


def assets_digest(root: Path) -> str:
    """Digest of every file below the asset root: relative paths and contents, in the order of the paths.

    Files are read again only where one was added, removed or written since this process read them last.
    """
    sizes: list[int] = []
    listing = hashlib.sha256(str(root).encode())
    for path in sorted(_files(root)):
        stat = path.stat()
        sizes.append(stat.st_size)
        listing.update(f"{path.relative_to(root).as_posix()}\n{stat.st_size}\n{stat.st_mtime_ns}\n".encode())
    return _read_digest(root, listing.hexdigest(), large=sum(sizes) > _REMEMBERED_BYTES)


@cache
def _read_digest(root: Path, state: str, *, large: bool) -> str:
    """The same for one state of the tree, which is told by the names, sizes and times of its files."""
    remembered = _cache_file() if large else None
    known = {} if remembered is None else _read_cache(remembered)
    if state in known:
        return known[state]
    sha = hashlib.sha256()
    for path in sorted(_files(root)):
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        sha.update(f"{path.relative_to(root).as_posix()}\n{content}\n".encode())
    digest = f"sha256:{sha.hexdigest()}"
    if remembered is not None:
        _write_cache(remembered, {**known, state: digest})
    return digest


def _files(root: Path) -> Iterator[Path]:
    for folder, _, names in os.walk(root):
        for name in names:
            if not _PASSING.fullmatch(name):
                yield Path(folder, name)


def _cache_file() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "hylo" / "robocasa_assets.json"


def _read_cache(path: Path) -> dict[str, str]:
    """What is on record; a damaged file is one that records nothing."""
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    members = cast("dict[Any, Any]", document) if isinstance(document, dict) else {}
    return {key: value for key, value in members.items() if isinstance(key, str) and isinstance(value, str)}


def _write_cache(path: Path, known: dict[str, str]) -> None:
    """Keep the digest; where the cache cannot be written, it is computed again next time."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(json.dumps(known), encoding="utf-8")
        partial.replace(path)
    except OSError:
        return
