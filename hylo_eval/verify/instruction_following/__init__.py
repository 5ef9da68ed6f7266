"""Deterministic checks of instructions that a response can be measured against (the public IFEval ids)."""

from hylo_eval.verify.instruction_following.evaluation import (
    ConstraintResult,
    check_constraints,
    evaluate_constraints,
)

__all__ = ["ConstraintResult", "check_constraints", "evaluate_constraints"]
