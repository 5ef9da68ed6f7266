"""The S-expressions of success predicates.

Grammar (canonical form: single spaces, no space inside a bracket)::

    expression = "(" atom { " " ( atom | expression ) } ")"
    atom       = one or more of  A-Z a-z 0-9 _ . : + - * / < > = ?

``and``, ``or`` and ``not`` (in any case: BDDL files write ``And``) are the connectives; any other head names a
relation over the atoms that follow, such as ``(on akita_black_bowl_1 plate_1)``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from hylo_core.errors import ContractError

if TYPE_CHECKING:
    from collections.abc import Callable

Expression: TypeAlias = "tuple[str | Expression, ...]"

MAX_EXPRESSION_DEPTH = 64
CONNECTIVES = ("and", "or", "not")

_TOKEN = re.compile(r"\s*(?:([()])|([A-Za-z0-9_.:+\-*/<>=?]+))")


def parse_expression(text: str) -> Expression:
    """Read an S-expression; white space is free.

    Returns:
        Nested tuples: ``(and (on a b))`` is ``("and", ("on", "a", "b"))``.

    Raises:
        ContractError: With the character position of what is wrong.
    """
    stack: list[list[str | Expression]] = []
    position = 0
    end = len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None:
            raise ContractError(f"has an unexpected {text[position:].lstrip()[0]!r} at character {position}")
        bracket, atom = match.groups()
        position = match.end()
        if bracket == "(":
            if len(stack) == MAX_EXPRESSION_DEPTH:
                raise ContractError(f"is nested deeper than {MAX_EXPRESSION_DEPTH} brackets")
            stack.append([])
        elif not stack:
            raise ContractError("must be one bracketed expression, such as (on bowl_1 plate_1)")
        elif atom is not None:
            stack[-1].append(atom)
        else:
            done = _close(stack.pop())
            if not stack:
                if position < end:
                    raise ContractError(f"goes on after its last bracket, at character {position}")
                return done
            stack[-1].append(done)
    raise ContractError("lacks a closing bracket" if stack else "is empty")


def format_expression(expression: Expression) -> str:
    """The canonical text of an expression."""
    parts = (part if isinstance(part, str) else format_expression(part) for part in expression)
    return f"({' '.join(parts)})"


def canonical_expression(text: str) -> str:
    """The canonical text of what ``text`` says; raises :class:`ContractError` as :func:`parse_expression` does."""
    return format_expression(parse_expression(text))


def conjuncts(expression: Expression) -> tuple[Expression, ...]:
    """The parts that must all hold: the members of a top-level ``and``, else the expression itself."""
    if str(expression[0]).lower() != "and":
        return (expression,)
    return tuple(part for part in expression[1:] if not isinstance(part, str))


def evaluate_expression(expression: Expression, holds: Callable[[str, tuple[str, ...]], bool]) -> bool:
    """Evaluate an expression.

    Args:
        expression: As :func:`parse_expression` returns it.
        holds: Says whether a relation holds of its arguments, for example ``holds("on", ("bowl_1", "plate_1"))``.
    """
    head, *parts = expression
    connective = str(head).lower()
    if connective in CONNECTIVES:
        values = (evaluate_expression(part, holds) for part in parts if not isinstance(part, str))
        if connective == "not":
            return not next(values)
        return all(values) if connective == "and" else any(values)
    return holds(str(head), tuple(str(part) for part in parts))


def relations(expression: Expression) -> tuple[tuple[str, ...], ...]:
    """Every relation in the expression with its arguments, in reading order."""
    if str(expression[0]).lower() in CONNECTIVES:
        nested = (relations(part) for part in expression[1:] if not isinstance(part, str))
        return tuple(found for part in nested for found in part)
    return (tuple(str(part) for part in expression),)


def _close(parts: list[str | Expression]) -> Expression:
    if not parts or not isinstance(parts[0], str):
        raise ContractError("has a bracket that does not begin with a name")
    head = parts[0].lower()
    if head in CONNECTIVES:
        if any(isinstance(part, str) for part in parts[1:]):
            raise ContractError(f"has a bare name under {head!r}; its members are bracketed expressions")
        if head == "not" and len(parts) != 2:
            raise ContractError(f"gives {len(parts) - 1} members to 'not', which takes one")
        if len(parts) == 1:
            raise ContractError(f"has an empty {head!r}")
    elif any(not isinstance(part, str) for part in parts[1:]):
        raise ContractError(f"nests an expression in the relation {parts[0]!r}; relations take names")
    return tuple(parts)
