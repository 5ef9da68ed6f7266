"""The verdict layer: answers judged by a written contract.

The grader contract goes from ``verifier.toml`` to a verdict; the Trace response scorer from a model's text to rewards.
Names are imported when they are first asked for, so that a command pays for what it uses only.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from hylo_eval.verify.aggregation import Aggregation, aggregate_rewards
    from hylo_eval.verify.candidate import candidate_spec, grade_candidate
    from hylo_eval.verify.grade import grade
    from hylo_eval.verify.json_comparison import NumericTypePolicy, json_values_equal
    from hylo_eval.verify.modes import IN_PROCESS_MODES, Mode
    from hylo_eval.verify.modes.numeric import grade_numeric_candidate_float
    from hylo_eval.verify.modes.structured_exact import grade_structured_exact_candidate
    from hylo_eval.verify.response.contracts import (
        TRACE_ANNOTATION_LOG_TYPES,
        resolve_annotation_reward_contract_id,
        resolve_reward_contract,
        validate_reward_contract_payload,
    )
    from hylo_eval.verify.response.extraction import extract_trace_answer_for_scoring, extract_trace_prediction
    from hylo_eval.verify.response.final_object import evaluate_trace_response_format
    from hylo_eval.verify.response.frames import CoordinateFrame
    from hylo_eval.verify.response.jsonl import parse_response_records
    from hylo_eval.verify.response.pointing import score_exact_count, score_one_point_per_region, score_points_in_region
    from hylo_eval.verify.response.regions import read_region
    from hylo_eval.verify.response.score import (
        is_trace_reward_input,
        score_trace_response,
        score_trace_response_detailed,
    )
    from hylo_eval.verify.response.trajectory import score_trajectory_rmse, score_trajectory_similarity
    from hylo_eval.verify.spec import parse_spec, render_spec
    from hylo_eval.verify.specs.answer import FunctionCall
    from hylo_eval.verify.specs.fields import SpecError
    from hylo_eval.verify.verdict import GradingInfraError, InvalidTask, Reward, Status
    from hylo_eval.verify.verdict_files import write_verdict

_HOMES: Final[dict[str, str]] = {
    "Aggregation": "aggregation",
    "CoordinateFrame": "response.frames",
    "FunctionCall": "specs.answer",
    "GradingInfraError": "verdict",
    "IN_PROCESS_MODES": "modes",
    "InvalidTask": "verdict",
    "Mode": "modes",
    "NumericTypePolicy": "json_comparison",
    "Reward": "verdict",
    "SpecError": "specs.fields",
    "Status": "verdict",
    "TRACE_ANNOTATION_LOG_TYPES": "response.contracts",
    "aggregate_rewards": "aggregation",
    "candidate_spec": "candidate",
    "evaluate_trace_response_format": "response.final_object",
    "extract_trace_answer_for_scoring": "response.extraction",
    "extract_trace_prediction": "response.extraction",
    "grade": "grade",
    "grade_candidate": "candidate",
    "grade_numeric_candidate_float": "modes.numeric",
    "grade_structured_exact_candidate": "modes.structured_exact",
    "is_trace_reward_input": "response.score",
    "json_values_equal": "json_comparison",
    "parse_response_records": "response.jsonl",
    "parse_spec": "spec",
    "read_region": "response.regions",
    "render_spec": "spec",
    "resolve_annotation_reward_contract_id": "response.contracts",
    "resolve_reward_contract": "response.contracts",
    "score_exact_count": "response.pointing",
    "score_one_point_per_region": "response.pointing",
    "score_points_in_region": "response.pointing",
    "score_trace_response": "response.score",
    "score_trace_response_detailed": "response.score",
    "score_trajectory_rmse": "response.trajectory",
    "score_trajectory_similarity": "response.trajectory",
    "validate_reward_contract_payload": "response.contracts",
    "write_verdict": "verdict_files",
}

__all__ = [
    "IN_PROCESS_MODES",
    "TRACE_ANNOTATION_LOG_TYPES",
    "Aggregation",
    "CoordinateFrame",
    "FunctionCall",
    "GradingInfraError",
    "InvalidTask",
    "Mode",
    "NumericTypePolicy",
    "Reward",
    "SpecError",
    "Status",
    "aggregate_rewards",
    "candidate_spec",
    "evaluate_trace_response_format",
    "extract_trace_answer_for_scoring",
    "extract_trace_prediction",
    "grade",
    "grade_candidate",
    "grade_numeric_candidate_float",
    "grade_structured_exact_candidate",
    "is_trace_reward_input",
    "json_values_equal",
    "parse_response_records",
    "parse_spec",
    "read_region",
    "render_spec",
    "resolve_annotation_reward_contract_id",
    "resolve_reward_contract",
    "score_exact_count",
    "score_one_point_per_region",
    "score_points_in_region",
    "score_trace_response",
    "score_trace_response_detailed",
    "score_trajectory_rmse",
    "score_trajectory_similarity",
    "validate_reward_contract_payload",
    "write_verdict",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)


class _Package(ModuleType):
    """This package, whose public names stay what they are whichever submodules were imported."""

    def __setattr__(self, name: str, value: Any) -> None:
        # The import system binds a submodule in its package: the module ``grade`` would hide the function.
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
