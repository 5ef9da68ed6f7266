"""The Trace response scorer, contract v0: format, extraction, answer, annotation, composition."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import attrs

from hylo_eval.verify.response.annotation_score import AnnotationScore, annotation_type, score_annotation
from hylo_eval.verify.response.answer import answer_text, answers_match
from hylo_eval.verify.response.compose import compose, reported_values
from hylo_eval.verify.response.contracts import ANNOTATION_KINDS
from hylo_eval.verify.response.extraction import recover_prediction
from hylo_eval.verify.response.final_object import ResponseReader, evaluate_format
from hylo_eval.verify.response.frames import PIXEL_XY, CoordinateFrame, to_pixels
from hylo_eval.verify.response.half_life import resolve_half_life_px
from hylo_eval.verify.response.options import resolve_options
from hylo_eval.verify.response.parsing import as_mapping

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hylo_eval.verify.response.compose import AnswerScore
    from hylo_eval.verify.response.extraction import TracePrediction
    from hylo_eval.verify.response.final_object import TraceResponseFormat
    from hylo_eval.verify.response.options import LegacyScorer, ScoringOptions
    from hylo_eval.verify.response.parsing import LenientParser

_INPUT_KEYS = ("answer_gt", "annotation_gt", "reward_contract")
_NO_ANNOTATION = AnnotationScore(0.0, "there is no annotation")


@attrs.frozen
class TraceScore:
    """A scored response.

    Attributes:
        values: The flat figures that `score_trace_response` returns.
        reason: What kept the response from full marks, as text; None if nothing did.
        metadata: How the response was read: the coordinate frame.
    """

    values: dict[str, float]
    reason: str | None
    metadata: dict[str, str]


def is_trace_reward_input(reward_input: Mapping[str, object]) -> bool:
    """Whether a mapping holds what a response is scored against: truth for both parts and the contract."""
    return all(key in reward_input for key in _INPUT_KEYS)


def score_trace_response(
    *,
    response: str,
    answer_gt: Mapping[str, object],
    annotation_gt: Mapping[str, object],
    reward_contract: Mapping[str, object],
    bbox_iou_threshold: float | None = None,
    point_half_life_px: float | None = None,
    image_size: object = None,
    image_sizes: object = None,
    metadata: object = None,
    extra_info: object = None,
    answer_weight: float = 0.5,
    annotation_weight: float = 0.5,
    trace_reward_mode: str | None = "answer_and_annotation",
    trace_answer_scoring: str | None = "exact_json",
    trace_annotation_reward_formula: str | None = "gated",
    format_weight: float = 0.0,
    legacy_strict_scorer: LegacyScorer | None = None,
) -> dict[str, float]:
    """Score a model's response against typed truth under a versioned reward contract.

    Every value is finite; every reward and flag is in [0, 1]. Whatever the response holds, it is scored and
    nothing raises: what cannot be recovered or read is zero rewards and flags.

    Args:
        response: The whole response.
        answer_gt: Mapping with `type` and `value` of the true answer.
        annotation_gt: Mapping with `type` and `value` of the true annotation, in pixels.
        reward_contract: The instance's contract; its `annotation` must match the truth's type.
        bbox_iou_threshold: Accepted for callers of the public scorer; the contract has no threshold.
        point_half_life_px: Distance at which a point or segment scores 0.5; default from the image size.
        image_size: `[width, height]` in pixels; selects the half-life and never rescales.
        image_sizes: Where an image size may stand instead; the first usable one counts.
        metadata: The same.
        extra_info: The same.
        answer_weight: Weight of the answer; not negative.
        annotation_weight: Weight of the annotation; not negative.
        trace_reward_mode: `answer`, `answer_and_annotation` or an alias; None, empty, `auto` mean `answer`.
        trace_answer_scoring: `exact_json` or `legacy_strict`.
        trace_annotation_reward_formula: `gated` or `additive`.
        format_weight: Share of the format score in `overall`, in [0, 1].
        legacy_strict_scorer: The callback of `legacy_strict`: called with `response` and `ground_truth`, it
            returns a 4-tuple that starts with a score in [0, 1] and the extracted answer.

    Returns:
        The figures by name; primary are `overall`, `answer_reward`, `annotation_reward`, `format`.

    Raises:
        ValueError: An option is invalid; the text names it.
    """
    del bbox_iou_threshold
    return score_trace_response_detailed(
        response=response,
        answer_gt=answer_gt,
        annotation_gt=annotation_gt,
        reward_contract=reward_contract,
        point_half_life_px=point_half_life_px,
        image_size=image_size,
        image_sizes=image_sizes,
        metadata=metadata,
        extra_info=extra_info,
        answer_weight=answer_weight,
        annotation_weight=annotation_weight,
        trace_reward_mode=trace_reward_mode,
        trace_answer_scoring=trace_answer_scoring,
        trace_annotation_reward_formula=trace_annotation_reward_formula,
        format_weight=format_weight,
        legacy_strict_scorer=legacy_strict_scorer,
    ).values


def score_trace_response_detailed(
    *,
    response: str,
    answer_gt: Mapping[str, object],
    annotation_gt: Mapping[str, object],
    reward_contract: Mapping[str, object],
    point_half_life_px: float | None = None,
    image_size: object = None,
    image_sizes: object = None,
    metadata: object = None,
    extra_info: object = None,
    answer_weight: float = 0.5,
    annotation_weight: float = 0.5,
    trace_reward_mode: str | None = "answer_and_annotation",
    trace_answer_scoring: str | None = "exact_json",
    trace_annotation_reward_formula: str | None = "gated",
    format_weight: float = 0.0,
    legacy_strict_scorer: LegacyScorer | None = None,
    coordinate_frame: CoordinateFrame = PIXEL_XY,
) -> TraceScore:
    """`score_trace_response` with the reason of a failure as text, and with coordinates in a named frame.

    The arguments are those of `score_trace_response`, and:

    Args:
        response: The whole response.
        answer_gt: As there.
        annotation_gt: As there.
        reward_contract: As there.
        point_half_life_px: As there.
        image_size: As there; a frame other than pixels needs it as `[width, height]`.
        image_sizes: As there.
        metadata: As there.
        extra_info: As there.
        answer_weight: As there.
        annotation_weight: As there.
        trace_reward_mode: As there.
        trace_answer_scoring: As there.
        trace_annotation_reward_formula: As there.
        format_weight: As there.
        legacy_strict_scorer: As there.
        coordinate_frame: The frame of the predicted annotation, which is converted to pixels before scoring.

    Raises:
        ValueError: An option is invalid, or the frame needs an image size and there is none.
    """
    truth = as_mapping(answer_gt)
    truth = truth if truth is not None and "value" in truth else None
    options = resolve_options(
        format_weight=format_weight,
        point_half_life_px=point_half_life_px,
        trace_reward_mode=trace_reward_mode,
        trace_answer_scoring=trace_answer_scoring,
        trace_annotation_reward_formula=trace_annotation_reward_formula,
        legacy_strict_scorer=legacy_strict_scorer,
        answer_weight=answer_weight,
        annotation_weight=annotation_weight,
        has_usable_answer=truth is not None,
    )
    coordinate_frame.scale(image_size)  # raises for a missing size whatever the response is
    sizes = (image_size, image_sizes, metadata, extra_info)
    half_life_px = resolve_half_life_px(options.half_life_px, sizes)
    reader = ResponseReader(response)
    parser = reader.parser
    response_format = evaluate_format(reader, options.mode)
    prediction = recover_prediction(reader, response_format)
    legacy = legacy_strict_scorer if options.answer_scoring == "legacy_strict" else None
    answer, answer_reason = _score_answer(prediction, response, truth, legacy, parser)
    declared_type = annotation_type(annotation_gt)
    if prediction.annotation is None:
        annotation = _NO_ANNOTATION
    else:
        value = prediction.annotation
        kind = ANNOTATION_KINDS.get(declared_type)
        if kind is not None:
            value = to_pixels(value, kind, coordinate_frame, image_size, parser)
        annotation = score_annotation(value, annotation_gt, reward_contract, half_life_px=half_life_px, parser=parser)
    rewards = compose(options, answer[0], annotation.reward, response_format["format"])
    values = reported_values(
        options,
        rewards,
        response_format,
        answer=answer,
        annotation=annotation,
        annotation_type=declared_type,
        json_found=prediction.found,
    )
    reasons = [_format_reason(response_format, options), answer_reason]
    if options.mode == "answer_and_annotation":
        reasons.append(annotation.reason or _shortfall(annotation))
    return TraceScore(values, _joined(reasons), coordinate_frame.metadata())


def _score_answer(
    prediction: TracePrediction,
    response: object,
    truth: Mapping[object, object] | None,
    legacy_scorer: LegacyScorer | None,
    parser: LenientParser,
) -> tuple[AnswerScore, str | None]:
    """Reward and parse flag of the answer, and what is wrong with it.

    Without an answer in an object the whole response is the answer: this is how atomic responses score.
    """
    if truth is None:
        return (0.0, False), "answer_gt has no value"
    answer = response if prediction.answer is None else prediction.answer
    if legacy_scorer is not None:
        reward, extracted = _legacy_score(legacy_scorer, answer, truth["value"])
        return (reward, extracted), None if reward == 1.0 else f"the legacy scorer gave {reward:g}"
    if answer is None:
        return (0.0, True), "there is no response"
    declared = truth.get("type")
    type_name = declared.strip() if isinstance(declared, str) else ""
    if answers_match(answer, truth["value"], type_name, parser):
        return (1.0, True), None
    return (0.0, True), "the answer is wrong" if prediction.answer is not None else "no answer was found"


def _legacy_score(scorer: LegacyScorer, answer: object, truth: object) -> tuple[float, bool]:
    """Ask the caller's own scorer.

    Raises:
        ValueError: It returned no score in [0, 1].
    """
    score, extracted, _, _ = scorer(response=answer_text(answer) or "", ground_truth=truth)
    reward = float(cast("float", score))
    if not 0.0 <= reward <= 1.0:
        raise ValueError(f"legacy_strict_scorer must return a score in [0, 1], not {score!r}")
    return reward, bool(extracted)


def _format_reason(response_format: TraceResponseFormat, options: ScoringOptions) -> str | None:
    if response_format["schema_ok"]:
        return None
    wanted = "answer" if options.mode == "answer" else "answer and annotation"
    if not response_format["structure_ok"]:
        return "the response does not end with an object"
    if not response_format["json_ok"]:
        return "what the response ends with is no JSON object"
    return f"the final object has not exactly the keys {wanted}"


def _shortfall(annotation: AnnotationScore) -> str | None:
    return None if annotation.reward == 1.0 else f"the annotation scores {annotation.reward:.6g}"


def _joined(reasons: Sequence[str | None]) -> str | None:
    return "; ".join([reason for reason in reasons if reason]) or None
