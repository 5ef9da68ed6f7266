"""What a worker says is read as what anybody may have written."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_eval.errors import Disturbance
from hylo_eval.evaluation.workers.events import GarbledEvent, garbled_by, parse_event, videos_of

WHOLE: dict[str, dict[str, Any]] = {
    "ready": {"agent": {}, "sources": []},
    "refused": {"message": "no", "fix": ""},
    "fault": {"message": "no", "fix": ""},
    "outcome": {"number": 1, "attempt": 1, "outcome": {}},
    "cancelled": {},
    "skipped": {"number": 1},
    "disturbed": {"how": "CLOSED"},
}


@pytest.mark.parametrize("kind", WHOLE)
def test_an_event_has_the_members_of_its_type(kind: str) -> None:
    """Each alone is missed, and each is of its type: whoever reads on may rely on it."""
    event = {"type": kind, **WHOLE[kind]}
    assert parse_event(orjson.dumps(event)) == event
    for name in WHOLE[kind]:
        for wrong in ({key: value for key, value in event.items() if key != name}, {**event, name: True}):
            with pytest.raises(GarbledEvent):
                parse_event(orjson.dumps(wrong))


VALUES = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5)


@given(st.binary(max_size=200) | VALUES.map(lambda value: json.dumps(value).encode()))
def test_whatever_arrives_is_an_event_or_garbled(line: bytes) -> None:
    """No other exception reaches the supervisor."""
    try:
        assert parse_event(line)["type"] in WHOLE
    except GarbledEvent as error:
        assert error.message == "sent what is no event"


@pytest.mark.parametrize("how", Disturbance)
def test_a_disturbed_trace_is_said_as_it_was_found(how: Disturbance) -> None:
    """Removed is not closed; what the worker names itself is one of ours or nothing."""
    assert garbled_by({"type": "disturbed", "how": how.name}).message == f"found {how.value}"
    assert garbled_by({"type": "disturbed", "how": how.value}).message.startswith("sent the event 'disturbed' where")


@pytest.mark.parametrize(
    "videos", [3, [], {}, {"written": 1}, {"written": True, "failed": 0, "first_error": ""}, {"written": 1, "x": 2}]
)
def test_a_count_of_videos_that_is_none_is_garbled(videos: object) -> None:
    """It is added to the run's own count, so it is one or nothing."""
    with pytest.raises(GarbledEvent):
        videos_of({"videos": videos})


def test_videos_are_counted_where_there_are_any() -> None:
    """An episode without a recorder has none."""
    assert videos_of({}).written == 0
    assert videos_of({"videos": {"written": 2, "failed": 1, "first_error": "codec"}}).failed == 1
