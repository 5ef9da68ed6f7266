"""Typed access to a constraint's parameters."""

import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_eval.verify.instruction_following.check import ParameterError, Parameters


@pytest.mark.parametrize("value", [True, 1.0, "1", None, [1]])
def test_only_an_integer_is_a_count(value):
    """Bools, floats and texts are not converted."""
    with pytest.raises(ParameterError, match="n "):
        Parameters({"n": value}).integer("n")
    assert Parameters({"n": 3}).integer("n") == 3


@pytest.mark.parametrize("value", [1, "", None, ["a"]])
def test_a_text_has_a_character(value):
    """Empty texts would match everywhere, so they are refused like any other type."""
    with pytest.raises(ParameterError):
        Parameters({"t": value}).text("t")
    with pytest.raises(ParameterError):
        Parameters({"t": "ab"}).character("t")


@pytest.mark.parametrize("value", ["ab", [1], ["a", ""], None, {"a": 1}])
def test_a_list_of_texts_holds_texts(value):
    """One text is no list, and every entry is a non-empty text."""
    with pytest.raises(ParameterError):
        Parameters({"l": value}).texts("l")
    assert Parameters({"l": ["a", "b"]}).texts("l") == ("a", "b")


def test_flags_and_defaults():
    """Absent and null mean the default; any other type is refused."""
    assert Parameters({}).flag("f", default=True) is True
    assert Parameters({"f": None}).flag("f", default=False) is False
    assert Parameters({"f": False}).flag("f", default=True) is False
    for value in (0, "false", [1]):
        with pytest.raises(ParameterError):
            Parameters({"f": value}).flag("f", default=True)
    assert Parameters({"t": ""}).text_or("t", "d") == "d"
    with pytest.raises(ParameterError):
        Parameters({"t": ["x"]}).text_or("t", "d")


RELATIONS = {
    "at least": operator.ge,
    "less than": operator.lt,
    "at most": operator.le,
    "equal": operator.eq,
    "exactly": operator.eq,
}


@given(st.integers(), st.integers(), st.sampled_from(sorted(RELATIONS)))
def test_relations_are_the_arithmetic_ones(actual, expected, relation):
    """The five relations compare as their words say."""
    parameters = Parameters({"n": expected, "relation": relation})
    result = parameters.compare(actual, count="n", relation="relation", what="words")
    assert result.passed is RELATIONS[relation](actual, expected)


def test_an_unknown_relation_is_refused_and_none_means_at_least():
    """A misspelt relation never decides anything."""
    assert Parameters({"n": 2}).compare(2, count="n", relation="relation", what="w").passed
    with pytest.raises(ParameterError, match="at least"):
        Parameters({"n": 2, "relation": "more than"}).compare(9, count="n", relation="relation", what="w")
    with pytest.raises(ParameterError, match="non-empty"):
        Parameters({"n": 2, "relation": ""}).compare(9, count="n", relation="relation", what="w")
