"""The numbers of a run while it goes on."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_eval.evaluation.tally import Tally, success
from hylo_eval.queue import Attempt, Ending, Outcome
from hylo_eval.scoring.intervals import wilson_interval


def outcome(status: str = "completed", **changes: Any) -> Outcome:
    """An outcome of ten steps and two seconds, without a trace."""
    plain = Outcome.without_trace(status, "", started_at=100.0, seconds=2.0)
    return attrs.evolve(plain, **{"steps": 10, "success": True, **changes})


def attempt(key: str = "a#0", number: int = 1, ending: Ending = Ending.DONE, **changes: Any) -> Attempt:
    """An attempt that has ended."""
    return Attempt(
        key=key, task="a", position=0, attempt=number, owner="owner", ending=ending, outcome=outcome(**changes)
    )


def test_only_attempts_that_count_are_outcomes():
    """A retried, a lost, a released and a damaged attempt are none; they are on record all the same."""
    tally = Tally.of(
        [
            attempt(number=1, ending=Ending.RETRIED, status="env_error", error="no display"),
            attempt(number=2, ending=Ending.RELEASED, status="cancelled", error="released before it ended"),
            attempt(number=3, ending=Ending.LOST, status="worker_lost", error="gone"),
            attempt(number=4, ending=Ending.DEMOTED),
            attempt(number=5, ending=Ending.DONE),
        ]
    )
    assert (tally.ended, tally.scored, tally.succeeded) == (1, 1, 1)
    assert tally.outcomes == {"completed": 1}
    assert {(item.attempt, item.status, item.ending.value, item.count) for item in tally.by_attempt()} == {
        (1, "env_error", "retried", 1),
        (2, "cancelled", "released", 1),
        (3, "worker_lost", "lost", 1),
        (4, "completed", "demoted", 1),
        (5, "completed", "done", 1),
    }
    # What the operator did is no error.
    assert tally.errors == {"no display": 1, "gone": 1}


def test_that_successes_end_first_is_seen_in_scored_episodes():
    """Ten steps with success against ten, then against fifty; an agent's error tells nothing."""
    tally = Tally.of([attempt("a#0"), attempt("a#1", success=False), attempt("a#2", status="agent_error", steps=99)])
    assert not tally.lengths.successes_end_first
    tally.add(attempt("a#3", success=False, steps=50))
    assert tally.lengths.successes_end_first


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, True),
        ({"success": False}, False),
        ({"success": None}, None),
        ({"steps": 0}, None),
        ({"status": "safety_abort"}, False),
        ({"status": "sim_unstable"}, False),
        ({"status": "agent_error"}, None),
        ({"status": "env_error"}, None),
        ({"status": "cancelled"}, None),
    ],
)
def test_success_is_told_as_the_scorers_tell_it(changes, expected):
    """A failure of the infrastructure is never a failed policy; what a filter stopped is one."""
    assert success(outcome(**changes)) is expected


@given(won=st.integers(0, 30), lost=st.integers(0, 30), unscored=st.integers(0, 10), unfinished=st.integers(0, 30))
def test_the_unfinished_are_counted_both_ways(won, lost, unscored, unfinished):
    """The bounds hold whatever the others come to, and meet where nothing is missing."""
    planned = won + lost + unscored + unfinished
    if not planned:
        return
    tally = Tally.of(
        [
            *(attempt() for _ in range(won)),
            *(attempt(success=False) for _ in range(lost)),
            *(attempt(status="agent_error") for _ in range(unscored)),
        ]
    )
    low, high = tally.bounds(planned)
    assert low == won / planned
    assert high == (planned - lost) / planned
    assert (low == high) == (unscored + unfinished == 0)
    assert tally.interval == wilson_interval(won, won + lost)
    assert tally.rate == (won / (won + lost) if won + lost else None)


def test_the_rate_of_a_run_that_is_worked_on_is_that_of_the_last_minutes():
    """Ten episodes in the last 300 s are two a minute, whatever was long ago."""
    old = [attempt(started_at=float(second), seconds=1.0) for second in range(1000)]
    new = [attempt(started_at=10_000.0 - 30.0 * number, seconds=1.0) for number in range(1, 11)]
    tally = Tally.of([*old, *new])
    assert tally.episodes_a_minute(now=10_000.0, working_since=0.0) == pytest.approx(2.0)
    # One that began to work 60 s ago has ended two.
    assert tally.episodes_a_minute(now=10_000.0, working_since=9_940.0) == pytest.approx(2.0)


def test_the_rate_of_a_run_at_rest_leaves_pauses_out():
    """Two workers, two seconds an episode, a night in between: sixty a minute while they worked."""
    spans = [(start + night, 2.0) for night in (0.0, 40_000.0) for start in (0.0, 2.0, 4.0) for _ in range(2)]
    tally = Tally.of([attempt(started_at=start, seconds=seconds) for start, seconds in spans])
    assert tally.episodes_a_minute(now=90_000.0, working_since=None) == pytest.approx(60.0)


def test_nothing_is_said_of_the_rate_before_anything_has_ended():
    """Neither a rate nor a division by zero."""
    assert Tally().episodes_a_minute(now=5.0, working_since=1.0) is None
    assert Tally.of([attempt(seconds=0.0)]).episodes_a_minute(now=5.0, working_since=None) is None
    assert Tally().rate is None
    assert Tally().interval is None


def test_different_errors_without_end_take_bounded_memory():
    """Beyond a thousand texts they are counted together."""
    tally = Tally.of([attempt(ending=Ending.RETRIED, status="env_error", error=f"e{n}") for n in range(1500)])
    assert sum(tally.errors.values()) == 1500
    assert len(tally.errors) == 1001
    assert tally.errors["other errors"] == 500
