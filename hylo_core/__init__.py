"""What is evaluated: tasks, benchmarks, traces and scores as immutable values with digests."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hylo_core.benchmark import Benchmark, TaskProvider
    from hylo_core.contract import Contract
    from hylo_core.errors import ContractError, DigestMismatch, HyloError, RefError, SchemaError
    from hylo_core.score import Grader, Score, Scorer
    from hylo_core.seeds import derive_seed
    from hylo_core.spec import (
        ActionSlice,
        AgentSpec,
        CameraSpec,
        EnvSpec,
        ImagePreparation,
        SpecDifference,
        StateSpec,
        compare_specs,
    )
    from hylo_core.task import InitSpec, InitStateRef, Predicate, SeedInit, SnapshotInit, TaskInstance, TaskSpec
    from hylo_core.trace import AgentInfo, EpisodeStatus, EpisodeTrace, GradeEvent
    from hylo_core.verifier import VerifierRef

_HOMES = {
    "ActionSlice": "spec",
    "AgentInfo": "trace",
    "AgentSpec": "spec",
    "Benchmark": "benchmark",
    "CameraSpec": "spec",
    "Contract": "contract",
    "ContractError": "errors",
    "DigestMismatch": "errors",
    "EnvSpec": "spec",
    "EpisodeStatus": "trace",
    "EpisodeTrace": "trace",
    "GradeEvent": "trace",
    "Grader": "score",
    "HyloError": "errors",
    "ImagePreparation": "spec",
    "InitSpec": "task",
    "InitStateRef": "task",
    "Predicate": "task",
    "RefError": "errors",
    "SchemaError": "errors",
    "Score": "score",
    "Scorer": "score",
    "SeedInit": "task",
    "SnapshotInit": "task",
    "SpecDifference": "spec",
    "StateSpec": "spec",
    "TaskInstance": "task",
    "TaskProvider": "benchmark",
    "TaskSpec": "task",
    "VerifierRef": "verifier",
    "compare_specs": "spec",
    "derive_seed": "seeds",
}

__all__ = [
    "ActionSlice",
    "AgentInfo",
    "AgentSpec",
    "Benchmark",
    "CameraSpec",
    "Contract",
    "ContractError",
    "DigestMismatch",
    "EnvSpec",
    "EpisodeStatus",
    "EpisodeTrace",
    "GradeEvent",
    "Grader",
    "HyloError",
    "ImagePreparation",
    "InitSpec",
    "InitStateRef",
    "Predicate",
    "RefError",
    "SchemaError",
    "Score",
    "Scorer",
    "SeedInit",
    "SnapshotInit",
    "SpecDifference",
    "StateSpec",
    "TaskInstance",
    "TaskProvider",
    "TaskSpec",
    "VerifierRef",
    "compare_specs",
    "derive_seed",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that ``import hylo_core`` costs nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
