"""What an interpreter says of itself.

The source of this module is what another interpreter is given to run (``PYTHON -c SOURCE REQUEST``), whichever version
it is and whatever it lacks: it needs the standard library of Python 3.7 alone. Its answer goes to a descriptor of its
own, because packages print as soon as Python starts (``.pth`` files, ``sitecustomize``).
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import platform
import sys
from pathlib import Path


def digest_of_sources(package: Path) -> str:
    """Digest of the source files of ``hylo_eval`` and of the ``hylo_core`` beside it.

    Args:
        package: The folder of ``hylo_eval``.
    """
    sha = hashlib.sha256()
    for root in (package.parent / "hylo_core", package):
        for path in sorted(root.rglob("*.py")):
            sha.update(path.relative_to(package.parent).as_posix().encode() + b"\0")
            sha.update(path.read_bytes() + b"\0")
    return "sha256:" + sha.hexdigest()


def installed_versions(names: list[str]) -> dict[str, str]:
    """The versions of those distributions that are installed."""
    from importlib import metadata

    found: dict[str, str] = {}
    for name in names:
        try:
            found[name] = str(metadata.version(name))
        except metadata.PackageNotFoundError:
            continue
    return found


def missing_modules(names: list[str]) -> list[str]:
    """Those top-level modules that cannot be found, nor a short name of an environment; nothing is imported."""
    missing: list[str] = []
    for name in names:
        try:
            found = importlib.util.find_spec(name) is not None
        except (ImportError, ValueError):
            found = False
        if not found and not _is_alias(name):
            missing.append(name)
    return missing


def _is_alias(name: str) -> bool:
    """Whether an installed package has an environment of this short name."""
    from importlib import metadata

    found = metadata.entry_points()
    # Before Python 3.10 it is a dictionary.
    envs = found.select(group="hylo.envs") if hasattr(found, "select") else ()
    return any(entry.name == name for entry in envs)


def _describe(packages: list[str], modules: list[str]) -> dict[str, object]:
    described: dict[str, object] = {"python": platform.python_version()}
    if sys.version_info < (3, 8):  # noqa: UP036 - other interpreters run this too
        return described
    versions = installed_versions(["hylo-eval", *packages])
    described["hylo"] = versions.pop("hylo-eval", "")
    described["packages"] = versions
    described["missing"] = missing_modules(modules)
    found = importlib.util.find_spec("hylo_eval")
    origin = found.origin if found is not None else None
    if origin:
        described["source_digest"] = digest_of_sources(Path(origin).resolve().parent)
    return described


def _answer() -> None:
    request = json.loads(sys.argv[1])
    answer = json.dumps(_describe(request["packages"], request["modules"]))
    with os.fdopen(os.dup(request["answer"]), "wb") as stream:
        stream.write(answer.encode())


if __name__ == "__main__":
    _answer()
