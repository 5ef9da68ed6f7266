"""Which family runs in which interpreter: a TOML file of the person's own, outside every run and every benchmark.

::

    schema = "hylo.interpreters/v0.1"

    [interpreters.robocasa]
    python = "/home/me/robocasa/bin/python"
    environment = "/home/me/robocasa"          # of those that `env add --create` made

It lies in ``$XDG_CONFIG_HOME/hylo/interpreters.toml`` (``~/.config`` unless set). ``HYLO_INTERPRETERS`` names another
file; empty, it says that there is none.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, cast

import attrs

from hylo_eval.benchmarks import read_toml
from hylo_eval.errors import EvalError
from hylo_eval.installing import REGISTRY_VARIABLE
from hylo_eval.traces.files import write_atomically

VARIABLE: Final = REGISTRY_VARIABLE
"""The environment variable that names another registry file; empty for none."""

SCHEMA: Final = "hylo.interpreters/v0.1"
MAX_BYTES: Final = 1024 * 1024
"""A registry larger than this is refused unread."""

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,99}")


@attrs.frozen(kw_only=True)
class Registered:
    """An interpreter that a family runs in.

    Attributes:
        name: The family, or the top-level package of somebody else's environments.
        python: Absolute path of the interpreter, not resolved: a virtual environment's is a link.
        environment: The folder of the virtual environment, where ``env add --create`` made it; else empty.
    """

    name: str
    python: str
    environment: str = ""


def registry_path() -> Path | None:
    """Where the registry is, whether or not it exists yet; None where there is none."""
    given = os.environ.get(VARIABLE)
    if given is not None:
        return Path(given).absolute() if given else None
    return user_folder("XDG_CONFIG_HOME", ".config") / "interpreters.toml"


def registry_to_change() -> Path:
    """Where the registry is, for whoever is going to write it.

    Raises:
        EvalError: There is to be none.
    """
    path = registry_path()
    if path is None:
        raise EvalError(f"{VARIABLE} is empty: there is no registry to change", fix=f"unset {VARIABLE}")
    return path


def default_folder(name: str) -> Path:
    """Where the environment of a family is made unless somebody says where."""
    return user_folder("XDG_DATA_HOME", ".local/share") / "environments" / name


def user_folder(variable: str, below_home: str) -> Path:
    """Hylo's folder among a person's own, by the XDG base directory specification.

    Args:
        variable: The variable that names the base folder; a relative path is ignored, as the specification says.
        below_home: The base folder where it is not set.

    Raises:
        EvalError: Nobody says where the home folder is.
    """
    base = Path(os.environ.get(variable, ""))
    if base.is_absolute():
        return base / "hylo"
    try:
        return Path.home() / below_home / "hylo"
    except RuntimeError:
        raise EvalError("there is no home folder to keep the interpreters in", fix=f"export {VARIABLE}=FILE") from None


def read_registry() -> dict[str, Registered]:
    """The interpreters by name; empty where nothing was registered.

    Raises:
        EvalError: The file is there and cannot be read, or holds something else.
    """
    path = registry_path()
    if path is None or not path.exists():
        return {}
    document = read_toml(path, what="a registry of interpreters", max_bytes=MAX_BYTES)
    if document.get("schema") != SCHEMA:
        raise _broken(path, f"schema: must be {SCHEMA!r}, not {document.get('schema')!r}")
    unknown = sorted(set(document) - {"schema", "interpreters"})
    if unknown:
        raise _broken(path, f"{unknown[0]!r} is no key of it (keys: schema, interpreters)")
    table = document.get("interpreters", {})
    if not isinstance(table, dict):
        raise _broken(path, "interpreters: must be a table")
    return {name: _read(path, name, entry) for name, entry in sorted(cast("dict[str, Any]", table).items())}


def register(entry: Registered) -> Registered | None:
    """Put an interpreter on record, in place of an earlier one of that name, which is given back.

    Raises:
        EvalError: The name cannot be one, or the registry cannot be read or written.
    """
    check_name(entry.name)
    with _changing() as entries:
        earlier = entries.get(entry.name)
        entries[entry.name] = entry
    return earlier


def unregister(name: str) -> Registered:
    """Take an interpreter off the record; the environment itself stays.

    Raises:
        EvalError: None is registered under that name, or the registry cannot be read or written.
    """
    with _changing() as entries:
        if name not in entries:
            from hylo_eval.suggest import did_you_mean

            hint = did_you_mean(name, entries)
            raise EvalError(f"no interpreter is registered for {name!r}{hint}", fix="hylo-eval env list")
        return entries.pop(name)


def check_name(name: str) -> None:
    """Refuse what can be neither a family nor a package.

    Raises:
        EvalError: It is of another form.
    """
    if not _NAME.fullmatch(name):
        raise EvalError(f"{name!r} is no name of a family or of a package", fix="hylo-eval list envs")


@contextmanager
def _changing() -> Generator[dict[str, Registered], None, None]:
    """The entries, written back when nothing was raised; one process at a time."""
    path = registry_to_change()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = path.with_name(f".{path.name}.lock").open("wb")
    except OSError as error:
        raise EvalError(f"cannot write {path}: {error.strerror}", fix=f"export {VARIABLE}=FILE") from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        entries = read_registry()
        yield entries
        write_atomically(path, _dump(entries))


def _dump(entries: Mapping[str, Registered]) -> bytes:
    import tomli_w

    tables = {
        name: {"python": entry.python, **({"environment": entry.environment} if entry.environment else {})}
        for name, entry in sorted(entries.items())
    }
    return tomli_w.dumps({"schema": SCHEMA, "interpreters": tables}).encode()


def _read(path: Path, name: str, entry: object) -> Registered:
    where = f"interpreters.{name}"
    if not _NAME.fullmatch(name):
        raise _broken(path, f"{where}: is no name of a family or of a package")
    if not isinstance(entry, dict):
        raise _broken(path, f"{where}: must be a table")
    members = cast("dict[str, Any]", entry)
    unknown = sorted(set(members) - {"python", "environment"})
    if unknown:
        raise _broken(path, f"{where}: {unknown[0]!r} is no key of it (keys: python, environment)")
    for key, value in members.items():
        if not isinstance(value, str) or not Path(value).is_absolute() or "\0" in value:
            raise _broken(path, f"{where}.{key}: must be an absolute path")
    if "python" not in members:
        raise _broken(path, f"{where}.python: is missing")
    return Registered(name=name, **members)


def _broken(path: Path, reason: str) -> EvalError:
    return EvalError(f"{path}: {reason}", fix="mend the file, or remove it and run hylo-eval env add again")
