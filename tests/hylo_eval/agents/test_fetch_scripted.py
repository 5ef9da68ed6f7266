"""The scripted agent of the Fetch tasks."""

from __future__ import annotations

import numpy as np
import pytest

from hylo_core.task import TaskInstance
from hylo_eval.agents.conformance import check_agent
from hylo_eval.agents.fetch_scripted import FetchScripted
from hylo_eval.benchmarks import find_benchmark
from hylo_eval.envs.fetch import FetchEnv
from hylo_eval.errors import AgentError


def first_instance(name):
    return find_benchmark(name).instances("heldout")[0]


def scene(gripper, block, goal):
    """An observation with the entries the controllers read."""
    state = np.zeros(25)
    state[0:3], state[3:6] = gripper, block
    return {"observation": state, "achieved_goal": np.array(block), "desired_goal": np.array(goal)}


@pytest.mark.parametrize("name", ["fetch_reach", "fetch_push", "fetch_pick_and_place"])
@pytest.mark.parametrize("noise", [0.0, 0.4])
def test_conforms(name, noise, recorded):
    """On each task, with and without noise, the agent keeps every rule of the contract."""
    instance, spec, observations = recorded(FetchEnv, find_benchmark(name).tasks[0])
    check_agent(FetchScripted, instance, observations, env_spec=spec, noise=noise).require()


def test_reach_moves_towards_the_goal():
    """One centimetre to the right is a tenth of a full action to the right."""
    session = FetchScripted(noise=0.0).open_episode(first_instance("fetch_reach"), "", 0)
    action = session.act(scene([1.0, 0.7, 0.5], [0, 0, 0], [1.0, 0.71, 0.5])).actions
    assert action == pytest.approx([0.0, 0.1, 0.0, 0.0])


def test_pick_goes_above_the_block_open_then_down_then_closes():
    """Approach from above with open fingers, descend, and close once the fingers are around the block."""
    session = FetchScripted(noise=0.0).open_episode(first_instance("fetch_pick_and_place"), "", 0)
    block, goal = np.array([1.3, 0.7, 0.42]), np.array([1.4, 0.7, 0.6])
    away = session.act(scene([1.2, 0.7, 0.5], block, goal)).actions
    above = session.act(scene([1.3, 0.7, 0.5], block, goal)).actions
    around = session.act(scene([1.3, 0.7, 0.42], block, goal)).actions
    assert (away[0], away[3]) == (1.0, 1.0)
    assert (above[2] < -0.5, above[3]) == (True, 1.0)
    assert around[3] == -1.0


def test_push_pushes_towards_the_goal_from_behind():
    """Standing low on the far side of the block, the next action drives it along +x to the goal."""
    session = FetchScripted(noise=0.0).open_episode(first_instance("fetch_push"), "", 0)
    block, goal = np.array([1.3, 0.7, 0.42]), np.array([1.45, 0.7, 0.42])
    behind = [1.23, 0.7, 0.42]
    session.act(scene([1.23, 0.7, 0.52], block, goal))
    session.act(scene(behind, block, goal))
    action = session.act(scene(behind, block, goal)).actions
    assert action[0] > 0.5
    assert action[1:3] == pytest.approx([0.0, 0.0])


def test_noise_comes_from_the_episode_seed():
    """Equal seeds give equal noise, other seeds other noise, and none gives none."""
    item = scene([1.0, 0.7, 0.5], [0, 0, 0], [1.0, 0.71, 0.5])

    def answer(seed, noise=0.4):
        instance = first_instance("fetch_reach")
        return FetchScripted(noise=noise).open_episode(instance, "", seed).act(item).actions.tolist()

    assert answer(1) == answer(1) != answer(2)
    assert answer(1, 0.0) == answer(2, 0.0)


def test_another_task_is_refused():
    """An instance of another family names the tasks the agent solves."""
    task = find_benchmark("reach_fixed").tasks[0]
    instance = TaskInstance(spec=task, seed=0, episode_index=0, split="test")
    with pytest.raises(AgentError, match="FetchReach-v4"):
        FetchScripted().open_episode(instance, "", 0)


def test_negative_noise_is_refused():
    """A negative standard deviation is no standard deviation."""
    with pytest.raises(AgentError, match="noise"):
        FetchScripted(noise=-0.1)
