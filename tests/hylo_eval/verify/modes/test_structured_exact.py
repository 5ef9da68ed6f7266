"""Mode structured_exact."""

import pytest

from hylo_eval.verify.candidate import candidate_spec, grade_candidate
from hylo_eval.verify.modes.grader import ResourceTable
from hylo_eval.verify.modes.structured_exact import grade_structured_exact_output
from hylo_eval.verify.specs.answer import StructuredExactSpec

NO_FILES = ResourceTable({})


def reward(candidate, expected, **parameters: object):
    return grade_candidate(
        candidate_spec("structured_exact", {"expected": expected, **parameters}), candidate, {}
    ).reward


def test_an_equal_value_scores_one():
    """The order of members does not count, and 1 is 1.0 unless types are strict."""
    assert reward({"b": [1, None], "a": True}, {"a": True, "b": [1.0, None]}) == 1.0
    assert reward("", "") == 1.0
    assert reward(None, None) == 1.0


def test_a_different_value_scores_zero():
    """Arrays are ordered, a bool is no number, and strict types tell 1 from 1.0."""
    assert reward([2, 1], [1, 2]) == 0.0
    assert reward(1, expected=True) == 0.0
    assert reward(1, 1.0, numeric_types="strict") == 0.0
    assert reward(9007199254740992.0, 9007199254740993) == 0.0


def test_a_value_that_is_not_json_is_the_callers_mistake():
    """A set or bytes were never decoded from JSON."""
    spec = candidate_spec("structured_exact", {"expected": 1})
    for value in ({1}, b"1", object()):
        with pytest.raises(TypeError):
            grade_candidate(spec, value, {})


@pytest.mark.parametrize("text", ["{", '{"a": 1, "a": 1}', "NaN", "[" * 100_000, "9" * 5000, "\ufeff1"])
def test_a_file_that_is_not_json_scores_zero(text):
    """Repeated keys, NaN, endless nesting and endless digits are no JSON answer."""
    verdict = grade_structured_exact_output(StructuredExactSpec(expected={"a": 1}), text, NO_FILES)
    assert (verdict.reward, verdict.detail) == (0.0, {"reason": "invalid_json"})


def test_a_file_holds_one_json_value():
    """The whole file is decoded."""
    spec = StructuredExactSpec(expected={"a": [None, 1]})
    assert grade_structured_exact_output(spec, ' {"a": [null, 1]}\n', NO_FILES).reward == 1.0


def test_a_candidate_of_endless_depth_scores_zero():
    """Comparison does not recurse."""
    candidate = []
    for _ in range(100_000):
        candidate = [candidate]
    assert reward(candidate, [[[]]]) == 0.0
    while candidate:
        candidate = candidate.pop()
