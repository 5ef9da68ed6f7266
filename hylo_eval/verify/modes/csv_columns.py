"""Mode csv-columns: the answer is CSV with the wanted columns in its header and a row below it.

Rows whose cells are all blank do not count, headers are stripped, and no cell below the header is looked at.
"""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Final

from hylo_eval.verify.extraction import fenced_block
from hylo_eval.verify.modes.grader import AnswerGrader
from hylo_eval.verify.verdict import InvalidTask, Reward, scored, zero

if TYPE_CHECKING:
    from hylo_eval.verify.specs.answer import CsvColumnsSpec

MAX_SHOWN_NAMES: Final = 8
LEAST_ROWS: Final = 2
"""A header and one row: a header alone answers nothing."""


def check_csv_columns(spec: CsvColumnsSpec) -> None:
    """Raises InvalidTask when no column is wanted."""
    if not spec.required and not spec.any_of:
        raise InvalidTask("required or any_of must hold a column")


def grade_csv_columns_candidate(spec: CsvColumnsSpec, candidate: str) -> Reward:
    """Scores a table, which may stand in a Markdown fence."""
    check_csv_columns(spec)
    header: list[str] | None = None
    count = 0
    try:
        for row in csv.reader(io.StringIO(fenced_block(candidate).strip())):
            if "".join(row).strip():
                header = header or row
                count += 1
    except csv.Error as error:
        return zero("parse_error", error=str(error))
    if header is None or count < LEAST_ROWS:
        return zero("too_few_rows", rows=count)
    columns = {cell.strip() for cell in header}
    missing = [name for name in spec.required if name not in columns]
    if missing:
        return zero("missing_columns", missing=missing[:MAX_SHOWN_NAMES])
    if spec.any_of and columns.isdisjoint(spec.any_of):
        return zero("no_expected_column", expected=list(spec.any_of[:MAX_SHOWN_NAMES]))
    return scored(1.0, reason="columns_present", rows=count - 1)


GRADER: Final = AnswerGrader["CsvColumnsSpec"](
    check_spec=check_csv_columns,
    grade_output=lambda spec, text, _resources: grade_csv_columns_candidate(spec, text),
    grade_candidate=lambda spec, candidate, _resources: grade_csv_columns_candidate(spec, candidate),
)
