"""Reading a trace back, as untrusted input: every line is checked, every refusal names file and line."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from io import BytesIO
from itertools import chain, islice
from operator import methodcaller
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, cast

import orjson

from hylo_core.errors import ContractError
from hylo_core.schema import TRACE_SCHEMA, migrate
from hylo_core.step_columns import ColumnSteps
from hylo_core.trace import (
    EpisodeEnd,
    EpisodeStart,
    EpisodeTrace,
    ErrorEvent,
    GradeEvent,
    ResetEvent,
    SafetyEvent,
    StepEvent,
)
from hylo_eval.errors import TraceError
from hylo_eval.traces.encoding import decode_numbers
from hylo_eval.traces.files import size_to_read
from hylo_eval.traces.first_and_last import read_end, read_start
from hylo_eval.traces.grade_chain import BrokenChain, GradeChain, follow_chain
from hylo_eval.traces.stable import stable, stable_heads
from hylo_eval.traces.steps import SHORT, STEP, Columns, NotPlain, read_columns, read_steps

MAX_TRACE_BYTES: Final = 2 * 1024**3
"""A trace larger than this is refused unread."""

Digests: TypeAlias = Literal["all", "trace", "behaviour", "none"]
"""Which digests to compute while reading."""

_OF_TRACE: Final = ("all", "trace")
_OF_BEHAVIOUR: Final = ("all", "behaviour")
_TOGETHER: Final = 1 << 16
"""Bytes of lines that are read together: what is parsed, cut and hashed of them is still in the processor's cache."""
_TOGETHER_BY_COLUMN: Final = 1 << 16
"""Bytes of lines that are cut off before they are parsed, where little is kept of each and nothing is hashed."""

_NON_FINITE: Final = (b'"NaN"', b'Infinity"')


def read_trace(path: Path | str, *, digests: Digests = "all", by_column: bool = False) -> EpisodeTrace:
    """Read a trace.

    A torn last line (a killed worker) is reported as ``torn`` and never read; a trace without an end event has
    ``end`` None and is no finished episode.

    Args:
        path: The file.
        digests: Which of ``trace_sha256`` and ``behaviour_sha256`` to compute; what is left out is empty. That of the
            behaviour costs about a quarter of the time the reading itself takes, that of the bytes much less. With that
            of the bytes goes the check of the grades' chain, which continues it.
        by_column: Whether to keep of the steps only their short members and the text, where the writer wrote them: for
            who asks for columns (:meth:`hylo_core.trace.EpisodeTrace.column`). Every check is made all the same, and
            ``steps`` reads the rest when one of them is asked for.

    Raises:
        BrokenChain: A grade names another digest than the bytes before it have; only where those are digested.
        TraceError: With file and line: the file cannot be read, a line is not JSON, an event breaks its contract or
            stands in the wrong place, or the schema is one this release does not know.
    """
    path = path if isinstance(path, Path) else Path(path)
    try:
        if size_to_read(path) > MAX_TRACE_BYTES:
            raise TraceError(path, 0, f"is larger than {MAX_TRACE_BYTES} bytes")
        data = path.read_bytes()
    except FileNotFoundError:
        raise TraceError(path, 0, "there is no such trace") from None
    except OSError as error:
        raise TraceError(path, 0, f"cannot be read: {error.strerror}") from error
    return parse_trace(data, path, digests=digests, by_column=by_column)


def parse_trace(
    data: bytes, path: Path | str = "<bytes>", *, digests: Digests = "all", by_column: bool = False
) -> EpisodeTrace:
    """Read a trace from its bytes; see :func:`read_trace`."""
    try:
        reading = _Reading(path, digests, by_column=by_column)
        reading.lines_with_plain_steps(data)
    except (TraceError, NotPlain):
        # Line by line: to say which line is wrong first, and to read what another tool has written.
        reading = _Reading(path, digests)
        for line in data.split(b"\n")[:-1]:
            reading.line(line)
    return reading.finish(data)


def _whole_steps(data: bytes) -> tuple[StepEvent, ...]:
    """The steps of a trace that was read by column before: what is checked already is not refused now."""
    return tuple(parse_trace(data, digests="none").steps)


_is_step = methodcaller("startswith", STEP)


def _runs(lines: Sequence[bytes]) -> Iterator[tuple[bool, Sequence[bytes]]]:
    """Whether lines that follow each other are steps, and the lines: a trace without interventions is one run."""
    flags = list(map(_is_step, lines))
    begun = 0
    while begun < len(lines):
        steps = flags[begun]
        after = flags.index(not steps, begun) if (not steps) in flags[begun:] else len(lines)
        yield steps, lines[begun:after]
        begun = after


