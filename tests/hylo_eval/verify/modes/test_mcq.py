"""Mode mcq."""

import pytest

from hylo_eval.verify.candidate import candidate_spec, grade_candidate
from hylo_eval.verify.modes.mcq import stated_letter
from hylo_eval.verify.verdict import InvalidTask


def graded(candidate, **parameters: object):
    return grade_candidate(candidate_spec("mcq", {"expected": "C", **parameters}), candidate, {})


@pytest.mark.parametrize("candidate", ["C", " c \n"])
def test_the_letter_of_either_case_scores_one(candidate):
    """A candidate is the letter itself."""
    assert graded(candidate).reward == 1.0


@pytest.mark.parametrize(
    ("candidate", "reason"),
    [("B", None), ("E", "out_of_range"), ("Answer: C", "out_of_range"), ("ß", "out_of_range")],
)
def test_anything_else_scores_zero(candidate, reason):
    """Another option, a letter beyond the options and a sentence are wrong; none is extracted from."""
    verdict = graded(candidate)
    assert (verdict.reward, verdict.detail.get("reason")) == (0.0, reason)


@pytest.mark.parametrize(
    "parameters", [{"expected": "E"}, {"expected": "AB"}, {"expected": ""}, {"options": 0}, {"options": 27}]
)
def test_an_expectation_that_is_no_option_is_invalid(parameters):
    """There are 1 to 26 options and the expected letter is one of them."""
    with pytest.raises(InvalidTask):
        graded("C", **parameters)


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("I weighed it.\nAnswer: C\n", "C"),
        ("Answer: A\nno, Answer: **(C)**", "C"),
        (r"Answer: $x$ so Answer: \boxed{ d }", "d"),
        ("c", "c"),
        ("Answer: Certainly", ""),
        ("It is C", ""),
        ("answer: C", ""),
        ("7", ""),
        ("Answer: 7", "7"),
    ],
)
def test_a_file_states_its_letter_on_its_last_answer_line(text, letter):
    """Wrappers around the letter are removed; a bare letter must be all there is."""
    assert stated_letter(text) == letter


def test_an_answer_marker_before_megabytes_of_blanks_is_scanned_once():
    """The search for the letter is linear in the text."""
    assert stated_letter("Answer:" + " " * 2_000_000) == ""
