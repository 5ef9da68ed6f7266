"""The conformance check of environments: each rule finds the fault it is there for, and only that one."""

from __future__ import annotations

from typing import Any

import attrs
import gymnasium
import numpy as np
import pytest

from hylo_core.spec import EnvSpec
from hylo_eval.benchmarks import find_benchmark
from hylo_eval.envs.conformance import RULES, check_env
from hylo_eval.envs.reach import ReachEnv
from hylo_eval.errors import EvalError


@pytest.fixture(scope="module")
def task():
    return find_benchmark("reach_fixed").tasks[0]


class PlainSpaces(ReachEnv):
    def __init__(self, task) -> None:
        super().__init__(task)
        self.observation_space = gymnasium.spaces.Box(-1, 1, (3,))


class OtherInstruction(ReachEnv):
    def reset(self, **arguments: Any):
        observation, info = super().reset(**arguments)
        return observation, {**info, "instruction": "do something else"}


class NumpySuccess(ReachEnv):
    def step(self, action):
        *result, info = super().step(action)
        return *result, {"success": np.bool_(info["success"])}


class IntegerFlags(ReachEnv):
    def step(self, action):
        observation, reward, _, truncated, info = super().step(action)
        return observation, reward, 0, truncated, info


class NoReward(ReachEnv):
    def step(self, action):
        observation, _, *rest = super().step(action)
        return observation, float("nan"), *rest


class OtherKey(ReachEnv):
    def step(self, action):
        observation, *rest = super().step(action)
        return {"pos": observation.pop("position"), **observation}, *rest


class UnnamedObservation(ReachEnv):
    def __init__(self, task) -> None:
        super().__init__(task)
        self.env_spec = attrs.evolve(self.env_spec, state=self.env_spec.state[:2])


class OtherBounds(ReachEnv):
    def __init__(self, task) -> None:
        super().__init__(task)
        (item,) = self.env_spec.action
        self.env_spec = attrs.evolve(self.env_spec, action=(attrs.evolve(item, high=1.0),))


class TimeLimit(ReachEnv):
    steps = 0

    def reset(self, **arguments: Any):
        self.steps = 0
        return super().reset(**arguments)

    def step(self, action):
        observation, reward, terminated, _, info = super().step(action)
        self.steps += 1
        return observation, reward, terminated, self.steps >= 50, info


class ResetCounter(ReachEnv):
    resets = 0

    def reset(self, **arguments: Any):
        _, info = super().reset(**arguments)
        self.resets += 1
        self._position = self._position + 1e-9 * self.resets
        return self._observe(), info


class GlobalGenerator(ReachEnv):
    def reset(self, **arguments: Any):
        _, info = super().reset(**arguments)
        self._position = self._position + 1e-6 * np.random.uniform(size=3)  # noqa: NPY002 - the fault
        return self._observe(), info


class OneScene(ReachEnv):
    def _draw_start(self, generator):
        return np.zeros(3)


class AnyInstance(ReachEnv):
    def reset(self, *, seed=None, options=None):
        from hylo_core.task import TaskInstance

        mine = TaskInstance(spec=self._task, seed=seed, episode_index=0, split="any")
        return super().reset(seed=seed, options={"instance": mine})


class AnyOption(ReachEnv):
    def __init__(self, task, **_: Any) -> None:
        super().__init__(task)


class WritesTheAction(ReachEnv):
    def step(self, action):
        action *= 0.5
        return super().step(action)


class ReusedBuffer(ReachEnv):
    def _observe(self):
        if not hasattr(self, "_buffer"):
            self._buffer = np.zeros(3)
        self._buffer.flags.writeable = True
        self._buffer[:] = self._position
        return {**super()._observe(), "position": self._buffer}


class NoVersions(ReachEnv):
    def __init__(self, task) -> None:
        super().__init__(task)
        self.versions = {}


class ClosesOnce(ReachEnv):
    def close(self):
        assert not getattr(self, "closed", False)
        self.closed = True


