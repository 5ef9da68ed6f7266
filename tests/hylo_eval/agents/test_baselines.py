"""Zero, random and replay."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_core.spec import ActionSlice, EnvSpec
from hylo_core.task import TaskInstance
from hylo_eval.agents.baselines import MAX_LINE_BYTES, RandomAgent, ReplayAgent, ZeroAgent
from hylo_eval.agents.conformance import check_agent
from hylo_eval.agents.reach_scripted import ReachScripted
from hylo_eval.benchmarks import find_benchmark
from hylo_eval.envs.fetch import FetchEnv
from hylo_eval.envs.gymnasium import GymnasiumEnv
from hylo_eval.envs.reach import ReachEnv
from hylo_eval.errors import AgentError, TraceError

TASK = find_benchmark("reach_fixed").tasks[0]


def instance_of(seed):
    return TaskInstance(spec=TASK, seed=seed, episode_index=0, split="test")


def env_spec(low, high, size=3, unit="m"):
    return EnvSpec(action=(ActionSlice(name="a", start=0, stop=size, unit=unit, low=low, high=high),))


def answers(agent, seed, count=5):
    session = agent.open_episode(instance_of(0), "", seed)
    return [session.act({}).actions for _ in range(count)]


@pytest.mark.parametrize("agent", [ZeroAgent, RandomAgent])
@pytest.mark.parametrize(
    ("env", "benchmark"),
    [(ReachEnv, "reach_fixed"), (FetchEnv, "fetch_push"), (GymnasiumEnv, "classic_control")],
)
def test_baselines_conform_everywhere(agent, env, benchmark, recorded):
    """On every family, the baselines keep every rule of the contract."""
    for task in find_benchmark(benchmark).tasks:
        instance, spec, observations = recorded(env, task, steps=4)
        check_agent(agent, instance, observations, env_spec=spec).require()


def test_zero_is_zero_of_the_env_size():
    """Five entries, all zero."""
    agent = ZeroAgent()
    agent.meet(env_spec(-1.0, 1.0, size=5))
    assert [item.tolist() for item in answers(agent, 0, 2)] == [[0.0] * 5] * 2


def test_zero_outside_the_bounds_is_the_nearest_bound():
    """Where zero is no action, the nearest one is."""
    agent = ZeroAgent()
    agent.meet(env_spec(0.2, 1.0))
    assert answers(agent, 0, 1)[0].tolist() == [0.2] * 3


@given(low=st.floats(-10, 10), width=st.floats(0, 10), seed=st.integers(0, 2**31 - 1))
def test_random_stays_within_bounds_and_repeats_by_seed(low, width, seed):
    """Every entry lies within the env's bounds, and the same seed gives the same actions."""
    agent = RandomAgent()
    agent.meet(env_spec(low, low + width))
    first, second = answers(agent, seed), answers(agent, seed)
    assert all(np.array_equal(one, other) for one, other in zip(first, second, strict=True))
    assert all(low <= item.min() <= item.max() <= low + width for item in first)


def test_random_takes_its_own_bounds_where_the_env_has_none():
    """Without bounds of the env, the options decide."""
    agent = RandomAgent(low=2.0, high=3.0)
    agent.meet(env_spec(None, None))
    assert all(2.0 <= item.min() <= item.max() <= 3.0 for item in answers(agent, 1))


def test_random_draws_whole_indices_up_to_the_last():
    """A choice of three is 0, 1 or 2, and each comes up."""
    agent = RandomAgent()
    agent.meet(env_spec(0.0, 2.0, size=1, unit="index"))
    assert {int(item[0]) for item in answers(agent, 3, 50)} == {0, 1, 2}


@pytest.mark.parametrize("agent", [ZeroAgent, RandomAgent])
def test_an_unknown_action_needs_its_size_as_an_option(agent):
    """Without slices the agent says which option to give; with it, it acts."""
    with pytest.raises(AgentError, match="action_size"):
        answers(agent(), 0)
    assert answers(agent(action_size=7), 0)[0].shape == (7,)


def test_a_size_other_than_the_env_s_is_refused():
    """The option contradicts the env."""
    with pytest.raises(AgentError, match="the env's action has 3 entries"):
        ZeroAgent(action_size=7).meet(env_spec(-1.0, 1.0))


