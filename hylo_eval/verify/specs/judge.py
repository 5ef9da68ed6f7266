"""The specification of answers that a judge model grades."""

from __future__ import annotations

from enum import StrEnum

import attrs

from hylo_eval.verify.specs import fields
from hylo_eval.verify.specs.answer import CONSTRAINTS, Constraint
from hylo_eval.verify.specs.base import AnswerSpec


class Rubric(StrEnum):
    """Whether the judge compares with a reference or answers one question per criterion."""

    REFERENCE = "reference"
    CHECKLIST = "checklist"


@attrs.frozen(kw_only=True)
class JudgeSpec(AnswerSpec):
    """An answer graded by a judge model. Where the judge is and its credentials are no part of this.

    Attributes:
        references: Right answers; the ``reference`` rubric needs at least one.
        criteria: Yes-or-no questions; the ``checklist`` rubric needs at least one.
        question: What the candidate was asked.
        context: A file in the tests directory that the judge sees beside the answer; empty for none.
        constraints: Instruction-following checks that must hold before the judge is asked.
        rubric: How the judge decides.
        model: The judge model; empty for the one of the connection.
        exact_gate: Whether an answer equal to a reference scores without asking.
        request_timeout: Seconds for one whole exchange.
        max_completion_tokens: Budget of the first request.
        incomplete_retry_tokens: Budget of one more request after a reply cut off by its length; 0 for none.
        reasoning_effort: Sent with every request unless empty.
    """

    references: tuple[str, ...] = attrs.field(default=(), converter=fields.TEXT_LIST)
    criteria: tuple[str, ...] = attrs.field(default=(), converter=fields.TEXT_LIST)
    question: str = attrs.field(default="", converter=fields.TEXT)
    context: str = attrs.field(default="", converter=fields.TEXT)
    constraints: tuple[Constraint, ...] = attrs.field(default=(), converter=CONSTRAINTS)
    rubric: Rubric = attrs.field(default=Rubric.REFERENCE, converter=fields.named(fields.choice(Rubric)))
    model: str = attrs.field(default="", converter=fields.TEXT)
    exact_gate: bool = attrs.field(default=True, converter=fields.FLAG)
    request_timeout: float = attrs.field(default=120.0, converter=fields.NUMBER)
    max_completion_tokens: int = attrs.field(default=8192, converter=fields.INTEGER)
    incomplete_retry_tokens: int = attrs.field(default=0, converter=fields.INTEGER)
    reasoning_effort: str = attrs.field(default="", converter=fields.TEXT)
