"""Composition of the rewards, and the flat figures that are returned."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from hylo_eval.verify.response.contracts import TRACE_ANNOTATION_LOG_TYPES

if TYPE_CHECKING:
    from hylo_eval.verify.response.annotation_score import AnnotationScore
    from hylo_eval.verify.response.final_object import TraceResponseFormat
    from hylo_eval.verify.response.options import ScoringOptions

AnswerScore: TypeAlias = tuple[float, bool]
"""Reward and parse flag of an answer."""

_REWARDS = (
    "overall",
    "format",
    "accuracy",
    "answer_reward",
    "annotation_reward",
    "task_reward_raw",
    "task_reward_effective",
    "task_reward_gated",
)
_FLAGS = (
    "format_structure_ok",
    "format_json_ok",
    "format_schema_ok",
    "answer_parse_ok",
    "annotation_parse_ok",
    "json_found",
    "zero_reward",
)


class Rewards(NamedTuple):
    """The task reward, and the overall reward after the format blend; both in [0, 1]."""

    task: float
    overall: float


def compose(options: ScoringOptions, answer: float, annotation: float, response_format: float) -> Rewards:
    """Compose the rewards of the parts, each in [0, 1].

    `answer` mode: task = answer. Gated: task = answer · (answer weight + annotation weight · annotation).
    Additive: task = answer weight · answer + annotation weight · annotation. Overall blends in the format
    by its weight.
    """
    if options.mode == "answer":
        task = answer
    elif options.formula == "gated":
        task = answer * (options.answer_weight + options.annotation_weight * annotation)
    else:
        task = options.answer_weight * answer + options.annotation_weight * annotation
    task = min(task, 1.0)  # two rounded weights may sum to a little more than 1
    overall = (1.0 - options.format_weight) * task + options.format_weight * response_format
    return Rewards(task, min(overall, 1.0))


def reported_values(
    options: ScoringOptions,
    rewards: Rewards,
    response_format: TraceResponseFormat,
    *,
    answer: AnswerScore,
    annotation: AnnotationScore,
    annotation_type: str,
    json_found: bool,
) -> dict[str, float]:
    """Every figure by its public name; flags are 0.0 or 1.0."""
    values = {
        **_values_of_options(options, annotation_type),
        "overall": rewards.overall,
        "format": response_format["format"],
        "accuracy": answer[0],
        "answer_reward": answer[0],
        "annotation_reward": annotation.reward,
        "task_reward_raw": rewards.task,
        "task_reward_effective": rewards.task,
        "task_reward_gated": rewards.task,
        "format_structure_ok": 1.0 if response_format["structure_ok"] else 0.0,
        "format_json_ok": 1.0 if response_format["json_ok"] else 0.0,
        "format_schema_ok": 1.0 if response_format["schema_ok"] else 0.0,
        "answer_parse_ok": 1.0 if answer[1] else 0.0,
        "annotation_parse_ok": 1.0 if annotation.reason is None else 0.0,
        "json_found": 1.0 if json_found else 0.0,
        "zero_reward": 1.0 if rewards.task <= 0.0 else 0.0,
    }
    for name, figure in annotation.details.items():
        values[f"annotation_{name}"] = figure
    return values


@lru_cache(maxsize=128)
def _values_of_options(options: ScoringOptions, annotation_type: str) -> dict[str, float]:
    """Every figure in its place: what is the same for all responses, and 0.0 for what is not.

    It is remembered, so it must not be changed.
    """
    is_answer_mode = 1.0 if options.mode == "answer" else 0.0
    is_exact = 1.0 if options.answer_scoring == "exact_json" else 0.0
    is_gated = 1.0 if options.formula == "gated" else 0.0
    return {
        **dict.fromkeys(_REWARDS, 0.0),
        "format_weight": options.format_weight,
        "trace_reward_mode_answer": is_answer_mode,
        "trace_reward_mode_answer_only": is_answer_mode,
        "trace_reward_mode_answer_and_annotation": 1.0 - is_answer_mode,
        "trace_answer_scoring_exact_json": is_exact,
        "trace_answer_scoring_legacy_strict": 1.0 - is_exact,
        "trace_annotation_reward_formula_gated": is_gated,
        "trace_annotation_reward_formula_additive": 1.0 - is_gated,
        "trace_answer_weight": options.answer_weight,
        "trace_annotation_weight": options.annotation_weight,
        **dict.fromkeys(_FLAGS, 0.0),
        "trace_reward": 1.0,
        **{f"annotation_type_{name}": float(name == annotation_type) for name in TRACE_ANNOTATION_LOG_TYPES},
    }
