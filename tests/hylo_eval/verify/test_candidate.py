"""Grading in process."""

import string

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hylo_eval.verify.candidate import IN_PROCESS_MODES, candidate_spec, grade_candidate
from hylo_eval.verify.modes import Mode
from hylo_eval.verify.specs.answer import FunctionCall
from hylo_eval.verify.specs.short_answer import McqSpec
from hylo_eval.verify.specs.suites import PytestSpec
from hylo_eval.verify.verdict import InvalidTask, Reward, Status, malformation

SEED_MODES = {
    "exact",
    "numeric",
    "mcq",
    "math",
    "ifeval",
    "json-schema",
    "xml-elements",
    "csv-columns",
    "structured_exact",
    "predicted_action",
}

TEXT_PARAMETERS = {
    "exact": {"expected": ["a", "b"], "ordered": False},
    "numeric": {"expected": "5", "tolerance_abs": 0.5, "tolerance_rel": 0.0},
    "mcq": {"expected": "C"},
    "ifeval": {"constraints": [{"name": "punctuation:no_comma"}]},
    "json-schema": {},
    "xml-elements": {"required": ["a"]},
    "csv-columns": {"required": ["a"]},
}
SCHEMA = {"schema.json": b'{"type": "object"}'}

hostile_text = (
    st.text()
    | st.text(
        alphabet=st.sampled_from(
            list(string.ascii_letters + string.digits + "{}[]()<>\\/$`'\"\n\t ,.:;-+&*#!%^~|=_\0\ud800\u2212")
        )
    )
    | st.lists(
        st.sampled_from(
            [
                "\\boxed{",
                "}",
                "```",
                "<a",
                ">",
                "</a>",
                "[",
                "{",
                "5",
                "1e",
                "Answer:",
                "C",
                "\n",
                ",",
                "&a ",
                "*a",
                "- ",
                "$",
                "'''",
            ]
        )
    ).map("".join)
)

loose_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | st.binary(max_size=2),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=2) | st.integers(0, 1), inner, max_size=3)
        | st.tuples(inner)
    ),
    max_leaves=6,
)


def test_the_modes_are_the_contracts_ten():
    """The list of in-process modes is part of the contract."""
    assert {str(mode) for mode in IN_PROCESS_MODES} == SEED_MODES


@pytest.mark.parametrize(
    "mode", [*sorted(set(Mode) - IN_PROCESS_MODES - {"structure_closure", "unsolvable"}), "teleport", ""]
)
def test_other_modes_run_through_the_file_grader_only(mode):
    """Judge, Reasoning Gym, execution and script modes are refused by name."""
    with pytest.raises(ValueError, match="in process"):
        candidate_spec(mode, {})


def test_a_specification_of_another_mode_is_refused():
    """A built specification does not get around the list."""
    with pytest.raises(ValueError, match="in process"):
        grade_candidate(PytestSpec(), "x", {})
    with pytest.raises(TypeError, match="not the specification"):
        grade_candidate({"mode": "mcq"}, "x", {})


def test_malformed_parameters_are_value_errors():
    """Unknown and missing fields, a mode of their own, and no table at all."""
    for parameters in (
        {"expected": "C", "letter": "C"},
        {},
        {"expected": "C", "mode": "exact"},
        [("expected", "C")],
    ):
        with pytest.raises(ValueError, match=r".+"):
            candidate_spec("mcq", parameters)


def test_a_rejected_specification_is_an_invalid_task():
    """candidate_spec raises it; grading a specification built otherwise returns it as a verdict."""
    with pytest.raises(InvalidTask):
        candidate_spec("mcq", {"expected": "Z"})
    assert grade_candidate(McqSpec(expected="Z"), "A", {}).status is Status.INVALID_TASK


@pytest.mark.parametrize("mode", sorted(TEXT_PARAMETERS))
@pytest.mark.parametrize("candidate", [42, None, b"text", ["text"]])
def test_a_text_mode_takes_a_string(mode, candidate):
    """Another type is the caller's mistake, not the candidate's."""
    with pytest.raises(TypeError):
        grade_candidate(candidate_spec(mode, TEXT_PARAMETERS[mode]), candidate, SCHEMA)


