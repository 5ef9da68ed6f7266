"""What the queue keeps of an attempt."""

from __future__ import annotations

import attrs
import orjson

from hylo_core.trace import ErrorEvent
from hylo_eval import read_trace, run_episode
from hylo_eval.evaluation.outcomes import MAX_ERROR_CHARACTERS, describe_failure, outcome_members
from hylo_eval.queue import Outcome
from hylo_eval.traces.layout import RunFolder
from tests.episodes import FunctionAgent, ScriptedEnv, instance


def test_an_outcome_names_the_trace_it_is_of(tmp_path) -> None:
    """Path below the run, digests and size are those of the file; it survives the way through a pipe."""
    run = RunFolder.at(tmp_path, "run")
    run.create()
    result = run_episode(ScriptedEnv(success_at=(4,)), FunctionAgent(), instance(), trace_path=run.trace("x.1"))
    outcome = Outcome(
        **orjson.loads(orjson.dumps(outcome_members(result, instance(), run, 12.0, 3.5))), worker="worker-1"
    )
    trace = read_trace(run.path / outcome.trace)
    assert outcome.trace == "episodes/x.1.jsonl"
    assert (outcome.trace_sha256, outcome.behaviour_sha256) == (trace.trace_sha256, trace.behaviour_sha256)
    assert outcome.trace_bytes == (run.path / outcome.trace).stat().st_size
    assert (outcome.status, outcome.steps, outcome.success, outcome.error) == ("completed", 5, True, "")
    assert (outcome.started_at, outcome.seconds, outcome.worker) == (12.0, 3.5, "worker-1")


def test_a_failure_is_described_by_phase_kind_and_text() -> None:
    """And only what the queue takes of it; how much was left out is said."""
    error = ErrorEvent(phase="step", error_type="OSError", message="no display")
    assert describe_failure(error) == "step: OSError: no display"
    long = describe_failure(attrs.evolve(error, message="x" * 10**6))
    assert long[:MAX_ERROR_CHARACTERS] == "step: OSError: ".ljust(MAX_ERROR_CHARACTERS, "x")
    assert (
        long[MAX_ERROR_CHARACTERS:] == f"... ({10**6 + len('step: OSError: ') - MAX_ERROR_CHARACTERS} more characters)"
    )
