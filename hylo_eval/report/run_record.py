"""A run as the report reads it: what its manifest and its log say, whatever version the log has.

A run that is still going on has no log yet; its episodes are then the finished traces in its folder, the last attempt
of each instance, and the record says that they are provisional.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, cast

import attrs

from hylo_eval.compare.agent_labels import AgentName, agent_name_of
from hylo_eval.errors import EvalError, TraceError
from hylo_eval.evallog.files import read_evallog
from hylo_eval.suggest import did_you_mean
from hylo_eval.traces.layout import RunFolder
from hylo_eval.traces.reader import read_trace

MAX_MANIFEST_BYTES: Final = 16 * 1024 * 1024
"""A manifest larger than this is refused unread."""

_EPISODE_FILE: Final = re.compile(r"(?P<stem>.+-[0-9a-f]{10})\.(?P<attempt>\d{1,9})\.jsonl")


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
    """

    key: str
    task_id: str
    seed: int
    episode_id: str
    status: str
    scores: Mapping[str, float | None]
    trace: Path | None


@attrs.frozen(kw_only=True)
class RunRecord:
    """One run.

    Attributes:
        folder: Where its files are.
        manifest: What was run, with what, where; as JSON.
        episodes: Those that have an outcome.
        finished: Whether the log is the one of the whole run.
        provisional: Whether there is no log yet, and the traces alone speak.
    """

    folder: RunFolder
    manifest: Mapping[str, Any]
    episodes: tuple[EpisodeRecord, ...]
    finished: bool
    provisional: bool

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
        EvalError: The manifest or the log cannot be read or breaks its schema.
    """
    manifest = _read_manifest(folder.manifest)
    finished = folder.evallog.exists()
    if finished or folder.partial_evallog.exists():
        episodes = _logged(folder, folder.evallog if finished else folder.partial_evallog)
        return RunRecord(folder=folder, manifest=manifest, episodes=episodes, finished=finished, provisional=False)
    return RunRecord(folder=folder, manifest=manifest, episodes=_from_traces(folder), finished=False, provisional=True)


def _logged(folder: RunFolder, path: Path) -> tuple[EpisodeRecord, ...]:
    """The one place that knows the version of the log."""
    return tuple(
        EpisodeRecord(
            key=sample.key,
            task_id=sample.task_id,
            seed=sample.seed,
            episode_id=sample.episode_id,
            status=sample.status,
            scores={name: score.value for name, score in sample.scores.items()},
            trace=_inside(folder, sample.trace),
        )
        for sample in read_evallog(path).samples
    )


def _inside(folder: RunFolder, trace: str) -> Path | None:
    """The path of a trace that a log names, if it is a file of the run's own."""
    path = folder.path / trace
    plain = Path(trace).parts[:-1] == ("episodes",) and path.resolve().parent == folder.episodes.resolve()
    return path if plain else None


def _from_traces(folder: RunFolder) -> tuple[EpisodeRecord, ...]:
    found = (_provisional(path) for path in _last_attempts(folder.episodes))
    return tuple(item for item in found if item is not None)


def _last_attempts(episodes: Path) -> Iterable[Path]:
    last: dict[str, tuple[int, Path]] = {}
    for path in sorted(episodes.glob("*.jsonl")) if episodes.is_dir() else ():
        match = _EPISODE_FILE.fullmatch(path.name)
        if match is not None:
            attempt = int(match["attempt"])
            if attempt > last.get(match["stem"], (0, path))[0]:
                last[match["stem"]] = (attempt, path)
    return [path for _, path in last.values()]


def _provisional(path: Path) -> EpisodeRecord | None:
    try:
        trace = read_trace(path, digests="none")
    except TraceError:
        # Its own run will say so; a look at it from outside must not fail.
        return None
    return EpisodeRecord(
        key=trace.key,
        task_id=trace.instance.spec.id,
        seed=trace.instance.seed,
        episode_id=path.name.removesuffix(".jsonl"),
        status=str(trace.status or "unfinished"),
        scores={},
        trace=path,
    )


def _read_manifest(path: Path) -> Mapping[str, Any]:
    import orjson

    try:
        if path.stat().st_size > MAX_MANIFEST_BYTES:
            raise EvalError(f"{path} is larger than {MAX_MANIFEST_BYTES} bytes")
        document = orjson.loads(path.read_bytes())
    except OSError as error:
        raise EvalError(f"cannot read the manifest {path}: {error.strerror}", fix="name a run folder") from error
    except orjson.JSONDecodeError as error:
        raise EvalError(f"{path}: is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise EvalError(f"{path}: is not a JSON object")
    return cast("dict[str, Any]", document)
