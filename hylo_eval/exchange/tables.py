"""A log as a table, a row a sample: CSV for spreadsheets, Parquet for data frames."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any, Final

import orjson

from hylo_core.schema import EVALLOG_SCHEMA
from hylo_eval.evallog.v02 import EvalLog
from hylo_eval.exchange.arrow import arrow

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n")
"""A cell that begins with one of these is a formula or a command to a spreadsheet (OWASP, "CSV Injection")."""

_TEXT: Final = ("key", "task_id", "episode_id", "status", "trace", "trace_sha256", "behaviour_sha256")
_WHOLE: Final = ("seed", "steps")
HEADER_KEY: Final = b"hylo.evallog.header"
"""The member of the Parquet file's metadata that holds the log without its samples, as JSON."""


def encode_csv(log: EvalLog) -> bytes:
    """UTF-8, comma-separated, with a row of column names; tags are joined by ``;``, an abstention is an empty cell.

    Texts that a spreadsheet would take for a formula have an apostrophe in front.
    """
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\r\n")
    names = list(log.eval.scorers)
    titles = ("run_id", *_TEXT, *_WHOLE, "tags", *(f"{kind}:{name}" for name in names for kind in ("score", "reason")))
    writer.writerow(map(_cell, titles))
    for row in _rows(log):
        scores = [row[part][name] for name in names for part in ("scores", "reasons")]
        plain = [row[name] for name in ("run_id", *_TEXT, *_WHOLE)]
        writer.writerow(map(_cell, (*plain, ";".join(row["tags"]), *scores)))
    return written.getvalue().encode()


def encode_parquet(log: EvalLog) -> bytes:
    """Typed columns; an abstention is null, tags are a list, the log's header stands in the file's metadata.

    Raises:
        EvalError: pyarrow is not installed.
    """
    bound = arrow("Parquet")
    core = bound.core
    rows = list(_rows(log))
    names = list(log.eval.scorers)
    columns: dict[str, Any] = {
        **{name: core.array([row[name] for row in rows], core.string()) for name in ("run_id", *_TEXT)},
        **{name: core.array([row[name] for row in rows], core.int64()) for name in _WHOLE},
        "tags": core.array([row["tags"] for row in rows], core.list_(core.string())),
    }
    for name in names:
        columns[f"score:{name}"] = core.array([row["scores"][name] for row in rows], core.float64())
        columns[f"reason:{name}"] = core.array([row["reasons"][name] or None for row in rows], core.string())
    header = orjson.dumps({"version": EVALLOG_SCHEMA, **log.header().to_dict()})
    table = core.table(columns).replace_schema_metadata({HEADER_KEY: header})
    written = io.BytesIO()
    bound.parquet.write_table(table, written)
    return written.getvalue()


def _rows(log: EvalLog) -> Iterator[dict[str, Any]]:
    names = list(log.eval.scorers)
    for sample in log.samples:
        scores = {name: sample.scores.get(name) for name in names}
        yield {
            "run_id": log.run_id,
            **{name: getattr(sample, name) for name in (*_TEXT, *_WHOLE)},
            "tags": list(sample.tags),
            "scores": {name: None if score is None else score.value for name, score in scores.items()},
            "reasons": {
                name: "not_scored"
                if score is None
                else str(score.metadata.get("reason", "unspecified"))
                if score.value is None
                else ""
                for name, score in scores.items()
            },
        }


def _cell(value: Any) -> Any:
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return value
