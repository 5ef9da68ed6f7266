"""Benchmark files: finding, reading and writing them. None of it needs a simulator.

A benchmark is named by an alias (the stem of a shipped file: ``fetch_pick_and_place``), by a path, or by a reference
``package.module:Attr`` to a :class:`Benchmark` or to a function without arguments that returns one.

The file holds the contracts' own vocabulary, and beside it ``env`` (alias or reference of the env factory) and
``[env_options]`` (its default options). Both are kept under ``metadata``, so they are part of the digest.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from importlib import metadata as distribution_metadata
from pathlib import Path
from typing import Any, cast

from hylo_core.benchmark import Benchmark
from hylo_core.canonical import canonical_json, join
from hylo_core.errors import ContractError, HyloError, describe_error
from hylo_core.refs import load_ref
from hylo_eval.errors import EvalError, cannot_read
from hylo_eval.suggest import did_you_mean, quoted

ENV = "env"
ENV_OPTIONS = "env_options"
ENTRY_POINTS = "hylo.benchmarks"

MAX_FILE_BYTES = 16 * 1024 * 1024
"""A benchmark file larger than this is refused unread; the largest shipped one is under 200 kB."""


def benchmark_files() -> dict[str, Path]:
    """The shipped benchmark files by alias: from the wheel's package data, or from the checkout."""
    files: dict[str, Path] = {}
    for root in _roots():
        for path in sorted(root.glob("*/*.toml")):
            files.setdefault(path.stem, path)
    return files


def benchmarks_with_task(name: str) -> tuple[str, ...]:
    """The aliases of the shipped benchmarks that have a task of that id, or of an id that ends in ``/name``.

    Reads the definitions and builds none: it is asked where something is refused.
    """
    found: list[str] = []
    for alias, path in benchmark_files().items():
        ids = [str(task["id"]) for task in read_benchmark_file(path)["tasks"]]
        if any(task_id == name or task_id.endswith(f"/{name}") for task_id in ids):
            found.append(alias)
    return tuple(found)


def find_benchmark(name: str) -> Benchmark:
    """The benchmark of an alias, a path or a reference.

    Raises:
        EvalError: There is none of that name; the text suggests near names.
        ContractError: The file breaks a contract; the text names file and path.
    """
    files = benchmark_files()
    if name in files:
        return load_benchmark(files[name])
    if name.endswith(".toml") or "/" in name:
        return load_benchmark(Path(name))
    third_party = {entry.name: entry.value for entry in distribution_metadata.entry_points(group=ENTRY_POINTS)}
    ref = third_party.get(name, name)
    if ":" in ref:
        return _from_ref(ref)
    hint = did_you_mean(name, [*files, *third_party])
    raise EvalError(f"there is no benchmark {quoted(name)}{hint}", fix="hylo-eval list benchmarks")


def benchmark_folder(name: str) -> Path | None:
    """The folder of the file that an alias or a path names; None for a reference, which has no file."""
    files = benchmark_files()
    if name in files:
        return files[name].parent
    return Path(name).parent if name.endswith(".toml") or "/" in name else None


def load_benchmark(path: Path) -> Benchmark:
    """Read a benchmark file.

    Raises:
        EvalError: The file cannot be read or is not TOML (with the line).
        ContractError: It breaks a contract (with the path of the value).
    """
    return parse_benchmark(read_benchmark_file(path), source=str(path))


def read_benchmark_file(path: Path) -> dict[str, Any]:
    """The content of a benchmark file, before any contract looks at it.

    Raises:
        EvalError: The file cannot be read or is not TOML (with the line).
    """
    return read_toml(path, what="a benchmark file", max_bytes=MAX_FILE_BYTES, fix="hylo-eval list benchmarks")


def read_toml(path: Path, *, what: str, max_bytes: int, fix: str = "correct the path") -> dict[str, Any]:
    """The content of a file.

    Args:
        path: The file.
        what: What it should be, for error texts: ``a benchmark file``.
        max_bytes: A larger file is refused unread.
        fix: What to do when there is no such file.

    Raises:
        EvalError: It cannot be read, or is not TOML (with the line).
    """
    kind = what.partition(" ")[2]
    try:
        if path.exists() and not path.is_file():
            raise EvalError(f"{path} is no {kind}", fix=fix)
        if path.stat().st_size > max_bytes:
            raise EvalError(f"{path} is larger than {max_bytes} bytes, too large for {what}", fix=f"name {what}")
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise EvalError(f"there is no {kind} {path}", fix=fix) from error
    except OSError as error:
        raise cannot_read(f"the {kind} {path}", error) from error
    except UnicodeDecodeError as error:
        raise EvalError(
            f"{path}: is not UTF-8 text ({error.reason} at byte {error.start})", fix="save it as UTF-8"
        ) from error
    except RecursionError as error:
        raise EvalError(f"{path}: is nested too deeply to be {what}", fix=f"name {what}") from error
    except tomllib.TOMLDecodeError as error:
        raise EvalError(f"{path}: is not valid TOML: {error}", fix="mend the file at that place") from error
    except ValueError as error:
        # An integer of more digits than Python reads; tomllib lets it through.
        raise EvalError(
            f"{path}: holds an integer of thousands of digits", fix="write a number that such a file can mean"
        ) from error


