"""Contracts: ids by rule, resolution, and the check of a payload."""

import pytest

from hylo_eval import verify
from hylo_eval.verify import (
    TRACE_ANNOTATION_LOG_TYPES,
    resolve_annotation_reward_contract_id,
    resolve_reward_contract,
    validate_reward_contract_payload,
)


def test_ids_follow_the_shape():
    """Boxes score by IoU, points and segments by distance; twelve types in all."""
    assert len(set(TRACE_ANNOTATION_LOG_TYPES)) == 12
    for name in TRACE_ANNOTATION_LOG_TYPES:
        ending = "soft_iou_v0" if name.startswith("bbox") else "soft_distance_v0"
        assert resolve_annotation_reward_contract_id(name) == f"{name}_{ending}"


@pytest.mark.parametrize("name", ["", "segment_map", "segment_sequence", "BBOX", None])
def test_unknown_annotation_type_raises(name):
    """There is no scorer for it, and the error lists the types that have one."""
    with pytest.raises(ValueError, match="bbox_set_map"):
        resolve_annotation_reward_contract_id(name)


def test_resolved_contract_is_valid():
    """What is resolved for two types validates against them."""
    contract = resolve_reward_contract(answer_type=" integer ", annotation_type="point_set").to_dict()
    assert contract == {
        "reward_contract_version": "v0",
        "answer": {"id": "answer_exact_match_v0", "type": "integer"},
        "annotation": {"id": "point_set_soft_distance_v0", "type": "point_set"},
    }
    assert validate_reward_contract_payload(contract, answer_type="integer", annotation_type="point_set") is None
    assert validate_reward_contract_payload(contract) is None
    with pytest.raises(ValueError, match="answer_type"):
        resolve_reward_contract(answer_type=" ", annotation_type="point")


def changed(side, members):
    contract = resolve_reward_contract(answer_type="integer", annotation_type="point").to_dict()
    contract[side] = contract[side] | members
    return contract


@pytest.mark.parametrize(
    ("payload", "named"),
    [
        (None, "reward_contract must"),
        ({}, "reward_contract_version"),
        ({"reward_contract_version": "v1"}, "reward_contract_version"),
        ({"reward_contract_version": "v0"}, "reward_contract.answer"),
        (changed("answer", {"id": "fuzzy"}), "reward_contract.answer.id"),
        (changed("answer", {"type": ""}), "reward_contract.answer.type"),
        (changed("answer", {"type": "number"}), "reward_contract.answer.type"),
        (changed("annotation", {"id": 7}), "reward_contract.annotation.id"),
        (changed("annotation", {"id": "bbox_soft_iou_v0"}), "reward_contract.annotation.id"),
        (changed("annotation", {"type": "bbox"}), "reward_contract.annotation.type"),
    ],
)
def test_what_is_wrong_with_a_payload_is_named(payload, named):
    """The message starts with the place."""
    message = validate_reward_contract_payload(payload, answer_type="integer", annotation_type="point")
    assert message.startswith(named)


def test_unknown_truth_type_is_a_message():
    """A truth of no known type is reported, not raised."""
    contract = changed("annotation", {"type": "blob"})
    assert "blob" in validate_reward_contract_payload(contract, annotation_type="blob")


def test_truth_type_that_is_no_text_is_a_message():
    """A truth whose type is no text matches no contract and is reported, not raised."""
    assert "answer.type" in validate_reward_contract_payload(changed("answer", {}), answer_type=5)
    assert "annotation.type" in validate_reward_contract_payload(changed("answer", {}), annotation_type=5)


def test_public_names_load_on_demand():
    """Every name of the table loads; any other is an attribute error."""
    assert all(getattr(verify, name) is not None for name in verify._HOMES)
    assert list(verify._HOMES) == sorted(verify._HOMES)
    assert set(verify._HOMES) <= set(dir(verify))
    with pytest.raises(AttributeError, match="no attribute 'score'"):
        _ = verify.score
