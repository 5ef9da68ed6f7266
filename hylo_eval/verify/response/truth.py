"""What a recorded response is scored against, as a task carries it in ``params["truth"]``.

Everything that decides a score stands here, so it is in the task's digest: a wrong or unknown member is refused,
because a truth that silently scores zero would look like a failure of the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, cast

import attrs

from hylo_core.contract import Contract, integer, number, one_of
from hylo_core.errors import ContractError
from hylo_core.frozen import FrozenMapping, freeze, freeze_mapping, thaw
from hylo_eval.verify.response.annotation import read_annotation
from hylo_eval.verify.response.bounds import check_within_picture
from hylo_eval.verify.response.contracts import ANNOTATION_KINDS, validate_reward_contract_payload
from hylo_eval.verify.response.coordinates import ItemTable, read_items
from hylo_eval.verify.response.frames import CoordinateFrame
from hylo_eval.verify.response.half_life import usable_image_size
from hylo_eval.verify.response.parsing import LenientParser
from hylo_eval.verify.response.trajectory import DEFAULT_SAMPLE_COUNT
from hylo_eval.verify.response.truth_values import check_answer_value, written_answer

if TYPE_CHECKING:
    from hylo_eval.verify.response.regions import Region
    from hylo_eval.verify.response.score import TraceScore

_NO_ANNOTATION: Mapping[str, Any] = FrozenMapping({})


def _optional_mapping(path: str) -> Any:
    freeze_members = freeze_mapping(path)

    def convert(value: object) -> Any:
        return None if value is None else freeze_members(value)

    return cast("Any", attrs.field(default=None, converter=convert))


def _optional_list(path: str) -> Any:
    def convert(value: object) -> Any:
        return None if value is None else freeze(value, path)

    return cast("Any", attrs.field(default=None, converter=convert))


@attrs.frozen(kw_only=True)
class ResponseTruth(Contract):
    """The truth of one question, and how a response is scored against it.

    Attributes:
        answer: ``{"type": …, "value": …}`` of the true answer. The digits of an integer or number beyond 2**53, which
            JSON cannot hold exactly, stand as text.
        contract: The reward contract of both types.
        mode: ``answer``, or ``answer_and_annotation``.
        annotation: The same as ``answer`` for the annotation, in pixels; needed in annotation mode.
        image_size: Width and height in pixels: selects the half-life, scales frames other than pixels, and bounds the
            coordinates of annotation and region.
        answer_weight: Weight of the answer, not negative.
        annotation_weight: Weight of the annotation, not negative.
        formula: How answer and annotation are put together.
        format_weight: Share of the format in the overall score, in [0, 1].
        annotation_tau: Least annotation reward that counts as success, in [0, 1]; needed in annotation mode.
        point_half_life_px: Distance at which a point or segment scores 0.5; None is the contract's own rule.
        coordinate_unit: The unit that the prompt asks coordinates in.
        coordinate_order: Which axis comes first.
        region: ``{"kind": …, "value": …}`` that points should hit (:mod:`hylo_eval.verify.response.regions`).
        expected_count: How many points there should be.
        trajectory: The true visual trace, a list of points in pixels.
        sample_count: Samples at which trajectories are compared.
    """

    answer: Mapping[str, Any] = attrs.field(converter=freeze_mapping("answer"))
    contract: Mapping[str, Any] = attrs.field(converter=freeze_mapping("contract"))
    mode: Literal["answer", "answer_and_annotation"] = attrs.field(validator=one_of("answer", "answer_and_annotation"))
    answer_weight: float = attrs.field(validator=number(minimum=0))
    annotation_weight: float = attrs.field(validator=number(minimum=0))
    annotation: Mapping[str, Any] | None = _optional_mapping("annotation")
    image_size: tuple[float, ...] | None = _optional_list("image_size")
    formula: Literal["gated", "additive"] = attrs.field(default="gated", validator=one_of("gated", "additive"))
    format_weight: float = attrs.field(default=0.0, validator=number(minimum=0))
    annotation_tau: float | None = attrs.field(default=None, validator=number(optional=True, minimum=0))
    point_half_life_px: float | None = attrs.field(default=None, validator=number(optional=True, minimum=0))
    coordinate_unit: Literal["pixel", "unit", "per_mille", "percent"] = attrs.field(
        default="pixel", validator=one_of("pixel", "unit", "per_mille", "percent")
    )
    coordinate_order: Literal["xy", "yx"] = attrs.field(default="xy", validator=one_of("xy", "yx"))
    region: Mapping[str, Any] | None = _optional_mapping("region")
    expected_count: int | None = attrs.field(default=None, validator=integer(minimum=0, optional=True))
    trajectory: tuple[Any, ...] | None = _optional_list("trajectory")
    sample_count: int = attrs.field(default=DEFAULT_SAMPLE_COUNT, validator=integer(minimum=2, below=10_001))

    def __attrs_post_init__(self) -> None:
        self._check_weights()
        size = self._picture_size()
        _check_typed(self.answer, "answer")
        check_answer_value(self.answer["type"], self.answer["value"])
        if self.annotation is not None:
            _check_typed(self.annotation, "annotation")
            kind = ANNOTATION_KINDS.get(str(self.annotation["type"]))
            if kind is None:
                raise ContractError(f"must be one of {', '.join(ANNOTATION_KINDS)}", path="annotation.type")
            read = read_annotation(kind, thaw(self.annotation["value"]), LenientParser())
            if read is None:
                raise ContractError(f"is no {kind.name}", path="annotation.value")
            if size is not None:
                check_within_picture(read, size, "annotation.value")
        elif self.mode == "answer_and_annotation":
            raise ContractError("is needed in the mode answer_and_annotation", path="annotation")
        mismatch = validate_reward_contract_payload(
            thaw(self.contract),
            answer_type=str(self.answer["type"]),
            annotation_type=None if self.annotation is None else str(self.annotation["type"]),
        )
        if mismatch is not None:
            raise ContractError(mismatch, path="contract")
        self._check_siblings(size)

    @property
    def frame(self) -> CoordinateFrame:
        """The frame that the prompt asks coordinates in."""
        return CoordinateFrame(unit=self.coordinate_unit, order=self.coordinate_order)

    @cached_property
    def scoring_arguments(self) -> dict[str, Any]:
        """What `score_trace_response_detailed` takes of the truth, as plain values that nobody changes."""
        return {
            "answer_gt": written_answer(thaw(self.answer)),
            "annotation_gt": thaw(self.annotation or _NO_ANNOTATION),
            "reward_contract": thaw(self.contract),
            "point_half_life_px": self.point_half_life_px,
            "image_size": None if self.image_size is None else list(self.image_size),
            "answer_weight": self.answer_weight,
            "annotation_weight": self.annotation_weight,
            "trace_reward_mode": self.mode,
            "trace_annotation_reward_formula": self.formula,
            "format_weight": self.format_weight,
        }

    def _check_weights(self) -> None:
        if self.answer_weight + self.annotation_weight <= 0:
            raise ContractError("and annotation_weight must not both be 0", path="answer_weight")
        if self.format_weight > 1:
            raise ContractError(f"must be at most 1, not {self.format_weight:g}", path="format_weight")
        if self.mode == "answer_and_annotation" and self.annotation_tau is None:
            raise ContractError("is needed in the mode answer_and_annotation", path="annotation_tau")
        if self.annotation_tau is not None and self.annotation_tau > 1:
            raise ContractError(f"must be at most 1, not {self.annotation_tau:g}", path="annotation_tau")
        if self.point_half_life_px == 0:
            raise ContractError("must be above 0", path="point_half_life_px")
        if self.coordinate_unit != "pixel" and self.image_size is None:
            raise ContractError(f"is needed by coordinates in {self.coordinate_unit}", path="image_size")

    def _picture_size(self) -> tuple[float, float] | None:
        size = None if self.image_size is None else usable_image_size(list(self.image_size))
        if self.image_size is not None and size is None:
            raise ContractError("must be [width, height] in pixels, both positive", path="image_size")
        return size

    def _check_siblings(self, size: tuple[float, float] | None) -> None:
        from hylo_eval.verify.response.regions import read_region
        from hylo_eval.verify.response.trajectory import score_trajectory_rmse

        if self.region is not None:
            if set(self.region) != {"kind", "value"}:
                raise ContractError('must be {"kind": …, "value": …}', path="region")
            try:
                region = read_region(str(self.region["kind"]), thaw(self.region["value"]))
            except ValueError as error:
                raise ContractError(str(error), path="region") from None
            _check_region(region, size)
        if self.trajectory is not None:
            truth = thaw(self.trajectory)
            try:
                score_trajectory_rmse(truth, truth)
            except ValueError as error:
                raise ContractError(str(error), path="trajectory") from None
            if size is not None:
                check_within_picture(cast("ItemTable", read_items("point", truth)), size, "trajectory")


def _check_region(region: Region, size: tuple[float, float] | None) -> None:
    """Refuse a region that no point can hit, or whose pixels are not those of the picture."""
    from hylo_eval.verify.response.regions import BoxRegion, MaskRegion, PolygonRegion

    if isinstance(region, MaskRegion) and not region.mask.any():
        raise ContractError("has no pixel set, so that no point can hit it", path="region.value")
    if size is None:
        return
    if isinstance(region, MaskRegion) and region.mask.shape != size[::-1]:
        height, width = region.mask.shape
        raise ContractError(
            f"is a mask of {width} x {height} pixels, but image_size says {size[0]:g} x {size[1]:g}; points are in "
            "pixels of the picture",
            path="region.value",
        )
    if isinstance(region, BoxRegion):
        check_within_picture(region.corners, size, "region.value")
    elif isinstance(region, PolygonRegion):
        check_within_picture(ItemTable(tuple(zip(*region.corners, strict=True))), size, "region.value")


def _check_typed(value: Mapping[str, Any], path: str) -> None:
    if set(value) != {"type", "value"} or not isinstance(value["type"], str) or not value["type"].strip():
        raise ContractError('must be {"type": …, "value": …} with a text as type', path=path)


def read_truth(params: Mapping[str, Any]) -> ResponseTruth:
    """The truth of a task, from its params.

    Raises:
        ContractError: There is none, or it breaks the contract; the error names the member.
    """
    found = params.get("truth")
    if not isinstance(found, Mapping):
        raise ContractError("is missing: what a response is scored against", path="params.truth")
    try:
        return ResponseTruth.from_dict(thaw(cast("Mapping[str, Any]", found)))
    except ContractError as error:
        raise error.under("params.truth") from None


def score_against(response: str, truth: ResponseTruth, frame: CoordinateFrame | None = None) -> TraceScore:
    """Score a response against a task's truth.

    Args:
        response: The whole response.
        truth: What is true.
        frame: The frame the coordinates are in, in place of the one the prompt asked for.

    Raises:
        ValueError: The frame needs an image size, and the truth has none.
    """
    from hylo_eval.verify.response.score import score_trace_response_detailed

    return score_trace_response_detailed(
        response=response, coordinate_frame=frame or truth.frame, **truth.scoring_arguments
    )


def is_correct(score: TraceScore, truth: ResponseTruth) -> bool:
    """Binary success: the answer is right and, in annotation mode, the annotation scores at least tau."""
    if score.values["answer_reward"] != 1.0:
        return False
    return (
        truth.annotation_tau is None
        or truth.mode == "answer"
        or (score.values["annotation_reward"] >= truth.annotation_tau)
    )
