"""Reward contracts v0: the annotation types, the id of each one's scorer, and the checks of a payload."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, cast

import attrs

REWARD_CONTRACT_VERSION = "v0"
ANSWER_REWARD_CONTRACT_ID = "answer_exact_match_v0"

Shape = Literal["bbox", "point", "segment"]
Arrangement = Literal["scalar", "set", "sequence", "map", "set_map"]


@attrs.frozen
class AnnotationKind:
    """One public annotation type.

    Attributes:
        name: The type as truth and contract write it.
        shape: What one item is.
        arrangement: How items are put together.
    """

    name: str
    shape: Shape
    arrangement: Arrangement

    @property
    def contract_id(self) -> str:
        """The id of the scorer that this type calls for."""
        return f"{self.name}_soft_iou_v0" if self.shape == "bbox" else f"{self.name}_soft_distance_v0"


ANNOTATION_KINDS: Mapping[str, AnnotationKind] = {
    kind.name: kind
    for kind in (
        AnnotationKind("bbox", "bbox", "scalar"),
        AnnotationKind("bbox_set", "bbox", "set"),
        AnnotationKind("bbox_sequence", "bbox", "sequence"),
        AnnotationKind("bbox_map", "bbox", "map"),
        AnnotationKind("bbox_set_map", "bbox", "set_map"),
        AnnotationKind("point", "point", "scalar"),
        AnnotationKind("point_set", "point", "set"),
        AnnotationKind("point_sequence", "point", "sequence"),
        AnnotationKind("point_map", "point", "map"),
        AnnotationKind("point_set_map", "point", "set_map"),
        AnnotationKind("segment", "segment", "scalar"),
        AnnotationKind("segment_set", "segment", "set"),
    )
}
"""Every annotation type by its name."""

TRACE_ANNOTATION_LOG_TYPES: tuple[str, ...] = tuple(ANNOTATION_KINDS)
"""The types that a score reports one-hot, as `annotation_type_<type>`."""

_CONTRACT_IDS: Mapping[str, str] = {name: kind.contract_id for name, kind in ANNOTATION_KINDS.items()}


@attrs.frozen
class RewardMatcher:
    """One side of a reward contract: the scorer's id and the type it scores."""

    id: str
    type: str

    def to_dict(self) -> dict[str, str]:
        """The JSON form."""
        return {"id": self.id, "type": self.type}


@attrs.frozen
class RewardContract:
    """The contract of one instance, as `reward_contract` in its JSON form."""

    reward_contract_version: str
    answer: RewardMatcher
    annotation: RewardMatcher

    def to_dict(self) -> dict[str, object]:
        """The JSON form."""
        return {
            "reward_contract_version": self.reward_contract_version,
            "answer": self.answer.to_dict(),
            "annotation": self.annotation.to_dict(),
        }


def resolve_annotation_reward_contract_id(annotation_type: str) -> str:
    """The id of the scorer of an annotation type.

    Raises:
        ValueError: There is no such type.
    """
    name = annotation_type.strip() if isinstance(annotation_type, str) else ""
    contract_id = _CONTRACT_IDS.get(name)
    if contract_id is None:
        known = ", ".join(ANNOTATION_KINDS)
        raise ValueError(f"annotation_type must be one of {known}, not {annotation_type!r}")
    return contract_id


def resolve_reward_contract(*, answer_type: str, annotation_type: str) -> RewardContract:
    """The contract for an answer type and an annotation type.

    Any non-empty answer type is accepted: every one is scored by exact match.

    Raises:
        ValueError: The answer type is empty, or the annotation type unknown.
    """
    answer_name = answer_type.strip() if isinstance(answer_type, str) else ""
    if not answer_name:
        raise ValueError(f"answer_type must be a non-empty text, not {answer_type!r}")
    annotation_id = resolve_annotation_reward_contract_id(annotation_type)
    return RewardContract(
        reward_contract_version=REWARD_CONTRACT_VERSION,
        answer=RewardMatcher(ANSWER_REWARD_CONTRACT_ID, answer_name),
        annotation=RewardMatcher(annotation_id, annotation_type.strip()),
    )


def validate_reward_contract_payload(
    payload: object, *, answer_type: str | None = None, annotation_type: str | None = None
) -> str | None:
    """What is wrong with a contract's JSON form, or None.

    Args:
        payload: The contract as an instance carries it.
        answer_type: The truth's answer type, if the contract must match it.
        annotation_type: The truth's annotation type, if the contract must match it.
    """
    if not isinstance(payload, Mapping):
        return "reward_contract must be an object"
    contract = cast("Mapping[object, object]", payload)
    version = contract.get("reward_contract_version")
    if version != REWARD_CONTRACT_VERSION:
        return f"reward_contract_version must be {REWARD_CONTRACT_VERSION!r}, not {version!r}"
    return _side_error(contract, "answer", answer_type, frozenset({ANSWER_REWARD_CONTRACT_ID})) or _annotation_error(
        contract, annotation_type
    )


def _annotation_error(contract: Mapping[object, object], annotation_type: str | None) -> str | None:
    error = _side_error(contract, "annotation", annotation_type, frozenset(_CONTRACT_IDS.values()))
    if error is not None or annotation_type is None:
        return error
    side = cast("Mapping[object, object]", contract["annotation"])
    try:
        expected = resolve_annotation_reward_contract_id(annotation_type)
    except ValueError as unknown:
        return str(unknown)
    if side["id"] != expected:
        return f"reward_contract.annotation.id must be {expected!r} for this annotation type, not {side['id']!r}"
    return None


def _side_error(
    contract: Mapping[object, object], name: str, truth_type: str | None, known_ids: frozenset[str]
) -> str | None:
    side = contract.get(name)
    if not isinstance(side, Mapping):
        return f"reward_contract.{name} must be an object with the keys id and type"
    matcher = cast("Mapping[object, object]", side)
    for key in ("id", "type"):
        text = matcher.get(key)
        if not isinstance(text, str) or not text:
            return f"reward_contract.{name}.{key} must be a non-empty text"
    if matcher["id"] not in known_ids:
        return f"reward_contract.{name}.id must be one of {', '.join(sorted(known_ids))}, not {matcher['id']!r}"
    if truth_type is not None and str(truth_type).strip() != matcher["type"]:
        return f"reward_contract.{name}.type must be the truth's {truth_type!r}, not {matcher['type']!r}"
    return None
