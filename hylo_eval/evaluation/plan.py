"""Which instances a run covers, and in what order."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import attrs

from hylo_core.benchmark import Benchmark
from hylo_core.canonical import digest
from hylo_core.frozen import FrozenMapping
from hylo_core.task import TaskInstance, TaskSpec
from hylo_eval.errors import EvalError
from hylo_eval.suggest import did_you_mean


@attrs.frozen(kw_only=True)
class Plan:
    """A selection of a split.

    Attributes:
        benchmark: The benchmark as it is defined.
        split: The split.
        instances: In declared order: round by round over the tasks, the order of the tasks in each round drawn from
            the benchmark's id. Every prefix holds every task equally often, give or take one.
        overrides: What was changed of the tasks, such as ``max_steps``.
    """

    benchmark: Benchmark
    split: str
    instances: tuple[TaskInstance, ...]
    overrides: Mapping[str, int] = attrs.field(factory=FrozenMapping[int])

    @property
    def tasks(self) -> tuple[TaskSpec, ...]:
        """The tasks of the selection, overrides applied, in the benchmark's order."""
        specs = {instance.spec.id: instance.spec for instance in self.instances}
        return tuple(specs[task.id] for task in self.benchmark.tasks if task.id in specs)

    @property
    def tasks_digest(self) -> str:
        """Digest of the selected tasks as they are run: what makes two runs comparable."""
        return digest([task.to_dict() for task in self.tasks])

    def by_task(self) -> list[TaskInstance]:
        """The instances task by task, in the benchmark's order, so that one env at a time serves a whole task."""
        position = {task.id: index for index, task in enumerate(self.benchmark.tasks)}
        return sorted(self.instances, key=lambda instance: (position[instance.spec.id], instance.episode_index))


def plan_run(
    benchmark: Benchmark,
    split: str | None = None,
    *,
    tasks: Sequence[str] = (),
    key: str | None = None,
    episodes: int | None = None,
    max_episodes: int | None = None,
    max_steps: int | None = None,
) -> Plan:
    """Select instances.

    Args:
        benchmark: What to select from.
        split: None is ``heldout``, or the only split there is.
        tasks: Task ids, unambiguous ends of ids, or positions; empty is all.
        key: One instance key, in place of ``tasks``.
        episodes: Seeds a task; caps the split, never repeats a seed.
        max_episodes: Episodes altogether: a balanced prefix of the declared order.
        max_steps: A horizon in place of every task's own.

    Raises:
        EvalError: A name that names nothing, or a number below one.
    """
    split = _split(benchmark, split)
    for name, value in (
        ("--episodes", episodes),
        ("--max-episodes", max_episodes),
        ("--max-steps", max_steps),
    ):
        if value is not None and value < 1:
            raise EvalError(f"{name} must be at least 1, not {value}")
    overrides: dict[str, int] = {}
    if max_steps is not None:
        overrides["max_steps"] = max_steps
        evolved = tuple(attrs.evolve(task, max_steps=max_steps) for task in benchmark.tasks)
        benchmark_run = attrs.evolve(benchmark, tasks=evolved, max_steps={})
    else:
        benchmark_run = benchmark
    instances = benchmark_run.instances(split)
    if key is not None:
        if tasks:
            raise EvalError("--key names one instance; leave --task out")
        instances = [_keyed(benchmark_run, instances, key, split)]
    elif tasks:
        chosen = {find_task(benchmark, name).id for name in tasks}
        instances = [instance for instance in instances if instance.spec.id in chosen]
    if episodes is not None:
        instances = [instance for instance in instances if instance.episode_index < episodes]
    ordered = declared_order(benchmark.id, instances)[:max_episodes]
    return Plan(benchmark=benchmark, split=split, instances=tuple(ordered), overrides=FrozenMapping(overrides))


def _split(benchmark: Benchmark, split: str | None) -> str:
    if split is None:
        if "heldout" in benchmark.splits:
            return "heldout"
        if len(benchmark.splits) == 1:
            return next(iter(benchmark.splits))
        raise EvalError(f"{benchmark.id!r} has several splits; choose one with --split: {', '.join(benchmark.splits)}")
    if split not in benchmark.splits:
        hint = did_you_mean(split, benchmark.splits)
        raise EvalError(f"{benchmark.id!r} has no split {split!r}{hint} (splits: {', '.join(benchmark.splits)})")
    return split


def find_task(benchmark: Benchmark, name: str) -> TaskSpec:
    """The task of an id, an unambiguous end of an id, or a position.

    Raises:
        EvalError: There is none; the text suggests near names.
    """
    by_id = {task.id: task for task in benchmark.tasks}
    if name in by_id:
        return by_id[name]
    if name.isdecimal():
        # More digits than any position has: Python refuses to read thousands of them.
        if len(name) < 10 and int(name) < len(benchmark.tasks):
            return benchmark.tasks[int(name)]
        raise EvalError(f"{benchmark.id!r} has no task {name}; its tasks are 0 to {len(benchmark.tasks) - 1}")
    ends = [task for task in benchmark.tasks if task.id.endswith(f"/{name}")]
    if len(ends) == 1:
        return ends[0]
    known = [*by_id, *(task.id.rpartition("/")[2] for task in benchmark.tasks)]
    hint = did_you_mean(name, known)
    raise EvalError(f"{benchmark.id!r} has no task {name!r}{hint}", fix=f"hylo-eval benchmark show {benchmark.id}")


def _keyed(benchmark: Benchmark, instances: Sequence[TaskInstance], key: str, split: str) -> TaskInstance:
    for instance in instances:
        if instance.key == key:
            return instance
    task, _, seed = key.rpartition("#")
    for other, seeds in benchmark.splits.items():
        if any(item.id == task for item in benchmark.tasks) and seed in map(str, seeds):
            raise EvalError(f"split {split!r} has no instance {key!r}; it is in {other!r}", fix=f"--split {other}")
    hint = did_you_mean(key, [instance.key for instance in instances[:2000]])
    raise EvalError(f"split {split!r} has no instance {key!r}{hint}")


def declared_order(benchmark_id: str, instances: Sequence[TaskInstance]) -> list[TaskInstance]:
    """Instances round by round over the tasks; any selection keeps the order it has in the whole split."""

    def place(instance: TaskInstance) -> tuple[int, bytes]:
        drawn = f"hylo.order/v1|{benchmark_id}|{instance.episode_index}|{instance.spec.id}"
        return instance.episode_index, hashlib.sha256(drawn.encode()).digest()

    return sorted(instances, key=place)
