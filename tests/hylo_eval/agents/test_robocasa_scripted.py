"""The scripted driver: where it drives, without a simulator."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_eval.agents.robocasa_scripted import RobocasaScripted, base_command
from hylo_eval.errors import AgentError

angles = st.floats(-math.pi, math.pi)
distances = st.floats(-3.0, 3.0)


def turned(yaw):
    """A quaternion x, y, z, w about the vertical."""
    return np.array([0.0, 0.0, math.sin(yaw / 2), math.cos(yaw / 2)])


@given(distances, distances, angles, angles)
def test_a_perfect_base_arrives(x, y, yaw, target_yaw):
    """A base that does what it is told, at 0.05 s a step and at most 0.5 m/s, stands at the target in 30 s."""
    position, target = np.array([x, y, 0.0]), np.array([0.0, 0.0, 0.0, target_yaw])
    for _ in range(600):
        forward, left, turn = np.clip(base_command(position, turned(yaw), target), -1, 1)
        along = np.array([math.cos(yaw), math.sin(yaw), 0.0]) * forward
        across = np.array([-math.sin(yaw), math.cos(yaw), 0.0]) * left
        position = position + 0.025 * (along + across)
        yaw += 0.05 * turn
    assert math.hypot(*position[:2]) < 0.05
    assert math.cos(yaw - target_yaw) > 0.99


def test_it_backs_away_before_it_drives_along():
    """Beside the target and close to the furniture, the first move is straight back."""
    forward, left, _ = base_command(np.array([2.0, 0.0, 0.0]), turned(math.pi / 2), np.array([0, 0, 0, math.pi / 2]))
    assert forward < 0
    assert left == pytest.approx(0.0)


def test_noise_is_the_episode_s_own(monkeypatch):
    """Two sessions of one seed act alike, and another seed otherwise."""
    from tests.episodes import instance, task

    observation = {
        "robot0_base_pos": np.zeros(3),
        "robot0_base_quat": turned(0.0),
        "target_pose": np.array([0.1, 0.0, 0.0, 0.0]),
    }
    episode = instance(spec=task(params={"task": "NavigateKitchen"}))
    agent = RobocasaScripted(noise=0.1)
    actions = [agent.open_episode(episode, "", seed).act(observation).actions for seed in (1, 1, 2)]
    assert np.array_equal(actions[0], actions[1])
    assert not np.array_equal(actions[0], actions[2])
    assert not actions[2][:7].any()


def test_other_tasks_and_negative_noise_are_refused():
    """It drives, and does nothing else."""
    from tests.episodes import instance, task

    with pytest.raises(AgentError, match="drives in NavigateKitchen"):
        RobocasaScripted().open_episode(instance(spec=task(params={"task": "OpenDrawer"})), "", 0)
    with pytest.raises(AgentError, match="at least 0"):
        RobocasaScripted(noise=-1.0)
