"""Mode ``ifeval``: the answer must satisfy every instruction-following constraint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hylo_eval.verify.instruction_following import check_constraints, evaluate_constraints
from hylo_eval.verify.modes.grader import AnswerGrader
from hylo_eval.verify.verdict import InvalidTask, Reward, scored

if TYPE_CHECKING:
    from hylo_eval.verify.modes.grader import Resources
    from hylo_eval.verify.specs.answer import IfevalSpec

__all__ = ["GRADER", "check_constraints", "check_ifeval", "evaluate_constraints", "grade_ifeval_candidate"]


def _check_not_empty(spec: IfevalSpec) -> None:
    if not spec.constraints:
        raise InvalidTask("the ifeval specification lists no constraints; name at least one")


def check_ifeval(spec: IfevalSpec) -> None:
    """Refuse a specification without constraints, or with an unknown one.

    Raises:
        InvalidTask: As said.
    """
    _check_not_empty(spec)
    check_constraints(spec.constraints)


def grade_ifeval_candidate(spec: IfevalSpec, candidate: str) -> Reward:
    """Grade a text: 1.0 when every constraint holds, else 0.0.

    The detail holds ``constraints``, each with name, passed and detail, and the names that ``failed``.

    Raises:
        InvalidTask: The specification has no constraint or an unknown one.
    """
    _check_not_empty(spec)
    results = evaluate_constraints(spec.constraints, candidate)
    failed = [result.name for result in results if not result.passed]
    return scored(
        0.0 if failed else 1.0,
        constraints=[{"name": result.name, "passed": result.passed, "detail": result.detail} for result in results],
        failed=failed,
    )


def _grade(spec: IfevalSpec, text: str, _resources: Resources) -> Reward:
    return grade_ifeval_candidate(spec, text)


GRADER = AnswerGrader(check_spec=check_ifeval, grade_output=_grade, grade_candidate=_grade)