class _Reading:
    """The state of one reading: which event may come next, and what was read."""

    def __init__(self, path: Path | str, digests: Digests, *, by_column: bool = False) -> None:
        self._path = path
        self._digests = digests
        self._together = False
        self._number = 0
        self._n_steps = 0
        self._start: EpisodeStart | None = None
        self._reset: ResetEvent | None = None
        self._steps: list[StepEvent] = []
        self._columns: Columns = {name: [] for name in SHORT} if by_column else {}
        self._safety: list[SafetyEvent] = []
        self._errors: list[ErrorEvent] = []
        self._end: EpisodeEnd | None = None
        self._grades: list[GradeEvent] = []
        self._behaviour = hashlib.sha256()

    def lines_with_plain_steps(self, data: bytes) -> None:
        """Read all whole lines, the steps among them together.

        Raises:
            NotPlain: The steps have to be read one by one.
            TraceError: Something is wrong, here or in an earlier line.
        """
        if _holds_non_finite(data):
            raise NotPlain
        self._together = True
        whole = BytesIO(data[: data.rfind(b"\n") + 1])
        if self._columns and self._digests not in _OF_BEHAVIOUR:
            self._lines_by_column(chain.from_iterable(iter(partial(whole.readlines, _TOGETHER_BY_COLUMN), [])))
            return
        while lines := whole.readlines(_TOGETHER):
            self._lines_together(lines)

    def _lines_by_column(self, lines: Iterable[bytes]) -> None:
        self._columns = read_columns(lines, other=self._between_steps)
        self._count_steps(len(self._columns["index"]))

    def _between_steps(self, event: dict[str, Any], n_steps: int) -> None:
        self._count_steps(n_steps)
        self._event(event)

    def _count_steps(self, n_steps: int) -> None:
        """Say how many steps have come.

        Raises:
            NotPlain: Some came where none belongs.
        """
        if n_steps > self._n_steps and (self._reset is None or self._end is not None):
            raise NotPlain
        self._n_steps = n_steps

    def _lines_together(self, lines: Sequence[bytes]) -> None:
        runs = list(_runs(lines))
        together = [line for steps, run in runs if steps for line in run]
        self._take_steps(together)
        heads = iter(stable_heads(together) if self._digests in _OF_BEHAVIOUR else ())
        for steps, run in runs:
            if not steps:
                for line in run:
                    self.line(line[:-1])
                continue
            self._count_steps(self._n_steps + len(run))
            if self._digests in _OF_BEHAVIOUR:
                self._behaviour.update(b"}\n".join(islice(heads, len(run))) + b"}\n")

    def _take_steps(self, lines: Sequence[bytes]) -> None:
        if not self._columns:
            self._steps.extend(read_steps(lines, self._n_steps))
            return
        for name, values in read_columns(lines, self._n_steps).items():
            self._columns[name].extend(values)

    def line(self, line: bytes) -> None:
        """Read one whole line, given without its newline."""
        self._number += 1
        try:
            members: Any = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise TraceError(self._path, self._number, f"is not JSON: {error}") from None
        if not isinstance(members, dict):
            raise TraceError(self._path, self._number, "is not a JSON object")
        self._event(cast("dict[str, Any]", members), line)

    def _event(self, event: dict[str, Any], line: bytes = b"") -> None:
        """Take an event; its line is left out where no digest is computed of it and all its numbers are finite."""
        kind = event.pop("type", None)
        reader = _READERS.get(kind) if isinstance(kind, str) else None
        if reader is None:
            raise TraceError(self._path, self._number, f"has the unknown event type {kind!r}")
        if (self._start is None) != (kind == "episode_start"):
            raise TraceError(self._path, self._number, "a trace begins with one episode_start event")
        if (self._end is not None) != (kind == "grade"):
            where = "only grade events follow the end" if self._end else "a grade event follows the end"
            raise TraceError(self._path, self._number, where)
        if kind != "grade" and self._digests in _OF_BEHAVIOUR:
            self._behaviour.update(stable(line, kind, event) + b"\n")
        try:
            reader(self, event, _holds_non_finite(line))
        except ContractError as error:
            raise TraceError(self._path, self._number, str(error)) from error
        except RecursionError:
            raise TraceError(self._path, self._number, "is nested too deeply") from None

    def finish(self, data: bytes) -> EpisodeTrace:
        """What was read; ``data`` is the whole trace."""
        if self._start is None:
            raise TraceError(self._path, 0, "holds no whole episode_start event")
        chain, behaviour_sha256 = GradeChain(trace_sha256=""), ""
        if self._end is not None and self._digests in _OF_TRACE:
            chain = follow_chain(data, self._grades)
        if self._end is not None and self._digests in _OF_BEHAVIOUR:
            behaviour_sha256 = self._behaviour.hexdigest()
        trace = EpisodeTrace(
            start=self._start,
            reset=self._reset,
            steps=tuple(self._steps) if not self._columns else ColumnSteps(self._columns, partial(_whole_steps, data)),
            safety=tuple(self._safety),
            errors=tuple(self._errors),
            end=self._end,
            grades=tuple(self._grades),
            torn=not data.endswith(b"\n"),
            trace_sha256=chain.trace_sha256,
            behaviour_sha256=behaviour_sha256 and f"sha256:{behaviour_sha256}",
        )
        if chain.reason:
            raise BrokenChain(self._path, chain, trace)
        return trace

    def read_start(self, event: dict[str, Any], _: bool) -> None:
        self._start = read_start(migrate(event, event.pop("schema", None), TRACE_SCHEMA))

    def read_reset(self, event: dict[str, Any], non_finite: bool) -> None:
        if self._reset is not None:
            raise ContractError("a second reset event")
        self._reset = ResetEvent(
            instruction=_take(event, "instruction", str),
            success=_take(event, "success", bool),
            settle_steps=_take(event, "settle_steps", int, 0),
            state_digest=_take(event, "state_digest", str, ""),
            model_digest=_take(event, "model_digest", str, ""),
            observation=self._observation(event, non_finite),
            images=_take(event, "images", dict, {}),
            snapshot=_take(event, "snapshot", dict, {}),
            volatile=_take(event, "volatile", dict, {}),
        )
        _refuse_rest(event)

    def read_step(self, event: dict[str, Any], non_finite: bool) -> None:
        if self._together:
            raise NotPlain  # it does not begin as the writer begins a step
        index = _take(event, "index", int)
        if index != len(self._steps) or self._reset is None:
            raise ContractError(f"step {index} stands where step {len(self._steps)} belongs", path="index")
        reward = event.pop("reward", None)
        self._steps.append(
            StepEvent(
                index,
                _numbers(event, "proposed", non_finite),
                _numbers(event, "applied", non_finite),
                _take(event, "inference", bool),
                _number(reward, "reward"),
                _take(event, "terminated", bool),
                _take(event, "truncated", bool),
                _take(event, "success", bool),
                self._observation(event, non_finite),
                _take(event, "images", dict, None),
                _take(event, "goal", list, None),
                _take(event, "disagreement", bool, default=False),
                _take(event, "volatile", dict, None),
            )
        )
        _refuse_rest(event)
        self._n_steps += 1

    def read_safety(self, event: dict[str, Any], non_finite: bool) -> None:
        self._safety.append(
            SafetyEvent(
                _take(event, "index", int),
                _take(event, "filter", str),
                _take(event, "reason", str),
                _numbers(event, "proposed", non_finite),
                _numbers(event, "applied", non_finite),
                _take(event, "abort", bool, default=False),
            )
        )
        _refuse_rest(event)

    def read_error(self, event: dict[str, Any], _: bool) -> None:
        self._errors.append(ErrorEvent.from_dict(event))

    def read_end(self, event: dict[str, Any], _: bool) -> None:
        end = read_end(event)
        if end.steps != self._n_steps:
            raise ContractError(f"counts {end.steps} steps, but the trace holds {self._n_steps}", path="steps")
        self._end = end

    def read_grade(self, event: dict[str, Any], _: bool) -> None:
        self._grades.append(GradeEvent.from_dict(event))

    def _observation(self, event: dict[str, Any], non_finite: bool) -> dict[str, Any]:
        observation: dict[str, Any] = _take(event, "observation", dict)
        if not non_finite or self._start is None:
            return observation
        layouts = self._start.observations
        return {
            key: value if key in layouts and layouts[key].dtype == "text" else decode_numbers(value)
            for key, value in observation.items()
        }


