"""What RoboCasa 1.0 holds: tasks with horizons and instructions, task sets, layouts, styles, object registries.

The facts lie in ``catalogue.json``, written by :mod:`hylo_eval.envs.robocasa.cataloguing` from the installed package; a
test compares. Reading them imports neither RoboCasa nor numpy.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from importlib import resources
from typing import Any, Final, Literal, TypeAlias

import attrs

from hylo_core.frozen import FrozenMapping
from hylo_eval.errors import EvalError
from hylo_eval.suggest import did_you_mean

Scene: TypeAlias = tuple[int, int]
"""The numbers of a layout (the floor plan) and of a style (the fixtures and textures in it)."""

OBJECT_REGISTRIES: Final = ("objaverse", "lightwheel", "aigen")
"""Where objects can be sampled from."""
DEFAULT_OBJECT_REGISTRIES: Final = ("objaverse", "lightwheel")
"""Where they are sampled from unless an evaluation says otherwise (the default of the package's ``Kitchen``)."""

NARROWING_FIXTURES: Final[Mapping[str, tuple[str, ...]]] = FrozenMapping(
    dict.fromkeys(("OpenCabinet", "CloseCabinet"), ("CABINET_SINGLE_DOOR", "CABINET_DOUBLE_DOOR"))
)
"""The tasks whose fixture can be narrowed, and to what: a cabinet has one door or two. Others have one kind."""

ObjectSplit: TypeAlias = Literal["pretrain", "target", "all"]
"""Which instances of an object category may appear.

``target`` is the last five of a category in the order of their paths, or the last half where there are fewer than
ten; ``pretrain`` is the rest; ``all`` is both.
"""


@attrs.frozen(kw_only=True)
class KitchenTask:
    """A task of the package.

    Attributes:
        name: Its class, such as ``OpenDrawer``.
        kind: ``atomic`` or ``composite``.
        module: The module of the class.
        horizon: Control steps an episode, from the package's registry.
        instruction: A template (:mod:`hylo_core.instruction`); ``{instruction}`` where the wording has branches.
        excluded_layouts: Layouts in which the task cannot be set up.
        excluded_styles: Styles in which it cannot.
        object_categories: What its object can be, where one can be chosen beforehand; for the default registries.
    """

    name: str
    kind: Literal["atomic", "composite"]
    module: str
    horizon: int
    instruction: str
    excluded_layouts: frozenset[int]
    excluded_styles: frozenset[int]
    object_categories: tuple[str, ...] = ()

    @property
    def success_ref(self) -> str:
        """Reference of the task's own check."""
        return f"{self.module}:{self.name}._check_success"


@attrs.frozen(kw_only=True)
class SceneSplit:
    """A split of the package's own evaluation: which kitchens, and which instances of objects.

    Attributes:
        scenes: Pairs of layout and style, in the package's order.
        objects: Which instances.
    """

    scenes: tuple[Scene, ...]
    objects: ObjectSplit

    def scenes_of(self, task: KitchenTask) -> tuple[Scene, ...]:
        """The scenes in which a task can be set up."""
        return tuple(
            (layout, style)
            for layout, style in self.scenes
            if layout not in task.excluded_layouts and style not in task.excluded_styles
        )


@attrs.frozen(kw_only=True)
class LegacyTask:
    """An atomic task of RoboCasa 0.x under its present name.

    Attributes:
        name: The present class.
        fixture: The ``FixtureType`` that narrows it to what the old task was; empty where nothing need be narrowed.
    """

    name: str
    fixture: str = ""


LEGACY_TASKS: Final[Mapping[str, LegacyTask]] = FrozenMapping(
    {
        "PnPCounterToCab": LegacyTask(name="PickPlaceCounterToCabinet"),
        "PnPCabToCounter": LegacyTask(name="PickPlaceCabinetToCounter"),
        "PnPCounterToSink": LegacyTask(name="PickPlaceCounterToSink"),
        "PnPSinkToCounter": LegacyTask(name="PickPlaceSinkToCounter"),
        "PnPCounterToMicrowave": LegacyTask(name="PickPlaceCounterToMicrowave"),
        "PnPMicrowaveToCounter": LegacyTask(name="PickPlaceMicrowaveToCounter"),
        "PnPCounterToStove": LegacyTask(name="PickPlaceCounterToStove"),
        "PnPStoveToCounter": LegacyTask(name="PickPlaceStoveToCounter"),
        "OpenSingleDoor": LegacyTask(name="OpenCabinet", fixture="CABINET_SINGLE_DOOR"),
        "CloseSingleDoor": LegacyTask(name="CloseCabinet", fixture="CABINET_SINGLE_DOOR"),
        "OpenDoubleDoor": LegacyTask(name="OpenCabinet", fixture="CABINET_DOUBLE_DOOR"),
        "CloseDoubleDoor": LegacyTask(name="CloseCabinet", fixture="CABINET_DOUBLE_DOOR"),
        "OpenDrawer": LegacyTask(name="OpenDrawer"),
        "CloseDrawer": LegacyTask(name="CloseDrawer"),
        "TurnOnSinkFaucet": LegacyTask(name="TurnOnSinkFaucet"),
        "TurnOffSinkFaucet": LegacyTask(name="TurnOffSinkFaucet"),
        "TurnSinkSpout": LegacyTask(name="TurnSinkSpout"),
        "TurnOnStove": LegacyTask(name="TurnOnStove"),
        "TurnOffStove": LegacyTask(name="TurnOffStove"),
        "CoffeeSetupMug": LegacyTask(name="CoffeeSetupMug"),
        "CoffeeServeMug": LegacyTask(name="CoffeeServeMug"),
        "CoffeePressButton": LegacyTask(name="StartCoffeeMachine"),
        "TurnOnMicrowave": LegacyTask(name="TurnOnMicrowave"),
        "TurnOffMicrowave": LegacyTask(name="TurnOffMicrowave"),
    }
)
"""The 24 atomic tasks that policies of RoboCasa 0.x are evaluated on (Nasiriany et al., RSS 2024, without navigation).

There, ``OpenSingleDoor`` and ``CloseSingleDoor`` could also draw a microwave; under the present names they are cabinets
with one door.
"""


@attrs.frozen(kw_only=True)
class Catalogue:
    """The package's tasks and kitchens.

    Attributes:
        source: Which distribution it was read from, with its version.
        tasks: By name, sorted.
        task_sets: The package's own sets, each in the package's order.
        layout_groups: Group to layouts.
        style_groups: Group to styles.
    """

    source: str
    tasks: Mapping[str, KitchenTask]
    task_sets: Mapping[str, tuple[str, ...]]
    layout_groups: Mapping[str, tuple[int, ...]]
    style_groups: Mapping[str, tuple[int, ...]]

    def task(self, name: str) -> KitchenTask:
        """A task by name.

        Raises:
            EvalError: There is none.
        """
        if name not in self.tasks:
            raise EvalError(f"RoboCasa has no task {name!r}{did_you_mean(name, self.tasks)}")
        return self.tasks[name]

    def split(self, name: str) -> SceneSplit:
        """A split of the package's own evaluation, as its ``create_env(split=...)`` makes it.

        Args:
            name: ``pretrain`` (50 layouts times 50 styles), ``target`` (ten pairs, layout and style of one number) or
                ``all`` (60 times 60).

        Raises:
            EvalError: There is no such split.
        """
        layouts, styles = self.layout_groups, self.style_groups
        match name:
            case "pretrain":
                return SceneSplit(scenes=_product(layouts["train"], styles["train"]), objects="pretrain")
            case "target":
                return SceneSplit(scenes=tuple(zip(layouts["test"], styles["test"], strict=True)), objects="target")
            case "all":
                return SceneSplit(scenes=_product(layouts["all"], styles["all"]), objects="all")
            case _:
                raise EvalError(f"RoboCasa has no split {name!r} (there is pretrain, target, all)")


@functools.cache
def catalogue() -> Catalogue:
    """The catalogue; read once."""
    text = resources.files("hylo_eval.envs.robocasa").joinpath("catalogue.json").read_text(encoding="utf-8")
    document: dict[str, Any] = json.loads(text)
    categories: dict[str, list[str]] = document["object_categories"]
    return Catalogue(
        source=document["source"],
        tasks=FrozenMapping(
            {name: _task(name, entry, categories.get(name, [])) for name, entry in document["tasks"].items()}
        ),
        task_sets=_tuples(document["task_sets"]),
        layout_groups=_tuples(document["layout_groups"]),
        style_groups=_tuples(document["style_groups"]),
    )


def _task(name: str, entry: dict[str, Any], categories: list[str]) -> KitchenTask:
    return KitchenTask(
        name=name,
        kind=entry["kind"],
        module=entry["module"],
        horizon=entry["horizon"],
        instruction=entry["instruction"],
        excluded_layouts=frozenset(entry["excluded_layouts"]),
        excluded_styles=frozenset(entry["excluded_styles"]),
        object_categories=tuple(categories),
    )


def _tuples(members: Mapping[str, list[Any]]) -> FrozenMapping[tuple[Any, ...]]:
    return FrozenMapping({name: tuple(items) for name, items in members.items()})


def _product(layouts: tuple[int, ...], styles: tuple[int, ...]) -> tuple[Scene, ...]:
    return tuple((layout, style) for layout in layouts for style in styles)
