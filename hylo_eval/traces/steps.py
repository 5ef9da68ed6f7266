"""Reading the step events of a trace together: nearly all of a trace is steps, and nearly all of them look alike.

Checks that run once a column cost a fraction of checks that run once a member of each step. What is refused here is not
wrong for that: the reader then goes line by line, which decides and says what is wrong where.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from operator import itemgetter
from typing import Any, Final

import orjson

from hylo_core.trace import StepEvent

STEP: Final = b'{"type":"step",'
"""How the writer begins a step."""

VOLATILE: Final = b',"volatile":'
"""What the writer puts between the stable part of an event and its last member."""

_MEMBERS: Final = itemgetter(
    "type",
    "index",
    "proposed",
    "applied",
    "inference",
    "reward",
    "terminated",
    "truncated",
    "success",
    "observation",
    "volatile",
)
_COUNT: Final = 11
_OPTIONAL: Final = {"images": dict, "goal": list, "disagreement": bool}
_DEFAULTS: Final = {"images": None, "goal": None, "disagreement": False}


class NotPlain(Exception):
    """The steps are not all as the writer writes them; no error: they are read one by one instead."""


def read_steps(lines: Sequence[bytes], first: int = 0) -> tuple[StepEvent, ...]:
    """Read steps that follow each other, checked as strictly as one by one.

    Args:
        lines: Step lines of a trace, in order, each with its newline, without non-finite numbers.
        first: The index that the first of them must have.

    Raises:
        NotPlain: A line is not JSON, breaks the contract, or has a form the writer does not give it.
    """
    if not lines:
        return ()
    try:
        events: list[dict[str, Any]] = [orjson.loads(line) for line in lines]
        columns = zip(*map(_MEMBERS, events), strict=True)
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise NotPlain from error
    kinds, indices, proposed, applied, inference, rewards, terminated, truncated, success, observed, volatile = columns
    if kinds.count("step") != len(events) or indices != tuple(range(first, first + len(events))):
        raise NotPlain
    _require({int}, indices)
    _require({bool}, inference, terminated, truncated, success)
    _require({int, float}, rewards)
    _require({dict}, observed, volatile)
    optional = _optional(events)
    return tuple(
        map(
            StepEvent,
            indices,
            proposed,
            applied,
            inference,
            rewards,
            terminated,
            truncated,
            success,
            observed,
            *optional,
            volatile,
        )
    )


def stable_heads(lines: Sequence[bytes]) -> tuple[bytes, ...]:
    """What stands before ``volatile`` in each line: the part that the writer hashed, without its closing brace.

    Args:
        lines: As :func:`read_steps` has accepted them.

    Raises:
        NotPlain: ``volatile`` is not the last member of a line, or a member of that name stands inside it.
    """
    if not lines:
        return ()
    heads, separators, tails = zip(*[line.rpartition(VOLATILE) for line in lines], strict=True)
    if not all(separators) or not (_are_flat(tails) or _are_values(tails)):
        raise NotPlain
    return heads


def _are_flat(tails: Sequence[bytes]) -> bool:
    """Whether every tail is an object without braces inside, and the brace and newline that end its line.

    Each line is an object, so a member that stands deeper would be followed by one more brace.
    """
    text, count = b"".join(tails), len(tails)
    return (
        text.count(b"{") == count
        and text.count(b"}") == 2 * count
        and text.count(b"}}\n{") == count - 1
        and text.startswith(b"{")
        and text.endswith(b"}}\n")
    )


def _are_values(tails: Sequence[bytes]) -> bool:
    """Whether every tail is one value, and the brace and newline that end its line; decided by reading the values.

    A line is an object, so text after volatile's value would be a named member, and a cut inside a nested object would
    leave a closing brace: neither is JSON in a list. So if this is a list, every cut is right.
    """
    try:
        return len(orjson.loads(b"[%b]" % b",".join([tail[:-2] for tail in tails]))) == len(tails)
    except orjson.JSONDecodeError:
        return False


def _require(kinds: set[type], *columns: Sequence[Any]) -> None:
    for column in columns:
        if not set(map(type, column)) <= kinds:
            raise NotPlain


def _optional(events: Sequence[dict[str, Any]]) -> list[Any]:
    """The columns of images, goal and disagreement."""
    if set(map(len, events)) == {_COUNT}:
        return [repeat(default) for default in _DEFAULTS.values()]
    present = [[name for name in _OPTIONAL if name in event] for event in events]
    for event, names in zip(events, present, strict=True):
        if len(event) != _COUNT + len(names) or any(type(event[name]) is not _OPTIONAL[name] for name in names):
            raise NotPlain
    return [[event.get(name, default) for event in events] for name, default in _DEFAULTS.items()]
