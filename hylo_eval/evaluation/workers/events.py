"""What worker processes say, a JSON line an event: read as something that anybody may have written.

Agent and simulator live in the worker's process and have all its descriptors. What arrives may be theirs: a library
that prints to a number which was its own once. Such a worker is lost, as one that died is; the run goes on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

import orjson

from hylo_eval.errors import Disturbance, EvalError
from hylo_eval.video.recorder import VideoTally

GARBLED: Final = "garbled"
"""The type of what stands in the place of an event that is none; no worker can send it."""

GONE: Final = "gone"
"""The type of what stands where the events of a worker end; no worker can send it."""

DISTURBED: Final = "disturbed"
"""The type of what a worker says whose trace somebody else in its process has reached, or kept it from writing."""

_TEXTS: Final[Mapping[str, type]] = {"message": str, "fix": str}
_MEMBERS: Final[Mapping[str, Mapping[str, type]]] = {
    "ready": {"agent": dict, "sources": list},
    "refused": _TEXTS,
    "fault": _TEXTS,
    "outcome": {"number": int, "attempt": int, "outcome": dict},
    "cancelled": {},
    "skipped": {"number": int},
    DISTURBED: {"how": str},
}


class GarbledEvent(EvalError):
    """What arrived from a worker is no event, or none that belongs there.

    The text does not quote it: equal runs have equal errors, and what arrives differs with the moment.
    """


def garbled_by(event: Mapping[str, Any]) -> GarbledEvent:
    """What to say of an event that is none, or does not belong where it came."""
    if event["type"] == GARBLED:
        return GarbledEvent(event["what"])
    if event["type"] == DISTURBED and event["how"] in Disturbance.__members__:
        return GarbledEvent(f"found {Disturbance[event['how']]}")
    return GarbledEvent(f"sent the event {event['type']!r} where none belongs")


def parse_event(line: bytes) -> dict[str, Any]:
    """An event with the members that its type has.

    Raises:
        GarbledEvent: It is none.
    """
    try:
        event = orjson.loads(line)
    except orjson.JSONDecodeError:
        raise GarbledEvent("sent what is no event") from None
    members = cast("dict[str, Any]", event) if isinstance(event, dict) else {}
    wanted = _MEMBERS.get(kind) if isinstance(kind := members.get("type"), str) else None
    # `type`, for a bool is no number.
    if wanted is None or any(type(members.get(name)) is not each for name, each in wanted.items()):
        raise GarbledEvent("sent what is no event")
    return members


def videos_of(event: Mapping[str, Any]) -> VideoTally:
    """The videos that the event of an outcome tells of.

    Raises:
        GarbledEvent: It tells something else.
    """
    told: Any = event.get("videos")
    if told is None:
        return VideoTally()
    kinds = {"written": int, "failed": int, "first_error": str}
    if not isinstance(told, dict) or {name: type(value) for name, value in cast("Any", told).items()} != kinds:
        raise GarbledEvent("sent a count of videos that is none")
    return VideoTally(**cast("dict[str, Any]", told))
