"""Progress towards a goal of several parts."""

from __future__ import annotations

from typing import Any

import pytest

from hylo_eval.scoring.progress import ProgressAtEnd, ProgressBest
from tests.episodes import ScriptedEnv, task

GOALS = {2: (True, False), 5: (True, True), 9: (False, True)}


def goal_at(index: int) -> Any:
    """Half of the goal holds at step 2, all of it at 5, half at the end."""
    return {"goal": GOALS.get(index, (False, False))}


def scores(trace: Any) -> list[float | None]:
    """Best and at the end."""
    return [scorer.score(trace, trace.instance).value for scorer in (ProgressBest(), ProgressAtEnd())]


def test_best_and_last_share_of_the_goal(traced: Any) -> None:
    """Each of its own step."""
    trace = traced(ScriptedEnv(on_step=goal_at), spec=task(stop_on_success=False))
    assert scores(trace) == [1.0, 0.5]
    assert ProgressBest().score(trace, trace.instance).metadata["step"] == 5


def test_an_end_nobody_saw_is_an_abstention(traced: Any) -> None:
    """The episode stopped at its success: best is known, the end is not."""
    trace = traced(ScriptedEnv(on_step=goal_at, success_at=(5,)))
    assert scores(trace) == [1.0, None]
    assert ProgressAtEnd().score(trace, trace.instance).metadata["reason"] == "ended_on_success"


@pytest.mark.parametrize("goal", [{}, {"goal": ()}])
def test_a_goal_that_is_not_reported_is_an_abstention(traced: Any, goal: Any) -> None:
    """Neither 0 nor a guess from success."""
    trace = traced(ScriptedEnv(on_step=lambda _: dict(goal)))
    for scorer in (ProgressBest(), ProgressAtEnd()):
        assert scorer.score(trace, trace.instance).metadata["reason"] == "not_recorded"


def test_an_unstable_simulation_makes_no_progress(traced: Any) -> None:
    """As with success: what a scene that flew apart claims does not count."""
    trace = traced(ScriptedEnv(on_step=lambda index: {"goal": (True,), **({"unstable": "bad"} if index == 3 else {})}))
    assert scores(trace) == [0.0, 0.0]
