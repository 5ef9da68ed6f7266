"""Reading a trace back, as untrusted input: every line is checked, every refusal names file and line."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, cast

import orjson

from hylo_core.errors import ContractError
from hylo_core.schema import TRACE_SCHEMA, migrate
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

MAX_TRACE_BYTES: Final = 2 * 1024**3
"""A trace larger than this is refused unread."""

_VOLATILE: Final = b',"volatile":'
_NON_FINITE: Final = (b'"NaN"', b'Infinity"')


def read_trace(path: Path | str) -> EpisodeTrace:
    """Read a trace.

    A torn last line (a killed worker) is reported as ``torn`` and never read; a trace without an end event has
    ``end`` None and is no finished episode.

    Raises:
        TraceError: With file and line: the file cannot be read, a line is not JSON, an event breaks its contract or
            stands in the wrong place, or the schema is one this release does not know.
    """
    path = Path(path)
    try:
        if path.stat().st_size > MAX_TRACE_BYTES:
            raise TraceError(path, 0, f"is larger than {MAX_TRACE_BYTES} bytes")
        data = path.read_bytes()
    except FileNotFoundError:
        raise TraceError(path, 0, "there is no such trace") from None
    except OSError as error:
        raise TraceError(path, 0, f"cannot be read: {error.strerror}") from error
    return parse_trace(data, path)


def parse_trace(data: bytes, path: Path | str = "<bytes>") -> EpisodeTrace:
    """Read a trace from its bytes; see :func:`read_trace`."""
    reading = _Reading(Path(path))
    position = 0
    while position < len(data):
        newline = data.find(b"\n", position)
        if newline < 0:
            reading.torn = True
            break
        reading.line(data[position : newline + 1])
        position = newline + 1
    return reading.finish()


class _Reading:
    """The state of one reading: which event may come next, and the running digests."""

    def __init__(self, path: Path) -> None:
        self.torn = False
        self._path = path
        self._number = 0
        self._start: EpisodeStart | None = None
        self._reset: ResetEvent | None = None
        self._steps: list[StepEvent] = []
        self._safety: list[SafetyEvent] = []
        self._errors: list[ErrorEvent] = []
        self._end: EpisodeEnd | None = None
        self._grades: list[GradeEvent] = []
        self._trace = hashlib.sha256()
        self._behaviour = hashlib.sha256()
        self._before = self._trace
        self._readers: Mapping[str, Callable[[dict[str, Any], bool], None]] = {
            "episode_start": self._read_start,
            "reset": self._read_reset,
            "step": self._read_step,
            "safety": self._read_safety,
            "error": self._read_error,
            "episode_end": self._read_end,
            "grade": self._read_grade,
        }

    def line(self, line: bytes) -> None:
        """Read one whole line."""
        self._number += 1
        try:
            members: Any = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise TraceError(self._path, self._number, f"is not JSON: {error}") from None
        if not isinstance(members, dict):
            raise TraceError(self._path, self._number, "is not a JSON object")
        event = cast("dict[str, Any]", members)
        kind = event.pop("type", None)
        reader = self._readers.get(kind) if isinstance(kind, str) else None
        if reader is None:
            raise TraceError(self._path, self._number, f"has the unknown event type {kind!r}")
        if (self._start is None) != (kind == "episode_start"):
            raise TraceError(self._path, self._number, "a trace begins with one episode_start event")
        if (self._end is not None) != (kind == "grade"):
            where = "only grade events follow the end" if self._end else "a grade event follows the end"
            raise TraceError(self._path, self._number, where)
        if kind != "grade":
            self._trace.update(line)
            self._behaviour.update(self._stable(line, kind, event))
        try:
            reader(event, any(text in line for text in _NON_FINITE))
        except ContractError as error:
            raise TraceError(self._path, self._number, str(error)) from error
        except RecursionError:
            raise TraceError(self._path, self._number, "is nested too deeply") from None
        if kind == "grade":
            self._before.update(line)

    def finish(self) -> EpisodeTrace:
        """What was read."""
        if self._start is None:
            raise TraceError(self._path, 0, "holds no whole episode_start event")
        return EpisodeTrace(
            start=self._start,
            reset=self._reset,
            steps=tuple(self._steps),
            safety=tuple(self._safety),
            errors=tuple(self._errors),
            end=self._end,
            grades=tuple(self._grades),
            torn=self.torn,
            trace_sha256=f"sha256:{self._trace.hexdigest()}" if self._end else "",
            behaviour_sha256=f"sha256:{self._behaviour.hexdigest()}" if self._end else "",
        )

    def _stable(self, line: bytes, kind: str, event: Mapping[str, Any]) -> bytes:
        """The bytes the writer hashed: the line without its last member ``volatile``."""
        cut = line.find(_VOLATILE) if "volatile" in event else -1
        if cut >= 0 and line.find(_VOLATILE, cut + 1) >= 0:
            # A member of that name also stands deeper: take the cut that leaves the rest of the object whole.
            cut = self._top_level_cut(line, event)
        if cut < 0:
            # Nothing volatile, or another tool has written the line again with other white space: write it as we would.
            stable = {name: value for name, value in event.items() if name != "volatile"}
            return orjson.dumps({"type": kind, **stable}) + b"\n"
        return line[:cut] + b"}\n"

    @staticmethod
    def _top_level_cut(line: bytes, event: Mapping[str, Any]) -> int:
        cut = line.find(_VOLATILE)
        while cut >= 0:
            try:
                volatile = orjson.loads(line[cut + len(_VOLATILE) : line.rindex(b"}")])
                orjson.loads(line[:cut] + b"}")
            except orjson.JSONDecodeError:
                volatile = None
            if volatile == event["volatile"]:
                return cut
            cut = line.find(_VOLATILE, cut + 1)
        return -1

    def _read_start(self, event: dict[str, Any], _: bool) -> None:
        event = migrate(event, event.pop("schema", None), TRACE_SCHEMA)
        self._start = EpisodeStart.from_dict(event)

    def _read_reset(self, event: dict[str, Any], non_finite: bool) -> None:
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
            volatile=_take(event, "volatile", dict, {}),
        )
        _refuse_rest(event)

    def _read_step(self, event: dict[str, Any], non_finite: bool) -> None:
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

    def _read_safety(self, event: dict[str, Any], non_finite: bool) -> None:
        index = _take(event, "index", int)
        if index != len(self._steps) or self._reset is None:
            raise ContractError(f"an intervention at step {index} stands at step {len(self._steps)}", path="index")
        self._safety.append(
            SafetyEvent(
                index,
                _take(event, "filter", str),
                _take(event, "reason", str),
                _numbers(event, "proposed", non_finite),
                _numbers(event, "applied", non_finite),
                _take(event, "abort", bool, default=False),
            )
        )
        _refuse_rest(event)

    def _read_error(self, event: dict[str, Any], _: bool) -> None:
        self._errors.append(ErrorEvent.from_dict(event))

    def _read_end(self, event: dict[str, Any], _: bool) -> None:
        end = EpisodeEnd.from_dict(event)
        if end.steps != len(self._steps):
            raise ContractError(f"counts {end.steps} steps, but the trace holds {len(self._steps)}", path="steps")
        succeeded = [step.success for step in self._steps]
        for name, said, found in (
            ("success_once", end.success_once, any(succeeded)),
            ("success_at_end", end.success_at_end, bool(succeeded and succeeded[-1])),
        ):
            if said is not None and said != found:
                raise ContractError(f"says {said}, but the steps say {found}", path=name)
        recorded, found = end.volatile.get("behaviour_sha256"), f"sha256:{self._behaviour.hexdigest()}"
        if recorded is not None and recorded != found:
            # No protection against somebody who writes a new digest: that is the trace_sha256 in log and gate.
            raise ContractError("the events are not the ones that were written", path="volatile.behaviour_sha256")
        self._end = end
        self._before = self._trace.copy()

    def _read_grade(self, event: dict[str, Any], _: bool) -> None:
        grade = GradeEvent.from_dict(event)
        if grade.prev_sha256 != f"sha256:{self._before.hexdigest()}":
            raise ContractError("is not the digest of the lines above", path="prev_sha256")
        self._grades.append(grade)

    def _observation(self, event: dict[str, Any], non_finite: bool) -> dict[str, Any]:
        observation: dict[str, Any] = _take(event, "observation", dict)
        if not non_finite or self._start is None:
            return observation
        layouts = self._start.observations
        return {
            key: value if key in layouts and layouts[key].dtype == "text" else decode_numbers(value)
            for key, value in observation.items()
        }


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
