"""The statistics in a log."""

from __future__ import annotations

from statistics import mean

import attrs
import pytest

from hylo_core import Score
from hylo_eval.evallog.building import summarise_samples
from hylo_eval.scoring.intervals import wilson_interval
from tests.hylo_eval.evallog.logs import STEPS, SUCCESS, build, golden, sample


def test_every_group_has_its_mean_interval_abstentions_and_bounds() -> None:
    """Two tasks: 1 of 2 scored with one abstention, and 2 of 2."""
    results = golden().results
    overall, lift, stack = (
        results.overall["success"],
        results.tasks["lift"]["success"],
        results.tasks["stack"]["success"],
    )
    assert (overall.mean, overall.n_attempted, overall.n_scored) == (0.75, 5, 4)
    assert overall.abstained == {"agent_error": 1}
    assert overall.interval is not None
    assert (overall.interval.method, overall.interval.level) == ("wilson", 0.95)
    assert (overall.interval.low, overall.interval.high) == wilson_interval(3, 4)
    assert overall.worst_case is not None
    assert (overall.worst_case.low, overall.worst_case.high) == (0.6, 0.8)
    assert (lift.mean, lift.n_attempted, stack.mean, stack.n_attempted) == (0.5, 3, 1.0, 2)
    assert (results.n_episodes, results.n_scored, results.n_modified) == (5, 4, 1)


def test_micro_counts_episodes_and_macro_counts_tasks() -> None:
    """Three of four episodes succeeded; the mean of one half and one is three quarters, by chance the same: so unequal."""
    log = build(*(sample("lift", seed, 0.0) for seed in range(3)), sample("stack", 0, 1.0), sample("turn", 0, None))
    assert log.results.overall["success"].mean == 0.25
    macro = log.results.macro["success"]
    assert (macro.mean, macro.n_tasks, macro.n_tasks_scored) == (0.5, 3, 2)
    assert macro.interval is None, "one episode of a task says nothing about its spread"


def test_a_tag_holds_all_episodes_of_its_tasks() -> None:
    """Tags overlap; a tag that a task has twice counts once."""
    log = build(sample("lift", 0, 1.0), sample("stack", 0, 0.0, tags=("s", "s", "all")))
    assert {tag: found["success"].mean for tag, found in log.results.tags.items()} == {"all": 0.5, "l": 1.0, "s": 0.0}
    assert log.results.tags["s"]["success"].n_attempted == 1


def test_a_measured_score_has_a_bootstrap_interval_and_no_worst_case() -> None:
    """It lies around the mean and inside the numbers."""
    steps = [float(number) for number in range(10, 50)]
    log = build(*(sample("lift", seed, 1.0, value) for seed, value in enumerate(steps)))
    found = log.results.overall["steps"]
    assert found.mean == mean(steps)
    assert found.interval is not None
    assert found.interval.method == "bootstrap"
    assert 10 < found.interval.low < found.mean < found.interval.high < 49
    assert found.worst_case is None


def test_statistics_do_not_depend_on_the_order_of_samples() -> None:
    """Fields of groups come in another order, their contents are the same."""
    samples = golden().samples
    scorers = {"success": SUCCESS, "steps": STEPS}
    assert summarise_samples(samples, scorers) == summarise_samples(samples[::-1], scorers)


def test_a_score_that_says_not_what_it_is_has_no_interval() -> None:
    """A log of v0.1 does not know whether a score is binary: nothing is guessed."""
    unknown = attrs.evolve(SUCCESS, binary=None)
    found = build(sample("lift", 0, 1.0), sample("lift", 1, 0.0), scorers={"success": unknown})
    assert found.results.overall["success"].interval is None
    assert found.results.overall["success"].worst_case is None


def test_nothing_scored_is_no_number() -> None:
    """None for mean and interval; the worst cases say that anything is possible."""
    found = build(sample("lift", 0, None)).results.overall["success"]
    assert (found.mean, found.interval, found.n_scored) == (None, None, 0)
    assert found.worst_case is not None
    assert (found.worst_case.low, found.worst_case.high) == (0.0, 1.0)
    empty = build()
    assert (empty.results.n_episodes, empty.mean("success"), empty.stats.reply_seconds) == (0, None, None)


def test_the_run_is_told_from_its_episodes() -> None:
    """First start, last end, steps and replies together, states once each."""
    stats = golden().stats
    assert (stats.started_at, stats.finished_at) == ("2026-01-02T03:04:05.678+00:00", "2026-01-02T03:04:06.789+00:00")
    assert (stats.total_steps, stats.disagreements) == (113, 2)
    assert stats.statuses == {"agent_error": 1, "completed": 3, "safety_abort": 1}
    assert stats.initial_states is not None
    assert (stats.initial_states.distinct, stats.initial_states.repeated) == (2, 3)
    assert stats.reply_seconds is not None
    assert stats.reply_seconds.n == 80


@pytest.mark.parametrize("value", [1e308, -1e308])
def test_numbers_at_the_edge_of_floats_have_a_mean_and_lose_no_log(value: float) -> None:
    """Their interval cannot be computed, so there is none; never NaN."""
    samples = [sample("lift", seed, 1.0, scores={"steps": Score(value * (1 - seed / 2))}) for seed in range(2)]
    found = build(*samples, scorers={"steps": STEPS}).results.overall["steps"]
    assert found.mean == 0.75 * value
