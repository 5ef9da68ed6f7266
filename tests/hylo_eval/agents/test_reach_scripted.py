"""The scripted agent of reach."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hylo_eval.agents.conformance import check_agent
from hylo_eval.agents.reach_scripted import ReachScripted
from hylo_eval.benchmarks import find_benchmark
from hylo_eval.envs.reach import ReachEnv
from hylo_eval.errors import AgentError


@pytest.fixture(scope="module")
def task():
    return find_benchmark("reach_fixed").tasks[0]


def test_conforms(task, recorded):
    """The agent keeps every rule of the contract."""
    instance, spec, observations = recorded(ReachEnv, task)
    check_agent(ReachScripted, instance, observations, env_spec=spec).require()


def command(position, goal, **options: Any):
    session = ReachScripted(**options).open_episode(None, "", 0)
    return session.act({"position": np.array(position), "goal": np.array(goal)}).actions


def test_far_away_it_flies_straight_at_full_speed():
    """From (0, 0, 0) to (3, 0, 4) the command is a quarter of the unit vector (0.6, 0, 0.8)."""
    assert command([0.0, 0, 0], [3.0, 0, 4]) == pytest.approx([0.15, 0.0, 0.2])


def test_near_the_goal_it_slows_down():
    """At 1 cm the command is twice the distance a second."""
    assert command([0.0, 0, 0], [0.01, 0, 0]) == pytest.approx([0.02, 0.0, 0.0])


def test_at_the_goal_it_stands():
    """At the goal the command is zero, without a division by zero."""
    assert np.array_equal(command([0.1, 0.2, 0.3], [0.1, 0.2, 0.3]), np.zeros(3))


@pytest.mark.parametrize("speed", [0.0, -1.0, 0.3])
def test_an_impossible_speed_is_refused(speed):
    """Speeds the robot cannot fly are refused."""
    with pytest.raises(AgentError, match="speed"):
        ReachScripted(speed=speed)
