"""Scorers, aggregation and the interval."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_core import Score
from hylo_eval import EvalError
from hylo_eval.safety.bounds import ActionBounds
from hylo_eval.scoring.aggregate import summarise
from hylo_eval.scoring.counts import SafetyInterventions, Steps
from hylo_eval.scoring.intervals import trials_for_width, wilson_interval
from hylo_eval.scoring.latency import LatencyP95, percentile
from hylo_eval.scoring.success import Success, SuccessAtEnd, SuccessOnce
from tests.episodes import FunctionAgent, ScriptedEnv, task

ON = {"stop_on_success": False}


@given(st.integers(5, 400), st.data())
def test_so_many_trials_leave_an_interval_of_the_width_whatever_the_rate(half: int, data: st.DataObject) -> None:
    """The interval of a rate of one half is the widest, and its width asks for exactly its own trials."""
    trials = 2 * half
    low, high = wilson_interval(half, trials) or (0.0, 1.0)
    assert trials_for_width(high - low + 1e-9) == trials
    other = wilson_interval(data.draw(st.integers(0, trials)), trials) or (0.0, 1.0)
    assert other[1] - other[0] <= high - low + 1e-12


def test_ten_points_to_each_side_take_93_trials() -> None:
    """(1.96 / 0.2) ** 2 - 1.96 ** 2 = 92.2."""
    assert trials_for_width(0.2) == 93


@pytest.mark.parametrize(
    ("success_at", "terminate_at", "changes", "once", "at_end", "success"),
    [
        ((), None, {}, 0.0, 0.0, 0.0),
        ((4,), None, {}, 1.0, None, 1.0),
        ((4,), None, ON, 1.0, 0.0, 1.0),
        ((4,), None, {**ON, "success_at": "end"}, 1.0, 0.0, 0.0),
        ((9,), None, {**ON, "success_at": "end"}, 1.0, 1.0, 1.0),
        ((4,), 4, ON, 1.0, None, 1.0),
        ((-1, 4), None, {}, None, None, None),
        ((-1, 4), None, {"params": {"allow_initial_success": True}}, 1.0, None, 1.0),
        ((-1,), None, {"params": {"allow_initial_success": True}}, 0.0, 0.0, 0.0),
    ],
)
def test_success_once_and_at_end_differ_as_they_should(
    traced: Any, success_at: Any, terminate_at: Any, changes: Any, once: Any, at_end: Any, success: Any
) -> None:
    """Success at reset is no success of the agent; an end nobody saw is an abstention."""
    spec = task(**changes)
    trace = traced(ScriptedEnv(success_at=success_at, terminate_at=terminate_at), spec=spec)
    values = [scorer.score(trace, trace.instance).value for scorer in (SuccessOnce(), SuccessAtEnd(), Success())]
    assert values == [once, at_end, success]


def raising(*_: Any) -> Any:
    """Raise."""
    raise RuntimeError("lost")


@pytest.mark.parametrize(
    ("env", "agent", "reason"),
    [
        (ScriptedEnv(on_reset=raising), FunctionAgent(), "infra"),
        (ScriptedEnv(on_step=raising), FunctionAgent(), "infra"),
        (ScriptedEnv(), FunctionAgent(raising), "agent_error"),
        (ScriptedEnv(success_at=(-1,)), FunctionAgent(), "success_at_reset"),
    ],
)
def test_a_failure_is_an_abstention_with_a_reason_never_a_number(
    traced: Any, env: Any, agent: Any, reason: str
) -> None:
    """Every scorer of behaviour abstains alike."""
    trace = traced(env, agent)
    for scorer in (SuccessOnce(), SuccessAtEnd(), Success(), Steps(), SafetyInterventions(), LatencyP95()):
        score = scorer.score(trace, trace.instance)
        assert score.value is None
        assert score.metadata["reason"] == reason


def test_an_unstable_simulation_is_a_failure_of_the_agent(traced: Any) -> None:
    """Success claimed by a scene that flew apart does not count."""
    trace = traced(ScriptedEnv(success_at=(2,), on_step=lambda index: {"unstable": "bad"} if index == 2 else None))
    assert SuccessOnce().score(trace, trace.instance).value == 0.0
    assert Steps().score(trace, trace.instance).value == 3.0


def test_interventions_count_steps_not_events(traced: Any) -> None:
    """Two filters at one step are one intervention."""

    class Twice(ActionBounds):
        name = "twice"

        def apply(self, action: Any, observation: Any) -> Any:
            return super().apply(action * 1.5, observation)

    trace = traced(
        agent=FunctionAgent(lambda observation, replies: np.full(2, 2.0 if replies < 3 else 0.0)),
        safety=(ActionBounds(), Twice()),
    )
    assert len(trace.safety) > 3
    score = SafetyInterventions().score(trace, trace.instance)
    assert score.value == len({event.index for event in trace.safety})
    assert score.metadata["by_filter"]["bounds"] == 3


def test_latency_is_over_the_steps_at_which_the_agent_was_asked(traced: Any) -> None:
    """With a clock that ticks one second a call, every reply takes one second."""
    ticks = iter(range(10_000))
    trace = traced(
        agent=FunctionAgent(lambda *_: np.zeros((5, 2)), chunk_length=5, replan=5), clock=lambda: float(next(ticks))
    )
    score = LatencyP95().score(trace, trace.instance)
    assert (score.value, score.metadata["replies"]) == (1.0, 2)


@given(st.lists(st.floats(0, 100), min_size=1, max_size=30), st.floats(0, 1))
def test_the_percentile_is_numpys(values: list[float], share: float) -> None:
    """Linear interpolation."""
    assert percentile(sorted(values), share) == pytest.approx(np.quantile(values, share), abs=1e-9)


@pytest.mark.parametrize(("successes", "trials"), [(0, 1), (1, 1), (0, 20), (14, 20), (20, 20), (50, 100), (999, 1000)])
def test_wilsons_interval_is_scipys(successes: int, trials: int) -> None:
    """Against an independent implementation."""
    from scipy.stats import binomtest

    expected = binomtest(successes, trials).proportion_ci(method="wilson")
    assert wilson_interval(successes, trials) == pytest.approx((expected.low, expected.high), abs=1e-12)


@given(st.integers(1, 300), st.data())
def test_the_interval_holds_the_rate_and_mirrors(trials: int, data: st.DataObject) -> None:
    """Bounds in [0, 1] around the rate; failures give the mirror image."""
    successes = data.draw(st.integers(0, trials))
    interval = wilson_interval(successes, trials)
    mirrored = wilson_interval(trials - successes, trials)
    assert interval is not None
    assert mirrored is not None
    assert 0 <= interval[0] <= successes / trials <= interval[1] <= 1
    assert interval == pytest.approx((1 - mirrored[1], 1 - mirrored[0]))


def test_a_summary_shows_what_was_not_scored() -> None:
    """Two of three scored succeeded; three abstained: the rate lies between 2/6 and 5/6."""
    scores = [Score(1.0), Score(1.0), Score(0.0), *[Score.abstain("infra")] * 2, Score.abstain("agent_error")]
    summary = summarise("success", scores, binary=True)
    assert summary.mean == pytest.approx(2 / 3)
    assert (summary.n_attempted, summary.n_scored, summary.n_abstained, summary.n_infrastructure) == (6, 3, 3, 2)
    assert dict(summary.abstained) == {"agent_error": 1, "infra": 2}
    assert summary.worst_case == (2 / 6, 5 / 6)
    assert summary.interval == wilson_interval(2, 3)
    assert summary.coverage == 0.5


def test_nothing_scored_has_no_mean_and_no_interval() -> None:
    """None, not zero; the bounds are all there is to say."""
    summary = summarise("success", [Score.abstain("infra")], binary=True)
    assert (summary.mean, summary.interval, summary.worst_case) == (None, None, (0.0, 1.0))
    assert summarise("success", [], binary=True).worst_case is None


def test_a_binary_scorer_that_says_a_half_is_refused() -> None:
    """An interval for counts around something else would be a wrong number."""
    with pytest.raises(EvalError, match=r"declares itself binary and says 0\.5"):
        summarise("mine", [Score(0.5)], binary=True)
    assert summarise("mine", [Score(0.5)], binary=False).interval is None


def test_the_mean_of_very_large_scores_is_their_mean() -> None:
    """Their sum overflows; that must not end a run."""
    assert summarise("mine", [Score(1e308), Score(1e308)], binary=False).mean == 1e308
