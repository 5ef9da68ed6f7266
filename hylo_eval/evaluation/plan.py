"""Which instances a run covers, and in what order."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import attrs

from hylo_core.benchmark import Benchmark
from hylo_core.canonical import digest
from hylo_core.frozen import FrozenMapping
from hylo_core.task import TaskInstance, TaskSpec
from hylo_core.trace import BenchmarkRef
from hylo_eval.benchmarks import benchmarks_with_task
from hylo_eval.errors import EvalError
from hylo_eval.numerals import require_option_count
from hylo_eval.suggest import did_you_mean, quoted


@attrs.frozen
class Planned:
    """One instance of a plan, before it is built."""

    task: str
    seed: int
    episode_index: int

    @property
    def key(self) -> str:
        """The instance key."""
        return f"{self.task}#{self.seed}"


@attrs.frozen(kw_only=True)
class Plan:
    """A selection of a split. Its instances are built when they are asked for: there may be a hundred thousand.

    Attributes:
        benchmark: The benchmark as it is defined.
        split: The split.
        tasks: The tasks of the selection, overrides applied, in the benchmark's order.
        selection: What was asked for, without what was left open: ``episodes``, ``max_episodes``, ``tasks``, ``key``,
            ``shard``.
        overrides: What was changed of the tasks, such as ``max_steps``.
        called: How commands name the benchmark, such as by its file; its id unless given.
    """

    benchmark: Benchmark
    split: str
    tasks: tuple[TaskSpec, ...]
    selection: Mapping[str, Any] = attrs.field(factory=FrozenMapping[Any])
    overrides: Mapping[str, int] = attrs.field(factory=FrozenMapping[int])
    called: str = attrs.field(default="", eq=False)

    @cached_property
    def declared(self) -> tuple[Planned, ...]:
        """The selection in declared order.

        Round by round over the tasks, the order of the tasks in each round drawn
        from the benchmark's id. Every prefix holds every task equally often, give or take one.
        """
        seeds = self.benchmark.splits[self.split][: self.benchmark.episodes_per_task]
        episodes: int | None = self.selection.get("episodes")
        chosen = [Planned(task.id, seed, index) for task in self.tasks for index, seed in enumerate(seeds[:episodes])]
        key: str | None = self.selection.get("key")
        if key is not None:
            chosen = [item for item in chosen if item.key == key]
        benchmark_id = self.benchmark.id
        chosen.sort(key=lambda item: _place(benchmark_id, item.task, item.episode_index))
        chosen = chosen[: self.selection.get("max_episodes")]
        # Last of all: the parts of a selection make up that selection, whatever else was asked for.
        if shard := self.selection.get("shard"):
            number, count = read_shard_name(shard)
            chosen = [item for item in chosen if _shard_of(item, count) == number - 1]
        return tuple(chosen)

    @cached_property
    def count(self) -> int:
        """How many instances that are; where nothing else is asked for, told without putting them in order."""
        if "key" in self.selection or "shard" in self.selection:
            return len(self.declared)
        seeds = self.benchmark.splits[self.split][: self.benchmark.episodes_per_task]
        found = len(self.tasks) * len(seeds[: self.selection.get("episodes")])
        return min(found, self.selection.get("max_episodes", found))

    @property
    def benchmark_ref(self) -> BenchmarkRef:
        """What traces and manifest say they are from."""
        benchmark = self.benchmark
        return BenchmarkRef(id=benchmark.id, version=benchmark.version, digest=benchmark.digest(), split=self.split)

    @property
    def instances(self) -> tuple[TaskInstance, ...]:
        """The instances in declared order."""
        return tuple(map(self._build, self.declared))

    def instance(self, key: str) -> TaskInstance:
        """The instance of a key of the split.

        Raises:
            EvalError: There is none.
        """
        task, _, seed = key.rpartition("#")
        spec, index = self._specs.get(task), self._positions.get(seed)
        if spec is None or index is None:
            raise EvalError(
                f"split {self.split!r} has no instance {quoted(key)}",
                fix=f"name one of the split, TASK#SEED, such as {self.declared[0].key}",
            )
        return self._build(Planned(spec.id, int(seed), index))

    @property
    def tasks_digest(self) -> str:
        """Digest of the selected tasks as they are run: what makes two runs comparable."""
        with_instances = {item.task for item in self.declared}
        return digest([task.to_dict() for task in self.tasks if task.id in with_instances])

    @cached_property
    def _specs(self) -> Mapping[str, TaskSpec]:
        return {task.id: task for task in self.tasks}

    @cached_property
    def _positions(self) -> Mapping[str, int]:
        seeds = self.benchmark.splits[self.split][: self.benchmark.episodes_per_task]
        return {str(seed): index for index, seed in enumerate(seeds)}

    def _build(self, item: Planned) -> TaskInstance:
        return TaskInstance(
            spec=self._specs[item.task], seed=item.seed, episode_index=item.episode_index, split=self.split
        )


def plan_run(
    benchmark: Benchmark,
    split: str | None = None,
    *,
    tasks: Sequence[str] = (),
    key: str | None = None,
    episodes: int | None = None,
    max_episodes: int | None = None,
    max_steps: int | None = None,
    shard: str | None = None,
    called: str = "",
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
        shard: ``i/n``: the i-th of n parts of all that, from 1, each with its share of every task.
        called: How commands name the benchmark, such as by its file; its id unless given.

    Raises:
        EvalError: A name that names nothing, or a number below one.
    """
    split = _split(benchmark, split)
    for name, value in (
        ("--episodes", episodes),
        ("--max-episodes", max_episodes),
        ("--max-steps", max_steps),
    ):
        if value is not None:
            require_option_count(name, value)
    if shard is not None:
        read_shard_name(shard)
    selected = benchmark.tasks
    if key is not None:
        if tasks:
            raise EvalError("--key names one instance, and --task whole tasks", fix="leave --task out")
        selected = (_keyed(benchmark, key, split, called),)
    elif tasks:
        chosen = {find_task(benchmark, name, called=called).id for name in tasks}
        selected = tuple(task for task in benchmark.tasks if task.id in chosen)
    selection: dict[str, Any] = {"episodes": episodes, "max_episodes": max_episodes, "key": key, "shard": shard}
    if tasks:
        selection["tasks"] = [task.id for task in selected]
    plan = Plan(
        benchmark=benchmark,
        split=split,
        tasks=tuple(_with_horizon(benchmark, task, max_steps) for task in selected),
        selection=FrozenMapping({name: value for name, value in selection.items() if value is not None}),
        overrides=FrozenMapping({} if max_steps is None else {"max_steps": max_steps}),
        called=called or benchmark.id,
    )
    if not plan.count:
        raise EvalError(f"nothing is left of split {split!r} to run", fix="ask for fewer shards" if shard else "")
    return plan


