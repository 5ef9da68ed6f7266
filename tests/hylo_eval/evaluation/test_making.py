"""What is made from names, and the name of what was passed as an object."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest

from hylo_eval.envs.reach import ReachEnv
from hylo_eval.envs.response import ResponseEnv
from hylo_eval.evaluation.making import make_env_factory, ref_of_factory


class OwnReach(ReachEnv):
    """Somebody's own env, whatever it inherits."""


@pytest.mark.parametrize(("name", "factory"), [("reach", ReachEnv), ("response", ResponseEnv)])
def test_a_factory_of_ours_is_recorded_as_by_its_name(name: str, factory: Any) -> None:
    """Wherever in its package it is written."""
    assert ref_of_factory(factory, {}) == make_env_factory(name, {}, {}).ref


def test_options_are_recorded_without_the_folder_that_the_harness_gives() -> None:
    """What is read there is identified by digest."""
    assert ref_of_factory(ReachEnv, {"benchmark_folder": "/somewhere", "size": 3}) == {
        "ref": "hylo_eval.envs.reach:ReachEnv",
        "options": {"size": 3},
    }


@pytest.mark.parametrize(
    ("factory", "options"),
    [(OwnReach, {}), (functools.partial(ReachEnv), {}), (ReachEnv, {"x": Path()})],
)
def test_what_no_command_could_name_has_no_reference(factory: Any, options: dict[str, Any]) -> None:
    """Another class is another env; an object among the options is written on no command line."""
    assert ref_of_factory(factory, options) == {}
