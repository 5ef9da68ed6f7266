"""Mode exact."""

import pytest

from hylo_eval.verify.candidate import candidate_spec, grade_candidate
from hylo_eval.verify.modes.exact import grade_exact_output
from hylo_eval.verify.modes.grader import ResourceTable
from hylo_eval.verify.specs.short_answer import ExactSpec
from hylo_eval.verify.verdict import InvalidTask

NO_FILES = ResourceTable({})


def reward(candidate, **parameters: object):
    return grade_candidate(candidate_spec("exact", parameters), candidate, {}).reward


@pytest.mark.parametrize(
    ("candidate", "parameters"),
    [
        ("  Pick the RED\tmug\n", {"expected": "pick the red mug"}),
        ("grasp, lift\nplace", {"expected": ["grasp", "lift", "place"]}),
        ("place,,lift\n\ngrasp", {"expected": ["grasp", "lift", "place"], "ordered": False}),
        ("I left it in the BLUE   bin.", {"expected": ["blue bin"], "substring": True}),
        (" a", {"expected": " a", "strip_outer_whitespace": False, "ignore_whitespace": False}),
        ("a,b", {"expected": "a,b"}),
    ],
)
def test_an_equal_text_scores_one(candidate, parameters):
    """Case and blanks do not count unless the task says so; several entries are a list."""
    assert reward(candidate, **parameters) == 1.0


@pytest.mark.parametrize(
    ("candidate", "parameters"),
    [
        ("pick the blue mug", {"expected": "pick the red mug"}),
        ("Red", {"expected": "red", "ignore_case": False}),
        ("a  b", {"expected": "a b", "ignore_whitespace": False}),
        ("lift, grasp", {"expected": ["grasp", "lift"]}),
        ("tap", {"expected": ["tap", "tap"], "ordered": False}),
        ("a", {"expected": " a", "strip_outer_whitespace": False, "ignore_whitespace": False}),
        (r"\boxed{red}", {"expected": "red"}),
    ],
)
def test_a_different_text_scores_zero(candidate, parameters):
    """A multiset keeps repetitions, a list its order, and a candidate is never unboxed."""
    assert reward(candidate, **parameters) == 0.0


@pytest.mark.parametrize(
    "parameters",
    [{"expected": []}, {"expected": ["a", "b"], "substring": True}, {"expected": " ", "substring": True}],
)
def test_an_expectation_that_nothing_or_everything_meets_is_invalid(parameters):
    """No entry, or a substring that every text contains, is the task's fault."""
    with pytest.raises(InvalidTask):
        candidate_spec("exact", parameters)


def test_a_file_may_box_its_answer():
    """The last box is tried first, then the whole text; the detail shows the box."""
    spec = ExactSpec(expected="red mug")
    boxed = grade_exact_output(spec, r"So: \boxed{Red mug}", NO_FILES)
    assert (boxed.reward, boxed.detail["extracted"]) == (1.0, "Red mug")
    whole = grade_exact_output(ExactSpec(expected=r"\boxed{a} b"), r"\boxed{a} b", NO_FILES)
    assert (whole.reward, whole.detail["extracted"]) == (1.0, "a")
    assert grade_exact_output(spec, r"\boxed{} red", NO_FILES).reward == 0.0
    assert grade_exact_output(ExactSpec(expected=""), r"\boxed{}", NO_FILES).reward == 0.0
    assert grade_exact_output(ExactSpec(expected="", empty_output="grade"), r"\boxed{}", NO_FILES).reward == 1.0


def test_what_the_detail_shows_is_bounded():
    """An answer of megabytes does not become a verdict of megabytes."""
    verdict = grade_candidate(ExactSpec(expected="a"), "b" * 1_000_000, {})
    assert verdict.detail["extracted"] == "b" * 400
