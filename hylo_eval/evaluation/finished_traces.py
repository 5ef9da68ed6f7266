"""The samples of a run that has no log: what its finished traces say, before the last episode has ended."""

from __future__ import annotations

import re
from typing import Final

from hylo_core.trace import INFRASTRUCTURE, EpisodeStatus
from hylo_eval.errors import TraceError
from hylo_eval.evallog.v01 import Sample
from hylo_eval.traces.layout import RunFolder, episode_id
from hylo_eval.traces.reader import read_trace

_TRACE = re.compile(r".+\.(\d{1,9})\.jsonl")
_NOT_OUTCOMES: Final = (EpisodeStatus.CANCELLED,)


def finished_samples(run: RunFolder, *, max_attempts: int) -> list[Sample]:
    """The episodes of a run that have their outcome, by the last attempt of each instance.

    An attempt that the infrastructure spoilt is no outcome while tries are left. Traces that cannot be read, and stray
    files, are not episodes: their instances count as not finished.

    Args:
        run: The run folder.
        max_attempts: Tries of an episode, from the manifest.

    Returns:
        One sample an instance, without scores, sorted by key.
    """
    latest: dict[str, tuple[int, Sample]] = {}
    names = sorted(path.name for path in run.episodes.iterdir()) if run.episodes.is_dir() else []
    for name in names:
        found = _TRACE.fullmatch(name)
        sample = _sample(run, name) if found else None
        if found is None or sample is None or name != f"{episode_id(sample.key, int(found[1]))}.jsonl":
            continue
        attempt = int(found[1])
        if sample.key not in latest or attempt > latest[sample.key][0]:
            latest[sample.key] = (attempt, sample)
    return [
        sample
        for _, (attempt, sample) in sorted(latest.items())
        if sample.status not in _NOT_OUTCOMES and (sample.status not in INFRASTRUCTURE or attempt >= max_attempts)
    ]


def _sample(run: RunFolder, name: str) -> Sample | None:
    path = run.episodes / name
    try:
        trace = read_trace(path)
    except TraceError:
        return None
    if trace.end is None:
        return None
    return Sample(
        key=trace.key,
        task_id=trace.instance.spec.id,
        seed=trace.instance.seed,
        episode_id=trace.episode_id,
        status=str(trace.end.status),
        scores={},
        trace=f"episodes/{name}",
    )
