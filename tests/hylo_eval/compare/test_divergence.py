"""Where two episodes part."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_core import ContractError, EpisodeTrace
from hylo_core.trace import StepEvent
from hylo_eval import read_trace, run_episode
from hylo_eval.compare.divergence import find_divergence
from tests.episodes import FunctionAgent, ScriptedEnv, instance


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> EpisodeTrace:
    """An episode of ten steps."""
    path: Path = tmp_path_factory.mktemp("episodes") / "episode.jsonl"
    run_episode(
        ScriptedEnv(), FunctionAgent(lambda observation, replies: np.full(2, 0.25)), instance(), trace_path=path
    )
    return read_trace(path)


def changed(trace: EpisodeTrace, index: int, **members: Any) -> EpisodeTrace:
    """The same episode with one step changed."""
    step = trace.steps[index]
    values = {name: getattr(step, name) for name in attrs.fields_dict(StepEvent)} | members
    return attrs.evolve(trace, steps=(*trace.steps[:index], StepEvent(**values), *trace.steps[index + 1 :]))


def test_an_episode_is_the_same_as_itself(trace: EpisodeTrace) -> None:
    """Also when its clocks are not."""
    later = changed(trace, 4, volatile={"act_seconds": 17.0})
    assert find_divergence(trace, later).first is None
    assert find_divergence(trace, later).steps == (10, 10)


@given(index=st.integers(0, 9), by=st.floats(1e-6, 1e6))
def test_the_first_step_is_found(trace: EpisodeTrace, index: int, by: float) -> None:
    """Whatever the step and the size of the difference, from either side."""
    position = trace.steps[index].observation["position"]
    other = changed(trace, index, observation={"position": [position[0] + by, position[1]]})
    for divergence in (find_divergence(trace, other), find_divergence(other, trace)):
        assert divergence.first is not None
        assert (divergence.first.aspect, divergence.first.step) == ("observation", index)
        assert divergence.first.members == ("position",)
        assert divergence.first.largest == pytest.approx(by, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(
    ("members", "aspect"),
    [
        ({"proposed": [0.5, 0.25]}, "proposed"),
        ({"applied": [0.25, 0.25, 0.25]}, "applied"),
        ({"reward": math.nan}, "reward"),
        ({"images": {"front": "sha256:1"}}, "images"),
        ({"success": True}, "success"),
        ({"goal": [True]}, "success"),
    ],
)
def test_each_aspect_is_looked_at(trace: EpisodeTrace, members: dict[str, Any], aspect: str) -> None:
    """Actions, reward, pictures and success; a shape or NaN has no size."""
    first = find_divergence(trace, changed(trace, 3, **members)).first
    assert first is not None
    assert (first.aspect, first.step) == (aspect, 3)
    assert first.largest == (0.25 if aspect == "proposed" else None)


def test_the_cause_comes_before_what_follows_from_it(trace: EpisodeTrace) -> None:
    """Within one step the action stands before the observation; a later step after an earlier one."""
    other = changed(trace, 2, observation={"position": [9.0, 9.0]}, proposed=[9.0, 9.0])
    other = changed(other, 1, reward=7.0)
    assert [(part.step, part.aspect) for part in find_divergence(trace, other).partings] == [
        (1, "reward"),
        (2, "proposed"),
        (2, "observation"),
    ]


@pytest.mark.parametrize("member", ["state_digest", "model_digest", "instruction"])
def test_the_start_is_looked_at(trace: EpisodeTrace, member: str) -> None:
    """Digests of state and model, and the instruction; before any step."""
    assert trace.reset is not None
    other = attrs.evolve(trace, reset=attrs.evolve(trace.reset, **{member: "another"}))
    first = find_divergence(trace, other).first
    assert first is not None
    assert first.step is None
    assert first.words.startswith("at the reset: ")


def test_an_episode_that_goes_on_parts_where_the_other_ends(trace: EpisodeTrace) -> None:
    """At the first step that only one of them has."""
    shorter = attrs.evolve(trace, steps=trace.steps[:6], end=None)
    first = find_divergence(trace, shorter).first
    assert first is not None
    assert (first.aspect, first.step) == ("end", 6)


def test_a_tolerance_forgives_small_numbers_and_nothing_else(trace: EpisodeTrace) -> None:
    """0.25 apart is the same under 0.25 and not under less; a digest is never the same."""
    moved = changed(trace, 3, proposed=[0.5, 0.25])
    assert find_divergence(trace, moved, tolerance=0.25).first is None
    assert find_divergence(trace, moved, tolerance=0.2499).first is not None
    drawn = changed(trace, 3, images={"front": "sha256:1"})
    assert find_divergence(trace, drawn, tolerance=1e9).first is not None


def test_not_a_number_is_the_same_as_itself(trace: EpisodeTrace) -> None:
    """An observation that is NaN on both sides is no difference."""
    one = changed(trace, 3, observation={"position": [math.nan, math.inf]})
    assert find_divergence(one, changed(trace, 3, observation={"position": [math.nan, math.inf]})).first is None


def test_another_agent_is_a_condition_and_no_difference(trace: EpisodeTrace) -> None:
    """Who acted is named apart from what happened."""
    start = attrs.evolve(trace.start, agent=attrs.evolve(trace.start.agent, version="2"))
    divergence = find_divergence(trace, attrs.evolve(trace, start=start))
    assert divergence.first is None
    assert divergence.conditions == ("agent",)


@pytest.mark.parametrize("tolerance", [-1.0, math.inf, math.nan])
def test_a_tolerance_is_a_finite_number(trace: EpisodeTrace, tolerance: float) -> None:
    """Under an infinite one everything would be the same."""
    with pytest.raises(ContractError, match="tolerance"):
        find_divergence(trace, trace, tolerance=tolerance)
