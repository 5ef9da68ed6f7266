"""The verdict layer behind the names that the grader contract's case runner uses.

The runner compares standard dataclasses and plain objects; the layer's attrs values are shown as such here.
"""

import dataclasses
import sys
from enum import Enum

import attrs

NAME = "hylo-eval"

CLI = [
    sys.executable,
    "-c",
    "import sys; from hylo_eval.verify.commands import main_verify; sys.exit(main_verify())",
]
CANDIDATE_FILE = [
    sys.executable,
    "-c",
    "import sys; from hylo_eval.verify.commands import main_candidate; sys.exit(main_candidate())",
]


def version():
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed("hylo-eval")
    except PackageNotFoundError:
        return "checkout"


def plain(value):
    if attrs.has(type(value)):
        return {field.name: plain(getattr(value, field.name)) for field in attrs.fields(type(value))}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    return value


class SpecTable(dict):
    """A specification's fields as a plain object, beside the specification itself."""

    def __init__(self, spec) -> None:
        super().__init__(plain(spec))
        self.spec = spec

    def __eq__(self, other) -> bool:
        # ``candidate_spec`` gives a bare specification, which is compared with a parsed one.
        return self.spec == (other.spec if isinstance(other, SpecTable) else other)

    __hash__ = None


def load():
    from hylo_eval.verify import (
        aggregation,
        candidate,
        closure_scoring,
        json_comparison,
        nl2bash,
        spec,
        structure_closure,
        tool_call_markup,
        verdict,
    )
    from hylo_eval.verify.modes import numeric
    from hylo_eval.verify.specs.answer import ClosureFormat, FunctionCall

    def unwrapped(value):
        return value.spec if isinstance(value, SpecTable) else value

    def score_closure_region(text, expected, structure_format):
        score = closure_scoring.score_closure_region(text, expected, structure_format)
        if not attrs.has(type(score)):
            return score
        names = [field.name for field in attrs.fields(type(score))]
        names += [name for name in ("success", "whole_response_success") if name not in names]
        holder = dataclasses.make_dataclass("Score", names)
        return holder(*(plain(getattr(score, name)) for name in names))

    return {
        "FunctionCall": FunctionCall,
        "candidate_spec": candidate.candidate_spec,
        "grade_candidate": candidate.grade_candidate,
        "IN_PROCESS_MODES": candidate.IN_PROCESS_MODES,
        "parse_spec": lambda text: SpecTable(spec.parse_spec(text)),
        "render_spec": lambda value: spec.render_spec(unwrapped(value)),
        "Reward": verdict.Reward,
        "Status": verdict.Status,
        "InvalidTask": verdict.InvalidTask,
        "aggregate_rewards": aggregation.aggregate_rewards,
        "Aggregation": aggregation.Aggregation,
        "json_values_equal": json_comparison.json_values_equal,
        "NumericTypePolicy": json_comparison.NumericTypePolicy,
        "score_capture": nl2bash.score_capture,
        "grade_numeric_candidate_float": numeric.grade_numeric_candidate_float,
        "json_closure_state": structure_closure.json_closure_state,
        "delimited_json_closure_state": structure_closure.delimited_json_closure_state,
        "paired_marker_closure_state": structure_closure.paired_marker_closure_state,
        "required_code_fence_state": structure_closure.required_code_fence_state,
        "ClosureFormat": ClosureFormat,
        "score_closure_region": score_closure_region,
        "continuation_outcome": closure_scoring.continuation_outcome,
        "closure_response_content": closure_scoring.closure_response_content,
        "tool_call_regions": tool_call_markup.tool_call_regions,
        "classify_tool_call_continuation": tool_call_markup.classify_tool_call_continuation,
    }
