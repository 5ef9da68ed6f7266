"""Mode ``unsolvable``: a task without a right answer, so that every answer scores zero.

An extension of the contract. The right conduct on such a task is not to answer it, which
:func:`grade_ejection_candidate` scores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hylo_eval.verify.modes.grader import AnswerGrader
from hylo_eval.verify.specs.answer import UnsolvableSpec
from hylo_eval.verify.specs.base import AnswerSpec
from hylo_eval.verify.verdict import Reward, scored, zero

if TYPE_CHECKING:
    from hylo_eval.verify.modes.grader import Resources

__all__ = ["GRADER", "grade_ejection_candidate", "grade_unsolvable_candidate"]


def grade_unsolvable_candidate(_spec: UnsolvableSpec, _candidate: str) -> Reward:
    """Score any answer zero."""
    return zero("unsolvable")


def grade_ejection_candidate(spec: AnswerSpec) -> Reward:
    """Score an agent that declared its task unsolvable and stopped: 1.0 on an unsolvable task, else 0.0.

    Args:
        spec: The specification of the task that was given up, of any answer mode. The caller has made sure
            that the agent did give up, by the action its protocol has for that.
    """
    return scored(1.0) if isinstance(spec, UnsolvableSpec) else zero("gave_up_a_solvable_task")


def _grade(spec: UnsolvableSpec, text: str, _resources: Resources) -> Reward:
    return grade_unsolvable_candidate(spec, text)


GRADER = AnswerGrader(grade_output=_grade, grade_candidate=_grade)
