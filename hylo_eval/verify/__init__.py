"""The verdict layer: the grader contract from ``verifier.toml`` to a verdict.

Names are imported when they are first asked for, so that a command pays for what it uses only.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

_NAMES: Final[dict[str, str]] = {
    "Aggregation": "hylo_eval.verify.aggregation",
    "FunctionCall": "hylo_eval.verify.specs.answer",
    "GradingInfraError": "hylo_eval.verify.verdict",
    "IN_PROCESS_MODES": "hylo_eval.verify.modes",
    "InvalidTask": "hylo_eval.verify.verdict",
    "Mode": "hylo_eval.verify.modes",
    "NumericTypePolicy": "hylo_eval.verify.json_comparison",
    "Reward": "hylo_eval.verify.verdict",
    "SpecError": "hylo_eval.verify.specs.fields",
    "Status": "hylo_eval.verify.verdict",
    "aggregate_rewards": "hylo_eval.verify.aggregation",
    "candidate_spec": "hylo_eval.verify.candidate",
    "grade": "hylo_eval.verify.grade",
    "grade_candidate": "hylo_eval.verify.candidate",
    "grade_numeric_candidate_float": "hylo_eval.verify.modes.numeric",
    "grade_structured_exact_candidate": "hylo_eval.verify.modes.structured_exact",
    "json_values_equal": "hylo_eval.verify.json_comparison",
    "parse_spec": "hylo_eval.verify.spec",
    "render_spec": "hylo_eval.verify.spec",
    "write_verdict": "hylo_eval.verify.verdict_files",
}


def __getattr__(name: str) -> Any:
    try:
        module = _NAMES[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    return getattr(import_module(module), name)


def __dir__() -> list[str]:
    return sorted(_NAMES)