def parse_benchmark(document: Mapping[str, Any], *, source: str = "") -> Benchmark:
    """Build a benchmark from the content of its file; raises as :func:`load_benchmark`."""
    members = dict(document)
    metadata = members.pop("metadata", {})
    if not isinstance(metadata, Mapping):
        raise ContractError("must be a mapping", path="metadata", source=source)
    kept = dict(cast("Mapping[str, Any]", metadata))
    for name in (ENV, ENV_OPTIONS):
        if name in kept:
            raise ContractError(f"belongs at the top level, as {name!r}", path=f"metadata.{name}", source=source)
    env = members.pop(ENV, None)
    options = members.pop(ENV_OPTIONS, {})
    if not isinstance(env, str):
        reason = "is missing: the alias or reference of the env factory" if env is None else "must be text"
        raise ContractError(reason, path=ENV, source=source)
    if not isinstance(options, Mapping):
        raise ContractError("must be a mapping", path=ENV_OPTIONS, source=source)
    kept[ENV] = env
    if options:
        try:
            kept[ENV_OPTIONS] = canonical_json(options).decode()
        except ContractError as error:
            raise error.under(ENV_OPTIONS, source=source) from None
    return Benchmark.from_dict({**members, "metadata": kept}, source=source)


def env_of(benchmark: Benchmark) -> tuple[str, dict[str, Any]]:
    """The alias or reference of a benchmark's env factory, and its default options.

    Raises:
        EvalError: The benchmark names no env factory.
    """
    env = benchmark.metadata.get(ENV)
    if env is None:
        raise EvalError(
            f"benchmark {benchmark.id!r} names no env factory under metadata[{ENV!r}]",
            fix='env = "package.module:Factory" at the top of its file',
        )
    return env, json.loads(benchmark.metadata.get(ENV_OPTIONS, "{}"))


def dump_benchmark(benchmark: Benchmark) -> str:
    """The TOML text of a benchmark; :func:`load_benchmark` gives back one of the same digest.

    Raises:
        ContractError: A value is null, which TOML cannot write (with its path).
        EvalError: The benchmark names no env factory.
    """
    import tomli_w

    members = benchmark.to_dict()
    metadata: dict[str, str] = members.pop("metadata", {})
    env, options = env_of(benchmark)
    head = {name: members.pop(name) for name in ("id", "version", "requires_privileged") if name in members}
    tasks = members.pop("tasks")
    _refuse_null(options, ENV_OPTIONS)
    _refuse_null(tasks, "tasks")
    own = {name: value for name, value in metadata.items() if name not in (ENV, ENV_OPTIONS)}
    scalars = {name: members.pop(name) for name in ("episodes_per_task",) if name in members}
    document: dict[str, Any] = {**head, **scalars, ENV: env}
    tables = {ENV_OPTIONS: options, "metadata": own, **members}
    document |= {name: table for name, table in tables.items() if table}
    document["tasks"] = tasks
    return tomli_w.dumps(document)


def _roots() -> list[Path]:
    package = Path(__file__).resolve().parent
    return [root for root in (package / "benchmark_data", package.parent / "benchmarks") if root.is_dir()]


def _refuse_null(value: Any, path: str) -> None:
    if value is None:
        raise ContractError("is null, which TOML cannot write; leave it out, or write a text for it", path=path)
    if isinstance(value, dict):
        for key, item in cast("dict[str, Any]", value).items():
            _refuse_null(item, join(path, key))
    elif isinstance(value, list):
        for index, item in enumerate(cast("list[Any]", value)):
            _refuse_null(item, f"{path}[{index}]")


def _from_ref(ref: str) -> Benchmark:
    found = load_ref(ref)
    try:
        benchmark = found() if callable(found) and not isinstance(found, Benchmark) else found
    except HyloError:
        raise
    except (Exception, SystemExit) as error:  # a function of somebody else's can raise anything
        raise EvalError(
            f"{ref!r} raised {describe_error(error)}", fix="mend what it names; --debug shows where it raised"
        ) from error
    if not isinstance(benchmark, Benchmark):
        raise EvalError(
            f"{ref!r} is a {type(benchmark).__name__}, not a Benchmark or a function that returns one",
            fix="name a Benchmark, or a function without arguments that returns one",
        )
    return benchmark
