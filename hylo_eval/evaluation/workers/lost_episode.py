"""The outcome of an attempt whose worker died or was ended: a typed one, with a trace of how far it came."""

from __future__ import annotations

import os
import socket
import time
from typing import Final

import attrs

from hylo_core.errors import clean_text
from hylo_core.task import TaskInstance
from hylo_core.trace import BenchmarkRef, EpisodeStart, EpisodeStatus, ErrorEvent
from hylo_eval.errors import EvalError, TraceError
from hylo_eval.evaluation.outcomes import describe_failure
from hylo_eval.evaluation.phases import blame_for_breach
from hylo_eval.evaluation.plan import Plan
from hylo_eval.evaluation.recipe import RunSetup
from hylo_eval.queue import Outcome, Result
from hylo_eval.rollout.blame import blamed_phase
from hylo_eval.rollout.start import now, seed_of_agent
from hylo_eval.traces.layout import RunFolder, episode_id, partial_of
from hylo_eval.traces.reader import read_trace
from hylo_eval.traces.salvage import finish_for_lost_process

TOLD_TO_STOP: Final = "was told to stop by a signal that the run itself did not get"


@attrs.frozen(kw_only=True)
class Loss:
    """How an attempt was lost.

    Attributes:
        phase: What the worker was doing.
        what: What became of it: ``died: SIGSEGV``; equal runs have equal words, so not the worker's name.
        words: The end of what it printed.
        breached: Whether it was ended for a deadline; then the phase says who is to blame.
        started_at: When the attempt began, in seconds since 1970.
        worker: Its name.
    """

    phase: str
    what: str
    words: str = ""
    breached: bool = False
    started_at: float
    worker: str


@attrs.frozen(kw_only=True)
class LostEpisodes:
    """What the lost attempts of a run come to.

    Attributes:
        run: Where the traces lie.
        benchmark: What they are from.
        setup: What agent and env said of themselves.
        fsync: Force the traces to disk.
    """

    run: RunFolder
    benchmark: BenchmarkRef
    setup: RunSetup
    fsync: bool = False

    def outcome_of_worker(self, instance: TaskInstance, attempt: int, loss: Loss) -> Outcome | None:
        """What the attempt of a worker that is gone came to.

        The episode's own outcome counts where its trace was whole: ``close`` after the end event changes none. A worker
        that was lost while it closed the env of the episode before, or that was told to stop, has not begun this one.

        Returns:
            None where the attempt has not taken place.
        """
        finished = _outcome_of_finished(instance, attempt, self.run, loss)
        if finished is not None:
            return None if finished.status == EpisodeStatus.CANCELLED else finished
        path = self.run.trace(episode_id(instance.key, attempt))
        if loss.phase == "close" and not partial_of(path).exists():
            return None
        return self.outcome(instance, attempt, loss)

    def outcome_of_told_to_stop(self, instance: TaskInstance, attempt: int, loss: Loss) -> Outcome:
        """What an attempt came to whose worker said that it was stopped, although nobody had stopped the run.

        Its trace ends as cancelled, which is no outcome: it is ended again, as that of a lost worker.
        """
        path = self.run.trace(episode_id(instance.key, attempt))
        if path.exists():
            path.rename(partial_of(path))
        return self.outcome(instance, attempt, loss)

    def outcome(self, instance: TaskInstance, attempt: int, loss: Loss) -> Outcome:
        """Finish the trace of a lost attempt and say what it came to."""
        path = self.run.trace(episode_id(instance.key, attempt))
        status = blame_for_breach(loss.phase) if loss.breached else EpisodeStatus.WORKER_LOST
        error = ErrorEvent(
            phase=blamed_phase(loss.phase),
            error_type="DeadlineExceeded" if loss.breached else "WorkerLost",
            message=clean_text(loss.what),
            # Which worker it was differs between equal runs.
            volatile={"worker": loss.worker, "printed": loss.words},
        )
        seconds = time.time() - loss.started_at
        end, digests = finish_for_lost_process(
            path,
            start=self._start(instance, attempt),
            error=error,
            status=status,
            fsync=self.fsync,
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
            started_at=loss.started_at,
            seconds=seconds,
            trace=path.relative_to(self.run.path).as_posix(),
            worker=loss.worker,
        )

    def _start(self, instance: TaskInstance, attempt: int) -> EpisodeStart:
        setup = self.setup
        return EpisodeStart(
            instance=instance,
            benchmark=self.benchmark,
            agent=setup.agent,
            env_spec=setup.env_spec,
            agent_spec=setup.agent_spec,
            versions=setup.versions,
            renderer=setup.renderer,
            seeds={"env": instance.seed, "agent": seed_of_agent(instance, setup.replicate)},
            volatile={
                "episode_id": episode_id(instance.key, attempt),
                "attempt": attempt,
                "started_at": now(),
                "host": socket.gethostname(),
                "pid": os.getpid(),
            },
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
    loss = Loss(phase="make", what=outcome.error, started_at=outcome.started_at, worker=outcome.worker)
    lost = LostEpisodes(run=run, benchmark=plan.benchmark_ref, setup=setup)
    return lost.outcome(plan.instance(result.key), result.attempt, loss)


def _outcome_of_finished(instance: TaskInstance, attempt: int, run: RunFolder, loss: Loss) -> Outcome | None:
    """The outcome of an attempt whose trace has got its name; None of any other."""
    path = run.trace(episode_id(instance.key, attempt))
    if not path.exists():
        return None
    try:
        trace = read_trace(path, by_column=True)
    except TraceError:
        # Its worker's agent wrote there too. What is whole of it is kept where it is finished anew.
        path.rename(partial_of(path))
        return None
    if trace.end is None:
        return None
    return Outcome(
        status=str(trace.end.status),
        trace_sha256=trace.trace_sha256,
        behaviour_sha256=trace.behaviour_sha256,
        trace_bytes=path.stat().st_size,
        steps=trace.end.steps,
        success=trace.end.success_once,
        disagreements=sum(trace.column("disagreement")),
        error=describe_failure(trace.errors[-1]) if trace.errors else "",
        started_at=loss.started_at,
        seconds=time.time() - loss.started_at,
        trace=path.relative_to(run.path).as_posix(),
        worker=loss.worker,
    )
