"""Specifications from and to TOML."""

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_eval.verify.modes import MODES, Mode, mode_of, spec_type
from hylo_eval.verify.spec import parse_spec, render_spec, spec_from_table
from hylo_eval.verify.specs.answer import (
    Constraint,
    FunctionCall,
    IfevalSpec,
    PredictedActionSpec,
    StructuredExactSpec,
)
from hylo_eval.verify.specs.execution import ScriptSpec, StdioSpec
from hylo_eval.verify.specs.fields import SpecError
from hylo_eval.verify.specs.short_answer import ExactSpec, McqSpec, NumericSpec
from hylo_eval.verify.specs.suites import GotestSpec, JunitSpec, PytestSpec
from hylo_eval.verify.verdict import InvalidTask

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)

MINIMAL = {
    Mode.EXACT: {"expected": ["a"]},
    Mode.NUMERIC: {"expected": "1", "tolerance_abs": 0.0, "tolerance_rel": 0.0},
    Mode.MCQ: {"expected": "A"},
    Mode.MATH: {"expected": "x"},
    Mode.IFEVAL: {"constraints": [{"name": "punctuation:no_comma"}]},
    Mode.JSON_SCHEMA: {},
    Mode.XML_ELEMENTS: {"required": ["a"]},
    Mode.CSV_COLUMNS: {"any_of": ["a"]},
    Mode.STRUCTURED_EXACT: {"expected": {"a": None}},
    Mode.PREDICTED_ACTION: {"expected_calls": [{"name": "grip", "arguments": {"width": None}}]},
    Mode.REASONING_GYM: {"dataset": "basic_arithmetic"},
    Mode.STDIO: {"command": "./a.out"},
    Mode.PYTEST: {},
    Mode.JUNIT: {"command": "mvn test"},
    Mode.GOTEST: {},
    Mode.JUDGE: {"references": ["a"]},
    Mode.SCRIPT: {"path": "grade.sh"},
    Mode.STRUCTURE_CLOSURE: {"prefix": "[", "expected": "[1]", "format": "json"},
    Mode.UNSOLVABLE: {},
}


@pytest.mark.parametrize("mode", Mode)
def test_every_mode_has_a_specification_that_survives_toml(mode):
    """Parsing a rendered specification gives an equal one, and rendering that again the same text."""
    spec = spec_from_table({"mode": mode, **MINIMAL[mode]})
    text = render_spec(spec)
    again = parse_spec(text)
    assert again == spec
    assert render_spec(again) == text
    assert text.startswith(f'mode = "{mode}"')
    assert mode_of(spec) is mode


def test_the_table_of_modes_is_whole():
    """Every mode stands in the table once, with a specification class of its own."""
    assert set(MODES) == set(Mode)
    assert len({spec_type(mode) for mode in Mode}) == len(Mode)


def test_defaults_are_the_contracts():
    """Fields left out have the values that the contract states."""
    exact = ExactSpec(expected="a")
    assert (exact.output, exact.empty_output, exact.expected) == ("/app/answer.txt", "zero", ("a",))
    assert exact.ignore_case
    assert exact.ordered
    assert not exact.substring
    assert McqSpec(expected="A").options == 4
    stdio = StdioSpec(command="x")
    assert (stdio.compare, stdio.per_case_timeout, stdio.min_cases, stdio.float_tolerance) == (
        "tokens",
        10.0,
        1,
        1e-6,
    )
    assert (PytestSpec().python, PytestSpec().timeout, PytestSpec().id_matching) == (
        "python3",
        600.0,
        "exact",
    )
    assert JunitSpec(command="x").report == "**/TEST-*.xml"
    assert GotestSpec().packages == ("./...",)
    assert ScriptSpec(path="x").reward_key == "reward"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "mode"),
        ("expected = 'A'", "mode"),
        ("mode = 'teleport'", "teleport"),
        ("mode = 3", "mode"),
        ("mode = ", "TOML"),
        ("mode = 'mcq'", "expected"),
        ("mode = 'mcq'\nexpected = 'A'\nexpceted = 'B'", "expceted"),
        ("mode = 'mcq'\nexpected = 1", "expected"),
        ("mode = 'mcq'\nexpected = 'A'\noptions = true", "options"),
        ("mode = 'mcq'\nexpected = 'A'\noptions = 4.0", "options"),
        ("mode = 'numeric'\nexpected = 0.5\ntolerance_abs = 0.0\ntolerance_rel = 0.0", "expected"),
        ("mode = 'numeric'\nexpected = '1'\ntolerance_abs = true\ntolerance_rel = 0.0", "tolerance_abs"),
        ("mode = 'exact'\nexpected = ['a', 1]", "expected[1]"),
        ("mode = 'exact'\nexpected = 'a'\nordered = 1", "ordered"),
        ("mode = 'exact'\nexpected = 'a'\nempty_output = 'skip'", "empty_output"),
        ("mode = 'structured_exact'\nexpected = {a = 1}", "expected"),
        ("mode = 'structured_exact'\nexpected = '{\"a\": 1, \"a\": 2}'", "expected"),
        ("mode = 'structured_exact'\nexpected = 'NaN'", "expected"),
        ("mode = 'predicted_action'\nexpected_calls = [{name = 'a'}]", "expected_calls[0]"),
        (
            "mode = 'predicted_action'\nexpected_calls = [{name = 'a', arguments = '[]'}]",
            "expected_calls[0].arguments",
        ),
        (
            "mode = 'predicted_action'\nexpected_calls = [{name = 'a', arguments = '{', id = 1}]",
            "expected_calls[0]",
        ),
        ("mode = 'ifeval'\nconstraints = [{name = 'a', parms = {}}]", "constraints[0]"),
        ("mode = 'script'\npath = 'a'\ntimeout = '3'", "timeout"),
        ("mode = 'judge'\nrubric = 'vibes'", "rubric"),
    ],
)
def test_a_malformed_specification_is_refused_with_its_path(text, named):
    """Unknown and missing names and wrong types are ValueErrors that say where."""
    with pytest.raises(ValueError, match=r".+") as caught:
        parse_spec(text)
    assert isinstance(caught.value, SpecError)
    assert named in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "mode = 'exact'\nexpected = " + "[" * 100_000,
        "mode = 'structured_exact'\nexpected = '" + "[" * 100_000 + "'",
        "mode = 'structured_exact'\nexpected = '" + "[" * 500 + "]" * 500 + "'",
        "mode = 'mcq'\nexpected = 'A'\noptions = " + "9" * 5000,
        "mode = 'structured_exact'\nexpected = '" + "9" * 5000 + "'",
    ],
)
def test_a_specification_beyond_every_limit_is_refused(text):
    """Depth and digits without end are defects of the text, never a crash."""
    with pytest.raises(SpecError):
        parse_spec(text)


