"""A benchmark: tasks, splits of seeds, and the instances they make."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import attrs

from hylo_core.contract import (
    Contract,
    boolean,
    check_integer,
    contracts_of,
    describe,
    instance_of,
    integer,
    mapping_of,
    sequence_of,
    text,
)
from hylo_core.errors import ContractError
from hylo_core.frozen import FrozenMapping
from hylo_core.seeds import SEED_LIMIT
from hylo_core.task import TaskInstance, TaskSpec, check_seed
from hylo_core.verifier import VerifierRef


def _seeds(value: Any, path: str) -> tuple[int, ...]:
    seeds = sequence_of(path, _check_seed_range)(value)
    if not seeds:
        raise ContractError("has no seeds", path=path)
    return seeds


def _check_seed_range(seed: Any, path: str) -> None:
    check_integer(seed, path, minimum=0, below=SEED_LIMIT)


def _text(value: Any, path: str) -> str:
    if not isinstance(value, str):
        raise ContractError(f"must be text, not {describe(value)}", path=path)
    return value


def _steps(value: Any, path: str) -> int:
    check_integer(value, path, minimum=1)
    return value


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
    tasks: tuple[TaskSpec, ...] = attrs.field(converter=contracts_of("tasks", TaskSpec))
    splits: Mapping[str, tuple[int, ...]] = attrs.field(
        converter=mapping_of("splits", _seeds, what="a mapping from split names to seeds")
    )
    requires_privileged: bool = attrs.field(default=False, validator=boolean)
    metadata: Mapping[str, str] = attrs.field(factory=FrozenMapping[str], converter=mapping_of("metadata", _text))
    episodes_per_task: int | None = attrs.field(default=None, validator=integer(minimum=1, optional=True))
    max_steps: Mapping[str, int] = attrs.field(
        factory=FrozenMapping[int], converter=mapping_of("max_steps", _steps, what="a mapping from task ids to steps")
    )
    verifier: VerifierRef | None = attrs.field(default=None, validator=instance_of(VerifierRef, optional=True))

    def __attrs_post_init__(self) -> None:
        if not self.splits:
            raise ContractError("must have at least one split", path="splits")
        if "" in self.splits:
            raise ContractError("has a split without a name", path="splits")
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
    """A benchmark of the tasks a provider draws; what was asked of it is kept in the metadata.

    Args:
        provider: Draws the tasks; its id and version become the benchmark's.
        splits: Split name to seeds of the benchmark that is made.
        split: Which split the provider draws for.
        count: How many tasks it draws.
        seed: The seed of the draw.

    Raises:
        ContractError: The provider returned another number of tasks, or the benchmark breaks its contract.
    """
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
