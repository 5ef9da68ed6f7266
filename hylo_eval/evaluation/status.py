"""How far a run is, for people and programs: read from its queue, whether or not anybody works on it."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any, cast

import attrs

from hylo_eval.errors import EvalError
from hylo_eval.evaluation.activity import Activity, Presence, presence, read_activities
from hylo_eval.evaluation.orphans import Orphan, list_candidates, orphans_among
from hylo_eval.evaluation.tally import COUNTS, Tally
from hylo_eval.queue import Attempt, Ending, Lease, Machine, RunQueue, State
from hylo_eval.traces.finding import no_run_folder
from hylo_eval.traces.layout import RunFolder, episode_id, trace_name
from hylo_eval.traces.manifest import read_manifest


@attrs.frozen(kw_only=True)
class Presently:
    """A process that works on a run, or did when it was last heard of."""

    activity: Activity
    presence: Presence


@attrs.frozen(kw_only=True)
class RunStatus:
    """How far a run is.

    Attributes:
        run: The run folder.
        config: What it is, as its queue has it; anybody may have written it.
        manifest: What its manifest says of how it was called; empty where nobody looked, or it cannot be read.
        counts: Episodes by state.
        tally: What the attempts have come to.
        processes: Those that say they work on it, by when they began.
        leases: Episodes that are held now, or were when their process ended.
        orphans: Files that no row of the queue names; None where nobody looked.
        faults: What is wrong with the folder.
        now: When this was so, in seconds since 1970.
    """

    run: RunFolder
    config: Mapping[str, Any]
    counts: Mapping[State, int]
    tally: Tally
    processes: Sequence[Presently] = ()
    leases: Sequence[Lease] = ()
    orphans: Sequence[Orphan] | None = None
    manifest: Mapping[str, Any] = attrs.field(factory=dict[str, Any])
    faults: Sequence[str] = ()
    now: float

    @property
    def planned(self) -> int:
        """Episodes altogether."""
        return sum(self.counts.values())

    @property
    def ended(self) -> int:
        """Episodes that have their outcome."""
        return self.counts[State.DONE] + self.counts[State.ABSTAINED]

    @property
    def complete(self) -> bool:
        """Whether every episode has its outcome."""
        return self.ended == self.planned

    @property
    def working(self) -> Sequence[Presently]:
        """The processes that are not known to be gone."""
        return [process for process in self.processes if process.presence is not Presence.GONE]

    @property
    def unclaimed(self) -> Sequence[Lease]:
        """Leases of processes that are gone or of which nothing is known: whoever continues the run takes them over."""
        alive = {process.activity.holder.id for process in self.working}
        return [lease for lease in self.leases if lease.owner not in alive]

    @property
    def episodes_a_minute(self) -> float | None:
        """How many episodes get their outcome in a minute; of a run at rest, while it was worked on."""
        began = [process.activity.began_at for process in self.working]
        return self.tally.episodes_a_minute(now=self.now, working_since=min(began, default=None))

    @property
    def seconds_left(self) -> float | None:
        """An estimate of how long the rest takes; None where nobody works on it or nothing has ended yet."""
        rate = self.episodes_a_minute
        if not rate or self.complete or not self.working:
            return None
        return 60.0 * (self.planned - self.ended) / rate

    def described(self, *path: str) -> str:
        """A text of the configuration, such as ``benchmark, id``; ``?`` where there is none."""
        value: Any = self.config
        for name in path:
            value = cast("Mapping[str, Any]", value).get(name) if isinstance(value, Mapping) else None
        return value if isinstance(value, str) else "?"

    @property
    def versions(self) -> object:
        """The simulator's packages, name to version; whatever somebody has written there."""
        simulator = self.config.get("simulator")
        return cast("Mapping[str, Any]", simulator).get("versions") if isinstance(simulator, Mapping) else None


def read_status(run: RunFolder) -> RunStatus:
    """Read how far a run is; nothing is changed.

    Raises:
        EvalError: The folder is no run folder, or of a version without a queue.
        QueueError: The queue cannot be read.
    """
    refuse_no_run(run)
    machine = Machine()
    # Files first: what is there before the queue is read belongs to what the queue knows.
    candidates = list_candidates(run)
    activities, faults = read_activities(run)
    with contextlib.closing(RunQueue.open(run.queue)) as queue:
        leases = queue.leases()
        attempts = list(queue.attempts())
        counts, config = queue.counts(), queue.config
    manifest, manifest_faults = _read_manifest(run)
    processes = [Presently(activity=item, presence=presence(item, machine)) for item in activities]
    working = {item.activity.holder.id for item in processes if item.presence is not Presence.GONE}
    gone = {item.activity.holder.id for item in processes if item.presence is Presence.GONE}
    orphans = orphans_among(
        candidates,
        named={_trace_of(attempt) for attempt in attempts},
        held=[lease for lease in leases if lease.owner not in gone],
        someone_works=bool(working),
        stopped={
            f"episodes/{episode_id(attempt.key, attempt.attempt)}.jsonl"
            for attempt in attempts
            if attempt.ending is Ending.RELEASED
        },
    )
    return RunStatus(
        run=run,
        config=config,
        counts=counts,
        tally=Tally.of(attempts),
        processes=processes,
        leases=leases,
        orphans=orphans,
        manifest=manifest,
        faults=(*faults, *manifest_faults),
        now=machine.wall_seconds(),
    )


def refuse_no_run(run: RunFolder) -> None:
    """Refuse a folder that holds no run with a queue.

    Raises:
        EvalError: Naming what is missing.
    """
    if run.queue.is_file():
        return
    if not run.manifest.is_file():
        raise no_run_folder(run)
    if run.evallog.is_file():
        raise EvalError(
            f"{run.path} has no queue.db: it is whole, and of a Hylo before there were queues",
            fix=f"hylo-eval show {run.run_id}",
        )
    raise EvalError(
        f"{run.path} has no queue.db: the run ended before its first episode, or the file was removed",
        fix="start the run anew under another --run-id",
    )


def refuse_cleaning(status: RunStatus, machine: Machine) -> None:
    """Refuse to remove files while somebody may still be writing them.

    Raises:
        EvalError: Naming the process, or the lease whose process is not known.
    """
    for process in status.working:
        owner = process.activity.holder
        raise EvalError(
            f"process {owner.pid} on {owner.host} works on the run: nothing is removed", fix="wait for it or stop it"
        )
    gone = {process.activity.holder.id for process in status.processes}
    for lease in status.leases:
        # Of a process that left no word: its lease may be one of another machine, whose clock says nothing here.
        if lease.owner not in gone and lease.expires > machine.seconds():
            raise EvalError(
                f"{lease.key} is held under a lease by a process that left no word: nothing is removed",
                fix=f"continue the run, which takes it over: hylo-eval run --resume {status.run.run_id}",
            )


def _trace_of(attempt: Attempt) -> str:
    """Where the trace of an attempt is: as its row says, or where the log of the run puts one if there was none."""
    if attempt.outcome.trace or attempt.ending not in COUNTS:
        return attempt.outcome.trace
    return trace_name(episode_id(attempt.key, attempt.attempt))


def _read_manifest(run: RunFolder) -> tuple[Mapping[str, Any], list[str]]:
    """The manifest, or what is wrong with it."""
    try:
        return read_manifest(run.manifest), []
    except EvalError as error:
        return {}, [error.message]
