"""The scripted agent for libero_object, on a world of points and on the simulator."""

import importlib.util

import numpy as np
import pytest

from hylo_core.seeds import derive_seed
from hylo_core.spec import EnvSpec, compare_specs
from hylo_core.task import InitStateRef, Predicate, TaskInstance, TaskSpec
from hylo_eval.agents.libero_scripted import LiberoScripted
from hylo_eval.benchmarks import benchmark_files, load_benchmark
from hylo_eval.envs.libero.specs import ACTION
from hylo_eval.errors import AgentError

RIM_M = 0.14


def instance(expr="(and (in milk_1 basket_1_contain_region))"):
    """An instance whose goal is ``expr``."""
    spec = TaskSpec(
        id="libero_object/milk",
        version="1",
        instruction="milk",
        init=InitStateRef("libero://libero_object/milk.pruned_init", 50),
        success=Predicate("expr", expr=expr),
        max_steps=280,
    )
    return TaskInstance(spec=spec, seed=0, episode_index=0, split="heldout")


class PointWorld:
    """A hand that covers 30 % of each commanded move, a thing it can hold, and a basket; no physics.

    Args:
        slips: How many grasps fail.
    """

    def __init__(self, slips=0) -> None:
        self.hand = np.array([-0.15, 0.0, 0.25])
        self.thing = np.array([0.05, -0.1, 0.07])
        self.basket = np.array([0.0, 0.26, 0.0])
        self.slips = slips
        self.grasps = 0
        self.closed_for = 0
        self.held = False
        self.lowest_over_the_rim = np.inf

    def observe(self):
        """What the agent reads."""
        return {"robot0_eef_pos": self.hand.copy(), "milk_1_pos": self.thing.copy(), "basket_1_pos": self.basket.copy()}

    def step(self, action):
        """Move the hand, close or open it."""
        assert action.shape == (7,)
        assert np.abs(action).max() <= 1.0
        self.closed_for = self.closed_for + 1 if action[6] > 0 else 0
        if self.closed_for == 8 and np.linalg.norm(self.hand - self.thing) < 0.02:
            self.grasps += 1
            self.held = self.grasps > self.slips
        if self.closed_for == 0:
            if self.held:
                self.thing[2] = self.basket[2] + 0.07
            self.held = False
        moved = 0.3 * 0.05 * action[:3]
        self.hand += moved
        if self.held:
            self.thing += moved
            if abs(self.thing[1] - (self.basket[1] - 0.08)) < 0.02:
                self.lowest_over_the_rim = min(self.lowest_over_the_rim, self.thing[2] - 0.07)

    @property
    def solved(self):
        """Whether the thing stands in the basket."""
        return not self.held and np.linalg.norm(self.thing[:2] - self.basket[:2]) < 0.05


def run(world, *, noise=0.0, seed=0, steps=280):
    """An episode; returns the actions and the phases in order."""
    session = LiberoScripted(noise=noise).open_episode(instance(), "milk", seed)
    actions, phases = [], []
    for _ in range(steps):
        reply = session.act(world.observe())
        actions.append(reply.actions)
        if phases[-1:] != [reply.metadata["phase"]]:
            phases.append(reply.metadata["phase"])
        world.step(reply.actions)
        if world.solved:
            break
    return np.array(actions), phases


def test_phases_follow_each_other_and_solve_the_task():
    """Approach, descend, grasp, lift, carry, lower, release: each once, and the thing is in the basket."""
    world = PointWorld()
    _, phases = run(world)
    assert phases == ["approach", "descend", "grasp", "lift", "carry", "lower", "release"]
    assert world.solved
    assert world.lowest_over_the_rim > RIM_M


@pytest.mark.parametrize("slips", [1, 2])
def test_a_failed_grasp_is_tried_again(slips):
    """When the thing has not come along, the agent goes back above it; the task is still solved."""
    world = PointWorld(slips)
    _, phases = run(world, steps=400)
    assert phases.count("grasp") == slips + 1
    assert world.solved


def test_noise_is_seeded_by_the_episode():
    """The same seed gives the same actions, another seed or no noise others, and all stay in bounds."""
    actions = [run(PointWorld(), noise=noise, seed=seed, steps=20)[0] for noise, seed in ((0.5, 1), (0.5, 1), (0.5, 2))]
    np.testing.assert_array_equal(actions[0], actions[1])
    assert not np.array_equal(actions[0], actions[2])
    assert not np.array_equal(actions[0], run(PointWorld(), steps=20)[0])


def test_it_sends_what_the_environment_takes():
    """Its action agrees with the environment's in every field, none of them unknown."""
    offer = EnvSpec(action=ACTION, control_hz=20.0)
    assert [str(found) for found in compare_specs(offer, LiberoScripted().spec) if "action" in found.path] == []


@pytest.mark.parametrize(
    "expr",
    [
        "(and (on milk_1 plate_1))",
        "(and (in milk_1 white_cabinet_1_bottom_region))",
        "(and (in milk_1 basket_1_contain_region) (in butter_1 basket_1_contain_region))",
    ],
)
def test_other_goals_are_refused(expr):
    """It carries one thing into a basket and says so when asked for more."""
    with pytest.raises(AgentError, match="one thing into a basket"):
        LiberoScripted().open_episode(instance(expr), "", 0)


def test_a_missing_pose_names_the_option_that_brings_it():
    """Without privileged observations it cannot act, and the error says which option gives them."""
    session = LiberoScripted().open_episode(instance(), "", 0)
    with pytest.raises(AgentError, match="milk_1_pos") as caught:
        session.act({"robot0_eef_pos": np.zeros(3)})
    assert "privileged=true" in caught.value.fix


def test_negative_noise_is_refused():
    """A standard deviation is not negative."""
    with pytest.raises(AgentError, match="at least 0"):
        LiberoScripted(noise=-0.1)


@pytest.mark.libero
@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("libero") is None, reason="needs the libero extra")
@pytest.mark.parametrize("task_index", [0, 2])
def test_it_solves_published_instances_and_the_goal_never_disagrees(task_index):
    """Three recorded states are solved through ``env.step``; our goal and the simulator's agree at every step."""
    from hylo_eval.envs.libero import LiberoFactory

    benchmark = load_benchmark(benchmark_files()["libero_object"])
    task = benchmark.tasks[task_index]
    env = LiberoFactory(task)
    agent = LiberoScripted()
    found = [item for item in benchmark.instances("heldout") if item.spec.id == task.id and item.seed in (0, 17, 49)]
    for item in found:
        observation, info = env.reset(seed=item.seed, options={"instance": item})
        session = agent.open_episode(item, info["instruction"], derive_seed(item.key, "agent"))
        infos = []
        for _ in range(task.max_steps):
            observation, reward, _, _, info = env.step(session.act(observation).actions)
            infos.append(info)
            if info["success"]:
                break
        assert info["success"] is True
        assert info["goal"] == (True,)
        assert reward == 1.0
        assert not any(step["disagreement"] for step in infos)
    env.close()
