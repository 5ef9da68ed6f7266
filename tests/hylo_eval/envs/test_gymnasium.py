"""The gymnasium family: success rules, spaces, refusals."""

from __future__ import annotations

from typing import Any

import attrs
import gymnasium
import numpy as np
import pytest

from hylo_core.task import Predicate, SeedInit, TaskSpec
from hylo_eval import read_trace, run_episode
from hylo_eval.agents.baselines import ZeroAgent
from hylo_eval.benchmarks import find_benchmark
from hylo_eval.envs.conformance import check_env
from hylo_eval.envs.gymnasium import GymnasiumEnv, _action_slices
from hylo_eval.envs.mujoco_state import watch_of
from hylo_eval.errors import AgentError, EnvError
from hylo_eval.scoring.success import Success


def make_task(**params: Any):
    return TaskSpec(
        id="gymnasium/test",
        version="1",
        instruction="do it",
        init=SeedInit(),
        success=Predicate(kind="builtin", name="env_success"),
        max_steps=500,
        params=params,
    )


CART_POLE = {"id": "CartPole-v1", "success_rule": "return_at_least", "success_threshold": 20.0}
MOUNTAIN_CAR = {"id": "MountainCarContinuous-v0", "success_rule": "terminated"}


@pytest.mark.parametrize("index", [0, 1])
def test_the_example_benchmark_conforms(index):
    """Both tasks of the example keep every rule of the contract."""
    check_env(GymnasiumEnv, find_benchmark("classic_control").tasks[index]).require()


def test_return_rule_counts_the_episode_so_far(instance_of):
    """CartPole gives one reward a step: a threshold of 3 holds from the third step on, in every episode."""
    task = make_task(**{**CART_POLE, "success_threshold": 3.0})
    env = GymnasiumEnv(task)
    for seed in (1, 2):
        env.reset(seed=seed, options={"instance": instance_of(task, seed)})
        successes = [env.step(np.array([step % 2]))[4]["success"] for step in range(5)]
        assert successes == [False, False, True, True, True]


def test_terminated_rule_follows_the_env(instance_of):
    """Pumping the mountain car with its velocity reaches the flag: terminated and success come together."""
    task = make_task(**MOUNTAIN_CAR)
    env = GymnasiumEnv(task)
    observation, _ = env.reset(seed=1, options={"instance": instance_of(task, 1)})
    terminated, steps, info = False, 0, {"success": False}
    while not terminated and steps < 500:
        assert info["success"] is False
        observation, _, terminated, _, info = env.step(np.sign(observation["observation"][1:]))
        steps += 1
    assert terminated
    assert info["success"] is True


def test_success_key_is_read_from_info(instance_of):
    """An id of another package, named with its module, reports success by the key the task chooses."""
    task = make_task(id="gymnasium_robotics:FetchReach-v4", success_key="is_success")
    env = GymnasiumEnv(task)
    observation, _ = env.reset(seed=3, options={"instance": instance_of(task, 3)})
    assert set(observation) == {"observation", "achieved_goal", "desired_goal"}
    for _ in range(10):
        error = observation["desired_goal"] - observation["achieved_goal"]
        observation, *_, info = env.step(np.append(np.clip(10 * error, -1, 1), 0.0).astype(np.float32))
    assert info["success"] is True


def test_a_success_key_that_is_not_there_is_an_error(instance_of):
    """A wrong key is an error of the env at the first step, never a failure of the policy."""
    task = make_task(id="MountainCarContinuous-v0", success_key="sucess")
    env = GymnasiumEnv(task)
    env.reset(seed=1, options={"instance": instance_of(task, 1)})
    with pytest.raises(EnvError, match="no success key 'sucess'"):
        env.step(np.zeros(1))


def test_the_time_limit_is_lifted(instance_of):
    """CartPole's and MountainCar's registered limits (500, 999) do not truncate."""
    task = make_task(**MOUNTAIN_CAR)
    env = GymnasiumEnv(task)
    env.reset(seed=1, options={"instance": instance_of(task, 1)})
    assert not any(env.step(np.zeros(1))[3] for _ in range(1001))


@pytest.mark.parametrize("action", [0.5, -1.0, 2.0])
def test_a_choice_is_never_rounded(instance_of, action):
    """An action that is no index of a Discrete space is the agent's error."""
    task = make_task(**CART_POLE)
    env = GymnasiumEnv(task)
    env.reset(seed=1, options={"instance": instance_of(task, 1)})
    with pytest.raises(AgentError, match=r"integer in \[0, 1\]"):
        env.step(np.array([action]))


def test_equal_bounds_are_one_slice():
    """Pendulum's torque is bounded by 2: one slice says so."""
    (item,) = GymnasiumEnv(make_task(id="Pendulum-v1", success_rule="terminated")).env_spec.action
    assert (item.name, item.low, item.high) == ("action", -2.0, 2.0)


