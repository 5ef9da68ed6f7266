"""What goes into the queue is what its fields say, or is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_core.errors import MAX_MESSAGE_CHARACTERS
from hylo_eval.errors import QueueError
from hylo_eval.queue import Item, Lease, Outcome
from hylo_eval.queue.checks import MAX_ERROR_TEXT
from hylo_eval.queue.rows import outcome_of
from tests.hylo_eval.queue.fakes import DIGEST, outcome


@pytest.mark.parametrize(
    "members",
    [
        {"key": ""},
        {"key": 3},
        {"key": "\ud800"},
        {"key": "k" * 5000},
        {"task": None},
        {"position": -1},
        {"position": 1.0},
        {"position": True},
        {"position": 2**53},
    ],
)
def test_items_are_refused_at_construction(members: dict[str, Any]):
    """With the name of the field."""
    with pytest.raises(QueueError, match=f"^{next(iter(members))} must be"):
        Item(**{"key": "k", "task": "t", "position": 0, **members})


@pytest.mark.parametrize(
    "members",
    [
        {"status": ""},
        {"status": "x" * 65},
        {"trace": "/absolute.jsonl"},
        {"trace": "episodes/../../other"},
        {"trace": "a\0b"},
        {"trace_sha256": "0" * 64},
        {"behaviour_sha256": "sha256:short"},
        {"trace_bytes": -1},
        {"steps": True},
        {"success": 1},
        {"success": "yes"},
        {"disagreements": -1},
        {"error": None},
        {"worker": 3},
        {"started_at": float("nan")},
        {"seconds": float("inf")},
        {"seconds": "1"},
    ],
)
def test_outcomes_are_refused_at_construction(members: dict[str, Any]):
    """A number where a flag belongs, a path out of the run's folder, a digest that is none."""
    with pytest.raises(QueueError, match=f"^{next(iter(members))} must be"):
        outcome(**members)


def test_a_trace_and_its_digest_belong_together():
    """A path without a digest could be any file, a digest without a path is of none."""
    for members in ({"trace": ""}, {"trace_sha256": ""}):
        with pytest.raises(QueueError, match="belong together"):
            outcome(**members)


def test_a_dotted_name_is_no_climb():
    """``..`` counts as a part of a path only."""
    assert outcome(trace="episodes/a..b.1.jsonl").trace == "episodes/a..b.1.jsonl"


def test_an_attempt_begins_at_one():
    """Attempt 0 would be an item that nobody claimed."""
    with pytest.raises(QueueError, match="attempt"):
        Lease(key="k", task="t", position=0, attempt=0, owner="o", expires=1.0)


@given(st.text(st.characters(exclude_categories=()), max_size=50), st.integers(0, 1000))
def test_any_error_text_can_be_recorded(error: str, times: int):
    """Of any length, with lone surrogates or not; what was recorded once stays as it is."""
    made = outcome("env_error", error=error * times)
    assert len(made.error.encode()) <= 4 * MAX_ERROR_TEXT
    assert outcome("env_error", error=made.error) == made


def test_a_long_error_text_is_cut_and_says_so():
    """Its beginning is kept."""
    made = outcome("env_error", error="x" * (MAX_ERROR_TEXT + 1))
    assert (
        made.error
        == "x" * MAX_MESSAGE_CHARACTERS + f"... ({MAX_ERROR_TEXT + 1 - MAX_MESSAGE_CHARACTERS} more characters)"
    )


@given(
    st.builds(
        outcome,
        status=st.sampled_from(["completed", "timeout"]),
        success=st.sampled_from([True, False, None]),
        steps=st.integers(0, 2**53 - 1),
        seconds=st.floats(allow_nan=False, allow_infinity=False),
        error=st.text(max_size=50),
        behaviour_sha256=st.sampled_from(["", DIGEST]),
    )
)
def test_an_outcome_reads_back_as_it_was_written(written: Outcome):
    """From the columns of its row, where a flag is 0, 1 or nothing."""
    success = None if written.success is None else int(written.success)
    columns = (
        written.status, written.trace, written.trace_sha256, written.behaviour_sha256, written.trace_bytes,
        written.steps, success, written.disagreements, written.error, written.worker, written.started_at,
        written.seconds,
    )  # fmt: skip
    assert outcome_of(columns) == written
