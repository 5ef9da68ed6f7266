"""Evaluate the constraints of a specification over a text."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

import attrs

from hylo_eval.verify.instruction_following.check import CheckResult, ParameterError, Parameters
from hylo_eval.verify.instruction_following.table import CHECKS
from hylo_eval.verify.verdict import InvalidTask

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hylo_eval.verify.specs.answer import Constraint

_DETAIL_CHARACTERS = 300


@attrs.frozen
class ConstraintResult:
    """Whether one constraint holds, and the observation that decided it."""

    name: str
    passed: bool
    detail: str


def check_constraints(constraints: Sequence[Constraint]) -> None:
    """Refuse constraints that no check stands for.

    Raises:
        InvalidTask: A name is unknown; the message lists every such name.
    """
    unknown = sorted({constraint.name for constraint in constraints if constraint.name not in CHECKS})
    if unknown:
        close = difflib.get_close_matches(unknown[0][:100], CHECKS, n=1)
        suggestion = f"; did you mean {close[0]!r}?" if close else ""
        raise InvalidTask(f"unknown ifeval constraints: {unknown}{suggestion}")


def evaluate_constraints(constraints: Sequence[Constraint], text: str) -> tuple[ConstraintResult, ...]:
    """Evaluate every constraint, in order. One with a missing or ill-typed parameter does not hold.

    Raises:
        InvalidTask: A name is unknown.
    """
    check_constraints(constraints)
    return tuple(_evaluate(constraint, text) for constraint in constraints)


def _evaluate(constraint: Constraint, text: str) -> ConstraintResult:
    try:
        result = CHECKS[constraint.name](text, Parameters(constraint.params))
    except ParameterError as error:
        result = CheckResult(passed=False, detail=f"parameter {error}")
    return ConstraintResult(constraint.name, result.passed, result.detail[:_DETAIL_CHARACTERS])
