"""Mode ``judge``: an answer graded by a judge model, behind gates that need no model.

The gates come first: instruction-following constraints must all hold, and an answer equal to a reference up
to spelling scores without a question. The ``reference`` rubric then asks once for 0, 0.5 or 1, the
``checklist`` rubric asks one yes-or-no question per criterion and scores the fraction of yes.
"""

from __future__ import annotations

import re
import string
import unicodedata
from typing import TYPE_CHECKING, Any, Final

from hylo_eval.verify.execution.deadline import check_timeout
from hylo_eval.verify.extraction import last_box
from hylo_eval.verify.judging.connection import JudgeConnection
from hylo_eval.verify.judging.prompts import CONTEXT_LIMIT, criterion_prompt, reference_prompt
from hylo_eval.verify.judging.questioning import Judge
from hylo_eval.verify.modes.grader import AnswerGrader
from hylo_eval.verify.specs.base import EmptyOutput
from hylo_eval.verify.specs.judge import JudgeSpec, Rubric
from hylo_eval.verify.verdict import GradingInfraError, InvalidTask, Reward, scored, zero

if TYPE_CHECKING:
    from hylo_eval.verify.modes.grader import Resources

_REFERENCE_SCORES: Final = frozenset({0.0, 0.5, 1.0})
_CRITERION_SCORES: Final = frozenset({0.0, 1.0})
_LATEX_TEXT: Final = re.compile(r"\\(?:text|mathrm|operatorname)\s*\{([^{}]*)\}")
_LATEX_SIZE: Final = re.compile(r"\\(?:left|right)(?![a-z])")
_THOUSANDS: Final = re.compile(r"(?<=\d),(?=\d)")
# Markdown's asterisks around words, which are no operators; between digits they may be, and stay.
_EMPHASIS: Final = re.compile(r"(?<!\w)(?<!\d )(\*{1,3})(?=[^\s*])([^*]*)(?<=\S)\1(?![\w*])(?! \d)")
_PUNCTUATION: Final = re.compile(f"[{re.escape(string.punctuation)}]+")
_ARTICLES: Final = re.compile(r"\b(?:a|an|the)\b")
_OPERATORS: Final = frozenset("+*/^=<>%")


def check_judge(spec: JudgeSpec) -> None:
    """Refuses a specification that no answer could be graded under.

    Raises:
        InvalidTask: The rubric lacks its references or criteria, a budget or the timeout is out of range, or
            a constraint is unknown.
    """
    if spec.rubric is Rubric.REFERENCE and not _stated(spec.references):
        raise InvalidTask("the reference rubric needs at least one reference that is not blank")
    if spec.rubric is Rubric.CHECKLIST and not _stated(spec.criteria):
        raise InvalidTask("the checklist rubric needs at least one criterion that is not blank")
    if spec.max_completion_tokens <= 0:
        raise InvalidTask("max_completion_tokens must be positive")
    if spec.incomplete_retry_tokens < 0:
        raise InvalidTask("incomplete_retry_tokens must not be negative")
    if 0 < spec.incomplete_retry_tokens <= spec.max_completion_tokens:
        raise InvalidTask("incomplete_retry_tokens must exceed max_completion_tokens")
    check_timeout(spec.request_timeout, field="request_timeout")
    if spec.constraints:
        from hylo_eval.verify.instruction_following import check_constraints

        check_constraints(spec.constraints)


