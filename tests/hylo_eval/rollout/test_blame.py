"""An agent's error after an observation that is not finite."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hylo_core.trace import EpisodeStatus, EpisodeTrace
from hylo_eval import read_trace, run_episode
from tests.episodes import FunctionAgent, ScriptedEnv, instance


class Sensors(ScriptedEnv):
    """Shows a position, and a distance that is infinite where there is nothing; the position is lost at a step.

    Args:
        lost_at: The step, counted from 1.
        distance: In meters, at the reset and after.
    """

    def __init__(self, lost_at: int = 0, distance: float = 1.0) -> None:
        super().__init__()
        self.lost_at = lost_at
        self.distance = distance

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        observation, info = super().reset(**options)
        return {**observation, "distance": np.array([self.distance])}, info

    def step(self, action: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        observation, *rest = super().step(action)
        if self.taken == self.lost_at:
            observation["position"][0] = np.nan
        return {**observation, "distance": np.array([self.distance])}, *rest


def follow(observation: Any, _: int) -> Any:
    """An action that depends on everything that is seen."""
    return 0 * observation["position"] + 0 * observation["distance"]


def refuse(observation: Any, _: int) -> Any:
    """Raises where it cannot know what to do."""
    if np.isnan(observation["position"]).any():
        raise ValueError("where am I?")
    return np.zeros(2)


def run(env: ScriptedEnv, agent: FunctionAgent, folder: Path) -> EpisodeTrace:
    """One episode."""
    run_episode(env, agent, instance(), trace_path=folder / "trace.jsonl")
    return read_trace(folder / "trace.jsonl")


@pytest.mark.parametrize(
    ("act", "then"),
    [(follow, "AgentError: the action is not finite"), (refuse, "ValueError: where am I?")],
)
def test_an_agent_is_not_blamed_for_what_it_was_shown(tmp_path: Path, act: Any, then: str) -> None:
    """The observation was finite at the reset: the simulator has lost itself, and the agent's answer says only that."""
    trace = run(Sensors(lost_at=3), FunctionAgent(act), tmp_path)
    assert (trace.status, len(trace.steps)) == (EpisodeStatus.ENV_ERROR, 3)
    said = "the observation 'position' was finite at the reset and is no longer; then "
    assert trace.errors[0].message.startswith(said + then)
    assert (trace.errors[0].phase, trace.errors[0].error_type, trace.errors[0].step) == ("step", "EnvError", 3)


def test_an_agent_that_copes_with_it_goes_on(tmp_path: Path) -> None:
    """What is not finite is no fault by itself: a sensor may say so of what it cannot see."""
    trace = run(Sensors(lost_at=3), FunctionAgent(lambda *_: np.zeros(2)), tmp_path)
    assert trace.status is EpisodeStatus.COMPLETED


def test_what_was_never_finite_is_meant_to_be_so(tmp_path: Path) -> None:
    """An agent that cannot take it fails by itself."""
    trace = run(Sensors(distance=np.inf), FunctionAgent(follow), tmp_path)
    assert trace.status is EpisodeStatus.AGENT_ERROR


def test_a_bad_action_after_a_good_observation_is_the_agents(tmp_path: Path) -> None:
    """Also where a later observation is not finite: it had not been seen."""
    chunk = FunctionAgent(lambda *_: np.array([[0.0, 0.0], [np.nan, 0.0]]), chunk_length=2, replan=2)
    trace = run(Sensors(lost_at=1), chunk, tmp_path)
    assert trace.status is EpisodeStatus.AGENT_ERROR
