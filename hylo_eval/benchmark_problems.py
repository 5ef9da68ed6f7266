"""Everything that is wrong with a benchmark file, not only the first thing.

Nothing that the file names is imported, except the env factories of Hylo's own families: a file may come from
anywhere, and looking at it must not run it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, cast

from hylo_core.benchmark import Benchmark
from hylo_core.errors import ContractError, HyloError
from hylo_core.task import TaskSpec
from hylo_eval.benchmarks import ENV, ENV_OPTIONS, env_of, parse_benchmark, read_benchmark_file
from hylo_eval.errors import EvalError

_REQUIRED: Final = ("id", "version", ENV, "tasks", "splits")
_MINIMAL_TASK: Final[Mapping[str, Any]] = {
    "id": "task",
    "version": "1",
    "instruction": "",
    "init": {"kind": "seed"},
    "success": {"kind": "builtin", "name": "env_success"},
    "max_steps": 1,
}
_MINIMAL: Final[Mapping[str, Any]] = {
    "id": "benchmark",
    "version": "1",
    ENV: "reach",
    "tasks": [_MINIMAL_TASK],
    "splits": {"heldout": [0]},
}
"""A benchmark with nothing wrong, beside which each member of a faulty one is looked at alone."""


def benchmark_problems(path: Path) -> tuple[HyloError, ...]:
    """What is wrong with a file; each problem names the file and the path of the value. None: it is valid.

    One problem for each task and each member of the file: within one of them, the first.
    """
    source = str(path)
    try:
        document = read_benchmark_file(path)
    except EvalError as error:
        return (error,)
    try:
        benchmark = parse_benchmark(document, source=source)
    except ContractError as whole:
        found = tuple(_member_problems(document, source))
        # Every member is right by itself: what is wrong is how they go together.
        return found or (whole,)
    return tuple(_env_problems(benchmark, source))


def _member_problems(document: Mapping[str, Any], source: str) -> Iterator[ContractError]:
    for name in _REQUIRED:
        if name not in document:
            yield ContractError("is missing", path=name, source=source)
    for name, value in document.items():
        if name == "tasks" and isinstance(value, list):
            yield from _task_problems(cast("list[Any]", value), source)
        elif name != "max_steps" or not isinstance(value, Mapping):
            yield from _problem({**_MINIMAL, name: value}, source)
        else:
            # Overrides name tasks, so they are looked at beside tasks of those names.
            tasks = [{**_MINIMAL_TASK, "id": key} for key in cast("Mapping[str, Any]", value)]
            yield from _problem({**_MINIMAL, "tasks": tasks or [_MINIMAL_TASK], name: value}, source)


def _task_problems(tasks: list[Any], source: str) -> Iterator[ContractError]:
    first_with: dict[Any, int] = {}
    for index, task in enumerate(tasks):
        path = f"tasks[{index}]"
        try:
            spec = TaskSpec.from_dict(task)
        except ContractError as error:
            yield error.under(path, source=source)
            continue
        if spec.id in first_with:
            yield ContractError(
                f"repeats {spec.id!r} of tasks[{first_with[spec.id]}]", path=f"{path}.id", source=source
            )
        first_with.setdefault(spec.id, index)
    if not tasks:
        yield ContractError("must hold at least one task", path="tasks", source=source)


def _problem(document: Mapping[str, Any], source: str) -> Iterator[ContractError]:
    try:
        parse_benchmark(document, source=source)
    except ContractError as error:
        yield error


def _env_problems(benchmark: Benchmark, source: str) -> Iterator[HyloError]:
    from hylo_eval import plugins
    from hylo_eval.options import read_options

    env, options = env_of(benchmark)
    try:
        ref = plugins.ref_of("envs", env)
    except EvalError as error:
        yield ContractError(error.message, path=ENV, source=source)
        return
    if not options or not ref.startswith("hylo_eval."):
        return
    try:
        read_options(plugins.load("envs", env), options, what=f"env {env!r}")
    except EvalError as error:
        yield ContractError(error.message, path=ENV_OPTIONS, source=source)
