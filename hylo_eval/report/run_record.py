"""A run as the report reads it: what its manifest and its log say, whatever version the log has.

A run that is still going on has no log yet; its episodes are then those that have their outcome in its queue, and the
record says that they are provisional. Files that no row names are nobody's result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import attrs

from hylo_eval.compare.agent_labels import AgentName, agent_name_of
from hylo_eval.errors import EvalError
from hylo_eval.evallog.belonging import refuse_foreign
from hylo_eval.evallog.files import read_evallog
from hylo_eval.evallog.finished_episodes import finished_samples
from hylo_eval.evallog.v02 import Sample, ScorerDeclaration
from hylo_eval.suggest import did_you_mean
from hylo_eval.traces.layout import RunFolder
from hylo_eval.traces.manifest import read_manifest


@attrs.frozen(kw_only=True)
class EpisodeRecord:
    """One episode that counts.

    Attributes:
        key: The instance key.
        task_id: The task.
        seed: The seed.
        episode_id: Which attempt counts.
        status: How it ended.
        scores: Scorer name to number, or None for an abstention; empty while the run has no log.
        trace: Where its trace is; None where the log names no file of the run.
        trace_sha256: The digest of the trace on record; empty in an older log.
    """

    key: str
    task_id: str
    seed: int
    episode_id: str
    status: str
    scores: Mapping[str, float | None]
    trace: Path | None
    trace_sha256: str = ""


@attrs.frozen(kw_only=True)
class RunRecord:
    """One run.

    Attributes:
        folder: Where its files are.
        manifest: What was run, with what, where; as JSON.
        episodes: Those that have an outcome.
        finished: Whether the log is the one of the whole run.
        provisional: Whether there is no log yet, and the queue says which episodes there are.
        scorers: What the log declares of its scorers, by name.
    """

    folder: RunFolder
    manifest: Mapping[str, Any]
    episodes: tuple[EpisodeRecord, ...]
    finished: bool
    provisional: bool
    scorers: Mapping[str, ScorerDeclaration] = attrs.field(factory=dict[str, ScorerDeclaration])

    @property
    def run_id(self) -> str:
        """The run's name."""
        return self.folder.run_id

    @property
    def agent(self) -> str:
        """Name and version of the agent."""
        return self.agent_name.agent

    @property
    def agent_name(self) -> AgentName:
        """The agent as labels need it."""
        return agent_name_of(self.manifest)

    @property
    def benchmark(self) -> str:
        """Id, version and split of the benchmark."""
        return " ".join(self.text("benchmark", name) for name in ("id", "version")) + (
            f", split {self.text('benchmark', 'split')}"
        )

    @property
    def planned(self) -> int:
        """How many episodes were planned; those that are there where the manifest does not say."""
        found = self.value("selection", "instances")
        return found if type(found) is int and found >= len(self.episodes) else len(self.episodes)

    def value(self, *path: str) -> Any:
        """A member of the manifest by its path; None where there is none."""
        found: Any = self.manifest
        for name in path:
            found = cast("Mapping[str, Any]", found).get(name) if isinstance(found, Mapping) else None
        return found

    def text(self, *path: str) -> str:
        """A member of the manifest as text; ``unknown`` where there is none."""
        found = self.value(*path)
        return "unknown" if found is None else str(found)

    def episode(self, name: str) -> EpisodeRecord:
        """The episode of an instance key, an episode id, or the end of a key that only one has.

        Raises:
            EvalError: There is none, or more than one.
        """
        exact = [item for item in self.episodes if name in (item.key, item.episode_id)]
        found = exact or [item for item in self.episodes if item.key.endswith(name)]
        if len(found) == 1:
            return found[0]
        if not found:
            near = did_you_mean(name, [item.key for item in self.episodes])
            raise EvalError(f"the run {self.run_id} has no episode {name!r}{near}", fix="name an instance key")
        listed = ", ".join(item.key for item in found[:3])
        raise EvalError(f"{name!r} is the end of {len(found)} keys ({listed}, …)", fix="name a whole instance key")


def read_run(folder: RunFolder) -> RunRecord:
    """Read what a run says of itself; its traces are left for later.

    Raises:
        EvalError: The manifest, the log or the queue cannot be read or breaks its schema, or there is neither log nor
            queue.
        LogContradiction: The log contradicts itself, or is of another run.
    """
    manifest = read_manifest(folder.manifest)
    finished = folder.evallog.exists()
    samples: Sequence[Sample] = ()
    scorers: Mapping[str, ScorerDeclaration] = {}
    if finished or folder.partial_evallog.exists():
        source = folder.evallog if finished else folder.partial_evallog
        log = read_evallog(source)
        refuse_foreign(log, folder, source)
        samples, scorers = log.samples, log.eval.scorers
    newer = () if finished else _newer_samples(folder, len(samples))
    return RunRecord(
        folder=folder,
        manifest=manifest,
        episodes=tuple(_episode(folder, sample) for sample in newer or samples),
        finished=finished,
        provisional=bool(newer) or not (finished or folder.partial_evallog.exists()),
        scorers=scorers,
    )


def _newer_samples(folder: RunFolder, logged: int) -> Sequence[Sample]:
    """What the queue has beyond a partial log (the run was continued since), or all of it where there is no log."""
    if folder.partial_evallog.exists() and not folder.queue.exists():
        # A run that was merged or imported.
        return ()
    found = finished_samples(folder)
    return found if len(found) > logged else ()


def _episode(folder: RunFolder, sample: Sample) -> EpisodeRecord:
    return EpisodeRecord(
        key=sample.key,
        task_id=sample.task_id,
        seed=sample.seed,
        episode_id=sample.episode_id,
        status=sample.status,
        scores={name: score.value for name, score in sample.scores.items()},
        trace=_inside(folder, sample.trace),
        trace_sha256=sample.trace_sha256,
    )


def _inside(folder: RunFolder, trace: str) -> Path | None:
    """The path of a trace that a log names, if it is a file of the run's own."""
    path = folder.named_trace(trace)
    inside = path is not None and path.resolve().parent == folder.episodes.resolve()
    return path if inside else None
