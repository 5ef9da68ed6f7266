"""What every scorer asks first: can this episode be scored at all?"""

from __future__ import annotations

from hylo_core.score import Score
from hylo_core.trace import INFRASTRUCTURE, SCORED, EpisodeStatus, EpisodeTrace

AGENT_ERROR = "agent_error"
INFRA = "infra"
CANCELLED = "cancelled"
UNFINISHED = "unfinished"
NO_ACTION = "no_action"
SUCCESS_AT_RESET = "success_at_reset"
ENDED_ON_SUCCESS = "ended_on_success"
NOT_RECORDED = "not_recorded"
NOT_APPLICABLE = "not_applicable"
NOT_FINITE = "not_finite"
CENSORED = "censored"
SCORER_ERROR = "scorer_error"
TRACE_MISSING = "trace_missing"
TRACE_UNREADABLE = "trace_unreadable"
NOT_GRADED = "not_graded"
GRADERS_DISAGREE = "graders_disagree"
INVALID_TASK = "invalid_task"
NO_VERIFIER = "no_verifier"
NOT_PURE = "not_pure"
NO_TRUTH = "no_truth"
NO_TRAJECTORY = "no_trajectory"

REASONS = {
    AGENT_ERROR: "the agent raised, or its action was misshapen or not finite",
    INFRA: "the environment or the machine failed",
    CANCELLED: "the operator stopped the run",
    UNFINISHED: "the trace has no end",
    NO_ACTION: "no action reached the environment",
    SUCCESS_AT_RESET: "success held before any action",
    ENDED_ON_SUCCESS: "the episode ended because it succeeded, so nobody knows its end",
    NOT_RECORDED: "the trace does not hold what the scorer reads",
    NOT_APPLICABLE: "the quantity is not defined for this episode",
    NOT_FINITE: "a number the scorer reads is not finite",
    CENSORED: "the episode was cut off, so nobody knows the quantity",
    SCORER_ERROR: "the scorer raised, or returned what is no score of its kind",
    TRACE_MISSING: "there is no trace where the log says one is",
    TRACE_UNREADABLE: "the trace cannot be read, or was changed after the episode",
    NOT_GRADED: "nobody has judged the episode yet",
    GRADERS_DISAGREE: "one grader judged the episode a success and another a failure",
    INVALID_TASK: "the task's own verifier cannot be met by any answer",
    NO_VERIFIER: "the task carries no verifier",
    NOT_PURE: "the task's verifier needs a process or a network, which a scorer may not use",
    NO_TRUTH: "the task has no truth of the kind the scorer compares with",
    NO_TRAJECTORY: "the response holds no trajectory, and no finite distance says so",
}
"""Why a scorer abstains, and what each reason means."""

INFRASTRUCTURE_REASONS = frozenset(
    {
        INFRA,
        UNFINISHED,
        CANCELLED,
        SUCCESS_AT_RESET,
        INVALID_TASK,
        NO_VERIFIER,
        NOT_PURE,
        SCORER_ERROR,
        TRACE_MISSING,
        TRACE_UNREADABLE,
    }
)
"""Reasons that are nobody's behaviour: a run with one of them is not complete."""

ALLOW_INITIAL_SUCCESS = "allow_initial_success"
"""The member of ``TaskSpec.params`` with which a benchmark says that success may hold before any action."""


def abstention(trace: EpisodeTrace) -> Score | None:
    """The abstention every scorer of behaviour makes for this trace, or None when there is behaviour to score."""
    end = trace.end
    if end is None:
        return Score.abstain(UNFINISHED, REASONS[UNFINISHED])
    if end.status is EpisodeStatus.AGENT_ERROR:
        return Score.abstain(AGENT_ERROR, _what_failed(trace) or REASONS[AGENT_ERROR])
    if end.status in INFRASTRUCTURE:
        return Score.abstain(INFRA, _what_failed(trace) or REASONS[INFRA])
    reason = None
    if end.status not in SCORED:
        reason = CANCELLED
    elif end.steps == 0 and end.status is not EpisodeStatus.SAFETY_ABORT:
        reason = NO_ACTION
    elif trace.reset is not None and trace.reset.success:
        allowed = trace.instance.spec.params.get(ALLOW_INITIAL_SUCCESS) is True
        reason = None if allowed else SUCCESS_AT_RESET
    return None if reason is None else Score.abstain(reason, REASONS[reason])


def decided(trace: EpisodeTrace) -> Score | None:
    """The score that the episode's end decides, whatever its steps say; None when the steps decide.

    An abstention where there is no behaviour to score, 0 where the behaviour is a failure (:func:`failure`).
    """
    abstained = abstention(trace)
    if abstained is not None:
        return abstained
    reason = failure(trace)
    return Score(0.0, reason) if reason else None


def failure(trace: EpisodeTrace) -> str:
    """Why a scored episode is a failure whatever its steps say; empty when its steps decide."""
    if trace.status is EpisodeStatus.SAFETY_ABORT:
        return "a safety filter stopped the episode"
    if trace.status is EpisodeStatus.SIM_UNSTABLE:
        return f"the simulation became unstable: {trace.end.reason if trace.end else ''}"
    return ""


def _what_failed(trace: EpisodeTrace) -> str:
    return f"{trace.errors[-1].error_type}: {trace.errors[-1].message}" if trace.errors else ""
