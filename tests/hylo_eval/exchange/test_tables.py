"""Logs as tables and as JUnit."""

from __future__ import annotations

import csv
import io
import json
from xml.etree import ElementTree as ET

import pytest

from hylo_core import Score
from hylo_eval import EvalError
from hylo_eval.exchange.junit import encode_junit
from hylo_eval.exchange.tables import HEADER_KEY, encode_csv, encode_parquet
from tests.hylo_eval.evallog.logs import STEPS, build, golden, sample


def test_a_csv_row_a_sample() -> None:
    """With column names; an abstention is an empty cell with a reason, never 0."""
    rows = list(csv.DictReader(io.StringIO(encode_csv(golden()).decode())))
    assert [row["key"] for row in rows] == [item.key for item in golden().samples]
    assert [row["score:success"] for row in rows] == ["1.0", "0.0", "", "1.0", "1.0"]
    assert [row["reason:success"] for row in rows] == ["", "", "agent_error", "", ""]
    assert (rows[0]["tags"], rows[0]["seed"], rows[0]["run_id"]) == ("l;all", "10000", "golden-run")


@pytest.mark.parametrize("text", ["=cmd|' /C calc'!A0", "+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1"])
def test_no_text_reaches_a_spreadsheet_as_a_formula(text: str) -> None:
    """Wherever it stands: in a cell, in a list of tags, in a column's name. A negative number stays a number."""
    hostile = sample("lift", 0, 1.0, key=text, task_id=text, status=text, tags=(text,))
    log = build(hostile, run_id=text, scorers={text: STEPS, "steps": STEPS})
    (names, row) = list(csv.reader(io.StringIO(encode_csv(log).decode(), newline="")))
    assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n")) for cell in (*names, *row))
    assert f"'{text}" in row
    negative = build(sample("lift", 0, 1.0, scores={"steps": Score(-2.5)}), scorers={"steps": STEPS})
    assert "-2.5" in encode_csv(negative).decode()


def test_parquet_reads_back_typed() -> None:
    """Numbers, nulls, lists; the log's header goes with it."""
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = parquet.read_table(pyarrow.BufferReader(encode_parquet(golden())))
    assert table.column("score:success").to_pylist() == [1.0, 0.0, None, 1.0, 1.0]
    assert table.column("seed").to_pylist() == [10000, 10001, 10002, 10000, 10001]
    assert table.column("tags").to_pylist()[0] == ["l", "all"]
    assert table.column("reason:steps").to_pylist()[2] == "agent_error"
    header = json.loads(table.schema.metadata[HEADER_KEY])
    assert header["results"]["overall"]["success"]["mean"] == 0.75


def test_junit_has_a_case_an_episode() -> None:
    """Failures fail, abstentions are errors, and what a log holds is escaped."""
    root = ET.fromstring(encode_junit(golden()))  # noqa: S314 - our own
    suite = root.find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("5", "1", "1")
    kinds = [next((child.tag for child in case if child.tag != "system-out"), "pass") for case in suite]
    assert kinds == ["pass", "failure", "error", "pass", "pass"]
    error = suite.find("testcase/error")
    assert error is not None
    assert error.text is not None
    assert "agent_error" in error.text
    hostile = build(sample("lift", 0, 0.0, key="<script>\x1b&"))
    assert b"<script>" not in encode_junit(hostile)


def test_junit_needs_a_score_that_passes_or_fails() -> None:
    """Nothing is guessed from numbers."""
    with pytest.raises(EvalError, match="declares no score of 0 and 1"):
        encode_junit(build(sample("lift", 0, 1.0), scorers={"steps": STEPS}))
