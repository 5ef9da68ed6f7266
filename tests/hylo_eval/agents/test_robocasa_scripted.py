"""The scripted driver: where it drives, without a simulator."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_eval.agents.robocasa_scripted import RobocasaScripted, base_command, yaw_of
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


@given(angles)
def test_the_yaw_of_a_quaternion_is_the_angle_it_was_made_from(yaw):
    """Up to whole turns."""
    assert math.cos(yaw_of(turned(yaw)) - yaw) == pytest.approx(1.0)


@given(st.floats(-0.5, 0.5), st.floats(-0.4, -0.2), angles)
def test_a_perfect_hand_comes_from_above_and_pushes_the_handle_home(x, y, base_yaw):
    """A hand that does what it is told, whichever way the base looks, ends behind where the handle was, and never
    passes the handle's height before it is in front of it."""
    from tests.episodes import instance, task

    session = RobocasaScripted().open_episode(instance(spec=task(params={"task": "CloseDrawer"})), "", 0)
    hand, handle = np.array([x, y + 0.3, 1.2]), np.array([0.0, 0.0, 0.785, 0.0])
    for _ in range(200):
        observation = {
            "robot0_eef_pos": hand,
            "robot0_base_pos": np.zeros(3),
            "robot0_base_quat": turned(base_yaw),
            "target_pose": handle,
        }
        action = session.act(observation).actions
        assert not action[7:11].any()
        ahead, left, up = 0.02 * action[:3]
        sine, cosine = math.sin(base_yaw), math.cos(base_yaw)
        hand = hand + np.array([cosine * ahead - sine * left, sine * ahead + cosine * left, up])
        if hand[2] < 0.9:
            assert abs(hand[0]) < 0.07
    assert hand == pytest.approx([0.0, 0.1, 0.805], abs=0.01)


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

    with pytest.raises(AgentError, match="solves NavigateKitchen, CloseDrawer"):
        RobocasaScripted().open_episode(instance(spec=task(params={"task": "OpenDrawer"})), "", 0)
    with pytest.raises(AgentError, match="at least 0"):
        RobocasaScripted(noise=-1.0)
