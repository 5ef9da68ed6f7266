"""Everything that is wrong with a benchmark file, not only the first thing.

Nothing that the file names is imported, except the env factories of Hylo's own families: a file may come from
anywhere, and looking at it must not run it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, cast

from hylo_core.benchmark import Benchmark
from hylo_core.errors import ContractError, HyloError
from hylo_core.task import TaskSpec
from hylo_eval.benchmarks import ENV, ENV_OPTIONS, env_of, parse_benchmark, read_benchmark_file
from hylo_eval.envs.protocol import BENCHMARK_FOLDER
from hylo_eval.errors import EnvError, EvalError

_SHOWN_PATHS: Final = 3
"""Key paths that are listed of a problem that many tasks have."""
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

    One problem for each member of the file and each member of a task: within one of them, the first. A task whose
    members are all right is held against its family, and its truth and verifier against their contracts: the first
    thing that is refused.
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
        # Where every member is right by itself, what is wrong is how they go together.
        return (*(found or (whole,)), *_refusals(document.get(ENV), _whole_tasks(document), path))
    env, _ = env_of(benchmark)
    return (*_env_problems(benchmark, source), *_refusals(env, enumerate(benchmark.tasks), path))


class TaskRefused(ContractError):
    """A task that its family refuses.

    Attributes:
        task: Its id, which the reason may name.
    """

    def __init__(self, reason: str, *, path: str = "", source: str = "", task: str = "") -> None:
        self.task = task
        super().__init__(reason, path=path, source=source)

    @property
    def shared_reason(self) -> str:
        """The reason as it reads of every task that is refused for the same."""
        name = repr(self.task)
        if not self.task:
            return self.reason
        return self.reason.replace(f"task {name}", "the task").replace(name, "the task")


def problem_sentences(problems: Sequence[ContractError]) -> tuple[str, ...]:
    """Each problem as a sentence; what several tasks have in common is said once, with the first key paths.

    Args:
        problems: Of one file, as :func:`benchmark_problems` finds them.
    """
    alike: dict[tuple[str, str], list[ContractError]] = {}
    for problem in problems:
        alike.setdefault((_of_any_task(problem.path), _shared_reason(problem)), []).append(problem)
    return tuple(_sentence(found) for found in alike.values())


def _sentence(alike: Sequence[ContractError]) -> str:
    first = alike[0]
    if len(alike) == 1:
        return str(first)
    paths = ", ".join(problem.path for problem in alike[:_SHOWN_PATHS])
    more = f" and {len(alike) - _SHOWN_PATHS} more" if len(alike) > _SHOWN_PATHS else ""
    return f"{first.source}: {len(alike)} tasks, {paths}{more}: {_shared_reason(first)}"


def _of_any_task(path: str) -> str:
    return re.sub(r"^tasks\[\d+\]", "tasks[]", path)


def _shared_reason(problem: ContractError) -> str:
    return problem.shared_reason if isinstance(problem, TaskRefused) else problem.reason


def _member_problems(document: Mapping[str, Any], source: str) -> Iterator[ContractError]:
    for name in _REQUIRED:
        if name not in document:
            yield ContractError("is missing", path=name, source=source)
    for name, value in document.items():
        if name == "tasks" and isinstance(value, list) and value:
            yield from _task_problems(cast("list[Any]", value), source)
        elif name == "max_steps" and isinstance(value, Mapping) and value:
            # Overrides name tasks, so they are looked at beside tasks of those names.
            tasks = [{**_MINIMAL_TASK, "id": key} for key in cast("Mapping[str, Any]", value)]
            yield from _problem(parse_benchmark, {**_MINIMAL, "tasks": tasks, name: value}, "", source)
        else:
            yield from _problem(parse_benchmark, {**_MINIMAL, name: value}, "", source)


def _task_problems(tasks: list[Any], source: str) -> Iterator[ContractError]:
    first_with: dict[Any, int] = {}
    for index, task in enumerate(tasks):
        path = f"tasks[{index}]"
        found = list(_problem(TaskSpec.from_dict, task, path, source))
        if found and isinstance(task, Mapping):
            found = list(_task_member_problems(cast("Mapping[str, Any]", task), path, source)) or found
        yield from found
        name = cast("Mapping[str, Any]", task).get("id") if isinstance(task, Mapping) else None
        if isinstance(name, str) and first_with.setdefault(name, index) != index:
            reason = f"repeats {name!r} of tasks[{first_with[name]}]"
            yield ContractError(reason, path=f"{path}.id", source=source)


def _task_member_problems(task: Mapping[str, Any], path: str, source: str) -> Iterator[ContractError]:
    for name in _MINIMAL_TASK:
        if name not in task:
            yield ContractError("is missing", path=f"{path}.{name}", source=source)
    for name, value in task.items():
        # success_at = "end" is right only beside stop_on_success = false.
        beside = {"stop_on_success": False} if name == "success_at" else {}
        yield from _problem(TaskSpec.from_dict, {**_MINIMAL_TASK, **beside, name: value}, path, source)


def _problem(
    build: Callable[[Mapping[str, Any]], object], members: Mapping[str, Any], path: str, source: str
) -> Iterator[ContractError]:
    try:
        build(members)
    except ContractError as error:
        yield error.under(path, source=source)


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
        read_options(plugins.load("envs", env), options, what=f"env {env!r}", reserved=(BENCHMARK_FOLDER,))
    except EvalError as error:
        yield ContractError(error.message, path=ENV_OPTIONS, source=source)


def _whole_tasks(document: Mapping[str, Any]) -> Iterator[tuple[int, TaskSpec]]:
    """The tasks of a faulty file that are right by themselves, with their positions."""
    tasks = document.get("tasks")
    for index, task in enumerate(cast("list[Any]", tasks) if isinstance(tasks, list) else ()):
        with suppress(ContractError):
            yield index, TaskSpec.from_dict(task)


def _refusals(env: object, tasks: Iterable[tuple[int, TaskSpec]], path: Path) -> Iterator[HyloError]:
    """What is refused of tasks that keep their contract, the first thing of each.

    One of Hylo's own families is asked, where it needs no simulator; then what answers are judged by is looked at.
    """
    from hylo_core.refs import load_ref
    from hylo_eval.families import find_family
    from hylo_eval.scoring.task_truth import check_task_truth

    family = find_family(env) if isinstance(env, str) else None
    check = load_ref(family.check) if family is not None and family.check else None
    for index, task in tasks:
        place = f"tasks[{index}]"
        try:
            if check is not None:
                check(task, str(path.parent))
            check_task_truth(task)
        except EnvError as error:
            reason = f"{error.message} (fix: {error.fix})" if error.fix else error.message
            yield TaskRefused(reason, path=place, source=str(path), task=task.id)
        except ContractError as error:
            yield error.under(place, source=str(path))
