"""What every specification of an answer has: where the answer is, and what a blank one means."""

from __future__ import annotations

from enum import StrEnum

import attrs

from hylo_eval.verify.specs import fields

DEFAULT_OUTPUT = "/app/answer.txt"


class EmptyOutput(StrEnum):
    """What a blank answer means: a zero, or a text to grade like any other."""

    ZERO = "zero"
    GRADE = "grade"


EMPTY_OUTPUT = fields.named(fields.choice(EmptyOutput))


@attrs.frozen(kw_only=True)
class AnswerSpec:
    """The fields that every mode with an answer file has.

    Attributes:
        output: The answer file. A path under ``/app`` is read from the workspace.
        empty_output: What a blank answer means.
    """

    output: str = attrs.field(default=DEFAULT_OUTPUT, converter=fields.TEXT)
    empty_output: EmptyOutput = attrs.field(default=EmptyOutput.ZERO, converter=EMPTY_OUTPUT)
