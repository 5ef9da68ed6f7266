"""Reading the step events of a trace together: nearly all of a trace is steps, and nearly all of them look alike.

Checks that run once a column cost a fraction of checks that run once a member of each step. What is refused here is not
wrong for that: the reader then goes line by line, which decides and says what is wrong where.

The long members of a step (actions, observation) are nearly all of its text, and few scorers look at them. Keeping what
was parsed of them costs more than half of the parsing, so :func:`read_columns` lets go of each line's before it takes
the next; both ways the whole of every line is parsed and checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any, Final, TypeAlias

import orjson

from hylo_core.trace import StepEvent

STEP: Final = b'{"type":"step",'
"""How the writer begins a step."""

Columns: TypeAlias = dict[str, list[Any]]
"""Short member of a step -> its value at every step."""

_FLAGS: Final = ("inference", "terminated", "truncated", "success")
_KINDS: Final[Mapping[str, frozenset[type]]] = {
    "index": frozenset({int}),
    "reward": frozenset({int, float}),
    **dict.fromkeys(_FLAGS, frozenset({bool})),
    "volatile": frozenset({dict}),
}
"""The short members that the writer always writes, and the types they have without non-finite numbers."""
_OPTIONAL: Final[Mapping[str, frozenset[type[Any]]]] = {
    "images": frozenset({dict, type(None)}),
    "goal": frozenset({list, type(None)}),
    "disagreement": frozenset({bool}),
}
_DEFAULTS: Final[Mapping[str, Any]] = {"images": None, "goal": None, "disagreement": False}
_LONG_NAMES: Final = ("proposed", "applied", "observation")
_LONG: Final = itemgetter(*_LONG_NAMES)
_NO_SIZE: Final = -1
"""No event has so many members."""
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
    rows = _Rows(first)
    if rows.take(iter(events)) is not None:
        raise NotPlain
    short = rows.columns()
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


def read_columns(
    lines: Iterable[bytes], first: int = 0, other: Callable[[dict[str, Any], int], None] | None = None
) -> Columns:
    """The short members of steps, checked as :func:`read_steps` checks them.

    Args:
        lines: As for :func:`read_steps`.
        first: Likewise.
        other: Told of every event between them that is no step, parsed, and how many of the steps came before it;
            without it there may be none.

    Raises:
        NotPlain: As from :func:`read_steps`.
    """
    rows, events = _Rows(first), map(orjson.loads, lines)
    while (event := rows.take(events)) is not None:
        if other is None:
            raise NotPlain
        other(event, len(rows))
    return rows.columns()


class _Rows:
    """The short members of steps: the values of one after those of the other, which costs no object a step.

    Most steps have the members of the first. Where one has others, all rows get the defaults of what they lack, and
    each step that follows is given them before it is taken.
    """

    def __init__(self, first: int) -> None:
        self._first = first
        self._values: list[Any] = []
        self._kinds: Mapping[str, frozenset[type[Any]]] = _KINDS
        self._size = 0
        self._short: Callable[[Any], tuple[Any, ...]] = itemgetter("type", *_KINDS)
        self._long: tuple[str, ...] = _LONG_NAMES
        self._of_all = False

    def __len__(self) -> int:
        return len(self._values) // (1 + len(self._kinds))

    def take(self, events: Iterator[Any]) -> dict[str, Any] | None:
        """Take steps up to an event that is none, which is returned; None at the end.

        Raises:
            NotPlain: A line is not JSON, an event has no type, or a step breaks the contract.
        """
        values, size, short, (proposed, applied, observation) = self._values, self._size, self._short, self._long
        event: Any = None
        try:
            for event in events:
                if len(event) == size and proposed in event and applied in event and type(event[observation]) is dict:
                    values += short(event)
                elif event["type"] != "step":
                    return event
                elif self._of_all:
                    values += self._row_of_all(event)
                else:
                    return self._take_another_form(event, events)
        except KeyError as error:
            if self._of_all or not self._size:
                raise NotPlain from error
            # As many members as the first step has, and others.
            return self._take_another_form(event, events)
        except (orjson.JSONDecodeError, TypeError) as error:
            raise NotPlain from error
        return None

    def columns(self) -> Columns:
        """The columns of all short members, after every check that is made once a column.

        Raises:
            NotPlain: A value is of another type, or an index is not the one that belongs there.
        """
        count, width = len(self), 1 + len(self._kinds)
        types, *values = [self._values[place::width] for place in range(width)]
        columns: Columns = dict(zip(self._kinds, values, strict=True))
        if not _are_flags([columns[name] for name in _FLAGS]):
            raise NotPlain
        for name, allowed in self._kinds.items():
            if name not in _FLAGS and not allowed.issuperset(map(type, columns[name])):
                raise NotPlain
        if types.count("step") != count or columns["index"] != list(range(self._first, self._first + count)):
            raise NotPlain
        for name, default in _DEFAULTS.items():
            columns.setdefault(name, [default] * count)
        return columns

    def _take_another_form(self, event: dict[str, Any], events: Iterator[Any]) -> dict[str, Any] | None:
        if self._size:
            self._give_defaults()
        else:
            self._take_form(event)
        return self.take(chain((event,), events))

    def _take_form(self, event: dict[str, Any]) -> None:
        self._kinds = {**_KINDS, **{name: kinds for name, kinds in _OPTIONAL.items() if name in event}}
        self._size = 1 + len(self._kinds) + len(_LONG_NAMES)
        # The very objects that the parser makes names of: it makes one of a short name however often it stands in the
        # text. Looking a member up by that object needs no comparison of text, a third of the cost of looking it up.
        names = {name: name for name in event}
        self._short = itemgetter(names["type"], *map(names.__getitem__, self._kinds))
        self._long = _LONG(names)

    def _give_defaults(self) -> None:
        columns = self.columns()
        self._kinds = {**_KINDS, **_OPTIONAL}
        rows = zip(["step"] * len(columns["index"]), *(columns[name] for name in self._kinds), strict=True)
        self._values = list(chain.from_iterable(rows))
        self._short = itemgetter("type", *self._kinds)
        self._size, self._of_all = _NO_SIZE, True

    def _row_of_all(self, event: dict[str, Any]) -> tuple[Any, ...]:
        """The values of a step that need not have the optional members.

        Raises:
            NotPlain, KeyError: The others are not a step's.
        """
        whole = {**_DEFAULTS, **event}
        *_, observation = _LONG(whole)
        if len(whole) != 1 + len(self._kinds) + len(_LONG_NAMES) or type(observation) is not dict:
            raise NotPlain
        return self._short(whole)


def _parsed(lines: Sequence[bytes]) -> list[Any]:
    try:
        return [orjson.loads(line) for line in lines]
    except orjson.JSONDecodeError as error:
        raise NotPlain from error


def _are_flags(columns: Sequence[Sequence[Any]]) -> bool:
    """Whether all values, read from JSON, are true or false; decided by what they are written as.

    Without the letters of the two words only the brackets and commas of lists are left; any other value leaves more.
    """
    separators = b",".join([b"[%b]" % (b"," * (len(column) - 1)) for column in columns])
    try:
        return orjson.dumps(columns).translate(None, b"truefals") == b"[%b]" % separators
    except orjson.JSONEncodeError:
        return False  # nested more deeply than it writes, so no flag
