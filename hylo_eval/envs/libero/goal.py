"""The goal, evaluated by us from its expression, beside the simulator's own check."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs

from hylo_core.expression import Expression, conjuncts, evaluate_expression, parse_expression, relations
from hylo_core.frozen import FrozenMapping
from hylo_eval.errors import EnvError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from hylo_core.task import Predicate

RELATIONS: Final = FrozenMapping({"in": 2, "on": 2, "up": 1, "open": 1, "close": 1, "turnon": 1, "turnoff": 1})
"""The relations a goal may use, with their number of arguments.

LIBERO knows three more, which are no statements about a scene: ``true``, ``false`` and ``printjointstate``.
"""


@attrs.frozen
class GoalState:
    """What holds of a goal at one moment.

    Attributes:
        success: The simulator's own verdict; it decides.
        conjuncts: Whether each member of the goal's conjunction holds, in its order; empty where the task has no
            expression.
        disagreement: Whether our evaluation of the expression differs from the verdict.
    """

    success: bool
    conjuncts: tuple[bool, ...]
    disagreement: bool


class Goal:
    """A task's goal.

    Args:
        predicate: Of kind ``expr``, or the builtin ``env_success`` for the simulator's own check alone.
        known: The names the simulator knows.

    Raises:
        EnvError: The predicate is of another kind, or speaks of an unknown relation or object.
    """

    def __init__(self, predicate: Predicate, known: Collection[str]) -> None:
        self._conjuncts: tuple[Expression, ...] = ()
        if predicate.kind == "builtin" and predicate.name == "env_success":
            return
        if predicate.expr is None:
            raise EnvError(f"LIBERO tasks succeed by an expression or by env_success, not by {predicate}")
        expression = parse_expression(predicate.expr)
        for relation, *arguments in relations(expression):
            _check(relation, arguments, known, predicate.expr)
        self._conjuncts = conjuncts(expression)

    def evaluate(self, holds: Callable[[str, tuple[str, ...]], bool], verdict: bool) -> GoalState:
        """Evaluate the goal.

        Args:
            holds: Whether a relation holds of its arguments now.
            verdict: The simulator's own check of the same state.
        """
        if not self._conjuncts:
            return GoalState(success=verdict, conjuncts=(), disagreement=False)
        values = tuple(evaluate_expression(part, holds) for part in self._conjuncts)
        return GoalState(success=verdict, conjuncts=values, disagreement=all(values) != verdict)


def _check(relation: str, arguments: list[str], known: Collection[str], expr: str) -> None:
    if relation not in RELATIONS:
        raise EnvError(f"the goal {expr} uses {relation!r}; LIBERO goals use {', '.join(RELATIONS)}")
    if len(arguments) != RELATIONS[relation]:
        raise EnvError(f"the goal {expr} gives {relation!r} {len(arguments)} arguments; it takes {RELATIONS[relation]}")
    for name in arguments:
        if name not in known:
            raise EnvError(f"the goal {expr} speaks of {name!r}; the scene has {', '.join(sorted(known))}")
