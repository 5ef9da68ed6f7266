"""Rubrics: what a team wrote down about what counts as right, in versions.

A folder store holds ``<owner>/<name>/<version>.md`` or ``.toml``. A reference names no version, so a store is asked
once a run: what it gives is pinned, and every grade records version and digest. Versions are added, never edited.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, Final, Protocol, cast

import attrs

from hylo_core.canonical import describe, digest_bytes
from hylo_eval.errors import EvalError

MAX_RUBRIC_BYTES: Final = 256 * 1024
"""A longer rubric is refused unread."""

_SUFFIXES: Final = (".md", ".toml")
_VERSION: Final = re.compile(r"v?([0-9]{1,9}(?:\.[0-9]{1,9}){0,3})")
_KEYS: Final = ("text", "minimum", "maximum")


@attrs.frozen(kw_only=True)
class Rubric:
    """One version of a rubric.

    Attributes:
        owner: Whose it is.
        name: What it is called.
        version: As its file is named, ``3`` or ``v1.2``.
        text: What the judge reads.
        minimum: The least reward it gives.
        maximum: The greatest.
        digest: ``sha256:`` digest of the file's bytes.
    """

    owner: str
    name: str
    version: str
    text: str
    minimum: float = 0.0
    maximum: float = 1.0
    digest: str

    def record(self) -> dict[str, Any]:
        """What a grade says of it."""
        return {"name": f"{self.owner}/{self.name}", "version": self.version, "digest": self.digest}


class RubricStore(Protocol):
    """Where rubrics are."""

    def get(self, owner: str, name: str, version: str = "") -> Rubric:
        """A version of a rubric; the newest when none is named.

        Raises:
            EvalError: There is none, or it cannot be read.
        """
        ...


class RubricFolder:
    """A folder of rubrics, ``<owner>/<name>/<version>.md`` or ``.toml``.

    A Markdown file is the rubric's text, with rewards from 0 to 1. A TOML file has ``text`` and may have ``minimum``
    and ``maximum``, ``0 <= minimum < maximum``. Versions are numbers with dots (``2``, ``v1.10``), in that order.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def get(self, owner: str, name: str, version: str = "") -> Rubric:
        """Read a version; the newest when none is named."""
        folder = self._path / owner / name
        try:
            files = {file.stem: file for file in sorted(folder.iterdir()) if _is_version(file)}
        except OSError as error:
            raise EvalError(f"there is no rubric {owner}/{name} in {self._path}: {error.strerror}") from error
        if not files:
            raise EvalError(f"{folder} holds no version of a rubric", fix=f"write {folder}/1.md")
        chosen = version or max(files, key=_order)
        if chosen not in files:
            listed = ", ".join(sorted(files, key=_order))
            raise EvalError(f"rubric {owner}/{name} has no version {version!r} (versions: {listed})")
        return read_rubric(files[chosen], owner=owner, name=name)


def read_rubric(path: Path, *, owner: str, name: str) -> Rubric:
    """Read one version; its file's stem is the version.

    Raises:
        EvalError: It cannot be read, is too long, empty, not UTF-8, or not TOML of this form.
    """
    try:
        if path.stat().st_size > MAX_RUBRIC_BYTES:
            raise EvalError(f"{path} is larger than {MAX_RUBRIC_BYTES} bytes, too large for a rubric")
        data = path.read_bytes()
        members: dict[str, Any] = {"text": data.decode()}
    except OSError as error:
        raise EvalError(f"cannot read the rubric {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise EvalError(f"{path}: is not UTF-8 text ({error.reason} at byte {error.start})") from error
    if path.suffix == ".toml":
        members = _read_toml(members["text"], path)
    if not isinstance(members["text"], str) or not members["text"].strip():
        raise EvalError(f"{path}: text: must be text that is not empty")
    return Rubric(owner=owner, name=name, version=path.stem, digest=digest_bytes(data), **members)


def _read_toml(text: str, path: Path) -> dict[str, Any]:
    try:
        members = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise EvalError(f"{path}: is not valid TOML: {error}") from error
    unknown = sorted(set(members) - set(_KEYS))
    if unknown or "text" not in members:
        raise EvalError(f"{path}: {f'{unknown[0]!r} is no key of a rubric' if unknown else 'text is missing'}")
    low, high = (_bound(members, key, default, path) for key, default in (("minimum", 0.0), ("maximum", 1.0)))
    if not 0 <= low < high:
        raise EvalError(f"{path}: minimum and maximum must be 0 <= minimum < maximum, not {low:g} and {high:g}")
    return {"text": members["text"], "minimum": low, "maximum": high}


def _bound(members: dict[str, Any], key: str, default: float, path: Path) -> float:
    value = members.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e9:
        raise EvalError(f"{path}: {key}: must be a number below a thousand millions, not {describe(value)}")
    return float(value)


def _is_version(file: Path) -> bool:
    return file.suffix in _SUFFIXES and _VERSION.fullmatch(file.stem) is not None


def _order(version: str) -> tuple[int, ...]:
    numbers = cast("re.Match[str]", _VERSION.fullmatch(version)).group(1)
    return tuple(int(number) for number in numbers.split("."))
