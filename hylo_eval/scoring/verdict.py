"""The verdict layer as a pure scorer: text or function calls from a trace, graded in this process.

A ``scored`` verdict is a number; ``invalid_task`` and ``infra_error`` are abstentions, with the status in the metadata.
Modes whose grading needs a child process, a network or a workspace are refused. They are graders
(:mod:`hylo_eval.grading.verdict`), whose grade events :mod:`hylo_eval.scoring.grade` reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from hylo_core.errors import ContractError
from hylo_core.frozen import thaw
from hylo_core.score import Score
from hylo_core.task import TaskInstance
from hylo_core.task_params import VERIFIER, VERIFIER_RESOURCES, VERIFIER_SOURCE
from hylo_core.trace import EpisodeTrace
from hylo_eval.errors import EvalError
from hylo_eval.scoring.outcome import INFRA, INVALID_TASK, NO_VERIFIER, NOT_PURE, NOT_RECORDED, abstention
from hylo_eval.verify.bounded_detail import bounded_detail, bounded_text
from hylo_eval.verify.candidate import IN_PROCESS_EXTENSIONS, is_unanswered
from hylo_eval.verify.extraction import fenced_block
from hylo_eval.verify.modes import IN_PROCESS_MODES, Mode, grader_of, mode_of
from hylo_eval.verify.modes.grader import AnswerGrader, ResourceTable
from hylo_eval.verify.preparation import episode_failure
from hylo_eval.verify.schema_documents import compiled_from_text, decode_schema, is_costly, judge_document
from hylo_eval.verify.spec import spec_from_table
from hylo_eval.verify.specs.answer import JsonSchemaSpec, SchemaFormat
from hylo_eval.verify.trace_answer import INVALID_CAPTURE, AnswerPlace, AnswerSource, failed_behaviour
from hylo_eval.verify.trace_answer import NOT_RECORDED as NOT_IN_TRACE
from hylo_eval.verify.verdict import (
    GradingInfraError,
    InvalidTask,
    Reward,
    Status,
    infra_error,
    invalid_task,
    validated,
    zero,
)

MAX_SCHEMA_BYTES: Final = 64 << 10
"""A longer schema is checked in a child process by the mode itself."""


class VerdictScorer:
    """The verdict on the episode's answer, 0 or 1: every mode that is pure scores all or nothing.

    An answer that cannot be read, and an episode that a safety filter or an unstable simulation ended, are failures
    with a number. The metadata hold ``status``, ``mode``, ``source``, the verdict's bounded ``detail`` and, where there
    is one, the ``reason``.

    Args:
        spec: The specification, in place of the one in each task's ``params["verifier"]``.
        source: Where the answer stands (:class:`hylo_eval.verify.trace_answer.AnswerSource` or its text), in place of
            the task's ``params["verifier_source"]``.
        resources: The files that ``spec`` names, by their path; only with ``spec``.
        name: The scorer's name, for a run with several of them.

    Raises:
        EvalError: The specification's mode is not pure, the source is none or does not fit the mode, or there are
            resources without a specification.
    """

    binary = True

    def __init__(
        self,
        spec: Any = None,
        *,
        source: AnswerSource | str | None = None,
        resources: Mapping[str, bytes] | None = None,
        name: str = "verdict",
    ) -> None:
        self.name = name
        if spec is None and resources is not None:
            raise EvalError(
                "resources belong to a specification, and there is none",
                fix="give the spec too, or put both into the task",
            )
        self._spec = spec
        self._source = None if source is None else _source_of(source)
        self._resources = dict(resources or {})
        if spec is not None:
            problem = impurity(spec, self._resources)
            if problem is not None:
                raise EvalError(problem, fix="mend the specification")
            if self._source is not None:
                _check_fit(spec, self._source)

    def score(self, trace: EpisodeTrace, task: TaskInstance) -> Score:
        """Score the answer; abstains as every scorer of behaviour does when the episode has no outcome."""
        abstained = abstention(trace)
        if abstained is not None:
            return _abstained(trace, abstained)
        try:
            spec, source, resources = self._contract(task.spec.params)
        except (InvalidTask, ValueError, EvalError) as error:
            return Score(None, bounded_text(str(error)), {"reason": INVALID_TASK, "status": INVALID_TASK})
        if spec is None:
            return Score.abstain(NO_VERIFIER, f"the task carries no params.{VERIFIER}")
        problem = impurity(spec, resources)
        if problem is not None:
            return Score.abstain(NOT_PURE, problem)
        verdict = grade_episode(spec, source, trace, resources)
        return score_of(verdict, mode=mode_of(spec).value, source=str(source))

    def _contract(self, params: Mapping[str, Any]) -> tuple[Any, AnswerSource, Mapping[str, bytes]]:
        """The same as :func:`task_contract`, with what this scorer was given in place of what the task carries."""
        if self._source is not None:
            params = {**params, VERIFIER_SOURCE: self._source}
        if self._spec is None:
            return task_contract(params)
        source = _source_of(params.get(VERIFIER_SOURCE, "action"))
        _check_fit(self._spec, source)
        return self._spec, source, self._resources


def check_verifier(params: Mapping[str, Any]) -> None:
    """Refuse a task's verifier that is an invalid task whatever is answered.

    Args:
        params: The task's params, with a verifier.

    Raises:
        ContractError: With the path ``params.verifier``.
    """
    try:
        spec, _, resources = task_contract(params)
        found = grader_of(mode_of(spec))
        if isinstance(found, AnswerGrader) and impurity(spec, resources) is None:
            found.check_spec(spec)
            found.check_task(spec, ResourceTable(resources))
    except GradingInfraError:
        return  # what is missing on this machine is no fault of the task
    except (InvalidTask, ValueError, EvalError) as error:
        raise ContractError(str(error), path=f"params.{VERIFIER}") from error


def task_contract(params: Mapping[str, Any]) -> tuple[Any, AnswerSource, Mapping[str, bytes]]:
    """The specification (None without one), the source and the resources that a task carries.

    Raises:
        EvalError: The source is none, or does not fit the mode.
        InvalidTask: The specification is rejected by its mode.
        ValueError: The specification is malformed.
    """
    source = _source_of(params.get(VERIFIER_SOURCE, "action"))
    spec, resources = _task_spec(params), _task_resources(params)
    if spec is not None:
        _check_fit(spec, source)
    return spec, source, resources


def impurity(spec: Any, resources: Mapping[str, bytes]) -> str | None:
    """Why a specification cannot be scored by a pure function, as a sentence; None when it can."""
    try:
        mode = mode_of(spec)
    except TypeError as error:
        return str(error)
    remedy = "grade it with a VerdictGrader and score the grade"
    if mode is Mode.MATH:
        return f"mode math compares expressions in a child process with a deadline, and a scorer is pure; {remedy}"
    if mode not in IN_PROCESS_MODES | IN_PROCESS_EXTENSIONS:
        return f"mode {mode} runs something or asks somebody, and a scorer is pure; {remedy}"
    if isinstance(spec, JsonSchemaSpec) and _schema_needs_child(spec, resources):
        return (
            "mode json-schema needs a child process with a deadline for YAML and TOML and for schemas that are long or "
            f"hold pattern, patternProperties, uniqueItems or references, and a scorer is pure; {remedy}"
        )
    return None


def grade_episode(spec: Any, source: AnswerSource, trace: EpisodeTrace, resources: Mapping[str, bytes]) -> Reward:
    """The verdict on an episode under a pure specification; a defect of the task comes before everything else.

    What an agent answers is graded as the text of an answer file: the mode finds the answer in it.
    """
    found = cast("AnswerGrader[Any]", grader_of(mode_of(spec)))
    table = ResourceTable(resources)
    try:
        found.check_spec(spec)
        found.check_task(spec, table)
        behaviour = failed_behaviour(trace)
        if behaviour:
            return zero(behaviour)
        answer = source.read(trace)
        return _grade_text(spec, answer, table) if isinstance(answer, str) else answer.verdict
    except InvalidTask as error:
        return invalid_task(str(error))
    except GradingInfraError as error:
        return infra_error(str(error), **error.detail)


def score_of(verdict: Reward, **metadata: str) -> Score:
    """A verdict as a score: a number when it is scored, else an abstention with status and reason.

    Args:
        verdict: Any verdict; a malformed one is an ``infra_error``.
        **metadata: Further members of the score's metadata.
    """
    verdict = validated(verdict)
    detail = bounded_detail(verdict.detail)
    members: dict[str, Any] = {"status": verdict.status.value, **metadata, "detail": detail}
    text = str(detail.get("error") or detail.get("reason") or "")
    if verdict.status is Status.SCORED:
        reason = detail.get("reason") or detail.get("error_type")
        return Score(verdict.reward, text, {**members, "reason": reason} if reason else members)
    if verdict.status is Status.INVALID_TASK:
        reason = INVALID_TASK
    else:
        # A trace without the answer is no failure of the machine: the source or the agent's adapter is wrong.
        reason = NOT_RECORDED if detail.get("error_type") in (NOT_IN_TRACE, INVALID_CAPTURE) else INFRA
    return Score(None, text or reason, {**members, "reason": reason})


def _abstained(trace: EpisodeTrace, abstained: Score) -> Score:
    """The abstention of an episode without an outcome, with what that means for a verdict beside its reason."""
    failure = None if trace.status is None else episode_failure(trace.status.value, abstained.explanation)
    if failure is None:
        return abstained
    blame = {"status": failure.verdict.status.value, "category": failure.category.value}
    return Score(None, abstained.explanation, {**abstained.metadata, **blame})


def _grade_text(spec: Any, text: str, resources: ResourceTable) -> Reward:
    if is_unanswered(spec, text):
        return zero("no_output")
    if isinstance(spec, JsonSchemaSpec):
        # The mode hands long documents to a child, for its deadline. Validation is linear under the schemas accepted
        # here, and an abstention would be an answer's way out of a zero.
        compiled = compiled_from_text(resources.read(spec.schema), spec.schema)
        reward, detail = judge_document(compiled, fenced_block(text), spec.format)
        return Reward(reward, Status.SCORED, detail)
    return cast("AnswerGrader[Any]", grader_of(mode_of(spec))).grade_output(spec, text, resources)


def _schema_needs_child(spec: JsonSchemaSpec, resources: Mapping[str, bytes]) -> bool:

    if spec.format is not SchemaFormat.JSON:
        return True
    content = resources.get(spec.schema)
    if content is None:
        return False  # a schema that is not there is an invalid task, which grading says
    if len(content) > MAX_SCHEMA_BYTES:
        return True
    try:
        return is_costly(decode_schema(content, spec.schema))
    except InvalidTask:
        return False


def _source_of(source: object) -> AnswerSource:

    if isinstance(source, AnswerSource):
        return source
    if not isinstance(source, str):
        raise EvalError(f"an answer source is a text, not {type(source).__name__}", fix="name it, such as reply:text")
    return AnswerSource.parse(source)


def _check_fit(spec: Any, source: AnswerSource) -> None:

    mode = mode_of(spec)
    found = grader_of(mode)
    if source.place is AnswerPlace.REPLY_JSON and isinstance(found, AnswerGrader) and found.takes_text:
        raise EvalError(
            f"mode {mode} grades a text, and {source} is a decoded value",
            fix="name a reply:<path>",
        )


def _task_spec(params: Mapping[str, Any]) -> Any:
    """The specification in a task's params; None without one, and unchecked for purity."""
    if VERIFIER not in params:
        return None
    table = thaw(params[VERIFIER])
    if not isinstance(table, dict):
        raise InvalidTask(f"params.{VERIFIER} must be a table, not {type(table).__name__}")
    return spec_from_table(cast("dict[str, Any]", table))


def _task_resources(params: Mapping[str, Any]) -> dict[str, bytes]:
    table = params.get(VERIFIER_RESOURCES, {})
    if not isinstance(table, Mapping):
        raise InvalidTask(f"params.{VERIFIER_RESOURCES} must be a table of texts")
    entries = cast("Mapping[str, Any]", table)
    if not all(isinstance(text, str) for text in entries.values()):
        raise InvalidTask(f"params.{VERIFIER_RESOURCES} must be a table of texts")
    return {path: text.encode() for path, text in entries.items()}