def _with_horizon(benchmark: Benchmark, task: TaskSpec, max_steps: int | None) -> TaskSpec:
    horizon = benchmark.max_steps.get(task.id, task.max_steps) if max_steps is None else max_steps
    return task if horizon == task.max_steps else attrs.evolve(task, max_steps=horizon)


def _split(benchmark: Benchmark, split: str | None) -> str:
    if split is None:
        if "heldout" in benchmark.splits:
            return "heldout"
        if len(benchmark.splits) == 1:
            return next(iter(benchmark.splits))
        raise EvalError(
            f"{benchmark.id!r} has several splits and none called heldout: {', '.join(benchmark.splits)}",
            fix=f"--split {next(iter(benchmark.splits))}",
        )
    if split not in benchmark.splits:
        hint = did_you_mean(split, benchmark.splits)
        raise EvalError(
            f"{benchmark.id!r} has no split {quoted(split)}{hint}",
            fix=f"--split with one of {', '.join(benchmark.splits)}",
        )
    return split


def find_task(benchmark: Benchmark, name: str, *, called: str = "") -> TaskSpec:
    """The task of an id, an unambiguous end of an id, or a position; ``called`` as in :func:`plan_run`.

    Raises:
        EvalError: There is none; the text says which shipped benchmarks have it, and suggests near names.
    """
    by_id = {task.id: task for task in benchmark.tasks}
    if name in by_id:
        return by_id[name]
    if name.isascii() and name.isdecimal():
        # More digits than any position has: Python refuses to read thousands of them.
        if len(name) < 10 and int(name) < len(benchmark.tasks):
            return benchmark.tasks[int(name)]
        raise EvalError(
            f"{benchmark.id!r} has no task {name}; its tasks are 0 to {len(benchmark.tasks) - 1}",
            fix=_show(benchmark, called),
        )
    ends = [task for task in benchmark.tasks if task.id.endswith(f"/{name}")]
    if len(ends) == 1:
        return ends[0]
    near = [*by_id, *(task.id.rpartition("/")[2] for task in benchmark.tasks)]
    raise _no_task(benchmark, name, near, called, others=() if ends else benchmarks_with_task(name))


