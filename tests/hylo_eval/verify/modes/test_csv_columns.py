"""Mode csv-columns."""

import pytest

from hylo_eval.verify.candidate import candidate_spec, grade_candidate
from hylo_eval.verify.verdict import InvalidTask


def graded(candidate, **parameters: object):
    return grade_candidate(candidate_spec("csv-columns", parameters), candidate, {})


@pytest.mark.parametrize(
    ("table", "parameters", "rows"),
    [
        ("t,x,y\n0,1,2\n", {"required": ["t", "x"]}, 1),
        ("\n , \n t , x \n0,1\n\n2,3\n", {"required": ["t", "x"]}, 2),
        ("```csv\nt,x\n0,1\n```", {"required": "t"}, 1),
        ('"a,b",c\n1,2', {"required": "a,b"}, 1),
        ("t,y\n0,1\n", {"any_of": ["x", "y"]}, 1),
    ],
)
def test_a_table_with_the_wanted_columns_scores_one(table, parameters, rows):
    """The header is the first row that is not blank; one row below it is enough."""
    verdict = graded(table, **parameters)
    assert (verdict.reward, verdict.detail["rows"]) == (1.0, rows)


@pytest.mark.parametrize(
    ("table", "parameters", "reason"),
    [
        ("t,y\n0,1", {"required": ["t", "x"]}, "missing_columns"),
        ("T\n0", {"required": "t"}, "missing_columns"),
        ("t,x", {"required": "t"}, "too_few_rows"),
        ("t\n0", {"any_of": ["x", "y"]}, "no_expected_column"),
        ("t\n" + "9" * 200_000, {"required": "t"}, "parse_error"),
    ],
)
def test_a_table_without_them_scores_zero(table, parameters, reason):
    """A header alone answers nothing, case counts, and a cell beyond the reader's limit is no table."""
    verdict = graded(table, **parameters)
    assert (verdict.reward, verdict.detail["reason"]) == (0.0, reason)


def test_a_task_that_wants_no_column_is_invalid():
    """Every table would pass."""
    with pytest.raises(InvalidTask):
        candidate_spec("csv-columns", {})
