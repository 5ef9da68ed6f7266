"""Mode ``structure_closure``: the answer continues a fixed prefix and must complete a known structure.

An extension of the contract. The first structure counts; what the model wrote after it is reported in the
detail and does not change the reward.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from hylo_eval.verify.closure_scoring import closure_state, score_closure_region
from hylo_eval.verify.modes.grader import AnswerGrader
from hylo_eval.verify.structure_closure import PrefixStatus
from hylo_eval.verify.verdict import InvalidTask, Reward, scored

if TYPE_CHECKING:
    from hylo_eval.verify.modes.grader import Resources
    from hylo_eval.verify.specs.answer import StructureClosureSpec

__all__ = ["GRADER", "check_structure_closure", "grade_structure_closure_candidate"]

MAX_CONTINUATION_CHARACTERS = 1 << 20
"""How far into a continuation the end of the structure is looked for, unless the reference is longer."""


def check_structure_closure(spec: StructureClosureSpec) -> None:
    """Refuse a prefix that is not unfinished, and a reference that does not complete it and end there.

    Raises:
        InvalidTask: As said.
    """
    if not spec.expected.startswith(spec.prefix):
        raise InvalidTask("expected must begin with prefix: it is the prefix completed")
    if closure_state(spec.prefix, spec.format).status is not PrefixStatus.EXTENDABLE:
        raise InvalidTask(f"prefix must be the beginning of an unfinished {spec.format} structure")
    try:
        reference = score_closure_region(spec.expected, spec.expected, spec.format)
    except ValueError as error:
        raise InvalidTask(f"expected is not a {spec.format} structure: {error}") from error
    if not reference.whole_response_success:
        raise InvalidTask(f"expected must be exactly one complete {spec.format} structure")


def grade_structure_closure_candidate(spec: StructureClosureSpec, candidate: str) -> Reward:
    """Grade the generated continuation alone; the prefix is the task's.

    Raises:
        InvalidTask: The specification contradicts itself.
    """
    check_structure_closure(spec)
    # To explain why JSON is unfinished takes microseconds a character; no reference is spelt at such length.
    limit = max(MAX_CONTINUATION_CHARACTERS, 4 * len(spec.expected))
    score = score_closure_region(spec.prefix + candidate[:limit], spec.expected, spec.format)
    if candidate[limit:].strip() and score.syntax_complete:
        score = attrs.evolve(score, trailing_content=True, whole_response_success=False)
    return scored(float(score.success), **attrs.asdict(score))


def _grade(spec: StructureClosureSpec, text: str, _resources: Resources) -> Reward:
    return grade_structure_closure_candidate(spec, text)


GRADER = AnswerGrader(check_spec=check_structure_closure, grade_output=_grade, grade_candidate=_grade)
