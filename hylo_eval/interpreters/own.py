"""The interpreter that is running, and the Hylo in it."""

from __future__ import annotations

import sys
from functools import cache
from importlib import metadata
from pathlib import Path

from hylo_eval.interpreters import probe


@cache
def hylo_version() -> str:
    """The installed version of Hylo."""
    return metadata.version("hylo-eval")


@cache
def source_digest() -> str:
    """Digest of Hylo's own source files: other code does not continue a run in silence."""
    return probe.digest_of_sources(_own_package())


def is_own(python: str) -> bool:
    """Whether an interpreter is the one that is running, under this name or another in its folder."""
    own, given = Path(sys.executable), Path(python)
    if given == own:
        return True
    return given.parent.resolve() == own.parent.resolve() and given.exists() and given.samefile(own)


def safe_path() -> bool:
    """Whether this process does not import from the working folder, so that another one should not either."""
    return not ("" in sys.path[:1] or str(Path.cwd()) in sys.path[:1])


def checkout() -> Path | None:
    """The checkout that this Hylo runs from; None where it was installed from a wheel."""
    folder = _own_package().parent
    return folder if (folder / "pyproject.toml").is_file() else None


def _own_package() -> Path:
    return Path(__file__).resolve().parents[1]