def write_trace(path, seed, actions):
    """A trace as far as replay reads it."""
    lines = [{"type": "episode_start", "instance": instance_of(seed).to_dict()}, {"type": "reset"}]
    lines += [{"type": "step", "index": index, "applied": action} for index, action in enumerate(actions)]
    lines.append({"type": "episode_end"})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_replay_repeats_an_episode_bit_for_bit(tmp_path):
    """Replaying the applied actions of an episode gives its observations again."""
    instance = instance_of(10007)
    env = ReachEnv(TASK)

    def run(agent):
        observation, _ = env.reset(seed=instance.seed, options={"instance": instance})
        session = agent.open_episode(instance, "", 0)
        actions, positions = [], []
        for _ in range(40):
            action = session.act(observation).actions
            observation, *_ = env.step(action)
            actions.append(action.tolist())
            positions.append(observation["position"].tolist())
        return actions, positions

    actions, positions = run(ReachScripted())
    write_trace(tmp_path / "a.jsonl", 10007, actions)
    assert run(ReplayAgent(str(tmp_path))) == (actions, positions)


def test_replay_finds_the_trace_of_its_instance(tmp_path):
    """Each instance gets the actions of its own trace, not of another."""
    for seed in (1, 2):
        write_trace(tmp_path / f"{seed}.jsonl", seed, [[float(seed)] * 3])
    agent = ReplayAgent(str(tmp_path))
    assert agent.open_episode(instance_of(2), "", 0).act({}).actions.tolist() == [2.0] * 3
    with pytest.raises(AgentError, match="no trace of 'testing/reach_fixed#3'"):
        agent.open_episode(instance_of(3), "", 0)


def test_replay_ends_with_its_trace(tmp_path):
    """When the recorded actions are used up the agent says so; it does not invent one."""
    path = tmp_path / "a.jsonl"
    write_trace(path, 1, [[0.0, 0.0, 0.0]])
    session = ReplayAgent(str(path)).open_episode(instance_of(1), "", 0)
    session.act({})
    with pytest.raises(AgentError, match="holds 1 actions"):
        session.act({})


def test_replay_conforms(tmp_path, recorded):
    """Replay keeps every rule of the contract."""
    instance, spec, observations = recorded(ReachEnv, TASK, seed=1, steps=5)
    write_trace(tmp_path / "a.jsonl", 1, [[0.1 * index] * 3 for index in range(3)] * 3)
    check_agent(ReplayAgent, instance, observations, env_spec=spec, traces=str(tmp_path)).require()


def test_two_traces_of_one_instance_are_refused(tmp_path):
    """Which of the two to replay is not for the agent to guess."""
    for name in ("a.jsonl", "b.jsonl"):
        write_trace(tmp_path / name, 1, [[0.0] * 3])
    with pytest.raises(AgentError, match="both traces of 'testing/reach_fixed#1'"):
        ReplayAgent(str(tmp_path))


@pytest.mark.parametrize(
    "applied", ["null", '["NaN", 0, 0]', "[NaN, 0, 0]", "[true, 0, 0]", "[[0, 0]]", '"left"'], ids=str
)
def test_an_action_that_is_no_list_of_numbers_is_refused(tmp_path, applied):
    """Line 2 is named."""
    path = tmp_path / "a.jsonl"
    start = json.dumps({"type": "episode_start", "instance": instance_of(1).to_dict()})
    path.write_text(start + '\n{"type": "step", "applied": ' + applied + "}\n")
    with pytest.raises(TraceError, match=r"a\.jsonl:2"):
        ReplayAgent(str(path)).open_episode(instance_of(1), "", 0)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "no episode_start"),
        (b"not json\n", "is no JSON"),
        (b"[1, 2]\n", "is no event"),
        (b'{"type": "step"}\n', "no episode_start"),
        (b"[" * 100_000 + b"\n", "is no JSON"),
        (b" " * (MAX_LINE_BYTES + 1), "longer than"),
        (b"\xff\xfe\n", "is no JSON"),
    ],
)
def test_what_is_no_trace_is_refused(tmp_path, content, sentence):
    """A file that is no trace is refused with file and line."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    with pytest.raises(TraceError, match=sentence):
        ReplayAgent(str(path))


def test_a_path_that_is_not_there_is_refused(tmp_path):
    """So is an empty folder."""
    with pytest.raises(AgentError, match="names no file or folder"):
        ReplayAgent(str(tmp_path / "none"))
    with pytest.raises(AgentError, match="holds 0 traces"):
        ReplayAgent(str(tmp_path))
