"""Mode structured_exact: the answer is a JSON value equal to the expected one.

Members of objects may come in any order, arrays not. A bool never equals a number; whether an integer equals
the float of the same value is the specification's ``numeric_types``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hylo_eval.verify.json_comparison import JsonValue, json_values_equal
from hylo_eval.verify.modes.grader import AnswerGrader, Resources
from hylo_eval.verify.spec import decode_json
from hylo_eval.verify.verdict import Reward, scored, zero

if TYPE_CHECKING:
    from hylo_eval.verify.specs.answer import StructuredExactSpec


def grade_structured_exact_candidate(spec: StructuredExactSpec, candidate: JsonValue) -> Reward:
    """Scores a decoded JSON value.

    Raises:
        TypeError: The candidate is no decoded JSON value.
    """
    if not (candidate is None or isinstance(candidate, bool | int | float | str | list | tuple | dict)):
        raise TypeError(f"structured_exact grades a decoded JSON value, not {type(candidate).__name__}")
    return scored(json_values_equal(spec.expected, candidate, numeric_types=spec.numeric_types))


def grade_structured_exact_output(spec: StructuredExactSpec, text: str, _resources: Resources) -> Reward:
    """Scores an answer file, which must be JSON without repeated keys."""
    try:
        candidate = decode_json(text)
    except ValueError:
        return zero("invalid_json")
    return grade_structured_exact_candidate(spec, candidate)


GRADER: Final = AnswerGrader["StructuredExactSpec"](
    grade_output=grade_structured_exact_output,
    grade_candidate=lambda spec, candidate, _resources: grade_structured_exact_candidate(spec, candidate),
    takes_text=False,
)