# Of functions, not of bound methods: those would tie each reading, and its trace, into a cycle.
_READERS: Final[Mapping[str, Callable[[_Reading, dict[str, Any], bool], None]]] = {
    "episode_start": _Reading.read_start,
    "reset": _Reading.read_reset,
    "step": _Reading.read_step,
    "safety": _Reading.read_safety,
    "error": _Reading.read_error,
    "episode_end": _Reading.read_end,
    "grade": _Reading.read_grade,
}


def _holds_non_finite(text: bytes) -> bool:
    """Whether a text for a number that is not finite may stand in it."""
    # One letter is found several times faster than a word, and most traces do not hold it in their steps.
    if text.find(b"N") < 0 and text.find(b"I") < 0:
        return False
    return any(text.find(word) >= 0 for word in _NON_FINITE)


_REQUIRED: Final = object()


def _take(event: dict[str, Any], name: str, kind: type, default: Any = _REQUIRED) -> Any:
    """Pop a member of an exact type; ``default`` stands for one that is left out."""
    value = event.pop(name, default)
    if type(value) is kind or value is default is not _REQUIRED:
        return value
    if value is _REQUIRED:
        raise ContractError("is missing", path=name)
    raise ContractError(f"must be of type {kind.__name__}, not {type(value).__name__}", path=name)


def _number(value: Any, name: str) -> float:
    value = decode_numbers(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ContractError(f"must be a number, not {value!r}", path=name)
    return value


def _numbers(event: dict[str, Any], name: str, non_finite: bool) -> Any:
    if name not in event:
        raise ContractError("is missing", path=name)
    value = event.pop(name)
    return decode_numbers(value) if non_finite and isinstance(value, list) else value


def _refuse_rest(event: Mapping[str, Any]) -> None:
    if event:
        raise ContractError("is not a member of this event", path=next(iter(event)))
