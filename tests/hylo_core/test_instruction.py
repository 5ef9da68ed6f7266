"""The template grammar of instructions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_core.errors import ContractError
from hylo_core.instruction import instruction_fields, matches_instruction, render_instruction, templates_meet
from tests import strategies

TEMPLATE = "put the {obj} in {{braces}} on the {place}, the {obj}"


def test_fields_are_named_in_order_of_first_use() -> None:
    """A field used twice is named once; doubled braces are text."""
    assert instruction_fields(TEMPLATE) == ("obj", "place")
    assert instruction_fields("static {{text}}") == ()


def test_rendering_fills_every_field_and_undoubles_braces() -> None:
    """Values are put in as they are: a brace in a value is text."""
    text = render_instruction(TEMPLATE, {"obj": "{cup}", "place": "shelf"})
    assert text == "put the {cup} in {braces} on the shelf, the {cup}"


@given(strategies.texts, strategies.texts)
def test_what_was_rendered_matches_its_template(obj: str, place: str) -> None:
    """Any filling with something is recognised, another text is not."""
    if obj and place:
        assert matches_instruction(TEMPLATE, render_instruction(TEMPLATE, {"obj": obj, "place": place}))
    assert not matches_instruction(TEMPLATE, "open the drawer")


@pytest.mark.parametrize(
    ("first", "second", "meet"),
    [
        ("open it", "open it", True),
        ("open it", "open {what}", True),
        ("open ", "open {what}", False),
        ("open the left {what}", "open the {side} drawer", True),
        ("open the left {what}.", "open the {side} drawer", False),
        ("{a}{b}{c}", "xy", False),
        ("{a}{b}", "xy", True),
        ("{{x}}", "{{{a}}}", True),
        ("", "{a}", False),
        ("", "", True),
    ],
)
def test_two_templates_meet_where_one_text_can_come_of_both(first: str, second: str, meet: bool) -> None:
    """Whichever is named first."""
    assert templates_meet(first, second) is meet
    assert templates_meet(second, first) is meet


@given(strategies.texts, strategies.texts)
def test_a_template_meets_all_that_it_can_give(obj: str, place: str) -> None:
    """As static text, with literal braces doubled."""
    if obj and place:
        text = render_instruction(TEMPLATE, {"obj": obj, "place": place})
        assert templates_meet(TEMPLATE, text.replace("{", "{{").replace("}", "}}"))


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"obj": "cup"}, "has no value for {place}"),
        ({"obj": "a", "place": "b", "x": "c"}, "has no field for the value 'x'"),
    ],
)
def test_rendering_refuses_missing_and_useless_values(values: dict[str, str], reason: str) -> None:
    """A value that would change nothing is refused as much as a missing one."""
    with pytest.raises(ContractError) as caught:
        render_instruction(TEMPLATE, values)
    assert caught.value.reason == reason


@given(st.text("{}abc.! []", max_size=12))
def test_any_text_is_a_template_or_refused(text: str) -> None:
    """No text makes the parser raise anything else, and a template's own fields render it."""
    try:
        fields = instruction_fields(text)
    except ContractError:
        return
    assert matches_instruction(text, render_instruction(text, dict.fromkeys(fields, "x")))


@pytest.mark.parametrize(
    ("template", "text", "matches"),
    [
        ("{a}{b}", "x", False),
        ("{a}{b}", "xy", True),
        ("put {a} on {b}", "put on on on", True),
        ("put {a} on {b}", "put x on ", False),
        ("{a} end", "end end", True),
        ("{a}x", "xx", True),
        ("x{a}x", "xx", False),
        ("{{{a}}}", "{b}", True),
        ("", "", True),
        ("", "x", False),
    ],
)
def test_every_field_of_a_matching_text_holds_something(template: str, text: str, matches: bool) -> None:
    """At least one character a field, all literals in order."""
    assert matches_instruction(template, text) is matches


def test_a_template_of_many_fields_is_no_trap() -> None:
    """The time is that of a search: trying every division of this text would take longer than the universe has."""
    assert not matches_instruction("{a} {b} " * 20 + "!", "a " * 2000)
