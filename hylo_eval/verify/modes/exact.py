r"""Mode exact: the answer equals the expected text after normalisation.

One expected entry is compared with the whole answer. Several make the answer a list: it is split at newlines
and commas, empty items are dropped, and the items must be the expected ones, in order or as a multiset. A
file may also give its answer in its last ``\boxed{}``.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from hylo_eval.verify.extraction import last_box
from hylo_eval.verify.modes.grader import AnswerGrader, Resources
from hylo_eval.verify.specs.base import EmptyOutput
from hylo_eval.verify.verdict import InvalidTask, Reward, scored, zero

if TYPE_CHECKING:
    from hylo_eval.verify.specs.short_answer import ExactSpec

MAX_SHOWN_CHARACTERS: Final = 400

_ITEM_SEPARATOR = re.compile(r"[\n,]")
_BLANKS = re.compile(r"\s+")


def normalised(text: str, spec: ExactSpec) -> str:
    """``text`` as the specification wants it compared."""
    value = text.strip() if spec.strip_outer_whitespace else text
    if spec.ignore_whitespace:
        value = _BLANKS.sub(" ", value)
    return value.casefold() if spec.ignore_case else value


def check_exact(spec: ExactSpec) -> None:
    """Raises InvalidTask when nothing is expected, or a substring is expected that every text contains."""
    if not spec.expected:
        raise InvalidTask("expected must hold at least one text")
    if spec.substring and (len(spec.expected) != 1 or not normalised(spec.expected[0], spec)):
        raise InvalidTask("substring needs exactly one expected text that is not blank")


def _matches(candidate: str, spec: ExactSpec) -> bool:
    expected = [normalised(entry, spec) for entry in spec.expected]
    if spec.substring:
        return expected[0] in normalised(candidate, spec)
    if len(expected) == 1:
        return normalised(candidate, spec) == expected[0]
    items: list[str] = []
    for part in _ITEM_SEPARATOR.split(candidate):
        if part and (item := normalised(part, spec)):
            items.append(item)
            if len(items) > len(expected):
                return False
    return items == expected if spec.ordered else Counter(items) == Counter(expected)


def grade_exact_candidate(spec: ExactSpec, candidate: str) -> Reward:
    """Scores an extracted answer; a box is text like any other here."""
    check_exact(spec)
    return scored(
        _matches(candidate, spec),
        extracted=candidate.strip()[:MAX_SHOWN_CHARACTERS],
        expected=list(spec.expected),
    )


def grade_exact_output(spec: ExactSpec, text: str, _resources: Resources) -> Reward:
    """Scores an answer file: its last box, or else its whole text. The detail shows the box."""
    boxed = last_box(text)
    if boxed is None:
        return grade_exact_candidate(spec, text)
    is_empty = not boxed and spec.empty_output is EmptyOutput.ZERO
    in_box = zero("empty_output") if is_empty else grade_exact_candidate(spec, boxed)
    if in_box.reward:
        return in_box
    return scored(grade_exact_candidate(spec, text).reward, **in_box.detail)


GRADER: Final = AnswerGrader["ExactSpec"](
    check_spec=check_exact,
    grade_output=grade_exact_output,
    grade_candidate=lambda spec, candidate, _resources: grade_exact_candidate(spec, candidate),
)