def test_numbers_keep_their_kind():
    """1, 1.0 and true are three different expectations."""
    specs = [StructuredExactSpec(expected=value) for value in ([1], [1.0], [True])]
    assert len(set(specs)) == 3
    for spec in specs:
        assert repr(parse_spec(render_spec(spec)).expected) == repr(spec.expected)


def test_an_integer_stands_for_a_float_and_a_string_for_a_list():
    """These two spellings are the only ones that the contract converts."""
    spec = parse_spec("mode = 'numeric'\nexpected = '1'\ntolerance_abs = 1\ntolerance_rel = 0")
    assert repr(spec.tolerance_abs) == "1.0"
    assert parse_spec("mode = 'xml-elements'\nrequired = 'pose'").required == ("pose",)


def test_an_integer_beyond_a_float_is_refused():
    """10**400 is no tolerance."""
    with pytest.raises(SpecError, match="float"):
        PredictedActionSpec(expected_calls=[], numeric_tolerance=10**400)


def test_a_specification_does_not_change_with_the_callers_objects():
    """Arguments and references are copied when the specification is built."""
    arguments = {"x": [1]}
    spec = PredictedActionSpec(expected_calls=[FunctionCall("move", arguments)])
    arguments["x"].append(2)
    assert spec.expected_calls[0].arguments == {"x": [1]}
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        spec.output = "elsewhere"


@pytest.mark.parametrize(
    ("mode", "table"),
    [
        ("structured_exact", {"expected": [float("nan")]}),
        ("predicted_action", {"expected_calls": [{"name": "a", "arguments": {"x": float("inf")}}]}),
        ("predicted_action", {"expected_calls": [{"name": "a", "arguments": []}]}),
        ("predicted_action", {"expected_calls": [{"name": 1, "arguments": {}}]}),
    ],
)
def test_a_well_formed_table_that_nothing_can_meet_is_an_invalid_task(mode, table):
    """JSON has no NaN, and a call is a name with an object: the fields are there, their values are wrong."""
    with pytest.raises(InvalidTask):
        spec_from_table({"mode": mode, **table})


def test_direct_construction_is_as_strict_as_parsing():
    """A Python caller cannot slip a native float past the numeric contract either."""
    with pytest.raises(SpecError, match="expected"):
        NumericSpec(expected=0.5, tolerance_abs=0.0, tolerance_rel=0.0)
    with pytest.raises(SpecError, match=r"constraints\[0\]\.name"):
        IfevalSpec(constraints=[Constraint(3, {})])


@given(json_values)
def test_nested_json_survives_toml(value):
    """Nulls, numbers of either kind and any text come back as they went."""
    spec = StructuredExactSpec(expected=value)
    assert parse_spec(render_spec(spec)) == spec
    calls = PredictedActionSpec(expected_calls=[{"name": "set", "arguments": {"value": value}}])
    assert parse_spec(render_spec(calls)) == calls


@given(
    st.text(max_size=200)
    | st.sampled_from(sorted(Mode))
    .map("mode = '{}'\n".format)
    .flatmap(lambda head: st.text(max_size=60).map(head.__add__))
)
def test_any_text_is_a_specification_or_refused(text):
    """parse_spec raises its documented error and no other."""
    try:
        spec = parse_spec(text)
    except SpecError as error:
        assert str(error)
    else:
        assert mode_of(spec) in Mode


@given(
    st.sampled_from(sorted(Mode)),
    st.dictionaries(
        st.sampled_from(
            sorted({name for mode in Mode for name in (field.name for field in attrs.fields(spec_type(mode)))})
        ),
        json_values,
        max_size=4,
    ),
)
def test_any_table_is_a_specification_or_refused(mode, table):
    """spec_from_table raises its documented error and no other, whatever JSON the fields hold."""
    try:
        spec = spec_from_table({"mode": mode, **MINIMAL[Mode(mode)], **table})
    except (SpecError, InvalidTask) as error:
        assert str(error)
    else:
        assert mode_of(spec) == mode
