"""What a RoboCasa task is made of: params of a TaskSpec, read and written."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final, cast

import attrs

from hylo_core.canonical import describe, is_digest
from hylo_core.instruction import templates_meet
from hylo_core.task import InitStateRef, Predicate, SeedInit, SnapshotInit, TaskSpec
from hylo_eval.envs.robocasa.catalogue import (
    DEFAULT_OBJECT_REGISTRIES,
    NARROWING_FIXTURES,
    OBJECT_REGISTRIES,
    KitchenTask,
    ObjectSplit,
    Scene,
    catalogue,
)
from hylo_eval.envs.task_support import read_params
from hylo_eval.errors import EnvError, EvalError
from hylo_eval.suggest import did_you_mean

INSTRUCTION_SOURCE: Final = "robocasa"
"""The env words the instruction at reset."""

OBJECT_SPLITS: Final = ("pretrain", "target", "all")

DIGEST_PARAM: Final = "snapshot_sha256"
"""The param that pins a snapshot's content: a uri alone says only where it lies."""

_VERSION: Final = "1.0"
_REQUIRED: Final = {"task": str}
_OPTIONAL: Final = {
    "scenes": object,
    "objects": str,
    "object_registries": object,
    "fixture": str,
    "object_category": str,
    DIGEST_PARAM: str,
}


@attrs.frozen(kw_only=True)
class KitchenSettings:
    """How the package's environment is made for a task.

    Attributes:
        task: The class, such as ``OpenDrawer``.
        scenes: Pairs of layout and style; with several, the seed draws one.
        objects: Which instances of objects may appear.
        object_registries: Where objects are sampled from.
        fixture: The ``FixtureType`` a door task is narrowed to; empty for the task's own.
        object_category: What the task's object is; empty where the seed draws it.
    """

    task: str
    scenes: tuple[Scene, ...]
    objects: ObjectSplit = "all"
    object_registries: tuple[str, ...] = DEFAULT_OBJECT_REGISTRIES
    fixture: str = ""
    object_category: str = ""

    def params(self) -> dict[str, Any]:
        """The params of a TaskSpec that say the same."""
        return {
            "task": self.task,
            "scenes": [list(scene) for scene in self.scenes],
            "objects": self.objects,
            "object_registries": list(self.object_registries),
            **({"fixture": self.fixture} if self.fixture else {}),
            **({"object_category": self.object_category} if self.object_category else {}),
        }


def kitchen_task_spec(
    task: KitchenTask,
    settings: KitchenSettings,
    *,
    task_id: str = "",
    tags: Sequence[str] = (),
    init: SeedInit | SnapshotInit | None = None,
) -> TaskSpec:
    """The TaskSpec of a task of the package.

    Args:
        task: From the catalogue.
        settings: Kitchens and objects.
        task_id: Its id; ``robocasa/<name>`` unless given.
        tags: Labels beside the kind.
        init: From the seed unless given.
    """
    return TaskSpec(
        id=task_id or f"robocasa/{task.name}",
        version=_VERSION,
        instruction=task.instruction,
        instruction_source=INSTRUCTION_SOURCE,
        init=init or SeedInit(),
        success=Predicate("callable", ref=task.success_ref),
        max_steps=task.horizon,
        params=settings.params(),
        tags=("robocasa", task.kind, *tags),
        # The check goes on to the horizon: first success and success at the end are both scored from one run.
        stop_on_success=False,
    )


_NAMES_OF_TASKS: Final = 'a name as in hylo-eval benchmark show robocasa_target50: task = "CloseDrawer"'


def read_settings(spec: TaskSpec) -> KitchenSettings:
    """The settings in a task's params.

    Raises:
        EnvError: The task is not one of this family.
    """
    params = read_params(spec, required=_REQUIRED, optional=_OPTIONAL)
    try:
        task = catalogue().task(params["task"])
    except EvalError as error:
        raise EnvError(error.message, fix=_NAMES_OF_TASKS) from None
    _check_success(spec, task)
    _check_init(spec, params.get(DIGEST_PARAM))
    objects = params.get("objects", "all")
    if objects not in OBJECT_SPLITS:
        raise EnvError(
            f"param 'objects' of task {spec.id!r} must be one of {', '.join(OBJECT_SPLITS)}, not {objects!r}"
        )
    return KitchenSettings(
        task=task.name,
        scenes=_scenes(spec, task, params.get("scenes")),
        objects=objects,
        object_registries=_registries(spec, params.get("object_registries", list(DEFAULT_OBJECT_REGISTRIES))),
        fixture=_fixture(spec, task, params.get("fixture", "")),
        object_category=_category(spec, task, params.get("object_category", "")),
    )


def check_instruction(spec: TaskSpec, settings: KitchenSettings) -> None:
    """Refuse a text that the environment, which words every episode, cannot say: all of them would abstain.

    Raises:
        EnvError: The two texts cannot meet, as the catalogue has the package's.
    """
    task = catalogue().task(settings.task)
    if not templates_meet(spec.instruction, task.instruction):
        raise EnvError(
            f"instruction {spec.instruction!r} of task {spec.id!r} can come of no episode of RoboCasa's {task.name}, "
            f"which says {task.instruction!r}",
            fix=f"instruction = {json.dumps(task.instruction)}",
        )


