"""A benchmark: tasks, splits of seeds, and the instances they make."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, cast, runtime_checkable

import attrs

from hylo_core.contract import Contract, boolean, check_integer, describe, instance_of, integer, sequence_of, text
from hylo_core.errors import ContractError
from hylo_core.frozen import FrozenMapping
from hylo_core.seeds import SEED_LIMIT
from hylo_core.task import TaskInstance, TaskSpec, check_seed
from hylo_core.verifier import VerifierRef


def _splits(value: object) -> FrozenMapping[tuple[int, ...]]:
    if not isinstance(value, Mapping):
        raise ContractError(f"must be a mapping from split names to seeds, not {describe(value)}", path="splits")
    frozen: dict[str, tuple[int, ...]] = {}
    for name, seeds in cast("Mapping[Any, Any]", value).items():
        if not isinstance(name, str) or not name:
            raise ContractError(f"has the key {name!r}; the name of a split is text", path="splits")
        path = f"splits.{name}"

        def check(seed: Any, seed_path: str) -> None:
            check_integer(seed, seed_path, minimum=0, below=SEED_LIMIT)

        frozen[name] = sequence_of(path, check)(seeds)
        if not frozen[name]:
            raise ContractError("has no seeds", path=path)
    if not frozen:
        raise ContractError("must have at least one split", path="splits")
    return FrozenMapping(frozen)


def _text_mapping(path: str) -> Any:
    def convert(value: object) -> FrozenMapping[str]:
        if not isinstance(value, Mapping):
            raise ContractError(f"must be a mapping, not {describe(value)}", path=path)
        members = cast("Mapping[Any, Any]", value)
        for key, item in members.items():
            if not isinstance(key, str):
                raise ContractError(f"has the key {key!r}; keys are text", path=path)
            if not isinstance(item, str):
                raise ContractError(f"must be text, not {describe(item)}", path=f"{path}.{key}")
        return FrozenMapping(members)

    return convert


def _step_overrides(value: object) -> FrozenMapping[int]:
    if not isinstance(value, Mapping):
        raise ContractError(f"must be a mapping from task ids to steps, not {describe(value)}", path="max_steps")
    members = cast("Mapping[Any, Any]", value)
    for key, steps in members.items():
        check_integer(steps, f"max_steps.{key}", minimum=1)
    return FrozenMapping(members)


def _tasks(value: object) -> tuple[TaskSpec, ...]:
    def check(task: Any, path: str) -> None:
        if not isinstance(task, TaskSpec):
            raise ContractError(f"must be a TaskSpec, not {describe(task)}", path=path)

    return sequence_of("tasks", check)(value)


@attrs.frozen(kw_only=True)
class Benchmark(Contract):
    """A set of tasks and the seeds they are evaluated on.

    Attributes:
        id: The benchmark's name; one id per protocol.
        version: Changes when the meaning does.
        tasks: At least one; ids are unique.
        splits: Split name to seeds. A seed stands once in a split and in one split only.
        requires_privileged: Whether scoring depends on privileged information; written to the EvalLog.
        metadata: Text about the benchmark that belongs to its identity: pinned upstream commit, asset hashes
            (``asset.<path>``), the environment's alias and default options.
        episodes_per_task: Caps the seeds of a split for every task; no seed is ever repeated.
        max_steps: Horizons of single tasks by task id, in place of the TaskSpec's own.
        verifier: What judges its episodes from outside, beside the success predicates; None for nothing.
    """

    id: str = attrs.field(validator=text(empty=False))
    version: str = attrs.field(validator=text(empty=False))
    tasks: tuple[TaskSpec, ...] = attrs.field(converter=_tasks)
    splits: Mapping[str, tuple[int, ...]] = attrs.field(converter=_splits)
    requires_privileged: bool = attrs.field(default=False, validator=boolean)
    metadata: Mapping[str, str] = attrs.field(factory=FrozenMapping[str], converter=_text_mapping("metadata"))
    episodes_per_task: int | None = attrs.field(default=None, validator=integer(minimum=1, optional=True))
    max_steps: Mapping[str, int] = attrs.field(factory=FrozenMapping[int], converter=_step_overrides)
    verifier: VerifierRef | None = attrs.field(default=None, validator=instance_of(VerifierRef, optional=True))

    def __attrs_post_init__(self) -> None:
        if not self.tasks:
            raise ContractError("must hold at least one task", path="tasks")
        self._check_unique_ids()
        self._check_seeds()
        known = {task.id for task in self.tasks}
        for task_id in self.max_steps:
            if task_id not in known:
                raise ContractError("names a task that is not in the benchmark", path=f"max_steps.{task_id}")

    def _check_unique_ids(self) -> None:
        seen: dict[str, int] = {}
        for index, task in enumerate(self.tasks):
            if task.id in seen:
                raise ContractError(f"repeats {task.id!r} of tasks[{seen[task.id]}]", path=f"tasks[{index}].id")
            seen[task.id] = index

    def _check_seeds(self) -> None:
        home: dict[int, str] = {}
        for split, seeds in self.splits.items():
            for index, seed in enumerate(seeds):
                path = f"splits.{split}[{index}]"
                if seed in home:
                    where = "again in this split" if home[seed] == split else f"also in split {home[seed]!r}"
                    raise ContractError(
                        f"is seed {seed}, {where}; a seed stands once in a split and in one split only",
                        path=path,
                    )
                home[seed] = split
                for task in self.tasks:
                    try:
                        check_seed(task, seed)
                    except ContractError as error:
                        raise ContractError(error.reason, path=path) from None

    def instances(self, split: str) -> list[TaskInstance]:
        """All instances of a split, task by task, seeds in the split's order, overrides applied.

        Raises:
            ContractError: There is no such split.
        """
        if split not in self.splits:
            listed = ", ".join(repr(name) for name in self.splits)
            raise ContractError(f"has no split {split!r}; there is {listed}", path="splits")
        seeds = self.splits[split][: self.episodes_per_task]
        return [
            TaskInstance(spec=spec, seed=seed, episode_index=index, split=split)
            for spec in map(self._with_overrides, self.tasks)
            for index, seed in enumerate(seeds)
        ]

    def _with_overrides(self, task: TaskSpec) -> TaskSpec:
        steps = self.max_steps.get(task.id, task.max_steps)
        return task if steps == task.max_steps else attrs.evolve(task, max_steps=steps)


@runtime_checkable
class TaskProvider(Protocol):
    """Makes tasks that are not written down beforehand, such as sampled kitchen layouts.

    The list is a pure function of the arguments: the same on every machine and Python, so that it can be frozen into
    a benchmark file and a digest.
    """

    id: str
    version: str

    def tasks(self, split: str, count: int, seed: int) -> tuple[TaskSpec, ...]:
        """``count`` concrete tasks for a split, drawn from ``seed``."""
        ...


def provide(
    provider: TaskProvider, *, splits: Mapping[str, tuple[int, ...]], split: str, count: int, seed: int
) -> Benchmark:
    """A benchmark of the tasks a provider draws; what was asked of it is kept in the metadata."""
    tasks = provider.tasks(split, count, seed)
    if len(tasks) != count:
        raise ContractError(f"asked {provider.id!r} for {count} tasks and got {len(tasks)}", path="tasks")
    metadata = {
        "provider.id": provider.id,
        "provider.version": provider.version,
        "provider.split": split,
        "provider.count": str(count),
        "provider.seed": str(seed),
    }
    return Benchmark(id=provider.id, version=provider.version, tasks=tasks, splits=splits, metadata=metadata)
