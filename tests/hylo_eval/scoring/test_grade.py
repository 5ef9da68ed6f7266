"""Grades in a trace as scores."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_core import GradeEvent, Score
from hylo_eval.evaluation.making import make_scorer
from hylo_eval.scoring.grade import GradeScorer
from tests.answered import answered


def event(value: float | None = 1.0, grader: str = "verdict", **members: Any) -> GradeEvent:
    """A grade event."""
    return GradeEvent(grader=grader, value=value, **members)


def scored(*events: GradeEvent, status: str | None = "completed", **options: Any) -> Score:
    """The score of a trace with these grades."""
    trace = answered("x", status=status, grades=events)
    return GradeScorer(**options).score(trace, trace.instance)


def test_the_grade_is_the_score() -> None:
    """With who gave it and by what."""
    score = scored(event(0.5, ref="judge-1", digest="sha256:1", explanation="half", metadata={"status": "scored"}))
    metadata = {"grader": "verdict", "ref": "judge-1", "digest": "sha256:1", "status": "scored"}
    assert score == Score(0.5, "half", metadata)


@given(st.lists(st.none() | st.floats(0, 1), min_size=1, max_size=5))
def test_the_latest_grade_counts_whatever_it_says(values: list[float | None]) -> None:
    """Also when it says nothing: an earlier number may be another rubric's. The superseded are counted."""
    events = [event(value, error="" if value is not None else "lost") for value in values]
    score = scored(*events, event(0.125, grader="somebody else"))
    assert score.value == values[-1]
    assert score.metadata.get("superseded", 0) == len(values) - 1


def test_an_episode_nobody_graded_abstains() -> None:
    """Another grader's grade is none; nor is one by another specification, where one is asked for."""
    for score in (scored(), scored(event(grader="other")), scored(event(digest="sha256:1"), digest="sha256:2")):
        assert (score.value, score.metadata["reason"]) == (None, "not_graded")
    assert scored(event(0.25, digest="sha256:2"), event(digest="sha256:1"), digest="sha256:2").value == 0.25


@pytest.mark.parametrize(
    ("failed", "reason"),
    [
        (event(None, error="no such file", metadata={"status": "invalid_task"}), "invalid_task"),
        (event(None, error="no judge is configured", metadata={"status": "infra_error"}), "infra"),
        (event(None, error="raised"), "infra"),
        (event(None, explanation="cannot tell"), "no_judgement"),
        (event(1.0, error="but the camera was off"), "infra"),
    ],
)
def test_a_grade_that_failed_is_an_abstention(failed: GradeEvent, reason: str) -> None:
    """Counted by whose fault it is; a value beside an error is not trusted."""
    score = scored(failed)
    assert (score.value, score.metadata["reason"]) == (None, reason)
    assert score.explanation == (failed.error or failed.explanation)


@pytest.mark.parametrize(
    ("status", "reason"), [("agent_error", "agent_error"), ("timeout", "infra"), (None, "unfinished")]
)
def test_an_episode_without_an_outcome_has_no_grade(status: str | None, reason: str) -> None:
    """Whatever was graded in it."""
    score = scored(event(1.0), status=status)
    assert (score.value, score.metadata["reason"]) == (None, reason)


def test_the_command_line_reads_the_verdict_grader() -> None:
    """``--scorer grade`` is the scorer of the grader called ``verdict``; others are named by their grader."""
    assert make_scorer("grade").name == "grade:verdict"
    assert GradeScorer("person").name == "grade:person"