def _check_success(spec: TaskSpec, task: KitchenTask) -> None:
    predicate = spec.success
    if predicate.kind == "builtin" and predicate.name == "env_success":
        return
    if predicate.ref != task.success_ref:
        raise EnvError(
            f"task {spec.id!r} succeeds by {predicate.ref or predicate.kind!r}, but RoboCasa's {task.name} has one "
            f"check: kind 'callable', ref {task.success_ref!r}"
        )


def _check_init(spec: TaskSpec, pinned: str | None) -> None:
    """A snapshot is pinned by its digest, and nothing else has one."""
    if isinstance(spec.init, InitStateRef):
        raise EnvError(f"task {spec.id!r} has an init of kind 'init_state'; RoboCasa takes 'seed' and 'snapshot'")
    if isinstance(spec.init, SeedInit):
        if pinned is not None:
            raise EnvError(
                f"params.{DIGEST_PARAM} of task {spec.id!r} changes nothing: its init is of kind 'seed'",
                fix=f'leave {DIGEST_PARAM} out, or init = {{kind = "snapshot", uri = "robocasa:FILE.json"}}',
            )
    elif pinned is not None and not is_digest(pinned):
        raise EnvError(
            f"params.{DIGEST_PARAM} of task {spec.id!r} must be sha256: and 64 hex digits in lower case, "
            f"not {describe(pinned)}"
        )


def _scenes(spec: TaskSpec, task: KitchenTask, value: Any) -> tuple[Scene, ...]:
    """Pairs of numbers of the package's kitchens; all of them where the task does not say."""
    whole = catalogue().split("all")
    if value is None:
        return whole.scenes_of(task)
    pairs = _items(value)
    layouts, styles = catalogue().layout_groups["all"], catalogue().style_groups["all"]
    scenes: list[Scene] = []
    for index, pair in enumerate(pairs):
        match pair:
            case (int() as layout, int() as style) if _is_among(layout, layouts) and _is_among(style, styles):
                if (layout, style) in scenes:
                    raise EnvError(
                        f"params.scenes[{index}] of task {spec.id!r} repeats {list(pair)} of "
                        f"scenes[{scenes.index((layout, style))}]: every kitchen is drawn equally often"
                    )
                scenes.append((layout, style))
            case _:
                raise EnvError(
                    f"params.scenes[{index}] of task {spec.id!r} must be a layout from 1 to {max(layouts)} and a style "
                    f"from 1 to {max(styles)}, not {describe(pair)}"
                )
    excluded = [scene for scene in scenes if scene[0] in task.excluded_layouts or scene[1] in task.excluded_styles]
    if excluded:
        raise EnvError(
            f"params.scenes of task {spec.id!r} holds {list(excluded[0])}, in which RoboCasa cannot set up {task.name}"
        )
    if not scenes:
        raise EnvError(f"params.scenes of task {spec.id!r} must be pairs of layout and style, not {_as_written(value)}")
    return tuple(scenes)


def _as_written(value: Any) -> str:
    """A list that has become a tuple as the file has it."""
    return "[]" if value in ((), []) else describe(value)


def _is_among(number: int, numbers: Sequence[int]) -> bool:
    """Whether it is one of them, and not a truth value that equals one."""
    return not isinstance(number, bool) and number in numbers


def _registries(spec: TaskSpec, value: Any) -> tuple[str, ...]:
    names = _items(value)
    unknown = [name for name in names if name not in OBJECT_REGISTRIES]
    if unknown or not names or len(set(names)) != len(names):
        raise EnvError(
            f"params.object_registries of task {spec.id!r} must be some of {', '.join(OBJECT_REGISTRIES)}, each once, "
            f"not {describe(value)}"
        )
    return tuple(names)


def _fixture(spec: TaskSpec, task: KitchenTask, value: str) -> str:
    """The kind of cabinet that the tasks with cabinet doors can be narrowed to."""
    possible = NARROWING_FIXTURES.get(task.name, ())
    if value and value not in possible:
        listed = ", ".join(possible) or f"none: {task.name} has one kind of fixture"
        raise EnvError(
            f"params.fixture of task {spec.id!r} cannot be {value!r}{did_you_mean(value, possible)} "
            f"(possible: {listed})"
        )
    return value


def _category(spec: TaskSpec, task: KitchenTask, value: str) -> str:
    if value and value not in task.object_categories:
        listed = ", ".join(task.object_categories) or "none: the task does not take one"
        hint = did_you_mean(value, task.object_categories)
        raise EnvError(
            f"params.object_category of task {spec.id!r} cannot be {value!r}{hint} (those of {task.name}: {listed})"
        )
    return value


def _items(value: Any) -> list[Any]:
    return list(cast("Sequence[Any]", value)) if isinstance(value, (list, tuple)) else []
