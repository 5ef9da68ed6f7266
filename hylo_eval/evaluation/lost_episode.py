"""The outcome of an attempt whose worker died or was ended: a typed one, with a trace of how far it came."""

from __future__ import annotations

import os
import socket
import time

from hylo_core.errors import clean_text
from hylo_core.task import TaskInstance
from hylo_core.trace import BenchmarkRef, EpisodeStart, EpisodeStatus, ErrorEvent
from hylo_eval.errors import EvalError
from hylo_eval.evaluation.outcomes import describe_failure
from hylo_eval.evaluation.phases import blame_for_breach
from hylo_eval.evaluation.plan import Plan
from hylo_eval.evaluation.recipe import RunSetup
from hylo_eval.queue import Outcome, Result
from hylo_eval.rollout.start import agent_seed, now
from hylo_eval.traces.layout import RunFolder, episode_id
from hylo_eval.traces.reader import read_trace
from hylo_eval.traces.salvage import finish_for_lost_process


def outcome_of_lost_worker(
    instance: TaskInstance,
    attempt: int,
    *,
    run: RunFolder,
    benchmark: BenchmarkRef,
    setup: RunSetup,
    phase: str,
    what: str,
    words: str,
    breached: bool,
    started_at: float,
    worker: str,
    fsync: bool,
) -> Outcome | None:
    """What the attempt of a worker that is gone came to; arguments as for :func:`outcome_of_lost`.

    The episode's own outcome counts where its trace was whole: ``close`` after the end event changes none. A worker
    that was lost while it closed the env of the episode before, or that was told to stop, has not begun this one.

    Returns:
        None where the attempt has not taken place.
    """
    finished = _outcome_of_finished(instance, attempt, run=run, started_at=started_at, worker=worker)
    if finished is not None:
        return None if finished.status == EpisodeStatus.CANCELLED else finished
    if phase == "close":
        return None
    return outcome_of_lost(
        instance,
        attempt,
        run=run,
        benchmark=benchmark,
        setup=setup,
        phase=phase,
        what=what,
        words=words,
        breached=breached,
        started_at=started_at,
        worker=worker,
        fsync=fsync,
    )


def outcome_of_lost(
    instance: TaskInstance,
    attempt: int,
    *,
    run: RunFolder,
    benchmark: BenchmarkRef,
    setup: RunSetup,
    phase: str,
    what: str,
    words: str,
    breached: bool,
    started_at: float,
    worker: str,
    fsync: bool,
) -> Outcome:
    """Finish the trace of a lost attempt and say what it came to.

    Args:
        instance: What was run.
        attempt: Which attempt of it.
        run: Where the trace lies.
        benchmark: What it is from.
        setup: What agent and env said of themselves.
        phase: What the worker was doing.
        what: What became of it: ``died: SIGSEGV``; equal runs have equal words, so not the worker's name.
        words: The end of what it printed.
        breached: Whether it was ended for a deadline; then the phase says who is to blame.
        started_at: When the attempt began, in seconds since 1970.
        worker: Its name.
        fsync: Force the trace to disk.
    """
    path = run.trace(episode_id(instance.key, attempt))
    status = blame_for_breach(phase) if breached else EpisodeStatus.WORKER_LOST
    error = ErrorEvent(
        phase=phase if phase != "record" else "step",
        error_type="DeadlineExceeded" if breached else "WorkerLost",
        message=clean_text(what),
        # Which worker it was differs between equal runs.
        volatile={"worker": worker, "printed": words},
    )
    seconds = time.time() - started_at
    end, digests = finish_for_lost_process(
        path,
        start=_start(instance, attempt, benchmark, setup),
        error=error,
        status=status,
        fsync=fsync,
        volatile={"finished_at": now(), "seconds": seconds},
    )
    return Outcome(
        status=str(status),
        trace_sha256=digests.trace_sha256,
        behaviour_sha256=digests.behaviour_sha256,
        trace_bytes=digests.size,
        steps=end.steps,
        success=end.success_once,
        error=describe_failure(error),
        started_at=started_at,
        seconds=seconds,
        trace=path.relative_to(run.path).as_posix(),
        worker=worker,
    )


def with_trace(result: Result, plan: Plan, setup: RunSetup, run: RunFolder) -> Outcome:
    """The outcome of an item that has one, with a trace also where every process that knew of it is gone.

    Raises:
        EvalError: The item has no outcome, or the trace cannot be written.
    """
    outcome = result.outcome
    if outcome is None:
        raise EvalError(f"{result.key} has no outcome")
    if outcome.trace:
        return outcome
    path = run.trace(episode_id(result.key, result.attempt))
    if path.exists():
        # Written when the run was concluded before; nobody else writes the trace of an attempt that is over.
        path.unlink()
    return outcome_of_lost(
        plan.instance(result.key),
        result.attempt,
        run=run,
        benchmark=plan.benchmark_ref,
        setup=setup,
        phase="make",
        what=outcome.error,
        words="",
        breached=False,
        started_at=outcome.started_at,
        worker=outcome.worker,
        fsync=False,
    )


def _start(instance: TaskInstance, attempt: int, benchmark: BenchmarkRef, setup: RunSetup) -> EpisodeStart:
    return EpisodeStart(
        instance=instance,
        benchmark=benchmark,
        agent=setup.agent,
        env_spec=setup.env_spec,
        agent_spec=setup.agent_spec,
        versions=setup.versions,
        renderer=setup.renderer,
        seeds={"env": instance.seed, "agent": agent_seed(instance, setup.replicate)},
        volatile={
            "episode_id": episode_id(instance.key, attempt),
            "attempt": attempt,
            "started_at": now(),
            "host": socket.gethostname(),
            "pid": os.getpid(),
        },
    )


def _outcome_of_finished(
    instance: TaskInstance, attempt: int, *, run: RunFolder, started_at: float, worker: str
) -> Outcome | None:
    """The outcome of an attempt whose trace has got its name; None of any other."""
    path = run.trace(episode_id(instance.key, attempt))
    if not path.exists():
        return None
    trace = read_trace(path)
    if trace.end is None:
        return None
    return Outcome(
        status=str(trace.end.status),
        trace_sha256=trace.trace_sha256,
        behaviour_sha256=trace.behaviour_sha256,
        trace_bytes=path.stat().st_size,
        steps=trace.end.steps,
        success=trace.end.success_once,
        disagreements=sum(step.disagreement for step in trace.steps),
        error=describe_failure(trace.errors[-1]) if trace.errors else "",
        started_at=started_at,
        seconds=time.time() - started_at,
        trace=path.relative_to(run.path).as_posix(),
        worker=worker,
    )
