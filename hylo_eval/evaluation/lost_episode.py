"""The outcome of an attempt whose worker died or was ended: a typed one, with a trace of how far it came."""

from __future__ import annotations

import os
import socket
import time

from hylo_core.errors import clean_text
from hylo_core.task import TaskInstance
from hylo_core.trace import EpisodeStart, EpisodeStatus, ErrorEvent
from hylo_eval.evaluation.outcomes import describe_failure
from hylo_eval.evaluation.phases import blame_for_breach
from hylo_eval.evaluation.recipe import Recipe, RunSetup
from hylo_eval.queue import Outcome
from hylo_eval.rollout.start import agent_seed, now
from hylo_eval.traces.layout import RunFolder, episode_id
from hylo_eval.traces.salvage import finish_for_lost_process


def outcome_of_lost(
    instance: TaskInstance,
    attempt: int,
    *,
    run: RunFolder,
    recipe: Recipe,
    setup: RunSetup,
    phase: str,
    what: str,
    words: str,
    breached: bool,
    started_at: float,
    worker: str,
) -> Outcome:
    """Finish the trace of a lost attempt and say what it came to.

    Args:
        instance: What was run.
        attempt: Which attempt of it.
        run: Where the trace lies.
        recipe: What the worker was told.
        setup: What agent and env said of themselves.
        phase: What the worker was doing.
        what: What became of it: ``died: SIGSEGV``.
        words: The end of what it printed.
        breached: Whether it was ended for a deadline; then the phase says who is to blame.
        started_at: When the attempt began, in seconds since 1970.
        worker: Its name.
    """
    identity = episode_id(instance.key, attempt)
    path = run.trace(identity)
    volatile = {
        "episode_id": identity,
        "attempt": attempt,
        "started_at": now(),
        "host": socket.gethostname(),
        "pid": os.getpid(),
    }
    start = EpisodeStart(
        instance=instance,
        benchmark=recipe.benchmark,
        agent=setup.agent,
        env_spec=setup.env_spec,
        agent_spec=setup.agent_spec,
        versions=setup.versions,
        renderer=setup.renderer,
        seeds={"env": instance.seed, "agent": agent_seed(instance)},
        volatile=volatile,
    )
    status = blame_for_breach(phase) if breached else EpisodeStatus.WORKER_LOST
    error = ErrorEvent(
        phase=phase if phase != "record" else "step",
        error_type="DeadlineExceeded" if breached else "WorkerLost",
        message=clean_text(f"{worker} {what}"),
        volatile={"printed": words},
    )
    seconds = time.time() - started_at
    end, digests = finish_for_lost_process(
        path,
        start=start,
        error=error,
        status=status,
        fsync=recipe.fsync,
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
