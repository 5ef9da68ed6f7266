"""What a verifier is given of an episode."""

from __future__ import annotations

import json
from pathlib import Path

from hylo_eval import read_trace, run_episode
from hylo_eval.grading.material import events_of, summary_of, task_of, trajectory_of
from hylo_eval.verify.verifiers.flattening import flatten_trajectory
from tests.answered import answered, episode, step
from tests.episodes import FunctionAgent, ScriptedEnv, instance, task


def test_the_task_is_prompt_reference_and_params() -> None:
    """The prompt is the instruction that was used; a task without a reference has none."""
    assert task_of(answered("x")) == {"prompt": "go", "params": {}}
    params = {"reference": "42", "layout": [1, 2]}
    assert task_of(answered("x", params=params)) == {"prompt": "go", "reference": "42", "params": params}


def test_a_text_agents_trajectory_is_its_messages() -> None:
    """For every kind; flattened they are what it wrote."""
    trace = episode(step(0, "so "), step(1, "42"))
    messages = trajectory_of(trace, events=True)
    assert messages == [{"role": "assistant", "content": "so "}, {"role": "assistant", "content": "42"}]
    assert messages == trajectory_of(trace, events=False)
    assert flatten_trajectory(messages) == "so 42"


def test_a_robots_trajectory_is_its_events_or_a_summary(tmp_path: Path) -> None:
    """The events are the trace's own lines; the summary says nothing of success or reward."""
    path = tmp_path / "trace.jsonl"
    run_episode(ScriptedEnv(success_at=(1,)), FunctionAgent(), instance(task(max_steps=3)), trace_path=path)
    trace = read_trace(path)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    events = trajectory_of(trace, events=True)
    assert [event["type"] for event in events] == [line["type"] for line in lines]
    for event, line in zip(events, lines, strict=True):
        assert line.items() <= event.items()
    text = trajectory_of(trace, events=False)
    summary = json.loads(text)
    assert summary == summary_of(trace)
    assert (summary["steps"], summary["status"], summary["instruction"]) == (2, "completed", "go")
    assert summary["last_observation"] == lines[3]["observation"]
    assert "success" not in text
    assert "reward" not in text


def test_long_observations_are_named_and_not_shown() -> None:
    """A judge's prompt has a bound; numbers that are not finite are words."""
    summary = summary_of(episode(step(0, [0.5], grid=[[0.0] * 10] * 10, few=[float("nan"), 1.0])))
    assert summary["last_observation"] == {"grid": "(100 numbers)", "few": ["NaN", 1.0]}
    json.dumps(summary, allow_nan=False)


def test_interventions_stand_before_their_steps() -> None:
    """And the end event at the end."""
    from hylo_core.trace import SafetyEvent

    trace = episode(step(0, [0.5]), step(1, [0.5]), safety=(SafetyEvent(1, "bounds", "too far", [2.0], [1.0]),))
    kinds = [event["type"] for event in events_of(trace)]
    assert kinds == ["episode_start", "reset", "step", "safety", "step", "episode_end"]
