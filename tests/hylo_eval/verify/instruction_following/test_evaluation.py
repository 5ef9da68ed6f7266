"""Constraints of a specification over a text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_eval.verify.instruction_following import check_constraints, evaluate_constraints
from hylo_eval.verify.instruction_following.table import CHECKS
from hylo_eval.verify.specs.answer import Constraint
from hylo_eval.verify.verdict import InvalidTask

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
PARAMETER_NAMES = sorted(
    [
        "num_words",
        "num_sentences",
        "relation",
        "keywords",
        "keyword",
        "frequency",
        "letter",
        "let_frequency",
        "let_relation",
        "n",
        "m",
        "N",
        "phrase",
        "small_n",
        "language",
        "first_word",
        "last_word",
        "end_phrase",
        "forbidden_words",
        "word_boundary",
        "keyword1",
        "keyword2",
        "section_spliter",
        "num_sections",
        "postscript_marker",
        "n_sent",
        "n_words",
        "num_paragraphs",
        "nth_paragraph",
    ]
)


@given(
    st.sampled_from(sorted(CHECKS)),
    st.dictionaries(st.sampled_from(PARAMETER_NAMES), json_values),
    st.text(),
)
def test_no_parameter_and_no_text_raises(name, params, text):
    """Whatever a data set stored as parameters, the constraint holds or does not."""
    (result,) = evaluate_constraints((Constraint(name, params),), text)
    assert isinstance(result.passed, bool)
    assert len(result.detail) <= 300


def test_results_keep_the_order_and_the_names():
    """One result a constraint, repeated ones included."""
    constraints = [Constraint("punctuation:no_comma"), Constraint("punctuation:punctuation_dot")] * 2
    results = evaluate_constraints(constraints, "a.")
    assert [(result.name, result.passed) for result in results] == [
        ("punctuation:no_comma", True),
        ("punctuation:punctuation_dot", False),
    ] * 2


def test_a_bad_parameter_fails_its_constraint_alone():
    """A missing parameter fails that constraint and says which one."""
    results = evaluate_constraints([Constraint("keywords:frequency"), Constraint("punctuation:no_comma")], "a")
    assert [result.passed for result in results] == [False, True]
    assert "keyword is missing" in results[0].detail


def test_unknown_names_are_the_tasks_defect():
    """Every unknown name is listed, with the closest known one."""
    with pytest.raises(InvalidTask, match=r"punctuation:no_coma.*did you mean 'punctuation:no_comma'"):
        check_constraints([Constraint("punctuation:no_comma"), Constraint("punctuation:no_coma")])
    with pytest.raises(InvalidTask):
        evaluate_constraints([Constraint("x")], "text")
