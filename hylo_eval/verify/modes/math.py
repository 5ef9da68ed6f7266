r"""Mode math: an expression equal to the expected one, by math-verify and sympy.

The expression is the last ``\boxed{}``, or the last line of a text without one; the ``raw`` profile reads the
whole text. Sets and intervals may be stated as relations. Lists are ordered and their brackets optional. The
work is done in a child process: ``9^{9^{9}}`` would hold a thread for ever.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from hylo_eval.verify.bounded_call import BoundedCallError, call_bounded
from hylo_eval.verify.extraction import BOX, last_box, last_line
from hylo_eval.verify.math_child import is_plain
from hylo_eval.verify.modes.grader import AnswerGrader, Resources
from hylo_eval.verify.specs.answer import MathProfile, MathType
from hylo_eval.verify.verdict import InvalidTask, Reward, Status, zero

if TYPE_CHECKING:
    from hylo_eval.verify.specs.answer import MathSpec

DEADLINE_SECONDS: Final = 10.0
"""Five seconds for reading an expression and five for comparing it."""

MAX_SHOWN_CHARACTERS: Final = 1000

_CHILD: Final = "hylo_eval.verify.math_child"


def check_math(spec: MathSpec) -> None:
    """Raises InvalidTask for a profile that knows scalars only beside another type."""
    if spec.profile is not MathProfile.ANCHORED and spec.math_type is not MathType.SCALAR:
        raise InvalidTask(f"the {spec.profile} profile needs the math_type scalar, not {spec.math_type}")


@lru_cache(maxsize=1024)
def _reference_defect(expected: str, math_type: MathType, profile: MathProfile) -> str | None:
    """What is wrong with a reference; asked once for each."""
    try:
        call_bounded(f"{_CHILD}:check_reference", expected, math_type, profile, timeout_seconds=DEADLINE_SECONDS)
    except InvalidTask as error:
        return str(error)
    except BoundedCallError as error:
        return f"expected {expected!r:.200} cannot be read as mathematics: {error}"
    return None


def check_math_reference(spec: MathSpec, _resources: Resources | None = None) -> None:
    """Raises InvalidTask for a reference that cannot be read, in time or at all."""
    check_math(spec)
    if spec.math_type is MathType.SCALAR and is_plain(spec.expected):
        return  # it can be read: the child need not be asked
    defect = _reference_defect(spec.expected, spec.math_type, spec.profile)
    if defect is not None:
        raise InvalidTask(defect)


def math_answer(spec: MathSpec, text: str) -> str:
    """The expression of an answer, where the profile looks for it."""
    if spec.profile is MathProfile.RAW:
        return text
    return (last_box(text) or "") if BOX in text else last_line(text)


def grade_math_candidate(spec: MathSpec, candidate: str) -> Reward:
    """Scores the expression that a text ends in."""
    check_math_reference(spec)
    answer = math_answer(spec, candidate)
    if not answer:
        return zero("unparsable", extracted="", expected=spec.expected)
    try:
        reward, detail = call_bounded(
            f"{_CHILD}:grade_expression",
            spec.expected,
            spec.math_type,
            spec.profile,
            spec.allow_additive_constant,
            answer,
            timeout_seconds=DEADLINE_SECONDS,
        )
    except BoundedCallError as error:
        # The reference alone was read in time, so it is this candidate that is too much.
        return zero(f"candidate_{error.failure}", error=str(error), extracted=answer[:MAX_SHOWN_CHARACTERS])
    return Reward(float(reward), Status.SCORED, detail)


GRADER: Final = AnswerGrader["MathSpec"](
    check_spec=check_math,
    check_task=check_math_reference,
    grade_output=lambda spec, text, _resources: grade_math_candidate(spec, text),
    grade_candidate=lambda spec, candidate, _resources: grade_math_candidate(spec, candidate),
)
