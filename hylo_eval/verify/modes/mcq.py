r"""Mode mcq: the letter of the right option.

An answer file states it on its last ``Answer: X``, where the letter may be boxed or wrapped in Markdown, or
is one letter and nothing else. A candidate is the letter itself.
"""

from __future__ import annotations

import re
import string
from typing import TYPE_CHECKING, Final

from hylo_eval.verify.modes.grader import AnswerGrader, Resources
from hylo_eval.verify.verdict import InvalidTask, Reward, scored, zero

if TYPE_CHECKING:
    from hylo_eval.verify.specs.short_answer import McqSpec

LETTERS: Final = string.ascii_uppercase

_BOXED_LETTER = re.compile(r"\\boxed\{\s*([A-Za-z0-9])\s*\}")
_WRAPPERS = re.compile(r"[*`_()\[\]]")
_ANSWER = re.compile(r"Answer\s*:\s*([A-Za-z0-9])(?![A-Za-z0-9])")


def check_mcq(spec: McqSpec) -> None:
    """Raises InvalidTask for a number of options without letters, and for an expected letter beyond them."""
    if not 1 <= spec.options <= len(LETTERS):
        raise InvalidTask(f"options must be 1 to {len(LETTERS)}, not {spec.options}")
    expected = spec.expected.strip().upper()
    if len(expected) != 1 or expected not in LETTERS[: spec.options]:
        raise InvalidTask(f"expected {spec.expected!r:.80} is not one of {', '.join(LETTERS[: spec.options])}")


def grade_mcq_candidate(spec: McqSpec, candidate: str) -> Reward:
    """Scores an extracted letter, of either case; anything but an option's letter scores zero."""
    check_mcq(spec)
    expected = spec.expected.strip().upper()
    extracted = candidate.strip().upper()
    if not extracted:
        return zero("no_answer_line", expected=expected)
    if len(extracted) != 1 or extracted not in LETTERS[: spec.options]:
        return zero("out_of_range", extracted=extracted[:80], expected=expected)
    return scored(extracted == expected, extracted=extracted, expected=expected)


def stated_letter(text: str) -> str:
    """The letter that an answer file states; empty when it states none."""
    stated = _ANSWER.findall(_WRAPPERS.sub("", _BOXED_LETTER.sub(r"\1", text)))
    if stated:
        return stated[-1]
    whole = text.strip()
    return whole if len(whole) == 1 and whole in string.ascii_letters else ""


def grade_mcq_output(spec: McqSpec, text: str, _resources: Resources) -> Reward:
    """Scores an answer file."""
    return grade_mcq_candidate(spec, stated_letter(text))


GRADER: Final = AnswerGrader["McqSpec"](
    check_spec=check_mcq,
    grade_output=grade_mcq_output,
    grade_candidate=lambda spec, candidate, _resources: grade_mcq_candidate(spec, candidate),
)
