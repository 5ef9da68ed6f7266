"""The categories of a task's object, from the source of the task."""

# ruff: noqa: C408 - written as the package writes its tasks, whose source is read
from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from hylo_core.task import Predicate, SeedInit, TaskSpec
from hylo_eval.envs.robocasa.catalogue import catalogue
from hylo_eval.envs.robocasa.object_categories import categories_of
from hylo_eval.envs.robocasa.settings import read_settings
from hylo_eval.errors import EnvError

YES, NO = SimpleNamespace(graspable=True, washable=True), SimpleNamespace(graspable=False, washable=True)
UNSAID = SimpleNamespace(graspable=True, washable=None)
OBJECTS = {
    "apple": {"types": ("fruit",), "objaverse": YES, "aigen": NO},
    "bagel": {"types": ("bread",), "objaverse": NO},
    "corn": {"types": ("vegetable",), "lightwheel": YES, "objaverse": NO},
    "dough": {"types": ("bread",), "aigen": YES},
    "egg": {"types": ("food",), "lightwheel": UNSAID},
}
GROUPS = {"all": ["egg", "dough", "corn", "bagel", "apple"], "bread": ["dough", "bagel"]}


class Placing:
    def __init__(self, obj_groups: str = "all", **others: Any) -> None:
        self.obj_groups = obj_groups

    def _get_obj_cfgs(self) -> list[Any]:
        return [
            dict(name="obj", obj_groups=self.obj_groups, graspable=True, placement=dict(size=(0.3, 0.3))),
            dict(name="distractor", obj_groups="all"),
        ]


class Washing(Placing):
    def _get_obj_cfgs(self) -> list[Any]:
        return [dict(name="obj", obj_groups=self.obj_groups, graspable=True, washable=True)]


class Anything(Placing):
    def __init__(self, obj_groups: str = "bread") -> None:
        super().__init__(obj_groups)

    def _get_obj_cfgs(self) -> list[Any]:
        return [dict(name="obj", obj_groups=self.obj_groups, graspable=False)]


class Small(Placing):
    def _get_obj_cfgs(self) -> list[Any]:
        return [dict(name="obj", obj_groups=self.obj_groups, graspable=True, max_size=(0.1, 0.1, None))]


class Two(Placing):
    def _get_obj_cfgs(self) -> list[Any]:
        return [dict(name="a", obj_groups=self.obj_groups), dict(name="b", obj_groups=self.obj_groups)]


class Fixed(Placing):
    def _get_obj_cfgs(self) -> list[Any]:
        return [dict(name="obj", obj_groups="bread")]


class Unasked(Placing):
    def __init__(self, **others: Any) -> None:
        super().__init__(**others)


@pytest.mark.parametrize(
    ("task", "found"),
    [
        # aigen is not among the registries, so only what objaverse and lightwheel say counts; both must agree.
        (Placing, ["apple", "egg"]),
        (Washing, ["apple"]),
        (Anything, ["bagel"]),
        (Small, []),
        (Two, []),
        (Fixed, []),
        (Unasked, []),
        (object, []),
    ],
)
def test_the_categories_are_those_the_package_would_draw_from(task: type[Any], found: list[str]) -> None:
    """A task that bounds the size, has two such objects or takes no categories has none to choose from."""
    registries = ("objaverse", "lightwheel")
    assert categories_of(task, groups=GROUPS, objects=OBJECTS, registries=registries) == found


def test_the_catalogue_knows_the_categories_of_pick_and_place() -> None:
    """Food that goes into a microwave, and nothing for a drawer."""
    tasks = catalogue().tasks
    microwave = tasks["PickPlaceCounterToMicrowave"].object_categories
    assert {"potato", "egg"} <= set(microwave)
    assert "plate" not in microwave
    assert set(microwave) == set(tasks["PickPlaceMicrowaveToCounter"].object_categories)
    assert tasks["OpenDrawer"].object_categories == ()
    # Its objects must be small: a category of large ones alone would be searched for ever.
    assert tasks["PickPlaceStoveToCounter"].object_categories == ()


@pytest.mark.parametrize(
    ("task", "category", "reason"),
    [
        ("PickPlaceCounterToSink", "aple", "cannot be 'aple'.*apple"),
        ("PickPlaceCounterToSink", "pizza_cutter!", "cannot be 'pizza_cutter!'"),
        ("OpenDrawer", "apple", "cannot be 'apple'.*the task does not take one"),
    ],
)
def test_a_category_that_a_task_cannot_have_is_refused(task: str, category: str, reason: str) -> None:
    """Before anything is made; the ones it can have are listed."""
    found = catalogue().task(task)
    spec = TaskSpec(
        id="t",
        version="1",
        instruction="x",
        init=SeedInit(),
        success=Predicate("callable", ref=found.success_ref),
        max_steps=1,
        params={"task": task, "object_category": category},
    )
    with pytest.raises(EnvError, match=reason):
        read_settings(spec)
