"""The reach family: its dynamics, its task and its benchmark file."""

from __future__ import annotations

import math

import attrs
import numpy as np
import pytest

from hylo_core.errors import ContractError
from hylo_eval.agents.reach_scripted import ReachScripted
from hylo_eval.benchmarks import find_benchmark
from hylo_eval.envs.conformance import check_env
from hylo_eval.envs.reach import MAX_SPEED_M_S, START_DISTANCE_M, ReachEnv
from hylo_eval.errors import EnvError


@pytest.fixture
def benchmark():
    return find_benchmark("reach_fixed")


@pytest.fixture
def task(benchmark):
    return benchmark.tasks[0]


def test_conforms(task):
    """The env keeps every rule of the contract."""
    check_env(ReachEnv, task).require()


def test_the_example_key_of_the_contract_exists(benchmark):
    """The held-out split has 100 instances and begins with testing/reach_fixed#10000."""
    instances = benchmark.instances("heldout")
    assert (len(instances), instances[0].key) == (100, "testing/reach_fixed#10000")


def test_velocity_follows_a_first_order_lag(task, instance_of):
    """From rest, n periods of one command give the command times 1 - exp(-n dt / tau)."""
    env = ReachEnv(task)
    env.reset(seed=0, options={"instance": instance_of(task, 0)})
    command = np.array([0.1, -0.2, 0.05])
    for steps in range(1, 4):
        observation, *_ = env.step(command)
        assert observation["velocity"] == pytest.approx(command * (1 - math.exp(-steps * 0.1 / 0.2)))


def test_position_is_the_sum_of_velocities(task, instance_of):
    """Each period adds a tenth of a second of the new velocity."""
    env = ReachEnv(task)
    before, _ = env.reset(seed=3, options={"instance": instance_of(task, 3)})
    after, *_ = env.step(np.array([0.2, 0.0, -0.1]))
    assert after["position"] - before["position"] == pytest.approx(after["velocity"] * 0.1)


def test_commands_are_bounded(task, instance_of):
    """A command beyond the bound moves the robot as the bound does."""
    env, other = ReachEnv(task), ReachEnv(task)
    for each in (env, other):
        each.reset(seed=1, options={"instance": instance_of(task, 1)})
    wild, *_ = env.step(np.full(3, 99.0))
    bounded, *_ = other.step(np.full(3, MAX_SPEED_M_S))
    assert np.array_equal(wild["position"], bounded["position"])


def test_walls_stop_the_robot(task, instance_of):
    """Driven against a wall, the robot ends on it at rest."""
    env = ReachEnv(task)
    env.reset(seed=0, options={"instance": instance_of(task, 0)})
    for _ in range(120):
        observation, *_ = env.step(np.array([MAX_SPEED_M_S, 0.0, 0.0]))
    assert observation["position"][0] == 1.0
    assert observation["velocity"][0] == 0.0


def test_starts_lie_in_the_documented_shell(task, instance_of):
    """Every start lies between the nearest and the farthest distance from the goal, inside the room."""
    env = ReachEnv(task)
    for seed in range(50):
        observation, info = env.reset(seed=seed, options={"instance": instance_of(task, seed)})
        distance = np.linalg.norm(observation["position"] - observation["goal"])
        assert START_DISTANCE_M[0] <= distance <= START_DISTANCE_M[1]
        assert np.all(np.abs(observation["position"]) <= 1.0)
        assert info["success"] is False


def test_the_scripted_agent_solves_every_heldout_instance(benchmark, task, episode):
    """100 of 100, at first success after 38.26 steps on average."""
    env, agent = ReachEnv(task), ReachScripted()
    firsts = []
    for instance in benchmark.instances("heldout"):
        successes, _ = episode(env, agent, instance, task.max_steps)
        firsts.append(successes.index(True) + 1)
    assert (len(firsts), np.mean(firsts)) == (100, pytest.approx(38.26))


def test_equal_in_another_process(task, instance_of, episode, digest_elsewhere):
    """An episode run by another process is the same bit for bit."""
    here = episode(ReachEnv(task), ReachScripted(), instance_of(task, 10000), 30)[1]
    refs = ("hylo_eval.envs.reach:ReachEnv", "hylo_eval.agents.reach_scripted:ReachScripted")
    assert digest_elsewhere("reach_fixed", 10000, 30, *refs) == here


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"goal_m": [0.0, 0.0, 0.0]}, "needs the param 'tolerance_m'"),
        ({"goal_m": [0.0, 0.0], "tolerance_m": 0.1}, "must be 3 numbers"),
        ({"goal_m": [0.0, 0.0, 2.0], "tolerance_m": 0.1}, "within 1 m along every axis"),
        ({"goal_m": [0.0, 0.0, 0.0], "tolerance_m": 0}, "must be positive"),
        ({"goal_m": [0.0, 0.0, 0.0], "tolerance_m": True}, "must be a number"),
        ({"goal_m": [0.0, 0.0, 0.0], "tolerance_m": 0.1, "tolerence": 1}, "no param 'tolerence'"),
    ],
)
def test_bad_params_are_refused(task, params, sentence):
    """Each bad param ends with a sentence that names it."""
    with pytest.raises(EnvError, match=sentence):
        ReachEnv(attrs.evolve(task, params=params))


def test_an_instance_key_is_unique_over_the_splits(benchmark):
    """No instance stands in two splits."""
    keys = [instance.key for split in benchmark.splits for instance in benchmark.instances(split)]
    assert len(keys) == len(set(keys)) == 250


def test_an_unknown_split_is_refused(benchmark):
    """A split that is not there names those that are."""
    with pytest.raises(ContractError, match="'train', 'validation', 'heldout'"):
        benchmark.instances("test")
