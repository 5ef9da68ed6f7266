"""Logs as files: written whole or not at all, read strictly, their headers without their samples.

Layout of ``hylo.evallog/v0.2``: the first line holds everything but the samples and ends with ``"samples":[``, each
line after it holds one sample, the last line is ``]}``. The whole file is one valid JSON document, so any tool reads
it; one that was written again with other white space is read all the same, only not as fast.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import attrs
import orjson

from hylo_core.errors import ContractError, SchemaError
from hylo_core.schema import EVALLOG_SCHEMA, EVALLOG_V01, migrate
from hylo_core.score import Score
from hylo_eval.errors import EvalError
from hylo_eval.evallog import v01_records
from hylo_eval.evallog.consistency import refuse_contradictions
from hylo_eval.evallog.document import parse_object, read_bytes
from hylo_eval.evallog.v02 import EvalLog, LoggedState, LogHeader, Sample
from hylo_eval.traces.files import size_to_read, write_atomically

MAX_HEADER_BYTES: Final = 64 * 1024**2
"""A first line longer than this is read with the samples, as one document."""

_BEGINNING: Final = b'{"version":"%b",' % EVALLOG_SCHEMA.encode()
_OPENING: Final = b',"samples":['
_CLOSING: Final = b"]}\n"
_FIELDS: Final = tuple(field.name for field in attrs.fields(Sample))
_OMITTED: Final[Mapping[str, tuple[Any, ...]]] = {
    field.name: (field.default,) for field in attrs.fields(Sample) if field.default is not attrs.NOTHING
}
"""The values of a sample's members that are left out of the file."""


def encode_evallog(log: EvalLog) -> bytes:
    """The document of a log."""
    header = orjson.dumps({"version": EVALLOG_SCHEMA, **log.header().to_dict()})
    samples = b",\n".join(map(_encode_sample, log.samples))
    return b"".join((header[:-1], _OPENING, b"\n", samples, b"\n" if samples else b"", _CLOSING))


def write_evallog(log: EvalLog, path: Path) -> None:
    """Write a log, atomically.

    Raises:
        EvalError: The file cannot be written.
    """
    write_atomically(path, encode_evallog(log))


def read_evallog(path: Path | str, *, check: bool = True) -> EvalLog:
    """Read a log of either version, and check what its header says against its samples.

    Args:
        path: The file.
        check: Whether it has to agree with itself (:mod:`hylo_eval.evallog.consistency`); False is for those who use
            nothing of the header, or look for contradictions themselves.

    Raises:
        EvalError: The file cannot be read or is not JSON.
        ContractError: It breaks its schema; the text names file, line (where a sample has its own) and path.
        LogContradiction: Its header and its samples contradict each other; the text names file, path and both values.
    """
    path = Path(path)
    return parse_evallog(read_bytes(path), path, check=check)


def parse_evallog(data: bytes, path: Path, *, check: bool = True) -> EvalLog:
    """Read a log from its bytes; see :func:`read_evallog`."""
    log = _parse(data, path)
    if check:
        refuse_contradictions(log, path)
    return log


def _parse(data: bytes, path: Path) -> EvalLog:
    if (lines := _native_lines(data)) is not None:
        return _read_lines(lines, path)
    members = parse_object(data, path)
    if members.get("version") == EVALLOG_V01:
        del members["version"]
        flat = v01_records.EvalLog.from_dict(members, source=str(path))
        return EvalLog.from_dict(migrate(flat.to_dict(), EVALLOG_V01, EVALLOG_SCHEMA), source=str(path))
    return EvalLog.from_dict(_current(members, path), source=str(path))


def read_evallog_header(path: Path | str) -> LogHeader:
    """Read all of a log but its samples: of a file in its own layout the first line alone, however many samples follow.

    What follows is not looked at: neither a torn file nor a header that its samples contradict is noticed here.

    Raises:
        EvalError: The file cannot be read or is not JSON.
        ContractError: It breaks its schema; the text names file and path.
    """
    path = Path(path)
    try:
        size_to_read(path)
        with path.open("rb") as file:
            line = file.readline(MAX_HEADER_BYTES)
    except OSError as error:
        raise EvalError(f"cannot read the log {path}: {error.strerror}") from error
    if not (line.startswith(_BEGINNING) and line.endswith(_OPENING + b"\n")):
        return read_evallog(path, check=False).header()
    return _header(line, path)


def _native_lines(data: bytes) -> list[bytes] | None:
    """The lines of a file in its own layout."""
    end = data.find(b"\n")
    opened = end > 0 and data.startswith(_BEGINNING) and data.startswith(_OPENING, end - len(_OPENING))
    if not opened or not data.endswith(b"\n" + _CLOSING):
        return None
    return data.split(b"\n")


def _read_lines(lines: list[bytes], path: Path) -> EvalLog:
    header = _header(lines[0], path)
    body = lines[1:-2]
    samples = [_sample(line, number, path, last=number == len(body)) for number, line in enumerate(body, start=1)]
    return EvalLog(status=header.status, eval=header.eval, results=header.results, stats=header.stats, samples=samples)


def _header(line: bytes, path: Path) -> LogHeader:
    members = parse_object(line.rstrip()[: -len(_OPENING)] + b"}", path, 1)
    return LogHeader.from_dict(_current(members, path), source=str(path))


def _sample(line: bytes, number: int, path: Path, *, last: bool) -> Sample:
    """The sample of a line; ``number`` counts from 1."""
    if line.endswith(b",") == last:
        wrong = "a comma after the last sample" if last else "no comma between this sample and the next"
        raise EvalError(f"{path}:{number + 1}: is not JSON: {wrong}")
    members = parse_object(line if last else line[:-1], path, number + 1)
    try:
        return _build_sample(members)
    except (ContractError, TypeError, AttributeError):
        pass  # the strict reader says what is wrong, and where
    try:
        return Sample.from_dict(members)
    except ContractError as error:
        raise error.under(f"samples[{number - 1}]", source=f"{path}:{number + 1}") from None


def _build_sample(members: Mapping[str, Any]) -> Sample:
    """A sample without the general reader, which takes six times as long: a log may hold a hundred thousand.

    Raises:
        ContractError, TypeError, AttributeError: It breaks the schema.
    """
    built: dict[str, Any] = dict(members)
    built["scores"] = {name: Score(**score) for name, score in members.get("scores", {}).items()}
    if built.get("initial_state") is not None:
        built["initial_state"] = LoggedState(**built["initial_state"])
    return Sample(**built)


def _encode_sample(sample: Sample) -> bytes:
    """The bytes of ``sample.to_dict()``, made in a tenth of the time."""
    members: dict[str, Any] = {
        name: value for name in _FIELDS if (value := getattr(sample, name)) not in _OMITTED.get(name, ())
    }
    members["scores"] = {name: _plain_score(score) for name, score in sample.scores.items()}
    if sample.initial_state is not None:
        state = sample.initial_state
        members["initial_state"] = {"task": state.task, "state": state.state, "model": state.model}
    return orjson.dumps(members, default=dict)


def _plain_score(score: Score) -> dict[str, Any]:
    members: dict[str, Any] = {"value": score.value}
    if score.explanation:
        members["explanation"] = score.explanation
    if score.metadata:
        members["metadata"] = score.metadata
    return members


def _current(members: dict[str, Any], path: Path) -> dict[str, Any]:
    """The members of a document whose schema is the current one."""
    schema = members.pop("version", None)
    try:
        return migrate(members, schema, EVALLOG_SCHEMA)
    except SchemaError as error:
        raise error.under("version", source=str(path)) from None
