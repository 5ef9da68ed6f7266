"""Tasks in kitchens drawn from a seed: one layout, one style and, where a task takes one, one category of object each.

What is drawn depends on nothing but the arguments and the catalogue: integers come from sha256
(:mod:`hylo_core.draws`), so the list is the same on every machine, in every version of Python and of every library.

* The tasks take turns in the order of their names, so that every prefix of a list is balanced, and a shorter list is a
  prefix of a longer one.
* Each task has a stream of its own, ``hylo.provider/v1|robocasa|<split>|<seed>|<task>``, and walks through its scenes
  times its categories without repeating one (the beginning of a shuffle by Fisher and Yates). Another set of tasks
  changes none of a task's own draws.
* A task that has been through all of them is left out from there on; when all have, there are no more tasks.

The id of a task says what was drawn, ``robocasa/OpenDrawer/target-layout9-style9``: the same id is the same task in
every list of one version of this provider.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from hylo_core.draws import Draws
from hylo_core.task import TaskSpec
from hylo_eval.envs.robocasa.catalogue import (
    DEFAULT_OBJECT_REGISTRIES,
    KitchenTask,
    Scene,
    SceneSplit,
    catalogue,
)
from hylo_eval.envs.robocasa.settings import KitchenSettings, kitchen_task_spec
from hylo_eval.errors import EvalError
from hylo_eval.suggest import did_you_mean

SPLITS: Final = ("target", "pretrain", "all")
"""The splits of the package's own evaluation (:meth:`Catalogue.split`)."""


class RoboCasaProvider:
    """Draws RoboCasa tasks; a :class:`hylo_core.benchmark.TaskProvider`.

    Args:
        tasks: A set of the package (``atomic_seen``, ``target50``, ...), or names of tasks between commas.
        categories: Whether the category of the object is drawn too, for tasks that take one; else the seed of the
            episode draws it.

    Raises:
        EvalError: There is no such set or task.
    """

    id = "robocasa"
    version = "1.0"
    env = "robocasa"
    splits = SPLITS

    def __init__(self, *, tasks: str = "atomic_seen", categories: bool = True) -> None:
        found = catalogue()
        self._tasks = tuple(sorted(_named(tasks), key=lambda task: task.name))
        self._categories = categories
        self.metadata: Mapping[str, str] = {"package": found.source}

    def tasks(self, split: str, count: int, seed: int) -> tuple[TaskSpec, ...]:
        """``count`` different tasks for a split, drawn from ``seed``.

        Raises:
            EvalError: There is no such split, or it holds fewer different tasks.
        """
        kitchens = catalogue().split(split)
        streams = [self._stream(task, kitchens, split, seed) for task in self._tasks]
        drawn: list[TaskSpec] = []
        while streams and len(drawn) < count:
            rounds = [(stream, next(stream, None)) for stream in streams[: count - len(drawn)]]
            drawn += [spec for _, spec in rounds if spec is not None]
            ended = [stream for stream, spec in rounds if spec is None]
            streams = [stream for stream in streams if stream not in ended]
        if len(drawn) < count:
            raise EvalError(
                f"split {split!r} holds {len(drawn)} different tasks of these, not {count}",
                fix="ask for fewer, for more tasks (--arg tasks=target50), or for another split",
            )
        return tuple(drawn)

    def _stream(self, task: KitchenTask, kitchens: SceneSplit, split: str, seed: int) -> Iterator[TaskSpec]:
        scenes = kitchens.scenes_of(task)
        categories = (task.object_categories if self._categories else ()) or ("",)
        draws = Draws(f"hylo.provider/v1|robocasa|{split}|{seed}|{task.name}")
        for index in _without_repetition(draws, len(scenes) * len(categories)):
            scene, category = scenes[index // len(categories)], categories[index % len(categories)]
            yield _spec(task, scene, category, kitchens, split)


def _spec(task: KitchenTask, scene: Scene, category: str, kitchens: SceneSplit, split: str) -> TaskSpec:
    settings = KitchenSettings(
        task=task.name,
        scenes=(scene,),
        objects=kitchens.objects,
        object_registries=DEFAULT_OBJECT_REGISTRIES,
        object_category=category,
    )
    drawn = "-".join(filter(None, [split, f"layout{scene[0]}", f"style{scene[1]}", category]))
    return kitchen_task_spec(task, settings, task_id=f"robocasa/{task.name}/{drawn}")


def _without_repetition(draws: Draws, count: int) -> Iterator[int]:
    """The integers below ``count`` in a drawn order; only those that were moved are kept."""
    moved: dict[int, int] = {}
    for position in range(count):
        chosen = draws.integer(position, count - 1)
        yield moved.get(chosen, chosen)
        moved[chosen] = moved.pop(position, position)


def _named(text: str) -> Sequence[KitchenTask]:
    found = catalogue()
    if text in found.task_sets:
        return [found.task(name) for name in found.task_sets[text]]
    names = [name.strip() for name in text.split(",")]
    if len(names) == 1 and names[0] not in found.tasks:
        hint = did_you_mean(names[0], [*found.task_sets, *found.tasks])
        raise EvalError(f"RoboCasa has no task or set {names[0]!r}{hint} (sets: {', '.join(found.task_sets)})")
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise EvalError(f"the task {repeated[0]!r} is named twice")
    return [found.task(name) for name in names]
