"""The success predicate, asked again in the simulator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

from hylo_core import Grader
from hylo_core.canonical import digest
from hylo_eval import EnvError, EvalError, read_trace, run_episode
from hylo_eval.grading.predicate import PredicateGrader
from tests.episodes import FunctionAgent, ScriptedEnv, instance, task

SPEC = task(max_steps=4, stop_on_success=False)


def recorded(path: Path, env: ScriptedEnv, spec: Any = SPEC) -> Any:
    """The trace of an agent that pushes differently at every step."""
    agent = FunctionAgent(lambda observation, replies: np.full(2, 0.1 * (replies + 1)))
    run_episode(env, agent, instance(spec), trace_path=path / "trace.jsonl")
    return read_trace(path / "trace.jsonl")


def grader(make: Any, **options: Any) -> PredicateGrader:
    """A grader of these envs."""
    return PredicateGrader(make, identity={"ref": "scripted"}, **options)


def test_the_same_simulator_says_the_same(tmp_path: Path) -> None:
    """The recorded actions lead to the recorded observations; one env serves a task and is closed at the end."""
    trace = recorded(tmp_path, ScriptedEnv(success_at=(1,)))
    made: list[ScriptedEnv] = []

    def make(spec: Any) -> ScriptedEnv:
        made.append(ScriptedEnv(spec, success_at=(1,)))
        return made[-1]

    replaying = grader(make)
    events = [replaying.grade(trace, trace.instance) for _ in range(2)]
    replaying.close()
    assert [(event.value, event.error, event.ref) for event in events] == [(1.0, "", "env_success")] * 2
    assert dict(events[0].metadata) == {"steps": 4, "first_success": 1, "steps_judged_otherwise": 0}
    assert (len(made), made[0].closed) == (1, 1)
    assert isinstance(replaying, Grader)


@pytest.mark.parametrize(("success_at", "once", "end"), [((), 0.0, 0.0), ((1,), 1.0, 0.0), ((3,), 1.0, 1.0)])
def test_success_is_the_tasks_own(tmp_path: Path, success_at: Any, once: float, end: float) -> None:
    """At any step, or at the last; also where the recording said otherwise."""
    for meaning, value in (("once", once), ("end", end)):
        spec = attrs.evolve(SPEC, success_at=meaning)
        folder = tmp_path / meaning
        folder.mkdir()
        trace = recorded(folder, ScriptedEnv(), spec)
        event = grader(lambda spec: ScriptedEnv(spec, success_at=success_at)).grade(trace, trace.instance)
        assert (event.value, event.error) == (value, "")
        assert event.metadata["steps_judged_otherwise"] == len(success_at)


class DriftingEnv(ScriptedEnv):
    """Moves by a little more than it is told to."""

    drift = 1e-3

    def step(self, action: Any) -> Any:
        return super().step(np.asarray(action) + self.drift)


def test_a_replay_that_leaves_the_recording_judges_nothing(tmp_path: Path) -> None:
    """It says at which step; a tolerance may allow it."""
    trace = recorded(tmp_path, ScriptedEnv())
    event = grader(lambda spec: DriftingEnv(spec, success_at=(0,))).grade(trace, trace.instance)
    assert event.value is None
    assert "leaves the recording at step 0, by 0.001" in event.error
    assert grader(DriftingEnv, tolerance=0.1).grade(trace, trace.instance).value == 0.0
    assert grader(DriftingEnv).digest != grader(DriftingEnv, tolerance=0.1).digest
    with pytest.raises(EvalError, match="tolerance"):
        grader(DriftingEnv, tolerance=-1.0)


def test_another_scene_is_no_replay(tmp_path: Path) -> None:
    """By its state digest, or by what is observed."""
    first, second = digest(1), digest(2)
    trace = recorded(tmp_path, ScriptedEnv(on_reset=lambda: {"state_digest": first}))
    event = grader(lambda spec: ScriptedEnv(spec, on_reset=lambda: {"state_digest": second})).grade(
        trace, trace.instance
    )
    assert (event.value, "another scene" in event.error) == (None, True)
    event = grader(lambda spec: ScriptedEnv(spec, action_size=3)).grade(trace, trace.instance)
    assert event.value is None


def test_a_simulator_that_fails_is_a_failure_of_the_grader(tmp_path: Path) -> None:
    """In its making, at reset, at a step, or by ending early."""
    trace = recorded(tmp_path, ScriptedEnv())

    def missing(_: Any) -> Any:
        raise EnvError("the simulator is not installed")

    def broken(_: int) -> Any:
        raise RuntimeError("no display")

    for make, reason in (
        (missing, "not installed"),
        (lambda spec: ScriptedEnv(spec, on_step=broken), "env_error: RuntimeError: no display"),
        (lambda spec: ScriptedEnv(spec, terminate_at=1), "ended after 2 steps, the recording after 4"),
    ):
        event = grader(make).grade(trace, trace.instance)
        assert event.value is None
        assert reason in event.error


def test_a_recording_that_was_cut_short_ends_where_its_actions_do(tmp_path: Path) -> None:
    """The replay does not go on with other actions."""
    trace = recorded(tmp_path, ScriptedEnv(success_at=(3,)))
    trace = attrs.evolve(trace, steps=trace.steps[:2])
    event = grader(lambda spec: ScriptedEnv(spec, success_at=(3,))).grade(trace, trace.instance)
    assert (event.value, event.metadata["steps"]) == (0.0, 2)
    empty = attrs.evolve(trace, steps=())
    assert "nothing to replay" in grader(ScriptedEnv).grade(empty, empty.instance).error
