"""How it is run, graded, scored, compared and reported."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hylo_eval.agents.protocol import Agent, AgentSession, Reply
    from hylo_eval.benchmarks import find_benchmark, load_benchmark
    from hylo_eval.envs.protocol import EnvFactory
    from hylo_eval.errors import AgentError, EnvError, EvalError, TraceError, VerificationError
    from hylo_eval.evallog.files import read_evallog, read_evallog_header, write_evallog
    from hylo_eval.evallog.v02 import EvalLog
    from hylo_eval.evaluation.conclusion import EvalResult
    from hylo_eval.evaluation.evaluate import evaluate
    from hylo_eval.evaluation.plan import Plan, plan_run
    from hylo_eval.evaluation.rescore import rescore
    from hylo_eval.evaluation.rescore_plan import plan_rescoring
    from hylo_eval.rollout.episode import run_episode
    from hylo_eval.rollout.result import EpisodeResult
    from hylo_eval.safety.protocol import FilteredAction, SafetyFilter
    from hylo_eval.traces.reader import read_trace
    from hylo_eval.traces.writer import TraceWriter

_HOMES = {
    "Agent": "agents.protocol",
    "AgentError": "errors",
    "AgentSession": "agents.protocol",
    "EnvError": "errors",
    "EnvFactory": "envs.protocol",
    "EpisodeResult": "rollout.result",
    "EvalError": "errors",
    "EvalLog": "evallog.v02",
    "EvalResult": "evaluation.conclusion",
    "FilteredAction": "safety.protocol",
    "Plan": "evaluation.plan",
    "Reply": "agents.protocol",
    "SafetyFilter": "safety.protocol",
    "TraceError": "errors",
    "TraceWriter": "traces.writer",
    "VerificationError": "errors",
    "evaluate": "evaluation.evaluate",
    "find_benchmark": "benchmarks",
    "load_benchmark": "benchmarks",
    "plan_rescoring": "evaluation.rescore_plan",
    "plan_run": "evaluation.plan",
    "read_evallog": "evallog.files",
    "read_evallog_header": "evallog.files",
    "read_trace": "traces.reader",
    "rescore": "evaluation.rescore",
    "run_episode": "rollout.episode",
    "write_evallog": "evallog.files",
}

__all__ = [
    "Agent",
    "AgentError",
    "AgentSession",
    "EnvError",
    "EnvFactory",
    "EpisodeResult",
    "EvalError",
    "EvalLog",
    "EvalResult",
    "FilteredAction",
    "Plan",
    "Reply",
    "SafetyFilter",
    "TraceError",
    "TraceWriter",
    "VerificationError",
    "evaluate",
    "find_benchmark",
    "load_benchmark",
    "plan_rescoring",
    "plan_run",
    "read_evallog",
    "read_evallog_header",
    "read_trace",
    "rescore",
    "run_episode",
    "write_evallog",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that ``import hylo_eval`` costs nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
