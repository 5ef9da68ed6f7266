"""The episodes of a run that goes on or was killed, as its queue has them: which have their outcome, in which order."""

from __future__ import annotations

from hylo_core.canonical import digest
from hylo_eval.errors import EvalError
from hylo_eval.evallog.v02 import Sample
from hylo_eval.queue import RunQueue, State
from hylo_eval.traces.layout import RunFolder, episode_id


def finished_samples(run: RunFolder) -> list[Sample]:
    """The episodes that have their outcome, in declared order, without scores.

    An attempt that the infrastructure spoilt is no outcome while tries are left, and a trace that no row names is
    nobody's. An outcome whose trace is not written yet counts as not finished.

    Raises:
        EvalError: The run has no queue, or it cannot be read.
    """
    with RunQueue.open(run.queue) as queue:
        return [
            Sample(
                key=result.key,
                task_id=result.task,
                seed=int(result.key.rpartition("#")[2]),
                episode_id=episode_id(result.key, result.attempt),
                status=result.outcome.status,
                scores={},
                trace=result.outcome.trace,
                trace_sha256=result.outcome.trace_sha256,
                behaviour_sha256=result.outcome.behaviour_sha256,
            )
            for result in queue.results()
            if result.state in (State.DONE, State.ABSTAINED) and result.outcome is not None and result.outcome.trace
        ]


def declared_keys(run: RunFolder, keys_digest: str) -> tuple[str, ...]:
    """The declared order of a run; empty where it has no queue.

    Raises:
        EvalError: The queue cannot be read, or holds another order than the one whose digest the manifest has.
    """
    if not run.queue.exists():
        return ()
    with RunQueue.open(run.queue) as queue:
        keys = [result.key for result in queue.results()]
    if digest(keys) != keys_digest:
        raise EvalError(f"{run.queue} is not in the order that was declared: the manifest holds another digest of it")
    return tuple(keys)
