"""Writes the RoboCasa benchmarks from an installed package; runs no simulator."""

from __future__ import annotations

from importlib import metadata
from typing import Final

from hylo_core.benchmark import Benchmark
from hylo_core.task import TaskSpec
from hylo_eval.envs.assets import tree_digest
from hylo_eval.envs.robocasa.catalogue import LEGACY_TASKS, catalogue
from hylo_eval.envs.robocasa.installation import EXTRA, find_package
from hylo_eval.envs.robocasa.settings import KitchenSettings, kitchen_task_spec
from hylo_eval.errors import EnvError
from hylo_eval.installing import install_command

VERSION: Final = "1.0"
SPLIT: Final = "target"
"""The package's split that the benchmarks hold: ten kitchens and the objects that no pretraining set has."""
EPISODES: Final = 50

LEGACY: Final = "robocasa_atomic24"
TASK_SETS: Final = {
    "robocasa_target50": "target50",
    "robocasa_atomic_seen": "atomic_seen",
    "robocasa_composite_seen": "composite_seen",
    "robocasa_composite_unseen": "composite_unseen",
}
"""Benchmark id to the package's set of tasks."""


def freeze(benchmark_id: str) -> Benchmark:
    """The definition of a RoboCasa benchmark.

    Args:
        benchmark_id: One of :data:`TASK_SETS`, or ``robocasa_atomic24``, the 24 atomic tasks of RoboCasa 0.x.

    Raises:
        MissingSimulator: RoboCasa is not installed.
        EnvError: Another version of it is installed than the catalogue was read from.
    """
    root = find_package()
    name, _, version = catalogue().source.partition(" ")
    if metadata.version(name) != version:
        raise EnvError(
            f"the catalogue is of {name} {version}, and {metadata.version(name)} is installed",
            fix=install_command(EXTRA),
        )
    legacy = benchmark_id == LEGACY
    tasks = _legacy_tasks() if legacy else _task_set(TASK_SETS[benchmark_id])
    return Benchmark(
        id=benchmark_id,
        version=VERSION,
        tasks=tasks,
        splits={"heldout": tuple(range(EPISODES))},
        metadata={
            "env": "robocasa",
            "upstream": catalogue().source,
            "protocol": f"split {SPLIT!r} of the package: ten kitchens, target objects; horizons of its registry; "
            + ("the 24 atomic tasks of RoboCasa 0.x under their present names" if legacy else "one of its task sets"),
            "asset.scenes": tree_digest(root / "models" / "assets", "scenes"),
        },
    )


def _task_set(name: str) -> tuple[TaskSpec, ...]:
    sets = catalogue().task_sets
    return tuple(_freeze_task(task, tag=_set_of(task)) for task in sets[name])


def _set_of(task: str) -> str:
    parts = ("atomic_seen", "composite_seen", "composite_unseen")
    return next(name for name in parts if task in catalogue().task_sets[name])


def _legacy_tasks() -> tuple[TaskSpec, ...]:
    return tuple(
        _freeze_task(task.name, task_id=f"robocasa_0x/{old}", fixture=task.fixture)
        for old, task in LEGACY_TASKS.items()
    )


def _freeze_task(name: str, *, task_id: str = "", tag: str = "", fixture: str = "") -> TaskSpec:
    task, split = catalogue().task(name), catalogue().split(SPLIT)
    settings = KitchenSettings(task=name, scenes=split.scenes_of(task), objects=split.objects, fixture=fixture)
    return kitchen_task_spec(task, settings, task_id=task_id, tags=(tag,) if tag else ())
