"""Whole episodes through the control loop: the same run twice is the same behaviour, and a replay repeats it."""

from __future__ import annotations

import pytest

from hylo_core.refs import load_ref
from hylo_core.trace import EpisodeStatus
from hylo_eval.agents.baselines import ReplayAgent
from hylo_eval.benchmarks import find_benchmark
from hylo_eval.rollout.episode import run_episode

CASES = [
    ("reach_fixed", 0, "hylo_eval.envs.reach:ReachEnv", "hylo_eval.agents.reach_scripted:ReachScripted"),
    ("fetch_push", 0, "hylo_eval.envs.fetch:FetchEnv", "hylo_eval.agents.fetch_scripted:FetchScripted"),
    pytest.param(
        "metaworld_mt10",
        5,
        "hylo_eval.envs.metaworld:MetaworldEnv",
        "hylo_eval.agents.metaworld_expert:MetaworldExpert",
        marks=pytest.mark.metaworld,
    ),
    pytest.param(
        "libero_object",
        0,
        "hylo_eval.envs.libero:LiberoFactory",
        "hylo_eval.agents.libero_scripted:LiberoScripted",
        marks=[pytest.mark.libero, pytest.mark.slow],
    ),
]


@pytest.mark.parametrize(("name", "index", "env_ref", "agent_ref"), CASES)
def test_the_same_run_twice_has_one_behaviour(name, index, env_ref, agent_ref, tmp_path):
    """A fresh and a reused env give traces of one behaviour digest."""
    benchmark = find_benchmark(name)
    task = benchmark.tasks[index]
    instances = [item for item in benchmark.instances("heldout") if item.spec.id == task.id][:2]
    env, agent = load_ref(env_ref)(task), load_ref(agent_ref)()
    order = [instances[0], instances[1], instances[0]]
    results = [
        run_episode(env, agent, item, trace_path=tmp_path / f"{number}.jsonl") for number, item in enumerate(order)
    ]
    assert {result.end.status for result in results} == {EpisodeStatus.COMPLETED}
    digests = [result.digests.behaviour_sha256 for result in results]
    assert digests[0] == digests[2] != digests[1]


@pytest.mark.parametrize(("name", "index", "env_ref", "agent_ref"), CASES)
def test_a_replay_ends_as_its_recording_did(name, index, env_ref, agent_ref, tmp_path):
    """Replaying the applied actions of a trace in a new env gives the same outcome after the same steps."""
    benchmark = find_benchmark(name)
    task = benchmark.tasks[index]
    instance = next(item for item in benchmark.instances("heldout") if item.spec.id == task.id)
    make = load_ref(env_ref)
    recorded = run_episode(make(task), load_ref(agent_ref)(), instance, trace_path=tmp_path / "a.jsonl")
    replayed = run_episode(make(task), ReplayAgent(str(recorded.path)), instance, trace_path=tmp_path / "b.jsonl")
    for member in ("status", "steps", "success_once", "success_at_end", "reason"):
        assert getattr(replayed.end, member) == getattr(recorded.end, member)
