"""Scores of recorded episodes, in this process or in several; each holds one trace at a time."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

import attrs
import orjson

from hylo_core.frozen import thaw
from hylo_core.score import Score, Scorer
from hylo_eval.errors import EvalError, TraceError
from hylo_eval.evallog.facts import EpisodeFacts, episode_facts
from hylo_eval.evaluation.making import make_scorer
from hylo_eval.evaluation.recorded_trace import RecordedTrace, read_recorded
from hylo_eval.scoring.applying import score_trace
from hylo_eval.scoring.graded import judged_successes
from hylo_eval.scoring.outcome import TRACE_MISSING, TRACE_UNREADABLE

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

_BATCH: Final = 8
_WORTH_A_PROCESS: Final = 64
"""Traces for which starting another process pays."""


@attrs.frozen(kw_only=True)
class RecordedEpisode:
    """An episode as the log of its run names it.

    Attributes:
        path: The trace.
        key: The instance key.
        episode_id: Which attempt counts.
        status: How it ended.
        benchmark_digest: Of the benchmark that was run.
        trace_sha256: Of the trace; empty where the log does not say.
    """

    path: str
    key: str
    episode_id: str
    status: str
    benchmark_digest: str
    trace_sha256: str = ""


@attrs.frozen(kw_only=True)
class RecordedScores:
    """What scoring a recorded episode gave; small, because a run has many.

    Attributes:
        key: The instance key.
        status: How the episode ended: by the trace, or by the log where the trace does not say.
        scores: A score a scorer.
        facts: What else the trace says; None where it cannot be read.
        trace_sha256: Of the trace that was scored; empty where it cannot be read or has no end.
        differences: In what the trace is not the one that was recorded; empty when it is.
        details: All of it as one JSON line, with explanations and metadata.
        judged: Grader -> whether its latest grade in the trace says success.
    """

    key: str
    status: str
    scores: Mapping[str, Score]
    facts: EpisodeFacts | None
    trace_sha256: str
    differences: tuple[str, ...]
    details: bytes
    judged: Mapping[str, bool] = attrs.field(factory=dict[str, bool])


class ScorePool:
    """Scores recorded episodes in order, in ``workers`` processes of its own or, with one, in this one.

    Results come as a stream; no more than a few batches are ever under way, so memory does not grow with the number of
    traces. Scorers travel by name and are made once a process.

    Args:
        workers: Processes; see :func:`default_workers`.
    """

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._executor: ProcessPoolExecutor | None = None

    def score(self, scorers: Sequence[str], episodes: Iterable[RecordedEpisode]) -> Iterator[RecordedScores]:
        """The scores of the episodes, in their order.

        Args:
            scorers: Short names or references.
            episodes: What to score.

        Raises:
            EvalError: A scorer cannot be made, or a process of the pool died.
        """
        names = tuple(scorers)
        if self._workers == 1:
            yield from (score_recorded(_scorers(names), episode) for episode in episodes)
            return
        from concurrent.futures.process import BrokenProcessPool

        pending: deque[Future[list[RecordedScores]]] = deque()
        remaining = iter(episodes)
        try:
            while batch := tuple(islice(remaining, _BATCH)):
                pending.append(self._started().submit(_score_batch, names, batch))
                if len(pending) > 2 * self._workers:
                    yield from pending.popleft().result()
            while pending:
                yield from pending.popleft().result()
        except BrokenProcessPool as error:
            raise EvalError("a process died while it scored traces", fix="--workers 1 shows where") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)

    def _started(self) -> ProcessPoolExecutor:
        if self._executor is None:
            from concurrent.futures import ProcessPoolExecutor
            from multiprocessing import get_context

            # Spawned, not forked: scorers may bring libraries with threads.
            self._executor = ProcessPoolExecutor(
                self._workers, mp_context=get_context("spawn"), initializer=_follow_the_parent
            )
        return self._executor


def default_workers(episodes: int) -> int:
    """A process for each processor we may use, and for each so many traces that starting it pays."""
    return max(1, min(len(os.sched_getaffinity(0)), episodes // _WORTH_A_PROCESS))


def score_recorded(scorers: Sequence[Scorer], episode: RecordedEpisode) -> RecordedScores:
    """Score one recorded episode; a trace that is missing, torn or broken is an abstention of every scorer."""
    with _collection_paused():
        return _score_recorded(scorers, episode)


def _score_recorded(scorers: Sequence[Scorer], episode: RecordedEpisode) -> RecordedScores:
    try:
        recorded = read_recorded(episode.path, episode.trace_sha256)
    except TraceError as error:
        reason = TRACE_UNREADABLE if Path(episode.path).exists() else TRACE_MISSING
        # The path is this machine's; the reason is the trace's.
        where = f"line {error.line}: {error.reason}" if error.line else error.reason
        return _recorded(episode, {scorer.name: Score.abstain(reason, where) for scorer in scorers}, None)
    trace = recorded.trace
    return _recorded(episode, score_trace(scorers, trace, trace.instance), recorded)


def differences_from_record(recorded: RecordedTrace, episode: RecordedEpisode) -> tuple[str, ...]:
    """In what a trace is not the one that was recorded, in words.

    The end event holds the digest of the behaviour as it was written, and the log says which episode the file holds.
    A log of v0.2 also holds the digest of every byte: clocks, durations and a behaviour digest that was computed anew.
    Grades come after what these digests cover; the chain of the grades covers all but the last of them.
    """
    trace = recorded.trace
    pairs = [
        ("key", episode.key, trace.key),
        ("episode id", episode.episode_id, trace.episode_id),
        ("benchmark digest", episode.benchmark_digest, trace.start.benchmark.digest),
    ]
    if trace.end is not None:
        pairs += [
            ("status", episode.status, str(trace.end.status)),
            ("behaviour digest", trace.end.volatile.get("behaviour_sha256"), trace.behaviour_sha256),
            ("trace digest", episode.trace_sha256 or recorded.trace_sha256, recorded.trace_sha256),
        ]
    differences = [
        f"{what} is {found}, {'none' if expected is None else expected} is on record"
        for what, expected, found in pairs
        if expected != found
    ]
    return (*differences, recorded.changed_grades) if recorded.changed_grades else tuple(differences)


def _recorded(episode: RecordedEpisode, scores: Mapping[str, Score], recorded: RecordedTrace | None) -> RecordedScores:
    trace = recorded.trace if recorded else None
    differences = differences_from_record(recorded, episode) if recorded else ()
    status = str(trace.status) if trace and trace.status else episode.status
    details: dict[str, Any] = {
        "key": episode.key,
        "episode_id": episode.episode_id,
        "status": status,
        "behaviour_sha256": trace.behaviour_sha256 if trace else "",
        "differences": differences,
        "scores": {
            name: {"value": score.value, "explanation": score.explanation, "metadata": thaw(score.metadata)}
            for name, score in scores.items()
        },
    }
    return RecordedScores(
        key=episode.key,
        status=status,
        scores=scores,
        facts=episode_facts(trace) if trace else None,
        trace_sha256=recorded.trace_sha256 if recorded else "",
        differences=differences,
        details=orjson.dumps(details) + b"\n",
        judged=judged_successes(trace) if trace and trace.grades else {},
    )


def _score_batch(names: tuple[str, ...], episodes: Sequence[RecordedEpisode]) -> list[RecordedScores]:
    return [score_recorded(_scorers(names), episode) for episode in episodes]


@cache
def _scorers(names: tuple[str, ...]) -> tuple[Scorer, ...]:
    return tuple(make_scorer(name) for name in names)


def _follow_the_parent() -> None:
    """A terminal sends SIGINT to every process, and the parent answers it; where the parent dies, so do we."""
    from multiprocessing import parent_process
    from threading import Thread

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    if parent is not None:
        Thread(target=_end_after, args=(parent.sentinel,), daemon=True).start()


def _end_after(sentinel: int) -> None:
    from multiprocessing.connection import wait

    wait([sentinel])
    os._exit(1)


@contextlib.contextmanager
def _collection_paused() -> Generator[None, None, None]:
    """No search for cycles while a trace is in memory: it is ten thousands of objects and no cycle."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
