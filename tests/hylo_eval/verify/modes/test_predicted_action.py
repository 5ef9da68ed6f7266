"""Mode predicted_action."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_eval.verify.candidate import candidate_spec, grade_candidate
from hylo_eval.verify.json_comparison import NumericTypePolicy, json_values_equal
from hylo_eval.verify.modes.grader import ResourceTable
from hylo_eval.verify.modes.predicted_action import grade_predicted_action_output
from hylo_eval.verify.specs.answer import FunctionCall, PredictedActionSpec
from hylo_eval.verify.verdict import InvalidTask

NO_FILES = ResourceTable({})
MOVE = {"name": "move_to", "arguments": {"x": 0.3, "frame": "base"}}

arguments = st.dictionaries(
    st.sampled_from("ab"),
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(0, 2)
        | st.sampled_from([0.0, -0.0, 1.0, 1.05, 2.0])
        | st.sampled_from(["1", ""]),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
        max_leaves=3,
    ),
    max_size=2,
)


def reward(given_calls, expected, tolerance=None):
    spec = candidate_spec("predicted_action", {"expected_calls": expected, "numeric_tolerance": tolerance})
    return grade_candidate(spec, tuple(FunctionCall(**call) for call in given_calls), {}).reward


def tap(value):
    return {"name": "tap", "arguments": {"x": value}}


def test_the_same_calls_in_any_order_score_one():
    """Calls match one to one, and the order of calls and of members does not count."""
    grip = {"name": "grip", "arguments": {"width": None}}
    moved = {"name": "move_to", "arguments": {"frame": "base", "x": 0.3}}
    assert reward([grip, moved], [MOVE, grip]) == 1.0


@pytest.mark.parametrize(
    "calls",
    [
        [],
        [MOVE],
        [MOVE, MOVE, MOVE],
        [MOVE, {**MOVE, "name": "move"}],
        [MOVE, {**MOVE, "arguments": {"x": 0.31, "frame": "base"}}],
        [MOVE, {**MOVE, "arguments": {"x": 0.3, "frame": "base", "z": None}}],
    ],
)
def test_missing_extra_and_different_calls_score_zero(calls):
    """Two equal calls are expected: one, three, or another in their place do not do."""
    assert reward(calls, [MOVE, MOVE]) == 0.0


def test_types_are_strict_and_the_tolerance_is_for_floats():
    """1 is not 1.0 nor true; a tolerance holds between two floats, inclusive, and only there."""
    assert reward([tap(1)], [tap(1.0)]) == 0.0
    assert reward([tap(value=True)], [tap(1)]) == 0.0
    assert reward([tap(1.25)], [tap(1.0)], 0.25) == 1.0
    assert reward([tap(1.5)], [tap(1.0)], 0.25) == 0.0
    assert reward([tap(2)], [tap(1)], 5.0) == 0.0
    assert reward([tap(1)], [tap(1.0)], 5.0) == 0.0


def test_a_matching_is_found_where_greed_would_fail():
    """0 must give its nearest partner away: 0 takes -1 so that 1 can take 0."""
    assert reward([tap(0.0), tap(-1.0)], [tap(0.0), tap(1.0)], 1.0) == 1.0
    assert reward([tap(0.0), tap(-1.0)], [tap(1.0), tap(2.0)], 1.0) == 0.0


@given(
    st.lists(arguments, min_size=1, max_size=4),
    st.lists(arguments, min_size=1, max_size=4),
    st.sampled_from([None, 0.0, 0.05, 1.0]),
)
def test_the_verdict_is_a_perfect_matching_of_equal_values(expected, actual, tolerance):
    """The reward is 1 exactly when some pairing makes all arguments strictly equal, by brute force."""

    def equal(one, other):
        return json_values_equal(one, other, tolerance, numeric_types=NumericTypePolicy.STRICT)

    def pairs(left, right):
        if not left:
            return not right
        return any(
            equal(left[0], other) and pairs(left[1:], right[:i] + right[i + 1 :]) for i, other in enumerate(right)
        )

    calls = [{"name": "set", "arguments": value} for value in actual]
    wanted = [{"name": "set", "arguments": value} for value in expected]
    assert reward(calls, wanted, tolerance) == float(pairs(expected, actual))


def test_many_equal_and_nearly_equal_calls_are_matched():
    """Equal calls are counted, not compared pair by pair; neither is a recursion limit met."""
    assert reward([MOVE] * 1500, [MOVE] * 1500) == 1.0
    nearly = [tap(0.001 * index) for index in range(300)]
    assert reward(nearly, nearly[::-1], 0.0015) == 1.0


@pytest.mark.parametrize(
    ("expected", "tolerance"),
    [
        ([], None),
        ([{"name": "", "arguments": {}}], None),
        ([MOVE], -1.0),
        ([MOVE], float("nan")),
        ([MOVE], float("inf")),
    ],
)
def test_an_expectation_without_calls_names_or_distance_is_invalid(expected, tolerance):
    """The task is at fault."""
    with pytest.raises(InvalidTask):
        candidate_spec("predicted_action", {"expected_calls": expected, "numeric_tolerance": tolerance})


@pytest.mark.parametrize("candidate", ["move_to(0.3)", [FunctionCall("move_to", {})], ({"name": "a"},), None])
def test_a_candidate_that_is_no_tuple_of_calls_is_the_callers_mistake(candidate):
    """Text and plain tables are not decoded here."""
    with pytest.raises(TypeError):
        grade_candidate(candidate_spec("predicted_action", {"expected_calls": [MOVE]}), candidate, {})


def test_the_entry_that_is_no_call_is_named():
    """The message points at the entry, not at the tuple around it."""
    with pytest.raises(TypeError, match=r"candidate\[1\] must be a FunctionCall, not dict"):
        grade_candidate(candidate_spec("predicted_action", {"expected_calls": [MOVE]}), (FunctionCall("a", {}), {}), {})


def endless():
    value = []
    value.append(value)
    return value


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1: 2}, {1, 2}, endless(), b"x"])
def test_arguments_that_are_not_json_score_zero(value):
    """What a model put into its arguments never ends the grader."""
    assert reward([tap(value)], [tap(1.0)], 0.1) == 0.0


@pytest.mark.parametrize(
    "text",
    [
        "move_to(0.3)",
        "{}",
        "[1]",
        '[{"name": "tap"}]',
        '[{"name": "tap", "arguments": {}, "id": 1}]',
        '[{"name": 1, "arguments": {}}]',
        '[{"name": "tap", "arguments": []}]',
        '[{"name": "tap", "arguments": {"x": 1, "x": 1}}]',
        "[" * 100_000,
    ],
)
def test_a_file_that_is_no_list_of_calls_scores_zero(text):
    """The file holds objects of exactly a name and an argument object, without repeated keys."""
    spec = PredictedActionSpec(expected_calls=[tap(1)])
    verdict = grade_predicted_action_output(spec, text, NO_FILES)
    assert (verdict.reward, verdict.detail["reason"]) == (0.0, "invalid_function_calls")


def test_a_file_with_the_calls_scores_one():
    """Null arguments are values like any other."""
    spec = PredictedActionSpec(expected_calls=[tap(None)])
    assert grade_predicted_action_output(spec, '[{"name": "tap", "arguments": {"x": null}}]', NO_FILES).reward == 1.0
