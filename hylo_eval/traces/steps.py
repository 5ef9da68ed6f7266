"""Reading the step events of a trace together: nearly all of a trace is steps, and nearly all of them look alike.

Checks that run once a column cost a fraction of checks that run once a member of each step. What is refused here is not
wrong for that: the reader then goes line by line, which decides and says what is wrong where.

The long members of a step (actions, observation) are nearly all of its text, and few scorers look at them. Keeping what
was parsed of them costs more than half of the parsing, so :func:`read_columns` lets go of each line's before it takes
the next; both ways the whole of every line is parsed and checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final, TypeAlias, cast

import orjson

from hylo_core.trace import StepEvent

STEP: Final = b'{"type":"step",'
"""How the writer begins a step."""

Columns: TypeAlias = Mapping[str, Sequence[Any]]
"""Short member of a step -> its value at every step."""

_FLAGS: Final = ("inference", "terminated", "truncated", "success")
_KINDS: Final[Mapping[str, frozenset[type]]] = {
    "index": frozenset({int}),
    "reward": frozenset({int, float}),
    **dict.fromkeys(_FLAGS, frozenset({bool})),
    "volatile": frozenset({dict}),
}
"""The short members that the writer always writes, and the types they have without non-finite numbers."""
_OPTIONAL: Final[Mapping[str, type[Any]]] = {"images": dict, "goal": list, "disagreement": bool}
_DEFAULTS: Final[Mapping[str, Any]] = {"images": None, "goal": None, "disagreement": False}
_NULLABLE: Final[Mapping[str, frozenset[type[Any]]]] = {
    "images": frozenset({dict, type(None)}),
    "goal": frozenset({list, type(None)}),
    "disagreement": frozenset({bool}),
}
_LONG: Final = itemgetter("proposed", "applied", "observation")
_N_LONG: Final = 3
_OWN_NAMES: Final = {name: name for name in _OPTIONAL}
SHORT: Final = (*_KINDS, *_OPTIONAL)
"""The members of which :func:`read_columns` gives a column."""


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
    events = _parsed(lines)
    short = _columns(events, lines, first)
    proposed, applied, observation = zip(*map(_LONG, events), strict=True)
    return tuple(
        map(
            StepEvent,
            short["index"],
            proposed,
            applied,
            short["inference"],
            short["reward"],
            short["terminated"],
            short["truncated"],
            short["success"],
            observation,
            short["images"],
            short["goal"],
            short["disagreement"],
            short["volatile"],
        )
    )


def read_columns(lines: Sequence[bytes], first: int = 0) -> Columns:
    """The short members of steps that follow each other, checked as :func:`read_steps` checks them.

    Args:
        lines: As for :func:`read_steps`; at least one.
        first: Likewise.

    Raises:
        NotPlain: As from :func:`read_steps`.
    """
    return _columns(map(orjson.loads, lines), lines, first)


def _parsed(lines: Sequence[bytes]) -> list[Any]:
    try:
        return [orjson.loads(line) for line in lines]
    except orjson.JSONDecodeError as error:
        raise NotPlain from error


def _columns(events: Iterable[Any], lines: Sequence[bytes], first: int) -> Columns:
    """The columns of all short members, after every check."""
    # Most steps have the members of the first.
    names = _names(lines[0])
    kinds = {**_KINDS, **{name: frozenset({kind}) for name, kind in _OPTIONAL.items() if name in names}}
    rows = _rows(events, kinds, names)
    if len(rows) != len(lines):
        kinds = {**_KINDS, **_NULLABLE}
        rows = _rows(map(_with_defaults, _parsed(lines)), kinds, {**_OWN_NAMES, **names})
        if len(rows) != len(lines):
            raise NotPlain
    types, *values = zip(*rows, strict=True)
    columns: dict[str, Sequence[Any]] = dict(zip(kinds, values, strict=True))
    if not _are_flags([columns[name] for name in _FLAGS]):
        raise NotPlain
    for name, allowed in kinds.items():
        if name not in _FLAGS and not allowed.issuperset(map(type, columns[name])):
            raise NotPlain
    if types.count("step") != len(rows) or columns["index"] != tuple(range(first, first + len(rows))):
        raise NotPlain
    for name, default in _DEFAULTS.items():
        columns.setdefault(name, (default,) * len(rows))
    return columns


def _are_flags(columns: Sequence[Sequence[Any]]) -> bool:
    """Whether all values, read from JSON, are true or false; decided by what they are written as.

    Without the letters of the two words only the brackets and commas of lists are left; any other value leaves more.
    """
    separators = b",".join([b"[%b]" % (b"," * (len(column) - 1)) for column in columns])
    try:
        return orjson.dumps(columns).translate(None, b"truefals") == b"[%b]" % separators
    except orjson.JSONEncodeError:
        return False  # nested more deeply than it writes, so no flag


def _names(line: bytes) -> dict[str, str]:
    """The names of a line's members, each by itself: the very objects that the parser makes names of.

    It makes one object of a short name however often it stands in the text. Looking a member up by that object needs
    no comparison of text, which is a third of the cost of looking it up.
    """
    try:
        event: Any = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise NotPlain from error
    return {name: name for name in event}


def _rows(events: Iterable[Any], kinds: Mapping[str, Any], names: Mapping[str, str]) -> list[tuple[Any, ...]]:
    """The short members of each event that has just these and the long ones; the others are left out."""
    size = 1 + len(kinds) + _N_LONG
    try:
        short = itemgetter(names["type"], *map(names.__getitem__, kinds))
        proposed, applied, observation = _LONG(names)
        return [
            short(event)
            for event in events
            if len(event) == size and proposed in event and applied in event and type(event[observation]) is dict
        ]
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise NotPlain from error


def _with_defaults(event: Any) -> dict[str, Any]:
    """An event with all optional members.

    Raises:
        NotPlain: It is no object, or one of them is of another type; ``null`` is another type too.
    """
    members = cast("dict[str, Any]", event) if isinstance(event, dict) else {}
    if not members or any(type(members[name]) is not kind for name, kind in _OPTIONAL.items() if name in members):
        raise NotPlain
    return {**_DEFAULTS, **members}
