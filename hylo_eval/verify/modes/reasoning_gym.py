"""Mode ``reasoning-gym``: the answer is scored by the Reasoning Gym data set that generated the task.

The task carries the generated entry, with its reference answer or null. Scores are kept as they are: several
data sets give partial credit.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from hylo_eval.verify.bounded_call import BoundedCallError, BoundedFailure, call_bounded
from hylo_eval.verify.json_prefix import decode_value
from hylo_eval.verify.modes.grader import AnswerGrader
from hylo_eval.verify.reasoning_gym_scoring import check_entry_form, score
from hylo_eval.verify.specs.base import EmptyOutput
from hylo_eval.verify.verdict import GradingInfraError, InvalidTask, Reward, scored, zero

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hylo_eval.verify.modes.grader import Resources
    from hylo_eval.verify.specs.answer import ReasoningGymSpec

__all__ = ["GRADER", "check_reasoning_gym", "grade_reasoning_gym_candidate", "markdown_answer"]

CHECK_SECONDS = 60.0
"""For configuring a data set and scoring its own answer; some load megabytes of puzzles."""

SCORING_SECONDS = 20.0
"""For scoring one answer."""

_CHILD = "hylo_eval.verify.reasoning_gym_child"
_ANSWER_HEADING = re.compile(r"#{1,6}\s*answer\s*", re.IGNORECASE)
_SECTION_END = re.compile(r"#{1,6}(?:\s|\Z)|---\s*\Z|```")
_EMPHASIS = ("**", "__", "*", "_", "`")
_DETAIL_CHARACTERS = 200


def check_reasoning_gym(spec: ReasoningGymSpec) -> None:
    """Refuse an empty name of a data set or a file.

    Raises:
        InvalidTask: As said.
    """
    if not spec.dataset:
        raise InvalidTask("dataset must name a Reasoning Gym data set")
    if not spec.entry or spec.params == "":
        raise InvalidTask("entry and params must name JSON files of the task")


def grade_reasoning_gym_candidate(
    spec: ReasoningGymSpec,
    entry: Mapping[str, Any],
    candidate: str | None,
    *,
    params: Mapping[str, Any] | None = None,
) -> Reward:
    """Score an answer against a trusted, decoded entry, in the calling process.

    The library's scorers may parse, or even evaluate, the candidate's text: the caller owns the isolation and
    the deadline. What a scorer raises is passed on.

    Args:
        spec: The specification; its data set must be the entry's.
        entry: The generated entry.
        candidate: The answer's text; None when there is none.
        params: The decoded configuration; required exactly when ``spec`` names a params file.

    Raises:
        InvalidTask: The entry is not one of the data set, or its configuration is missing or refused.
        GradingInfraError: The library is not installed.
    """
    check_reasoning_gym(spec)
    if (params is None) != (spec.params is None):
        raise InvalidTask("params must be given exactly when the specification names a params file")
    check_entry_form(spec.dataset, entry)
    if candidate is None or (not candidate.strip() and spec.empty_output is EmptyOutput.ZERO):
        return zero("no_output")
    answer = markdown_answer(candidate)
    return _verdict(spec, answer, score(spec.dataset, params, entry, answer))


def markdown_answer(text: str) -> str:
    """The section under the last Markdown heading "Answer", without one layer of emphasis.

    The section ends at the next heading, rule or code fence. Without such a heading, or with nothing in it,
    it is the whole text, stripped.
    """
    lines = text.split("\n")
    headings = (index for index in range(len(lines) - 1, -1, -1) if _ANSWER_HEADING.fullmatch(lines[index]))
    heading = next(headings, None)
    if heading is None:
        return text.strip()
    section: list[str] = []
    for line in "\n".join(lines[heading + 1 :]).strip().split("\n"):
        if _SECTION_END.match(line):
            break
        section.append(line)
    return _without_emphasis("\n".join(section).strip()) or text.strip()


def _without_emphasis(text: str) -> str:
    for mark in _EMPHASIS:
        if len(text) > 2 * len(mark) and text.startswith(mark) and text.endswith(mark):
            return text[len(mark) : -len(mark)].strip()
    return text


class _Task(NamedTuple):
    """A generated task that can be scored.

    Attributes:
        entry: What the data set generated.
        params: The configuration of the data set; None for its defaults.
        own_score: What its own answer scores; None where it has none, or none that its data set reads.
    """

    entry: dict[str, Any]
    params: dict[str, Any] | None
    own_score: float | None


def _json_object(content: bytes, path: str, what: str) -> dict[str, Any]:
    try:
        value = decode_value(content.decode())
    except ValueError as error:  # a UnicodeDecodeError is one too
        raise InvalidTask(f"the {what} file {path} is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise InvalidTask(f"the {what} file {path} must hold a JSON object")
    return cast("dict[str, Any]", value)


def _task(spec: ReasoningGymSpec, resources: Resources) -> _Task:
    params = None if spec.params is None else (spec.params, resources.read(spec.params))
    return _checked_task(spec.dataset, (spec.entry, resources.read(spec.entry)), params)


@lru_cache(maxsize=256)
def _checked_task(dataset: str, entry_file: tuple[str, bytes], params_file: tuple[str, bytes] | None) -> _Task:
    """The task of two files, a path and a content each; that it can be scored is found out once for its answers."""
    entry = _json_object(entry_file[1], entry_file[0], "entry")
    check_entry_form(dataset, entry)
    params = None if params_file is None else _json_object(params_file[1], params_file[0], "params")
    try:
        own_score = call_bounded(f"{_CHILD}:check_entry", dataset, params, entry, timeout_seconds=CHECK_SECONDS)
    except BoundedCallError as error:
        if error.failure in {BoundedFailure.ERROR, BoundedFailure.DEADLINE}:
            raise InvalidTask(f"data set {dataset} cannot score its own answer: {error}") from error
        raise GradingInfraError(f"the scorer of {dataset} ended: {error}") from error
    return _Task(entry, params, own_score)


def _check_task(spec: ReasoningGymSpec, resources: Resources) -> None:
    _task(spec, resources)


def _grade(spec: ReasoningGymSpec, text: str, resources: Resources) -> Reward:
    task = _task(spec, resources)
    answer = markdown_answer(text)
    if task.own_score is not None and answer == task.entry["answer"]:
        return _verdict(spec, answer, task.own_score)
    try:
        result = call_bounded(
            f"{_CHILD}:score_answer", spec.dataset, task.params, task.entry, answer, timeout_seconds=SCORING_SECONDS
        )
    except BoundedCallError as error:
        # The same scorer has scored the entry's own answer, so the failure is this answer's doing.
        shown = {"dataset": spec.dataset, "answer": answer[:_DETAIL_CHARACTERS]}
        return zero(f"scorer_{error.failure}", error=str(error)[:_DETAIL_CHARACTERS], **shown)
    return _verdict(spec, answer, float(result))


def _verdict(spec: ReasoningGymSpec, answer: str, result: float) -> Reward:
    shown = {"dataset": spec.dataset, "answer": answer[:_DETAIL_CHARACTERS]}
    if not 0.0 <= result <= 1.0:  # NaN too; an answer that confuses the scorer earns nothing and hides nothing
        return zero("score_out_of_range", score=str(result), **shown)
    return scored(result, **shown)


GRADER = AnswerGrader(check_spec=check_reasoning_gym, check_task=_check_task, grade_output=_grade)
