"""The conformance check of agents: each rule finds the fault it is there for."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest

from hylo_eval.agents.conformance import RULES, check_agent
from hylo_eval.agents.protocol import Reply
from hylo_eval.agents.reach_scripted import ReachScripted
from hylo_eval.benchmarks import find_benchmark
from hylo_eval.envs.reach import ReachEnv
from hylo_eval.errors import EvalError


@pytest.fixture(scope="module")
def shown(recorded):
    return recorded(ReachEnv, find_benchmark("reach_fixed").tasks[0])


class NoInfo(ReachScripted):
    def __init__(self) -> None:
        super().__init__()
        self.info = {"name": "dict"}


class OtherUnit(ReachScripted):
    def __init__(self) -> None:
        super().__init__()
        (item,) = self.spec.action
        self.spec = attrs.evolve(self.spec, action=(attrs.evolve(item, unit="cm/s"),))


class BareArray(ReachScripted):
    def _act(self, observation):
        return super()._act(observation).actions


class WritesObservation(ReachScripted):
    def _act(self, observation):
        observation["goal"] -= observation["position"]
        return Reply(np.zeros(3))


class Misshapen(ReachScripted):
    def _act(self, observation):
        return Reply(np.zeros(4))


class TooFast(ReachScripted):
    def _act(self, observation):
        return Reply(np.ones(3))


class NotFinite(ReachScripted):
    def _act(self, observation):
        return Reply(np.full(3, np.nan))


class Unseeded(ReachScripted):
    def _act(self, observation):
        return Reply(np.random.default_rng().uniform(-0.1, 0.1, 3))


class SharedQueue(ReachScripted):
    """One queue for all sessions: what emptied it last decides what the next one gets."""

    def open_episode(self, instance, instruction, seed):
        self.count = 0
        return super().open_episode(instance, instruction, seed)

    def _act(self, observation):
        self.count += 1
        return Reply(np.full(3, 0.001 * self.count))


class ReusedBuffer(ReachScripted):
    def __init__(self) -> None:
        super().__init__()
        self.buffer = np.zeros(3)

    def _act(self, observation):
        self.buffer[:] = super()._act(observation).actions
        return Reply(self.buffer)


class AnyOption(ReachScripted):
    def __init__(self, **_: Any) -> None:
        super().__init__()


FAULTS = [
    ("description", NoInfo),
    ("spec", OtherUnit),
    ("reply", BareArray),
    ("reply", WritesObservation),
    ("shape", Misshapen),
    ("bounds", TooFast),
    ("bounds", NotFinite),
    ("seeded", Unseeded),
    ("independent", SharedQueue),
    ("answer_untouched", ReusedBuffer),
    ("unknown_option", AnyOption),
]


def test_every_rule_has_a_fault():
    """The table above leaves no rule untested."""
    assert {rule for rule, _ in FAULTS} == {rule.name for rule in RULES}


@pytest.mark.parametrize(("rule", "agent"), FAULTS)
def test_each_rule_finds_its_fault(rule, agent, shown):
    """The agent with that fault breaks that rule, and the report says so by name."""
    instance, spec, observations = shown
    report = check_agent(agent, instance, observations, env_spec=spec)
    assert rule in {finding.rule for finding in report.broken}
    with pytest.raises(EvalError, match=rule):
        report.require()


def test_a_check_needs_observations(shown):
    """One observation shows too little, and the check says so."""
    instance, spec, observations = shown
    with pytest.raises(EvalError, match="at least two observations"):
        check_agent(ReachScripted, instance, observations[:1], env_spec=spec)
