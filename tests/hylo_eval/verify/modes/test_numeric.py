"""Mode numeric."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_eval.verify.candidate import candidate_spec, grade_candidate
from hylo_eval.verify.modes.numeric import grade_numeric_candidate_float, grade_numeric_value
from hylo_eval.verify.specs.short_answer import NumericSpec
from hylo_eval.verify.verdict import InvalidTask, Status


def graded(candidate, expected, tolerance_abs=0.0, tolerance_rel=0.0):
    parameters = {"expected": expected, "tolerance_abs": tolerance_abs, "tolerance_rel": tolerance_rel}
    return grade_candidate(candidate_spec("numeric", parameters), candidate, {})


@pytest.mark.parametrize(
    ("candidate", "expected", "tolerances"),
    [
        ("1/2", "0.5", (0.0, 0.0)),
        ("0.5", "1/2", (0.0, 0.0)),
        ("10.01", "10", (0.01, 0.0)),
        ("-202", "-200", (0.0, 0.01)),
        ("1e2", "100", (0.0, 0.0)),
        ("1.2", "1", (0.1, 0.2)),
    ],
)
def test_a_number_within_the_tolerance_scores_one(candidate, expected, tolerances):
    """Values are compared exactly, the boundary belongs to the tolerance, and the larger tolerance holds."""
    assert graded(candidate, expected, *tolerances).reward == 1.0


@pytest.mark.parametrize(
    ("candidate", "expected", "tolerances"),
    [
        ("0.30000000000000004", "0.3", (0.0, 0.0)),
        ("10.0100000000000000001", "10", (0.01, 0.0)),
        ("100000000000000000000000000000000000002", "100000000000000000000000000000000000001", (0.0, 0.0)),
        ("-202.1", "-200", (0.0, 0.01)),
    ],
)
def test_a_number_beyond_the_tolerance_scores_zero(candidate, expected, tolerances):
    """No digit is lost to a float."""
    assert graded(candidate, expected, *tolerances).reward == 0.0


@pytest.mark.parametrize("candidate", ["k-5", "- 5", "infinity or 5", "5 or 6", "five", r"5 \boxed{"])
def test_a_text_without_its_one_number_scores_zero_with_a_reason(candidate):
    """A malformed submission is a failed attempt, not an abstention."""
    verdict = graded(candidate, "5")
    assert (verdict.status, verdict.reward) == (Status.SCORED, 0.0)
    assert verdict.detail["reason"] == "invalid_numeric_candidate"


@pytest.mark.parametrize(
    ("expected", "tolerance_abs", "tolerance_rel"),
    [
        ("5 kg", 0.0, 0.0),
        ("1e9999", 0.0, 0.0),
        ("1/0", 0.0, 0.0),
        ("nan", 0.0, 0.0),
        ("5", -0.1, 0.0),
        ("5", 0.0, math.nan),
        ("5", math.inf, 0.0),
    ],
)
def test_a_reference_that_is_no_number_or_distance_is_invalid(expected, tolerance_abs, tolerance_rel):
    """The task is at fault, however the candidate answers."""
    with pytest.raises(InvalidTask):
        graded("5", expected, tolerance_abs, tolerance_rel)
    spec = NumericSpec(expected=expected, tolerance_abs=tolerance_abs, tolerance_rel=tolerance_rel)
    assert grade_candidate(spec, "5", {}).status is Status.INVALID_TASK


def test_a_value_must_be_exact():
    """Only a Fraction is compared directly; a float may have been rounded already."""
    spec = NumericSpec(expected="1/3", tolerance_abs=0.0, tolerance_rel=0.0)
    assert grade_numeric_value(spec, Fraction(1, 3)).reward == 1.0
    with pytest.raises(TypeError):
        grade_numeric_value(spec, 1 / 3)


@given(st.fractions(max_denominator=1000), st.fractions(max_denominator=1000), st.integers(0, 1000))
def test_the_verdict_is_exact_arithmetic(expected, candidate, thousandths):
    """The reward says whether |candidate - expected| <= tolerance, for the tolerance's decimal spelling."""
    verdict = graded(str(candidate), str(expected), thousandths / 1000)
    assert verdict.reward == float(abs(candidate - expected) <= Fraction(thousandths, 1000))


def test_floats_are_compared_as_floats():
    """MMMU accepts equality only, JEEBench a hundredth, inclusive."""
    assert grade_numeric_candidate_float(2.0, 2.0, tolerance_abs=0.0).reward == 1.0
    assert grade_numeric_candidate_float(2.0, 2.0000001, tolerance_abs=0.0).reward == 0.0
    assert grade_numeric_candidate_float(2.0, 2.005, tolerance_abs=0.01).reward == 1.0
    assert grade_numeric_candidate_float(2.0, 2.02, tolerance_abs=0.01).reward == 0.0


@pytest.mark.parametrize("value", [None, math.nan, math.inf, -math.inf, 10**400])
def test_a_float_that_is_no_finite_number_scores_zero(value):
    """A missing or nonfinite candidate is a failed attempt."""
    verdict = grade_numeric_candidate_float(2.0, value, tolerance_abs=0.01)
    assert (verdict.reward, verdict.detail["reason"]) == (0.0, "nonfinite_candidate")


@pytest.mark.parametrize(
    ("expected", "tolerance"),
    [(math.nan, 0.0), (math.inf, 0.0), (1.0, -1.0), (1.0, math.nan), (10**400, 0.0)],
)
def test_a_float_reference_must_be_finite_and_its_tolerance_a_distance(expected, tolerance):
    """The task is at fault."""
    with pytest.raises(InvalidTask):
        grade_numeric_candidate_float(expected, 1.0, tolerance_abs=tolerance)


def test_a_float_must_be_a_number():
    """A bool or a text is the caller's mistake."""
    for value in (True, "1"):
        with pytest.raises(TypeError):
            grade_numeric_candidate_float(1.0, value, tolerance_abs=0.0)
