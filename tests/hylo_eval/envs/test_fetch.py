"""The Fetch family: purity of reset, stability, success, and the frozen benchmarks."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

from hylo_core.spec import compare_specs
from hylo_eval.agents.fetch_scripted import FetchScripted
from hylo_eval.benchmarks import find_benchmark
from hylo_eval.envs.conformance import check_env
from hylo_eval.envs.fetch import FetchEnv, freeze
from hylo_eval.errors import EnvError

NAMES = ("fetch_reach", "fetch_push", "fetch_pick_and_place")


@pytest.fixture(scope="module")
def task():
    return find_benchmark("fetch_pick_and_place").tasks[0]


@pytest.mark.parametrize("name", NAMES)
def test_conforms(name):
    """Each of the three tasks keeps every rule of the contract."""
    check_env(FetchEnv, find_benchmark(name).tasks[0], seeds=(10001, 10002)).require()


@pytest.mark.parametrize("name", NAMES)
def test_the_file_is_what_the_simulator_says(name):
    """The benchmark file equals the definition frozen from the installed simulator."""
    assert find_benchmark(name).digest() == freeze(name).digest()


@pytest.mark.parametrize("name", NAMES)
def test_heldout_is_twenty_unsolved_seeds(name, instance_of):
    """The held-out split has 20 instances, and success holds at reset in none."""
    benchmark = find_benchmark(name)
    env = FetchEnv(benchmark.tasks[0])
    instances = benchmark.instances("heldout")
    infos = [env.reset(seed=item.seed, options={"instance": item})[1] for item in instances]
    assert [info["success"] for info in infos] == [False] * 20


def test_equal_fresh_reused_and_elsewhere(task, instance_of, episode, digest_elsewhere):
    """An episode is the same bit for bit in a fresh env, after 7 other episodes, and in another process."""
    agent = FetchScripted()
    instance = instance_of(task, 10005)
    fresh = episode(FetchEnv(task), agent, instance, 50)[1]
    reused = FetchEnv(task)
    for seed in range(7):
        episode(reused, agent, instance_of(task, seed), 20)
    assert episode(reused, agent, instance, 50)[1] == fresh
    refs = ("hylo_eval.envs.fetch:FetchEnv", "hylo_eval.agents.fetch_scripted:FetchScripted")
    assert digest_elsewhere("fetch_pick_and_place", 10005, 50, *refs) == fresh


def test_the_goal_is_part_of_the_scene(instance_of):
    """In reach only the goal differs between seeds: equal states, different model digests."""
    task = find_benchmark("fetch_reach").tasks[0]
    env = FetchEnv(task)
    infos = [env.reset(seed=seed, options={"instance": instance_of(task, seed)})[1] for seed in (0, 1)]
    assert infos[0]["state_digest"] == infos[1]["state_digest"]
    assert infos[0]["model_digest"] != infos[1]["model_digest"]


@pytest.mark.parametrize(
    ("name", "noise", "lowest", "highest"),
    [
        ("fetch_reach", 0.0, 20, 20),
        ("fetch_push", 0.0, 20, 20),
        ("fetch_pick_and_place", 0.0, 20, 20),
        ("fetch_pick_and_place", 0.4, 8, 18),
        ("fetch_pick_and_place", 0.8, 0, 4),
    ],
)
def test_success_of_the_scripted_agent(name, noise, lowest, highest, episode):
    """Without noise all 20 held-out episodes end in success, with noise fewer; figures vary with MuJoCo."""
    benchmark = find_benchmark(name)
    env, agent = FetchEnv(benchmark.tasks[0]), FetchScripted(noise=noise)
    solved = sum(episode(env, agent, item, 50)[0][-1] for item in benchmark.instances("heldout"))
    assert lowest <= solved <= highest


def test_float32_and_float64_actions_do_the_same(task, instance_of):
    """The dtype an agent sends does not change where the arm goes."""
    action = np.array([0.3, -0.7, 0.1, 0.9], dtype=np.float32)
    seen = []
    for dtype in (np.float32, np.float64):
        env = FetchEnv(task)
        env.reset(seed=1, options={"instance": instance_of(task, 1)})
        observation, *_ = env.step(action.astype(dtype))
        seen.append(observation["observation"])
    assert np.array_equal(*seen)


def test_instability_is_reported_and_does_not_reset_the_scene(task, instance_of, monkeypatch, tmp_path):
    """An absurd velocity makes MuJoCo warn; the step says so, and the simulation does not start over."""
    monkeypatch.chdir(tmp_path)  # MuJoCo logs its warnings into the working directory
    env = FetchEnv(task)
    env.reset(seed=1, options={"instance": instance_of(task, 1)})
    for _ in range(5):
        env.step(np.zeros(4))
    data = env._simulator.data
    before = data.time
    data.qvel[:] = 1e12
    with np.errstate(all="ignore"):
        *_, info = env.step(np.zeros(4))
    assert info["unstable"].startswith("MuJoCo warned mjWARN_BADQ")
    assert data.time > before


def test_an_episode_after_an_unstable_one_is_clean(task, instance_of, episode, monkeypatch, tmp_path):
    """What an unstable episode left behind is gone at the next reset."""
    monkeypatch.chdir(tmp_path)
    agent, instance = FetchScripted(), instance_of(task, 10001)
    expected = episode(FetchEnv(task), agent, instance, 20)[1]
    env = FetchEnv(task)
    env.reset(seed=1, options={"instance": instance_of(task, 1)})
    env._simulator.data.qvel[:] = 1e12
    with np.errstate(all="ignore"):
        env.step(np.zeros(4))
    assert episode(env, agent, instance, 20)[1] == expected


def test_success_other_than_zero_or_one_is_an_error(task, instance_of):
    """A simulator that answers 0.5 is wrong, and is not rounded."""
    env = FetchEnv(task)
    env._simulator._is_success = lambda *_: np.float32(0.5)
    with pytest.raises(EnvError, match="neither 0 nor 1"):
        env.reset(seed=1, options={"instance": instance_of(task, 1)})


def test_agent_and_env_agree(task):
    """Nothing the scripted agent expects contradicts the env, and the control rate is known on both sides."""
    assert compare_specs(FetchEnv(task).env_spec, FetchScripted().spec) == ()


@pytest.mark.parametrize("size", [-1, 5000])
def test_an_impossible_picture_is_refused(task, size):
    """A picture size out of range ends with a sentence."""
    with pytest.raises(EnvError, match="image_size"):
        FetchEnv(task, image_size=size)


def test_another_id_is_refused(task):
    """A Gymnasium id of another family names those that work."""
    with pytest.raises(EnvError, match="FetchReach-v4, FetchPush-v4"):
        FetchEnv(attrs.evolve(task, params={"env_id": "AntMaze-v1"}))
