"""EvalLog ``hylo.evallog/v0.1``, field for field: written and read as files.

Runs write v0.2 (:mod:`hylo_eval.evallog.v02`); this form stays readable and writable for tools that know it.
"""

from __future__ import annotations

from pathlib import Path

import orjson

from hylo_core.errors import SchemaError
from hylo_core.frozen import thaw
from hylo_core.schema import EVALLOG_SCHEMA, EVALLOG_V01, migrate
from hylo_eval.evallog import v02
from hylo_eval.evallog.consistency import refuse_contradictions
from hylo_eval.evallog.document import parse_object, read_bytes
from hylo_eval.evallog.files import parse_evallog
from hylo_eval.evallog.v01_records import EvalLog
from hylo_eval.traces.files import write_atomically


def encode_evallog(log: EvalLog) -> bytes:
    """The document of a log."""
    document = {
        "version": EVALLOG_V01,
        "run_id": log.run_id,
        "benchmark": log.benchmark.to_dict(),
        "agent": log.agent.to_dict(),
        "results": thaw(log.results),
        "samples": [sample.to_dict() for sample in log.samples],
    }
    return orjson.dumps(document, option=orjson.OPT_INDENT_2) + b"\n"


def write_evallog(log: EvalLog, path: Path) -> None:
    """Write a log, atomically."""
    write_atomically(path, encode_evallog(log))


def read_evallog(path: Path | str, *, check: bool = True) -> EvalLog:
    """Read a log of either version in this form.

    Args:
        path: The file.
        check: Whether its results have to agree with its samples.

    Raises:
        EvalError: The file cannot be read or is not JSON.
        ContractError: It breaks its schema; the text names file and path.
        LogContradiction: Its results and its samples contradict each other.
    """
    path = Path(path)
    data = read_bytes(path)
    members = parse_object(data, path)
    schema = members.pop("version", None)
    if schema == EVALLOG_SCHEMA:
        return flatten(parse_evallog(data, path, check=check))
    try:
        members = migrate(members, schema, EVALLOG_V01)
    except SchemaError as error:
        raise error.under("version", source=str(path)) from None
    log = EvalLog.from_dict(members, source=str(path))
    if check:
        refuse_contradictions(raised(log), path)
    return log


def raised(log: EvalLog) -> v02.EvalLog:
    """A log of this form in v0.2; what this form does not know is unknown there."""
    return v02.EvalLog.from_dict(migrate(log.to_dict(), EVALLOG_V01, EVALLOG_SCHEMA))


def flatten(log: v02.EvalLog) -> EvalLog:
    """A log of v0.2 in this form."""
    return EvalLog.from_dict(migrate(log.to_dict(), EVALLOG_SCHEMA, EVALLOG_V01))
