"""The laws of the safety filters."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st

from hylo_core import ActionSlice, EnvSpec, StateSpec
from hylo_eval import AgentError, EvalError
from hylo_eval.safety.bounds import ActionBounds
from hylo_eval.safety.defaults import default_filters
from hylo_eval.safety.finite import NonFiniteGuard
from hylo_eval.safety.protocol import SafetyFilter, begin_filters
from hylo_eval.safety.rate import RateLimit
from hylo_eval.safety.workspace import WorkspaceBox

SPACE = spaces.Box(-1, 1, (3,))
SPEC = EnvSpec(
    action=(ActionSlice(name="eef_position", start=0, stop=3, mode="delta", unit="m"),),
    state=(StateSpec(name="eef", shape=(3,)),),
)
entries = st.floats(-5, 5, width=32)
actions = st.lists(entries, min_size=3, max_size=3).map(np.array)


@given(actions)
def test_bounds_clip_into_the_action_space_and_pass_what_is_inside(action: Any) -> None:
    """The result lies in the space; an action inside passes as the very same array."""
    bounds = ActionBounds()
    bounds.begin(SPEC, SPACE)
    filtered = bounds.apply(action, {})
    assert (np.abs(filtered.action) <= 1).all()
    assert (filtered.action is action) == bool((np.abs(action) <= 1).all())
    assert bool(filtered.reason) == (filtered.action is not action)


@given(st.lists(actions, min_size=1, max_size=8))
def test_the_rate_limit_holds_from_step_to_step(sequence: list[Any]) -> None:
    """No entry changes by more than the limit; a new episode begins free."""
    limit = RateLimit(0.5)
    limit.begin(SPEC, SPACE)
    applied = [limit.apply(action, {}).action for action in sequence]
    assert applied[0] is sequence[0]
    for before, after in itertools.pairwise(applied):
        assert (np.abs(after - before) <= 0.5 + 1e-9).all()
    limit.begin(SPEC, SPACE)
    assert limit.apply(sequence[-1], {}).action is sequence[-1]


@given(actions, st.lists(st.floats(-2, 2), min_size=3, max_size=3).map(np.array))
def test_the_box_never_lets_a_command_lead_further_out(action: Any, position: Any) -> None:
    """From inside the target stays inside; from outside the distance to the box does not grow."""
    box = WorkspaceBox("[-1, -1, -1]", "[1, 1, 1]", "eef")
    box.begin(SPEC, SPACE)
    applied = box.apply(action, {"eef": position}).action
    before, after = (np.maximum(np.abs(point) - 1, 0) for point in (position, position + applied))
    assert (after <= before + 1e-9).all()


def test_the_box_passes_a_command_that_stays_inside() -> None:
    """No event without a change."""
    box = WorkspaceBox("[-1, -1, -1]", "[1, 1, 1]", "eef")
    box.begin(SPEC, SPACE)
    action = np.array([0.1, 0.0, -0.1])
    assert box.apply(action, {"eef": np.zeros(3)}).action is action


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_the_finite_guard_refuses_or_holds(value: float) -> None:
    """Refusing is the default; holding needs something to hold."""
    guard = NonFiniteGuard()
    guard.begin(SPEC, SPACE)
    with pytest.raises(AgentError, match="not finite in entries 1"):
        guard.apply(np.array([0.0, value, 0.0]), {})
    hold = NonFiniteGuard("hold")
    hold.begin(SPEC, SPACE)
    with pytest.raises(AgentError):
        hold.apply(np.array([0.0, value, 0.0]), {})
    last = np.ones(3)
    assert hold.apply(last, {}).action is last
    assert hold.apply(np.array([0.0, value, 0.0]), {}).action is last


def test_finite_numbers_whose_product_overflows_pass() -> None:
    """The fast check may overflow; the answer may not."""
    guard = NonFiniteGuard()
    huge = np.full(3, 1e200)
    assert guard.apply(huge, {}).action is huge


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: NonFiniteGuard("ignore"), "'error' or 'hold'"),  # type: ignore[arg-type]
        (lambda: RateLimit(0), "above zero"),
        (lambda: WorkspaceBox("[0,0]", "[1,1,1]", "eef"), "three numbers"),
        (lambda: WorkspaceBox("[0,0,NaN]", "[1,1,1]", "eef"), "three numbers"),
        (lambda: WorkspaceBox("[1,0,0]", "[1,1,1]", "eef"), "empty"),
        (lambda: ActionBounds().begin(SPEC, spaces.Discrete(3)), "needs a Box action space"),
        (lambda: WorkspaceBox("[0,0,0]", "[1,1,1]", "eef").begin(EnvSpec(), SPACE), "there is none"),
        (
            lambda: WorkspaceBox("[0,0,0]", "[1,1,1]", "hand").begin(SPEC, SPACE),
            "needs the observation 'hand'; there is eef",
        ),
    ],
)
def test_a_filter_that_cannot_filter_is_refused(build: Any, message: str) -> None:
    """An accepted filter filters."""
    with pytest.raises(EvalError, match=message):
        build()


def test_the_defaults_fit_the_action_space() -> None:
    """Bounds only where there are bounds, nothing for text."""
    names = [[item.name for item in default_filters(space)] for space in (SPACE, spaces.Discrete(2), spaces.Text(9))]
    assert names == [["finite", "bounds"], ["finite"], []]


def test_every_filter_is_a_safety_filter_and_describes_itself() -> None:
    """Name and settings, as JSON, for the manifest."""
    for item in (NonFiniteGuard(), ActionBounds(), RateLimit(1), WorkspaceBox("[0,0,0]", "[1,1,1]", "eef")):
        assert isinstance(item, SafetyFilter)
        assert item.describe()["name"] == item.name


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i4", "u1"])
def test_no_dtype_of_an_action_leads_past_the_bounds(dtype: str) -> None:
    """Rounding a clipped action back to integers or half floats would undo the clip."""
    space = spaces.Box(0.2, 0.8, (2,), np.float64)
    bounds = ActionBounds()
    bounds.begin(EnvSpec(), space)
    applied = bounds.apply(np.array([1, 0]).astype(dtype), {}).action
    assert (applied >= 0.2).all()
    assert (applied <= 0.8).all()


def test_the_box_cuts_integers_as_it_cuts_floats() -> None:
    """The cut target is not rounded to an integer outside the box."""
    spec = EnvSpec(action=(ActionSlice(name="eef_position", start=0, stop=3, mode="absolute", unit="m"),))
    box = WorkspaceBox("[0.25, 0.25, 0.25]", "[0.75, 0.75, 0.75]", "eef")
    box.begin(spec, SPACE)
    assert box.apply(np.zeros(3, np.int64), {}).action.tolist() == [0.25, 0.25, 0.25]


def test_actions_of_several_dimensions_are_filtered_too() -> None:
    """The reason names the entry in row order."""
    space = spaces.Box(-1, 1, (2, 3))
    bounds, limit = ActionBounds(), RateLimit(0.5)
    for safety_filter in (bounds, limit):
        safety_filter.begin(EnvSpec(), space)
    filtered = bounds.apply(np.full((2, 3), 5.0), {})
    assert filtered.action.tolist() == np.ones((2, 3)).tolist()
    assert filtered.reason == "entry 0 is 5, outside [-1, 1], and 5 more"
    limit.apply(np.zeros((2, 3)), {})
    assert limit.apply(np.ones((2, 3)), {}).action.tolist() == np.full((2, 3), 0.5).tolist()


def test_an_action_that_is_not_finite_is_no_base_for_the_next() -> None:
    """After one NaN, held by the finite guard behind it, the rate limit still limits from the last good action."""
    limit = RateLimit(0.5)
    limit.begin(SPEC, SPACE)
    limit.apply(np.zeros(3), {})
    limit.apply(np.full(3, np.nan), {})
    assert limit.apply(np.ones(3), {}).action.tolist() == [0.5, 0.5, 0.5]


@pytest.mark.parametrize("space", [spaces.Text(10), spaces.Discrete(3)])
def test_a_filter_that_would_filter_nothing_is_refused(space: Any) -> None:
    """Text and choices have no rate."""
    with pytest.raises(EvalError, match="the rate filter"):
        begin_filters([RateLimit(0.5)], EnvSpec(), space)