def _no_task(benchmark: Benchmark, name: str, near: Sequence[str], called: str, *, others: Sequence[str]) -> EvalError:
    """The refusal of a task: it may be the right one of another benchmark, or a slip of this one's."""
    held = f"; it is one of {', '.join(others)}" if others else ""
    fix = f"name {'that benchmark' if len(others) == 1 else 'one of these'} in place of {called or benchmark.id}; or "
    return EvalError(
        f"{benchmark.id!r} has no task {quoted(name)}{held}{did_you_mean(name, near)}",
        fix=f"{fix if others else ''}{_show(benchmark, called)}",
    )


def _show(benchmark: Benchmark, called: str) -> str:
    return f"hylo-eval benchmark show {shlex.quote(called or benchmark.id)}"


def read_shard_name(shard: str) -> tuple[int, int]:
    """``2/8`` as ``(2, 8)``.

    Raises:
        EvalError: It is nothing of the kind.
    """
    found = re.fullmatch(r"([1-9]\d{0,5})/([1-9]\d{0,5})", shard, re.ASCII)
    if found is None or int(found[1]) > int(found[2]):
        raise EvalError(f"--shard takes I/N with I from 1 to N, such as 2/8, not {shard!r}", fix="--shard 2/8")
    return int(found[1]), int(found[2])


def _shard_of(item: Planned, count: int) -> int:
    """The part of an instance, from 0.

    The seeds of each task are dealt out from an offset of its own. Without it a part would hold the same seeds of every
    task, and so, where a seed is an initial state, one initial state of each.
    """
    offset = hashlib.sha256(f"hylo.shard/v1|{item.task}".encode()).digest()
    return (item.episode_index + int.from_bytes(offset[:4])) % count


def _keyed(benchmark: Benchmark, key: str, split: str, called: str) -> TaskSpec:
    task_id, _, seed = key.rpartition("#")
    task = next((item for item in benchmark.tasks if item.id == task_id), None)
    seeds = benchmark.splits[split][: benchmark.episodes_per_task]
    if task is not None and seed in map(str, seeds):
        return task
    for other, others in benchmark.splits.items():
        if task is not None and seed in map(str, others):
            raise EvalError(
                f"split {split!r} has no instance {quoted(key)}; it is in {other!r}", fix=f"--split {other}"
            )
    if task is None and (others := benchmarks_with_task(task_id)):
        raise _no_task(benchmark, task_id, (), called, others=others)
    known = [f"{item.id}#{number}" for item in benchmark.tasks for number in seeds]
    raise EvalError(
        f"split {split!r} has no instance {quoted(key)}{did_you_mean(key, known[:2000])}",
        fix=f"name a key, TASK#SEED: {_show(benchmark, called)}",
    )


def in_declared_order(benchmark_id: str, instances: Sequence[TaskInstance]) -> list[TaskInstance]:
    """Instances round by round over the tasks; any selection keeps the order it has in the whole split."""
    return sorted(instances, key=lambda item: _place(benchmark_id, item.spec.id, item.episode_index))


def _place(benchmark_id: str, task_id: str, episode_index: int) -> tuple[int, bytes]:
    drawn = f"hylo.order/v1|{benchmark_id}|{episode_index}|{task_id}"
    return episode_index, hashlib.sha256(drawn.encode()).digest()
