"""S-expressions: grammar, canonical form, evaluation."""

from __future__ import annotations

import pytest
from hypothesis import given

from hylo_core.errors import ContractError
from hylo_core.expression import (
    Expression,
    canonical_expression,
    conjuncts,
    evaluate_expression,
    format_expression,
    parse_expression,
    relations,
)
from tests import strategies


@given(strategies.expressions)
def test_parsing_undoes_formatting(expression: Expression) -> None:
    """The canonical text of an expression parses to that expression, with any white space around its tokens."""
    text = format_expression(expression)
    assert parse_expression(text) == expression
    assert parse_expression(text.replace("(", " ( ").replace(")", "\n)\t")) == expression
    assert canonical_expression(text) == text


def python_value(expression: Expression, true: set[tuple[str, ...]]) -> bool:
    """The value by Python's own operators."""
    head, *parts = expression
    if head == "not":
        return not python_value(parts[0], true)  # type: ignore[arg-type]
    if head == "and":
        return all([python_value(part, true) for part in parts])  # type: ignore[arg-type]  # noqa: C419
    if head == "or":
        return any([python_value(part, true) for part in parts])  # type: ignore[arg-type]  # noqa: C419
    return expression in true


@given(strategies.expressions)
def test_evaluation_agrees_with_python(expression: Expression) -> None:
    """and, or and not mean what they mean in Python, whichever relations hold."""
    found = relations(expression)
    for true in (set(), set(found), set(found[::2])):
        value = evaluate_expression(expression, lambda name, arguments, true=true: (name, *arguments) in true)
        assert value == python_value(expression, true)


def test_conjuncts_are_the_members_of_a_top_level_and() -> None:
    """BDDL writes And; a goal without one is its own single conjunct."""
    assert conjuncts(parse_expression("(And (On a b) (Open c))")) == (("On", "a", "b"), ("Open", "c"))
    assert conjuncts(parse_expression("(on a b)")) == (("on", "a", "b"),)
    assert conjuncts(parse_expression("(or (p a) (p b))")) == (("or", ("p", "a"), ("p", "b")),)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is empty"),
        ("on", "must be one bracketed expression, such as (on bowl_1 plate_1)"),
        ("(on a", "lacks a closing bracket"),
        (")", "must be one bracketed expression, such as (on bowl_1 plate_1)"),
        ("(on a) (on b)", "goes on after its last bracket, at character 6"),
        ("()", "has a bracket that does not begin with a name"),
        ("((on a))", "has a bracket that does not begin with a name"),
        ("(and)", "has an empty 'and'"),
        ("(and a (p b))", "has a bare name under 'and'; its members are bracketed expressions"),
        ("(not (p a) (p b))", "gives 2 members to 'not', which takes one"),
        ("(on a (p b))", "nests an expression in the relation 'on'; relations take names"),
        ("(on a;b)", "has an unexpected ';' at character 5"),
        ("(not " * 70, "is nested deeper than 64 brackets"),
    ],
)
def test_what_is_no_expression_is_refused(text: str, reason: str) -> None:
    """Each with one sentence."""
    with pytest.raises(ContractError) as caught:
        parse_expression(text)
    assert caught.value.reason == reason