class WrongGripper(ReachEnv):
    """The third velocity posing as a gripper that opens downwards."""

    def __init__(self, task) -> None:
        super().__init__(task)
        (item,) = self.env_spec.action
        motion = attrs.evolve(item, stop=2)
        gripper = attrs.evolve(item, name="gripper", start=2, gripper="positive_closes")
        self.env_spec = attrs.evolve(self.env_spec, action=(motion, gripper))

    def gripper_opening(self):
        return float(self._position[2])


FAULTS = {
    "spaces": PlainSpaces,
    "instruction": OtherInstruction,
    "success": NumpySuccess,
    "step_types": IntegerFlags,
    "observations": OtherKey,
    "spec_observations": UnnamedObservation,
    "spec_action": OtherBounds,
    "time_limit": TimeLimit,
    "reset_purity": ResetCounter,
    "distinct_scenes": OneScene,
    "reset_arguments": AnyInstance,
    "unknown_option": AnyOption,
    "action_untouched": WritesTheAction,
    "observation_untouched": ReusedBuffer,
    "description": NoVersions,
    "close": ClosesOnce,
    "gripper": WrongGripper,
}


def test_every_rule_has_a_fault():
    """The table below leaves no rule untested."""
    assert set(FAULTS) == {rule.name for rule in RULES}


@pytest.mark.parametrize("rule", FAULTS)
def test_each_rule_finds_its_fault(rule, task):
    """The env with that fault breaks that rule, and the report says so by name."""
    report = check_env(FAULTS[rule], task)
    assert rule in {finding.rule for finding in report.broken}
    with pytest.raises(EvalError, match=rule):
        report.require()


def test_a_global_generator_is_found(task):
    """An env that draws from numpy's global generator is impure, however it was seeded before."""
    assert [finding.rule for finding in check_env(GlobalGenerator, task).broken] == ["reset_purity"]


def test_a_reward_that_is_not_finite_is_found(task):
    """A run would end every such episode as an error of the environment."""
    (finding,) = check_env(NoReward, task).broken
    assert (finding.rule, "the reward is nan" in str(finding)) == ("step_types", True)


@pytest.mark.parametrize("rule", ["instruction", "distinct_scenes", "reset_arguments", "unknown_option", "gripper"])
def test_a_fault_breaks_no_other_rule(rule, task):
    """Rules are independent where the faults are."""
    assert [finding.rule for finding in check_env(FAULTS[rule], task).broken] == [rule]


def test_a_sound_env_keeps_every_rule(task):
    """The positive control, and how the report reads."""
    report = check_env(ReachEnv, task)
    assert report.ok
    assert "ok     success: info['success'] is a bool" in str(report)


def test_an_env_without_a_spec_breaks_rules_but_raises_nothing(task):
    """What a foreign env lacks becomes findings, not a crash of the check."""

    class Bare(ReachEnv):
        def __init__(self, task) -> None:
            super().__init__(task)
            self.env_spec = None

    broken = {finding.rule for finding in check_env(Bare, task).broken}
    assert {"spec_observations", "spec_action"} <= broken


def test_unknown_slices_are_not_held_against_an_env(task):
    """An env that says its action is unknown keeps the rule: unknown is a value."""

    class Unknown(ReachEnv):
        def __init__(self, task) -> None:
            super().__init__(task)
            self.env_spec = EnvSpec(state=self.env_spec.state)

    outcomes = {finding.rule: finding.outcome for finding in check_env(Unknown, task).findings}
    assert outcomes["spec_action"] == "not_applicable"


def test_a_dtype_other_than_the_spaces_is_found(task):
    """A policy that was promised float64 and gets float32 sees other numbers."""

    class OtherDtype(ReachEnv):
        def __init__(self, task) -> None:
            super().__init__(task)
            state = tuple(attrs.evolve(item, dtype="float32") for item in self.env_spec.state)
            self.env_spec = attrs.evolve(self.env_spec, state=state)

    (finding,) = check_env(OtherDtype, task).broken
    assert finding.rule == "spec_observations"
    assert finding.detail.endswith("the dtype float32, the space float64")
