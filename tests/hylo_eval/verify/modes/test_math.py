"""Mode math."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hylo_eval.verify import bounded_call, math_child
from hylo_eval.verify.candidate import candidate_spec, grade_candidate
from hylo_eval.verify.modes import math as math_mode
from hylo_eval.verify.specs.answer import MathProfile, MathType
from hylo_eval.verify.verdict import InvalidTask, Status


def graded(candidate, expected, **parameters: object):
    return grade_candidate(candidate_spec("math", {"expected": expected, **parameters}), candidate, {})


@pytest.mark.parametrize(
    ("candidate", "expected", "parameters"),
    [
        (r"\boxed{\sqrt{20}}", r"2\sqrt{5}", {}),
        (r"\boxed{(x-1)(x+1)}", "x^2-1", {}),
        (r"\boxed{8} no, \boxed{9}", "9", {}),
        ("so\n$\\frac{1}{4}$\n\n", "0.25", {}),
        ("x > 2", r"(2, \infty)", {"math_type": "interval"}),
        (r"\{2, 1\}", r"\{1, 2\}", {"math_type": "set"}),
        ("1, (2, 3)", "[1, (2, 3)]", {"math_type": "list"}),
        ("x^2 + 5", "x^2", {"allow_additive_constant": True}),
        (r"\boxed{4}", "4", {"profile": "boxed"}),
        ("it is $4$", "4", {"profile": "raw"}),
    ],
)
def test_an_equal_expression_scores_one(candidate, expected, parameters):
    """Equality is symbolic; sets may be relations, and a list's brackets are optional."""
    assert graded(candidate, expected, **parameters).reward == 1.0


@pytest.mark.parametrize(
    ("candidate", "expected", "parameters"),
    [
        (r"\boxed{8}", "9", {}),
        (r"\boxed{9} then \boxed{", "9", {}),
        (r"\boxed{}", "9", {}),
        ("no idea", "9", {}),
        ("[-1,4]", "(-1,4]", {"math_type": "interval"}),
        ("0.5, 3", "[3, 1/2]", {"math_type": "list"}),
        ("3", "[3, 1/2]", {"math_type": "list"}),
        ("x^2 + 5", "x^2", {}),
        ("x^2 + x", "x^2", {"allow_additive_constant": True}),
        ("", "9", {"empty_output": "grade"}),
        ("__import__('os').getpid()", "9", {}),
    ],
)
def test_a_different_expression_scores_zero(candidate, expected, parameters):
    """A list keeps its order, the last box decides even when it is broken, and prose is no expression."""
    verdict = graded(candidate, expected, **parameters)
    assert (verdict.status, verdict.reward) == (Status.SCORED, 0.0)


@pytest.mark.parametrize("reference", ["%%%", "", "1/0", "0/0"])
@pytest.mark.parametrize("candidate", ["9", ""])
def test_a_reference_that_cannot_be_read_or_has_no_value_is_the_tasks_fault(candidate, reference):
    """It is reported whatever the answer, the empty one too."""
    assert graded(candidate, reference).status is Status.INVALID_TASK


PLAIN = st.from_regex(math_child.PLAIN_NUMBER, fullmatch=True) | st.from_regex(
    math_child.PLAIN_FRACTION, fullmatch=True
)


@settings(max_examples=25, deadline=None)
@given(PLAIN, st.sampled_from(list(MathProfile)))
def test_every_number_that_is_taken_unread_can_be_read(number, profile):
    """What spares a round trip never spares a refusal."""
    assert math_mode._reference_defect(number, MathType.SCALAR, profile) is None


@settings(max_examples=150, deadline=None)
@given(PLAIN)
@example("0.5")
def test_a_plain_number_is_read_as_the_grammar_reads_it(number):
    """Type, value and precision are the same with and without the LaTeX parser."""
    sympy = pytest.importorskip("sympy")
    assert sympy.srepr(math_child._read_anchored(number)) == sympy.srepr(math_child._parse(f"${number}$"))


@pytest.mark.parametrize("profile", ["boxed", "raw"])
def test_profiles_of_one_expression_know_scalars_only(profile):
    """A list cannot be asked for in a box."""
    with pytest.raises(InvalidTask):
        candidate_spec("math", {"expected": "1", "profile": profile, "math_type": "list"})


@pytest.fixture
def short_deadline(monkeypatch):
    """Three seconds instead of ten, and no verdict on a reference remembered from or for other tests."""
    monkeypatch.setattr(math_mode, "DEADLINE_SECONDS", 3.0)
    math_mode._reference_defect.cache_clear()
    yield
    math_mode._reference_defect.cache_clear()


@pytest.mark.usefixtures("short_deadline")
def test_an_expression_without_end_is_cut_off_and_blamed_on_its_author():
    """A tower of powers is a zero for the candidate who wrote it and a defect of the task that expects it."""
    tower = "9^{9^{9}}"
    by_candidate = graded(tower, "5")
    assert (by_candidate.status, by_candidate.detail["reason"]) == (Status.SCORED, "candidate_deadline")
    assert graded("5", tower).status is Status.INVALID_TASK
    assert graded("5", "5").reward == 1.0


def test_a_missing_extra_is_named(monkeypatch):
    """Without math-verify the verdict is an infrastructure error that says what to install."""
    reply = {
        "failure": "error",
        "error_type": "GradingInfraError",
        "message": "math_verify is not installed. fix: pip install 'hylo-eval[math]'",
        "detail": {"missing_extra": "math"},
    }

    def absent(*_arguments: object, **_options: object):
        raise bounded_call._failure_of(reply)

    math_mode._reference_defect.cache_clear()
    monkeypatch.setattr(math_mode, "call_bounded", absent)
    verdict = graded("5", "5")
    assert verdict.status is Status.INFRA_ERROR
    assert verdict.detail["missing_extra"] == "math"
    assert "hylo-eval[math]" in verdict.detail["error"]