def test_bounds_that_differ_are_slices_of_their_own():
    """A slice has one bound for all its entries, so entries with other bounds are other slices."""
    space = gymnasium.spaces.Box(np.array([-1.0, 0.0, -np.inf]), np.array([1.0, 2.0, np.inf]), dtype=np.float64)
    slices = _action_slices(space, discrete=False)
    assert [(item.start, item.stop, item.low, item.high) for item in slices] == [
        (0, 1, -1.0, 1.0),
        (1, 2, 0.0, 2.0),
        (2, 3, None, None),
    ]


def test_kwargs_reach_the_env():
    """Arguments of the env's constructor come from the task."""
    env = GymnasiumEnv(make_task(id="Pendulum-v1", success_rule="terminated", kwargs={"g": 1.5}))
    assert env._env.unwrapped.g == 1.5


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"id": "CartPole-v1"}, "exactly one of the params"),
        ({"id": "CartPole-v1", "success_key": "a", "success_rule": "terminated"}, "exactly one of the params"),
        ({"id": "CartPole-v1", "success_rule": "reward"}, "must be one of terminated, return_at_least"),
        ({"id": "CartPole-v1", "success_rule": "return_at_least"}, "goes with"),
        ({**MOUNTAIN_CAR, "success_threshold": 1.0}, "goes with"),
        ({**MOUNTAIN_CAR, "id": "NoSuchEnv-v0"}, "cannot make 'NoSuchEnv-v0'"),
        ({**MOUNTAIN_CAR, "id": "no_such_module:Env-v0"}, "cannot make"),
        ({**MOUNTAIN_CAR, "kwargs": {"no_such": 1}}, "cannot make"),
        ({**MOUNTAIN_CAR, "kwarg": {}}, "did you mean 'kwargs'"),
        ({**MOUNTAIN_CAR, "id": "FrozenLake-v1"}, "observation space"),
    ],
)
def test_what_cannot_work_is_refused(params, sentence):
    """Each bad task ends with a sentence, before any episode."""
    with pytest.raises(EnvError, match=sentence):
        GymnasiumEnv(make_task(**params))


def test_another_predicate_is_refused():
    """A goal this family cannot evaluate is refused, not ignored."""
    goal = Predicate(kind="callable", ref="package.module:check")
    with pytest.raises(EnvError, match="env_success"):
        GymnasiumEnv(attrs.evolve(make_task(**MOUNTAIN_CAR), success=goal))


INVERTED_PENDULUM = {"id": "InvertedPendulum-v5", "success_rule": "return_at_least", "success_threshold": 1.0}


@pytest.mark.parametrize("speed", [1e15, np.nan, -np.inf])
def test_a_simulation_of_mujoco_that_breaks_down_is_said_to_be_unstable(instance_of, speed, tmp_path, monkeypatch):
    """It succeeds at nothing, whatever its reward is; the next episode is a sound one, in every one of them watched."""
    pytest.importorskip("mujoco")
    monkeypatch.chdir(tmp_path)  # MuJoCo writes its warnings into MUJOCO_LOG.TXT of the working folder
    task = make_task(**INVERTED_PENDULUM)
    env = GymnasiumEnv(task)
    assert set(env.versions) == {"gymnasium", "mujoco"}
    for seed in (1, 2):
        env.reset(seed=seed, options={"instance": instance_of(task, seed)})
        info = env.step(np.zeros(1))[4]
        assert info == {"success": True}
        env._env.unwrapped.data.qvel[:] = speed
        _, _, terminated, truncated, info = env.step(np.zeros(1))
        assert (terminated, truncated, info["success"]) == (False, False, False)
        assert info["unstable"].startswith("MuJoCo warned mjWARN_BADQ")
    env.close()


def test_a_breakdown_that_mujoco_warned_of_is_the_agents(tmp_path, monkeypatch, instance_of):
    """A failure, counted apart, and no abstention: the reward of that step may be no number."""
    pytest.importorskip("mujoco")
    monkeypatch.chdir(tmp_path)
    task = make_task(**{**INVERTED_PENDULUM, "success_threshold": 100.0})
    task = attrs.evolve(task, max_steps=3, stop_on_success=False)
    made = []

    class Breaking(GymnasiumEnv):
        def step(self, action):
            made.append(self)
            if len(made) == 2:
                self._env.unwrapped.data.qvel[:] = np.nan
            observation, _, terminated, truncated, info = super().step(action)
            return observation, np.nan if len(made) == 2 else 1.0, terminated, truncated, info

    trace_path = tmp_path / "trace.jsonl"
    run_episode(Breaking(task), ZeroAgent(), instance_of(task, 1), trace_path=trace_path)
    trace = read_trace(trace_path)
    assert trace.status == "sim_unstable"
    assert Success().score(trace, trace.instance).value == 0.0


def test_what_is_no_simulation_of_mujoco_is_not_watched():
    """Nor asked for a package that it does not need."""
    assert set(GymnasiumEnv(make_task(**CART_POLE)).versions) == {"gymnasium"}
    assert watch_of(object()) is None
