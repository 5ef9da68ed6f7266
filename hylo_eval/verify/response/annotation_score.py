"""The annotation reward: contract check, reading of both sides, similarity, aggregation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, cast

import attrs

from hylo_eval.verify.response.annotation import read_annotation, read_truth_annotation
from hylo_eval.verify.response.contracts import ANNOTATION_KINDS, AnnotationKind
from hylo_eval.verify.response.matching import matched_similarities
from hylo_eval.verify.response.parsing import as_mapping
from hylo_eval.verify.response.similarity import pair_similarity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hylo_eval.verify.response.annotation import Annotation
    from hylo_eval.verify.response.coordinates import Item, ItemTable
    from hylo_eval.verify.response.parsing import LenientParser


@attrs.frozen
class AnnotationScore:
    """What an annotation is worth.

    Attributes:
        reward: In [0, 1]; 0 if it could not be scored.
        reason: Why it could not be scored; None if it was.
        details: Figures of the type, by their names without the prefix `annotation_`; empty if not scored.
    """

    reward: float
    reason: str | None = None
    details: Mapping[str, float] = attrs.field(factory=dict[str, float])


class _Match(NamedTuple):
    """Reward, number of assigned pairs, and their mean similarity."""

    reward: float
    assigned: int
    mean: float


_BOTH_EMPTY = _Match(1.0, 0, 0.0)


def annotation_type(annotation_gt: object) -> str:
    """The declared annotation type, stripped; empty if there is none."""
    truth = as_mapping(annotation_gt)
    name = None if truth is None else truth.get("type")
    return name.strip() if isinstance(name, str) else ""


def score_annotation(
    value: object,
    annotation_gt: object,
    reward_contract: object,
    *,
    half_life_px: float,
    parser: LenientParser,
) -> AnnotationScore:
    """Score a predicted annotation against a typed truth under its contract.

    Args:
        value: The predicted annotation, parsed or as text.
        annotation_gt: Mapping with the declared `type` and the true `value`, in pixels.
        reward_contract: Mapping whose `annotation` must name the scorer of that type.
        half_life_px: Half-life of point and segment similarity, in pixels.
        parser: The parser of the response, for values that are text.
    """
    name = annotation_type(annotation_gt)
    kind = ANNOTATION_KINDS.get(name)
    if kind is None:
        return AnnotationScore(0.0, f"annotation_gt has no known type: {name!r}")
    mismatch = _contract_mismatch(kind, reward_contract)
    if mismatch is not None:
        return AnnotationScore(0.0, mismatch)
    truth_value = cast("Mapping[object, object]", annotation_gt).get("value")
    truth = read_truth_annotation(kind, truth_value)
    if truth is None:
        return AnnotationScore(0.0, f"annotation_gt.value is no {kind.name}")
    predicted = read_annotation(kind, value, parser)
    if predicted is None:
        return AnnotationScore(0.0, f"the annotation is no {kind.name}")
    return _score(kind, predicted, truth, half_life_px)


def _contract_mismatch(kind: AnnotationKind, reward_contract: object) -> str | None:
    contract = as_mapping(reward_contract)
    if contract is None:
        return "reward_contract is no mapping"
    matcher = as_mapping(contract.get("annotation")) or {}
    declared = matcher.get("type", "")
    if _stripped(declared) not in ("", kind.name):
        return f"reward_contract.annotation.type is {declared!r}, but the truth is a {kind.name}"
    if _stripped(matcher.get("id", "")) != kind.contract_id:
        return f"reward_contract.annotation.id is {matcher.get('id')!r}, not {kind.contract_id!r}"
    return None


def _stripped(value: object) -> str:
    """Text without the space around it; anything but text is no match for any name."""
    return value.strip() if isinstance(value, str) else f"<{type(value).__name__}>"


def _score(kind: AnnotationKind, predicted: Annotation, truth: Annotation, half_life_px: float) -> AnnotationScore:
    if kind.arrangement == "scalar":
        similarity = pair_similarity(kind.shape, cast("Item", predicted), cast("Item", truth), half_life_px)
        match, details = _Match(similarity, 1, similarity), {"pred_size": 1.0, "gt_size": 1.0}
    elif kind.arrangement in ("set", "sequence"):
        items = cast("ItemTable", predicted), cast("ItemTable", truth)
        unit = "size" if kind.arrangement == "set" else "len"
        details = {f"pred_{unit}": float(len(items[0])), f"gt_{unit}": float(len(items[1]))}
        match = _match_items(kind, items[0], items[1], half_life_px)
    else:
        maps = cast("dict[str, ItemTable]", predicted), cast("dict[str, ItemTable]", truth)
        match = _match_maps(kind, maps[0], maps[1], half_life_px)
        shared = len(maps[0].keys() & maps[1].keys())
        details = {
            "pred_size": float(len(maps[0])),
            "gt_size": float(len(maps[1])),
            "shared_key_count": float(shared),
            "missing_key_count": float(len(maps[1]) - shared),
            "extra_key_count": float(len(maps[0]) - shared),
        }
    details["assigned_count"] = float(match.assigned)
    if kind.shape == "bbox":
        details["assigned_iou_mean"] = match.mean
    else:
        details["assigned_similarity_mean"] = match.mean
        details["point_half_life_px"] = half_life_px
    return AnnotationScore(match.reward, None, details)


def _match_items(kind: AnnotationKind, predicted: ItemTable, truth: ItemTable, half_life_px: float) -> _Match:
    if not len(predicted) and not len(truth):
        return _BOTH_EMPTY
    if kind.arrangement == "sequence":
        pairs = zip(predicted, truth, strict=False)
        similarities = [pair_similarity(kind.shape, a, b, half_life_px) for a, b in pairs]
    else:
        similarities = matched_similarities(kind.shape, predicted, truth, half_life_px)
    return _aggregate(similarities, max(len(predicted), len(truth)))


def _match_maps(
    kind: AnnotationKind,
    predicted: Mapping[str, ItemTable],
    truth: Mapping[str, ItemTable],
    half_life_px: float,
) -> _Match:
    """Every key of either side counts; a key that one side lacks scores nothing."""
    keys = predicted.keys() | truth.keys()
    if not keys:
        return _BOTH_EMPTY
    shared = sorted(predicted.keys() & truth.keys())
    if kind.arrangement == "map":
        items = [(cast("Item", predicted[key]), cast("Item", truth[key])) for key in shared]
        return _aggregate([pair_similarity(kind.shape, a, b, half_life_px) for a, b in items], len(keys))
    matches = [_match_items(kind, predicted[key], truth[key], half_life_px) for key in shared]
    means = [match.mean for match in matches if match.assigned]
    return _Match(
        sum(match.reward for match in matches) / len(keys),
        sum(match.assigned for match in matches),
        sum(means) / len(means) if means else 0.0,
    )


def _aggregate(similarities: Sequence[float], divisor: int) -> _Match:
    total = sum(similarities)
    return _Match(total / divisor, len(similarities), total / len(similarities) if similarities else 0.0)
