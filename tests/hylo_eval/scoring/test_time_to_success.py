"""Time to success of one episode and of many."""

from __future__ import annotations

from typing import Any

import gymnasium
import pytest

from hylo_core import Score
from hylo_eval.scoring.aggregate import summarise_scorer
from hylo_eval.scoring.survival import summarise_times
from hylo_eval.scoring.time_to_success import TimeToSuccess
from tests.episodes import ScriptedEnv, task


def scored(trace: Any) -> Score:
    """The scorer's word."""
    return TimeToSuccess().score(trace, trace.instance)


class Truncating(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Cuts the episode off after four steps, as a built-in time limit does."""

    def step(self, action: Any) -> Any:
        observation, reward, terminated, _, info = self.env.step(action)
        return observation, reward, terminated, self.env.unwrapped.taken == 4, info


def test_success_counts_its_steps_and_failure_the_horizon(traced: Any) -> None:
    """Success after step index 4 took five steps; a fall at index 2 is never a success, not a fast one."""
    assert scored(traced(ScriptedEnv(success_at=(4,)))).value == 5.0
    assert scored(traced(ScriptedEnv())).value == 10.0
    fallen = scored(traced(ScriptedEnv(terminate_at=2)))
    assert (fallen.value, fallen.metadata["success"], fallen.metadata["steps"]) == (10.0, False, 10)
    unstable = traced(ScriptedEnv(success_at=(1,), on_step=lambda index: {"unstable": "bad"} if index == 1 else None))
    assert scored(unstable).value == 10.0


def test_an_episode_that_was_cut_off_has_no_restricted_time(traced: Any) -> None:
    """Censored after four of ten steps: neither 4 nor 10."""
    score = scored(traced(Truncating(ScriptedEnv())))
    assert score.value is None
    assert dict(score.metadata) == {"reason": "censored", "success": False, "steps": 4, "horizon": 10}


def test_the_mean_of_the_scores_is_the_restricted_mean(traced: Any) -> None:
    """Success after 5, after 2 and never, up to 10: 17/3, by the summary and by the area under the curve."""
    ends = [ScriptedEnv(success_at=(4,)), ScriptedEnv(success_at=(1,)), ScriptedEnv()]
    scores = [scored(traced(env)) for env in ends]
    summary = summarise_scorer(TimeToSuccess(), scores)
    assert (summary.mean, summary.unit) == (pytest.approx(17 / 3), "steps")
    times = summarise_times(scores)
    assert (times.n_episodes, times.n_successes, times.horizon) == (3, 2, 10.0)
    assert times.restricted_mean == pytest.approx(17 / 3)


def test_infrastructure_says_nothing_about_time(traced: Any) -> None:
    """It is neither in the mean nor in the curve."""

    def lost(_: int) -> None:
        raise OSError("lost")

    score = scored(traced(ScriptedEnv(on_step=lost), spec=task()))
    assert score.metadata["reason"] == "infra"
    assert summarise_times([score]).n_episodes == 0