@pytest.mark.parametrize("mode", sorted(TEXT_PARAMETERS))
def test_a_blank_text_scores_zero_unless_it_is_to_be_graded(mode):
    """empty_output decides, in every text mode alike."""
    verdict = grade_candidate(candidate_spec(mode, TEXT_PARAMETERS[mode]), " \n", SCHEMA)
    assert (verdict.reward, verdict.detail) == (0.0, {"reason": "empty_output"})
    graded = grade_candidate(candidate_spec(mode, {**TEXT_PARAMETERS[mode], "empty_output": "grade"}), " \n", SCHEMA)
    assert graded.detail.get("reason") != "empty_output"


def test_an_empty_text_can_be_the_right_answer():
    """With "grade", nothing equals nothing."""
    spec = candidate_spec("exact", {"expected": "", "empty_output": "grade"})
    assert grade_candidate(spec, "", {}).reward == 1.0


def check(verdict):
    assert isinstance(verdict, Reward)
    assert malformation(verdict) is None
    assert verdict.status is Status.SCORED


@pytest.mark.parametrize("mode", sorted(TEXT_PARAMETERS))
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(candidate=hostile_text)
def test_any_text_is_scored(mode, candidate):
    """No text makes a mode raise, abstain, or return what is no verdict."""
    check(grade_candidate(candidate_spec(mode, TEXT_PARAMETERS[mode]), candidate, SCHEMA))


@pytest.mark.parametrize("notation", ["yaml", "toml"])
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(candidate=hostile_text)
def test_any_document_is_scored(notation, candidate):
    """The same for the notations that are read in the child."""
    check(grade_candidate(candidate_spec("json-schema", {"format": notation}), candidate, SCHEMA))


@settings(max_examples=25, deadline=None)
@given(candidate=st.text(alphabet="x+-*/^(){}\\frac12,=<$", max_size=12))
def test_any_expression_is_scored(candidate):
    """The same for mathematics; short, so that no tower of powers waits for its deadline."""
    check(grade_candidate(candidate_spec("math", {"expected": "x^2"}), candidate, {}))


@given(candidate=loose_values)
def test_any_value_is_scored_or_refused(candidate):
    """A structured candidate is scored, or is of a type that JSON does not have."""
    spec = candidate_spec("structured_exact", {"expected": {"a": [1.0]}})
    try:
        verdict = grade_candidate(spec, candidate, {})
    except TypeError:
        assert isinstance(candidate, bytes)
    else:
        check(verdict)


@given(
    calls=st.lists(st.builds(FunctionCall, st.sampled_from(["tap", ""]) | st.none(), loose_values), max_size=3).map(
        tuple
    )
)
def test_any_calls_are_scored(calls):
    """Whatever a model put into its calls."""
    spec = candidate_spec(
        "predicted_action",
        {"expected_calls": [{"name": "tap", "arguments": {"a": 1.0}}], "numeric_tolerance": 0.5},
    )
    check(grade_candidate(spec, calls, {}))


def test_a_resource_that_is_no_bytes_is_the_callers_mistake():
    """A text in the place of a file's bytes does not read as a file that is missing."""
    spec = candidate_spec("json-schema", {})
    assert grade_candidate(spec, "1", {}).status is Status.INVALID_TASK
    with pytest.raises(TypeError, match="must be bytes, not str"):
        grade_candidate(spec, "1", {"schema.json": "{}"})


@pytest.mark.parametrize("mode", [["exact"], {"exact": 1}, None, 5])
def test_a_mode_that_is_no_text_is_not_graded_in_process(mode):
    """The caller is told which modes there are, whatever the mode was."""
    with pytest.raises(ValueError, match="not graded in process"):
        candidate_spec(mode, {"expected": "x"})


@pytest.mark.parametrize("resources", [None, [], {"schema.json": None}, {"schema.json": "{}"}])
def test_resources_that_are_no_bytes_by_path_are_the_callers_error(resources):
    """No verdict blames the task for a resource that the caller handed over in another form."""
    with pytest.raises(TypeError, match="bytes"):
        grade_candidate(candidate_spec("json-schema", {}), "[1]", resources)
