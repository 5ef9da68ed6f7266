"""Smoothness of the applied actions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_core import ActionSlice, EnvSpec, EpisodeTrace, Score
from hylo_eval.scoring.smoothness import ActionSmoothness
from tests.episodes import FunctionAgent, ScriptedEnv, task


def with_actions(trace: EpisodeTrace, actions: Any, spec: EnvSpec | None = None) -> EpisodeTrace:
    """The trace with other applied actions."""
    steps = tuple(attrs.evolve(step, applied=action) for step, action in zip(trace.steps, actions, strict=False))
    return attrs.evolve(trace, steps=steps, start=attrs.evolve(trace.start, env_spec=spec or EnvSpec()))


@pytest.fixture
def measured(traced: Any) -> Callable[..., Score]:
    """Score given actions of up to ten steps."""
    trace = traced()

    def call(actions: Any, spec: EnvSpec | None = None) -> Score:
        return ActionSmoothness().score(with_actions(trace, actions, spec), trace.instance)

    return call


def test_a_ramp_is_perfectly_smooth_and_a_zigzag_is_not(measured: Callable[..., Score]) -> None:
    """Second difference of +-1 alternating is 4 in size."""
    assert measured([[0.5 * step, 1.0] for step in range(8)]).value == 0.0
    assert measured([[1.0 if step % 2 else -1.0] for step in range(8)]).value == 4.0


def test_entries_are_averaged(measured: Callable[..., Score]) -> None:
    """One of two entries zigzags: the root of half of 16."""
    score = measured([[1.0 if step % 2 else -1.0, 0.0] for step in range(8)])
    assert score.value == pytest.approx(8.0**0.5)
    assert score.metadata["unit"] == "1/step^2"


@pytest.mark.parametrize("spec", [EnvSpec(control_hz=10.0), EnvSpec(step_seconds=0.1)])
def test_a_known_control_rate_makes_it_a_derivative(measured: Callable[..., Score], spec: EnvSpec) -> None:
    """a(t) = t^2 has the second derivative 2, at any rate it is sampled."""
    score = measured([[(0.1 * step) ** 2] for step in range(10)], spec)
    assert score.value == pytest.approx(2.0)
    assert score.metadata["unit"] == "1/s^2"


def test_a_gripper_is_left_out_where_the_environment_names_it(measured: Callable[..., Score]) -> None:
    """Opening and closing is no tremor."""
    arm = ActionSlice(name="arm", start=0, stop=1)
    gripper = ActionSlice(name="gripper", start=1, stop=2, gripper="positive_opens")
    actions = [[0.0, 1.0 if step % 2 else -1.0] for step in range(8)]
    assert measured(actions, EnvSpec(action=(arm, gripper))).value == 0.0
    assert measured(actions).value != 0.0


@pytest.mark.parametrize(
    ("actions", "reason"),
    [
        ([[1.0]] * 2, "not_applicable"),
        ([[1e200], [-1e200], [1e200]], "not_finite"),
        ([[1e308], [-1e308], [1e308]], "not_finite"),
    ],
)
def test_what_has_no_second_difference_is_an_abstention(
    measured: Callable[..., Score], actions: Any, reason: str
) -> None:
    """Too few actions, or numbers too large."""
    score = measured(actions)
    assert (score.value, score.metadata["reason"]) == (None, reason)


def test_discrete_actions_have_no_smoothness(traced: Any) -> None:
    """Whatever their numbers are."""
    trace = traced(ScriptedEnv(), FunctionAgent(), task())
    layout = attrs.evolve(trace.start.action, dtype="int64")
    discrete = attrs.evolve(trace, start=attrs.evolve(trace.start, action=layout))
    assert ActionSmoothness().score(discrete, trace.instance).metadata["reason"] == "not_applicable"


@given(st.lists(st.lists(st.floats(-1, 1), min_size=2, max_size=2), min_size=3, max_size=10), st.floats(-3, 3))
def test_it_is_numpys_second_difference_and_blind_to_an_offset(actions: list[list[float]], offset: float) -> None:
    """Against an independent implementation."""
    from hylo_eval.scoring.smoothness import _root_mean_square, _second_differences

    value = _root_mean_square(_second_differences(actions, (0, 1)))
    assert value == pytest.approx(np.sqrt(np.mean(np.diff(actions, n=2, axis=0) ** 2)), abs=1e-12)
    moved = [[entry + offset for entry in action] for action in actions]
    assert _root_mean_square(_second_differences(moved, (0, 1))) == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize(
    "sizes",
    [(1, 2, 2, 2), (2, 2, 1, 2), (2, 2, 2, 1), (2, 2, 2, 3), (2, 0, 2, 2)],
    ids=lambda sizes: "-".join(map(str, sizes)),
)
def test_actions_of_different_sizes_have_no_difference(measured: Callable[..., Score], sizes: tuple[int, ...]) -> None:
    """Neither the first entries of the longer ones nor an error is a measure; the step that differs is named."""
    other = next(index for index, size in enumerate(sizes) if size != sizes[0])
    entries = "1 entry" if sizes[other] == 1 else f"{sizes[other]} entries"
    score = measured([[0.5] * size for size in sizes])
    assert (score.value, score.metadata["reason"]) == (None, "not_applicable")
    assert score.explanation == f"the action of step {other} has {entries}, that of step 0 has {sizes[0]}"


@pytest.mark.parametrize("odd", [None, "0.5", True, {"x": 0.5}])
def test_an_entry_that_is_no_number_is_not_recorded(measured: Callable[..., Score], odd: Any) -> None:
    """A text that spells a number and a truth value included."""
    for actions in ([[0.5], [odd], [0.5]], [0.5, odd, 0.5]):
        score = measured(actions)
        assert (score.value, score.metadata["reason"]) == (None, "not_recorded")
        assert score.explanation == "the action of step 1 holds what is no number"
