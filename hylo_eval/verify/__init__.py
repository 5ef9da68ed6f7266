"""The verdict layer: pure scoring of answers, by name and on demand.

Names are loaded when they are first asked for, so that importing this package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hylo_eval.verify.response.contracts import (
        TRACE_ANNOTATION_LOG_TYPES as TRACE_ANNOTATION_LOG_TYPES,
    )
    from hylo_eval.verify.response.contracts import (
        resolve_annotation_reward_contract_id as resolve_annotation_reward_contract_id,
    )
    from hylo_eval.verify.response.contracts import (
        resolve_reward_contract as resolve_reward_contract,
    )
    from hylo_eval.verify.response.contracts import (
        validate_reward_contract_payload as validate_reward_contract_payload,
    )
    from hylo_eval.verify.response.extraction import (
        extract_trace_answer_for_scoring as extract_trace_answer_for_scoring,
    )
    from hylo_eval.verify.response.extraction import (
        extract_trace_prediction as extract_trace_prediction,
    )
    from hylo_eval.verify.response.final_object import (
        evaluate_trace_response_format as evaluate_trace_response_format,
    )
    from hylo_eval.verify.response.frames import (
        CoordinateFrame as CoordinateFrame,
    )
    from hylo_eval.verify.response.jsonl import (
        parse_response_records as parse_response_records,
    )
    from hylo_eval.verify.response.pointing import (
        score_exact_count as score_exact_count,
    )
    from hylo_eval.verify.response.pointing import (
        score_one_point_per_region as score_one_point_per_region,
    )
    from hylo_eval.verify.response.pointing import (
        score_points_in_region as score_points_in_region,
    )
    from hylo_eval.verify.response.regions import (
        read_region as read_region,
    )
    from hylo_eval.verify.response.score import (
        is_trace_reward_input as is_trace_reward_input,
    )
    from hylo_eval.verify.response.score import (
        score_trace_response as score_trace_response,
    )
    from hylo_eval.verify.response.score import (
        score_trace_response_detailed as score_trace_response_detailed,
    )
    from hylo_eval.verify.response.trajectory import (
        score_trajectory_rmse as score_trajectory_rmse,
    )
    from hylo_eval.verify.response.trajectory import (
        score_trajectory_similarity as score_trajectory_similarity,
    )

_MODULES = {
    "CoordinateFrame": "hylo_eval.verify.response.frames",
    "TRACE_ANNOTATION_LOG_TYPES": "hylo_eval.verify.response.contracts",
    "evaluate_trace_response_format": "hylo_eval.verify.response.final_object",
    "extract_trace_answer_for_scoring": "hylo_eval.verify.response.extraction",
    "extract_trace_prediction": "hylo_eval.verify.response.extraction",
    "is_trace_reward_input": "hylo_eval.verify.response.score",
    "parse_response_records": "hylo_eval.verify.response.jsonl",
    "read_region": "hylo_eval.verify.response.regions",
    "resolve_annotation_reward_contract_id": "hylo_eval.verify.response.contracts",
    "resolve_reward_contract": "hylo_eval.verify.response.contracts",
    "score_exact_count": "hylo_eval.verify.response.pointing",
    "score_one_point_per_region": "hylo_eval.verify.response.pointing",
    "score_points_in_region": "hylo_eval.verify.response.pointing",
    "score_trace_response": "hylo_eval.verify.response.score",
    "score_trace_response_detailed": "hylo_eval.verify.response.score",
    "score_trajectory_rmse": "hylo_eval.verify.response.trajectory",
    "score_trajectory_similarity": "hylo_eval.verify.response.trajectory",
    "validate_reward_contract_payload": "hylo_eval.verify.response.contracts",
}
"""The public names and where they live, sorted, one a line."""


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
