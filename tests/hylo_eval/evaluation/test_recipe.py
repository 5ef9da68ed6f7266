"""What a worker is told survives the way through a pipe."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from hylo_core.errors import ContractError
from hylo_eval.evaluation.recipe import Recipe, RunSetup
from tests.hylo_eval.evaluation.setups import recipe, setup


def test_a_recipe_is_the_same_after_json() -> None:
    """Names, options of every kind, and nothing else."""
    told = recipe(
        Path("runs/x"),
        env_defaults={"cameras": True, "size": [64, 48], "noise": 0.5},
        env_options={"noise": "1e-3"},
        agent_options={"url": "ws://robot:8000"},
        safety=("finite", "rate:limit=0.1"),
        folder="/benchmarks",
        fsync=True,
        max_attempts=1,
    )
    assert Recipe.from_dict(orjson.loads(orjson.dumps(told.to_dict()))) == told


def test_a_setup_is_the_same_after_json() -> None:
    """What a worker says of agent and env is what stands in the manifest."""
    said = setup(versions={"mujoco": "3.3.0"}, safety=({"name": "finite", "on_violation": "hold"},), renderer="egl")
    assert RunSetup.from_dict(orjson.loads(orjson.dumps(said.to_dict()))) == said


@pytest.mark.parametrize("wrong", [{"evn": "reach"}, {"fsync": "yes"}, {"max_attempts": 2.5}])
def test_a_recipe_of_another_hylo_is_refused(wrong: dict[str, object]) -> None:
    """Unknown keys and values of another kind are no recipe."""
    with pytest.raises(ContractError):
        Recipe.from_dict({**recipe(Path("x")).to_dict(), **wrong})