def _stated(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(text for text in texts if text.strip())


def _context(spec: JudgeSpec, resources: Resources) -> str:
    if not spec.context:
        return ""
    # A character of UTF-8 has at most four bytes: the limit in characters is reached at the latest there.
    return resources.read(spec.context)[: 4 * CONTEXT_LIMIT].decode(errors="replace")[:CONTEXT_LIMIT]


def check_judge_task(spec: JudgeSpec, resources: Resources) -> None:
    """Refuses a task whose context is missing."""
    _context(spec, resources)


def grade_judge_candidate(
    spec: JudgeSpec, candidate: str, *, connection: JudgeConnection | None = None, context: str = ""
) -> Reward:
    """Grades a text with a decoded context, as the file grader grades an answer file.

    Args:
        spec: The specification; its ``context``, a file's name, is not read here.
        candidate: The answer.
        connection: The judge; None takes it from the environment. It is only needed past the gates.
        context: The text the judge sees beside the answer.

    Raises:
        InvalidTask: The specification is malformed.
        GradingInfraError: The judge cannot be asked or gives no valid score.
        TypeError: The candidate is not a text.
    """
    check_judge(spec)
    # Callers without a type checker pass other things too.
    answer: object = candidate
    if not isinstance(answer, str):
        raise TypeError(f"a judge's candidate must be a str, not {type(answer).__name__}")
    if spec.empty_output is EmptyOutput.ZERO and not candidate.strip():
        return zero("no_output")
    failed = _failed_constraints(spec, candidate)
    if failed:
        return scored(0.0, gate="constraints", failed=failed)
    if spec.rubric is Rubric.REFERENCE and spec.exact_gate and matches_reference(candidate, spec.references):
        return scored(1.0, gate="exact")
    judge = Judge(spec=spec, connection=connection or JudgeConnection.from_environment())
    if spec.rubric is Rubric.REFERENCE:
        return _grade_reference(judge, candidate, context)
    return _grade_checklist(judge, candidate, context)


def _failed_constraints(spec: JudgeSpec, candidate: str) -> list[str]:
    if not spec.constraints:
        return []
    from hylo_eval.verify.instruction_following import evaluate_constraints

    return [result.name for result in evaluate_constraints(spec.constraints, candidate) if not result.passed]


def _grade_reference(judge: Judge, candidate: str, context: str) -> Reward:
    prompt = reference_prompt(
        candidate,
        references=_stated(judge.spec.references),
        question=judge.spec.question,
        context=context,
    )
    judgement = judge.ask(prompt, allowed=_REFERENCE_SCORES)
    return scored(judgement.score, model=judge.model, **judgement.detail())


def _grade_checklist(judge: Judge, candidate: str, context: str) -> Reward:
    results: list[dict[str, Any]] = []
    for criterion in _stated(judge.spec.criteria):
        prompt = criterion_prompt(candidate, criterion=criterion, question=judge.spec.question, context=context)
        try:
            judgement = judge.ask(prompt, allowed=_CRITERION_SCORES)
        except GradingInfraError as error:
            unfinished = {"criterion": criterion, **error.detail}
            raise GradingInfraError(str(error), criteria=[*results, unfinished]) from error
        results.append({"criterion": criterion, "passed": judgement.score == 1.0, **judgement.detail()})
    passed = sum(result["passed"] for result in results)
    return scored(passed / len(results), model=judge.model, passed=passed, total=len(results), criteria=results)


def matches_reference(candidate: str, references: tuple[str, ...]) -> bool:
    r"""Whether a text, or the content of its last ``\boxed{...}``, equals a reference up to spelling."""
    box = last_box(candidate)
    answer = normalized(candidate if box is None else box)
    return bool(answer) and answer in {normalized(reference) for reference in references}


def normalized(text: str) -> str:
    """A text without what must not matter: case, width, wrappers of LaTeX and Markdown, punctuation, articles, spacing.

    Signs, decimal points, operators and whatever stands between two digits stay: ``-5`` is not ``5``, ``3.5``
    is not ``35``, and a doubt is the judge's to decide.
    """
    text = unicodedata.normalize("NFKC", text).lower().replace("\N{MINUS SIGN}", "-")
    text = _LATEX_TEXT.sub(r"\1", text)
    text = _THOUSANDS.sub("", _LATEX_SIZE.sub("", text))
    text = _EMPHASIS.sub(r"\2", text)
    text = _PUNCTUATION.sub(_meaningful_punctuation, text)
    return " ".join(_ARTICLES.sub(" ", text).split())


def _meaningful_punctuation(run: re.Match[str]) -> str:
    marks, text = run.group(), run.string
    before = text[run.start() - 1 : run.start()]
    after = text[run.end() : run.end() + 1]
    if before.isdigit() and after.isdigit():
        return marks
    kept = "".join(mark for mark in marks if mark in _OPERATORS)
    sign = marks[-1] if after.isdigit() and marks[-1] in "-." else ""
    return kept + sign


def _grade_output(spec: JudgeSpec, text: str, resources: Resources) -> Reward:
    return grade_judge_candidate(spec, text, context=_context(spec, resources))


GRADER: Final = AnswerGrader["JudgeSpec"](
    check_spec=check_judge, check_task=check_judge_task, grade_output=_grade_output
)
