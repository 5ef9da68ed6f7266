"""What a run is made of, for tests of its parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hylo_core import AgentInfo, AgentSpec, EnvSpec
from hylo_core.trace import BenchmarkRef
from hylo_eval import plan_run
from hylo_eval.evaluation.plan import Plan
from hylo_eval.evaluation.recipe import Recipe, RunSetup
from tests.episodes import benchmark

BENCHMARK = BenchmarkRef(id="unit", version="1", digest="sha256:0", split="heldout")


def setup(**changes: Any) -> RunSetup:
    """An agent, an env and no filters."""
    members: dict[str, Any] = {
        "agent": AgentInfo(name="function", version="1"),
        "agent_spec": AgentSpec(),
        "agent_ref": {},
        "env_spec": EnvSpec(),
        "env_ref": {},
        "safety": (),
        "versions": {"scripted": "1"},
        "renderer": "none",
        "max_attempts": 3,
    }
    return RunSetup(**{**members, **changes})


def recipe(run: Path, **changes: Any) -> Recipe:
    """A recipe that nobody cooks."""
    return Recipe(**{"benchmark": BENCHMARK, "env": "x:Env", "agent": "zero", "run": str(run), **changes})


def plan(**options: Any) -> Plan:
    """Four seeds of one task, unless told otherwise."""
    return plan_run(benchmark(), **options)
