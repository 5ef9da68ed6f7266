"""The Meta-World family: scenes by index, purity of reset, success, and the frozen benchmarks."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

from hylo_core.errors import ContractError, DigestMismatch
from hylo_core.spec import compare_specs
from hylo_core.task import InitStateRef, TaskInstance
from hylo_eval.benchmarks import find_benchmark
from hylo_eval.envs.metaworld_instructions import INSTRUCTIONS
from hylo_eval.errors import EnvError

pytestmark = pytest.mark.metaworld
metaworld = pytest.importorskip("metaworld")

from hylo_eval.agents.metaworld_expert import MetaworldExpert  # noqa: E402 - after the skip
from hylo_eval.envs.conformance import check_env  # noqa: E402
from hylo_eval.envs.metaworld import MetaworldEnv, freeze  # noqa: E402


def task_named(name):
    tasks = find_benchmark("metaworld_mt50").tasks
    return next(task for task in tasks if task.id == f"metaworld/{name}")


@pytest.fixture(scope="module")
def door():
    """The door-open env, shared: making one draws 50 scenes."""
    return MetaworldEnv(task_named("door-open-v3"))


@pytest.fixture(scope="module")
def door_task():
    return task_named("door-open-v3")


@pytest.mark.parametrize("name", ["door-open-v3", "pick-place-v3"])
def test_conforms(name):
    """The env keeps every rule of the contract."""
    check_env(MetaworldEnv, task_named(name)).require()


def test_every_task_has_an_instruction_and_an_expert():
    """Tasks, instructions and experts have the same 50 names."""
    from metaworld.policies import ENV_POLICY_MAP

    assert set(INSTRUCTIONS) == set(ENV_POLICY_MAP) == set(metaworld.MT1.ENV_NAMES)
    assert len(INSTRUCTIONS) == 50


@pytest.mark.parametrize("name", ["metaworld_mt10", "metaworld_mt10_dev", "metaworld_mt10_at_end"])
@pytest.mark.slow
def test_the_file_is_what_the_simulator_says(name):
    """The benchmark file equals the definition frozen from the installed simulator."""
    assert find_benchmark(name).digest() == freeze(name).digest()


@pytest.mark.slow
def test_the_fifty_tasks_are_what_the_simulator_says():
    """The file of all 50 tasks equals the definition frozen from the installed simulator."""
    assert find_benchmark("metaworld_mt50").digest() == freeze("metaworld_mt50").digest()


def test_ten_of_the_fifty(door_task):
    """The ten tasks of MT10 are the same contracts as in MT50."""
    fifty = {task.digest() for task in find_benchmark("metaworld_mt50").tasks}
    ten = find_benchmark("metaworld_mt10").tasks
    assert len(ten) == 10
    assert {task.digest() for task in ten} <= fifty
    assert door_task.digest() in {task.digest() for task in ten}


def test_equal_fresh_reused_and_elsewhere(door, door_task, instance_of, episode, digest_elsewhere):
    """An episode is the same bit for bit in a fresh env, after 7 other episodes, and in another process."""
    agent, instance = MetaworldExpert(), instance_of(door_task, 17)
    fresh = episode(MetaworldEnv(door_task), agent, instance, 60)[1]
    for seed in range(7):
        episode(door, agent, instance_of(door_task, seed), 40)
    assert episode(door, agent, instance, 60)[1] == fresh
    refs = ("hylo_eval.envs.metaworld:MetaworldEnv", "hylo_eval.agents.metaworld_expert:MetaworldExpert")
    # Task 3 of MT10 is door-open.
    assert digest_elsewhere("metaworld_mt10:3", 17, 60, *refs) == fresh


@pytest.mark.parametrize("name", ["box-close-v3", "shelf-place-v3", "lever-pull-v3"])
def test_tasks_that_move_fixtures_leave_nothing_behind(name, instance_of, episode):
    """Tasks that write into the model give the same episode after another one, which moved the fixture."""
    task, agent = task_named(name), MetaworldExpert()
    env = MetaworldEnv(task)
    first = episode(env, agent, instance_of(task, 0), 60)[1]
    episode(env, agent, instance_of(task, 1), 60)
    assert episode(env, agent, instance_of(task, 0), 60)[1] == first


def test_the_seed_is_the_index_of_the_scene(door, door_task, instance_of):
    """The scene of seed k is the k-th task that MT1 draws with seed 42: the door stands where it says."""
    import pickle

    scenes = metaworld.MT1("door-open-v3", seed=42).train_tasks
    for seed in (0, 5, 49):
        door.reset(seed=seed, options={"instance": instance_of(door_task, seed)})
        placed = door._simulator.model.body("door").pos
        assert np.array_equal(placed, pickle.loads(scenes[seed].data)["rand_vec"])  # noqa: S301 - made in this process


def test_fifty_seeds_are_fifty_scenes(door, door_task, instance_of):
    """No two of the 50 instances have both state and model digest in common."""
    infos = [door.reset(seed=k, options={"instance": instance_of(door_task, k)})[1] for k in range(50)]
    assert len({(info["state_digest"], info["model_digest"]) for info in infos}) == 50


def test_a_seed_beyond_the_scenes_is_refused(door_task):
    """There is no instance 50."""
    with pytest.raises(ContractError, match="below 50"):
        TaskInstance(spec=door_task, seed=50, episode_index=0, split="heldout")


def test_the_expert_opens_the_door_and_lets_it_swing_back(door, door_task, instance_of, episode):
    """Success holds at some step and no longer at the last: success_once and success_at_end really differ."""
    successes, _ = episode(door, MetaworldExpert(), instance_of(door_task, 0), 500)
    assert any(successes)
    assert not successes[-1]


def test_noise_is_seeded_by_the_instance(door, door_task, instance_of, episode):
    """The same instance gets the same noise twice, and noise changes the episode."""
    instance = instance_of(door_task, 1)
    noisy = [episode(door, MetaworldExpert(noise=1.0), instance, 30)[1] for _ in range(2)]
    assert noisy[0] == noisy[1] != episode(door, MetaworldExpert(), instance, 30)[1]


def test_an_open_window_is_not_closed_at_reset(instance_of):
    """window-close moves the window after its last forward pass; success at reset must not look at the old place."""
    task = task_named("window-close-v3")
    env = MetaworldEnv(task)
    infos = [env.reset(seed=k, options={"instance": instance_of(task, k)})[1] for k in range(10)]
    assert [info["success"] for info in infos] == [False] * 10


def test_asking_for_success_changes_no_trajectory(door, door_task, instance_of):
    """The episode is the same when nobody asks at reset."""
    seen = []
    for ask in (door._success_now, lambda _: False):
        door._success_now = ask
        door.reset(seed=4, options={"instance": instance_of(door_task, 4)})
        seen.append([door.step(np.array([0.5, 0.3, -0.5, 1.0]))[:2] for _ in range(20)])
    del door._success_now
    for (before, reward), (after, other) in zip(*seen, strict=True):
        assert np.array_equal(before["observation"], after["observation"])
        assert reward == other


@pytest.mark.parametrize("name", ["door-open-v3", "reach-v3"])
def test_instability_is_reported(name, instance_of, monkeypatch, tmp_path):
    """An absurd velocity makes MuJoCo warn, and the step says so, even where Meta-World stumbles over NaN."""
    monkeypatch.chdir(tmp_path)  # MuJoCo logs its warnings into the working directory
    door_task = task_named(name)
    door = MetaworldEnv(door_task)
    door.reset(seed=0, options={"instance": instance_of(door_task, 0)})
    door._simulator.data.qvel[:] = 1e12
    with np.errstate(all="ignore"):
        *_, info = door.step(np.zeros(4))
    assert info["unstable"].startswith("MuJoCo warned mjWARN_BADQ")


def test_agent_and_env_agree(door):
    """Nothing the expert expects contradicts the env, and the control rate is known on both sides."""
    assert compare_specs(door.env_spec, MetaworldExpert().spec) == ()


def test_other_scenes_than_the_pinned_ones_are_refused(door_task):
    """A task that pins the digest of its scenes does not run on others."""
    pinned = attrs.evolve(door_task, params={"scenes_sha256": "sha256:" + "0" * 64})
    with pytest.raises(DigestMismatch, match="list of scenes"):
        MetaworldEnv(pinned)


@pytest.mark.parametrize(
    ("init", "sentence"),
    [
        (InitStateRef("metaworld://MT1/42/door-opne-v3", 50), "did you mean 'door-open-v3'"),
        (InitStateRef("metaworld://MT1/42/door-open-v3", 49), "init.count = 50"),
        (InitStateRef("metaworld://ML1/42/door-open-v3", 50), "must be metaworld://MT1/"),
    ],
)
def test_a_wrong_init_is_refused(door_task, init, sentence):
    """Each wrong reference ends with a sentence."""
    with pytest.raises(EnvError, match=sentence):
        MetaworldEnv(attrs.evolve(door_task, init=init))


@pytest.mark.slow
def test_the_experts_solve_the_fifty_tasks(instance_of):
    """On scene 0, without noise, the packaged experts solve at least 48 of the 50 tasks, and none at reset."""
    agent = MetaworldExpert()
    solved = 0
    for task in find_benchmark("metaworld_mt50").tasks:
        env, instance = MetaworldEnv(task), instance_of(task, 0)
        observation, info = env.reset(seed=0, options={"instance": instance})
        assert info["success"] is False, task.id
        session = agent.open_episode(instance, info["instruction"], 0)
        for _ in range(task.max_steps):
            observation, *_, info = env.step(session.act(observation).actions)
            if info["success"]:
                solved += 1
                break
        env.close()
    assert solved >= 48
