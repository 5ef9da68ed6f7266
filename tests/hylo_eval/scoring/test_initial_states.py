"""Which episodes began alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hylo_core.trace import ResetEvent
from hylo_eval import evaluate
from hylo_eval.scoring.initial_states import StateCount, count_states, state_digest
from tests.episodes import FunctionAgent, ScriptedEnv, benchmark, task


@given(st.lists(st.sampled_from("abc")))
def test_distinct_and_repeated_states_are_all_known_states(names: list[str]) -> None:
    """Each episode is the first of its state or a repetition; unknown ones are neither."""
    counted = count_states([*((name, "s", "m") for name in names), None])
    assert counted.distinct == len(set(names))
    assert counted.distinct + counted.repeated == len(names)


def test_task_state_and_model_each_tell_states_apart() -> None:
    """A moved fixture is another initial state, though the simulator's own state is the same."""
    states = [("t", "s", "m"), ("u", "s", "m"), ("t", "r", "m"), ("t", "s", "n"), ("t", "s", "m")]
    assert count_states(states) == StateCount(4, 1)


def test_without_a_state_digest_the_observation_tells() -> None:
    """Not-a-number is a value like others; pictures count where there is nothing else."""
    shown = [{"x": [0.0]}, {"x": [1.0]}, {"x": [float("nan")]}]
    pictures = [{"camera": "sha256:1"}, {"camera": "sha256:2"}]
    resets = [ResetEvent(instruction="", observation=item) for item in shown]
    resets += [ResetEvent(instruction="", images=item) for item in pictures]
    assert len({state_digest(reset) for reset in resets}) == 5
    assert state_digest(ResetEvent(instruction="", observation=shown[0], state_digest="sha256:0")) == "sha256:0"


class Same(ScriptedEnv):
    """Begins in one state whatever the seed, as a runner does whose seed does not select the scene."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """Hide the seed from the observation."""
        observation, info = super().reset(seed=seed, options=options)
        return {name: np.zeros_like(value) for name, value in observation.items()}, info


def test_a_run_says_how_many_states_it_began_in(tmp_path: Path) -> None:
    """Four seeds of two tasks, each task one scene: two states, six repetitions."""
    tasks = (task("unit/a"), task("unit/b"))
    for factory, expected in ((ScriptedEnv, StateCount(8, 0)), (Same, StateCount(2, 6))):
        result = evaluate(benchmark(*tasks), "heldout", env_factory=factory, agent=FunctionAgent(), run_root=tmp_path)
        assert result.initial_states == expected
