"""Grading a finished run: every episode that counts, once a grader, into the traces themselves.

A grade that is on disk stays there whatever happens next, and grading again goes on where it was: an episode that the
same grader digest has graded is left alone. A grade without a value because the grader *failed* is recorded, so that
scores can say why they abstain, and tried again the next time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from datetime import UTC, datetime
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Any, Final

import attrs

from hylo_core.errors import describe_error
from hylo_core.score import Grader, Score
from hylo_core.trace import SCORED, EpisodeTrace, GradeEvent
from hylo_eval.errors import EvalError, TraceError
from hylo_eval.evallog.belonging import refuse_foreign
from hylo_eval.evallog.files import read_evallog
from hylo_eval.evallog.v02 import EvalLog
from hylo_eval.evaluation.recorded_trace import read_recorded
from hylo_eval.evaluation.rescore_plan import log_of, refuse_other_episodes, trace_path
from hylo_eval.evaluation.score_pool import RecordedEpisode, differences_from_record
from hylo_eval.grading.protocol import NoJudgement, digest_of, is_parallel
from hylo_eval.numerals import counted
from hylo_eval.scoring.aggregate import ScoreSummary, summarise
from hylo_eval.scoring.agreement import Agreement, pairwise_agreement
from hylo_eval.scoring.grade import GradeScorer
from hylo_eval.scoring.graded import judged_successes
from hylo_eval.scoring.outcome import TRACE_MISSING, TRACE_UNREADABLE
from hylo_eval.traces.grades import append_grade_unless, check_gradable
from hylo_eval.traces.layout import RunFolder
from hylo_eval.traces.reader import read_trace
from hylo_eval.verify.bounded_detail import bounded_text

_POLL_SECONDS: Final = 0.25
"""How often a pool looks whether a stop was asked for."""


class GradeState(StrEnum):
    """What became of an episode."""

    GRADED = "graded"
    """A grade was written now."""
    ALREADY = "already_graded"
    """The same grader digest had graded it before."""
    FAILED = "failed"
    """The grader failed; the trace says why."""
    UNGRADED = "ungraded"
    """No judgement was given (the operator skipped it, or left); nothing was written."""
    NOT_JUDGED = "not_judged"
    """The episode has no behaviour to judge: the agent or the infrastructure failed."""
    REFUSED = "refused"
    """The trace is missing, unreadable, or not the one that was recorded."""


@attrs.frozen(kw_only=True)
class EpisodeGrade:
    """What became of one episode.

    Attributes:
        key: The instance key.
        state: What was done.
        reason: Why, where it was not graded.
        score: The grade as a score; an abstention where there is no value.
        judged: Grader -> whether its latest grade says success, for all graders of the trace.
    """

    key: str
    state: GradeState
    reason: str = ""
    score: Score
    judged: Mapping[str, bool] = attrs.field(factory=dict[str, bool])


@attrs.frozen(kw_only=True)
class Grading:
    """What grading a run came to.

    Attributes:
        run: The run folder.
        grader: The grader's name.
        digest: Of what decides its judgements; empty where it does not say.
        episodes: One an episode that was looked at, in the run's order.
        n_episodes: Episodes of the run.
        summary: Mean of the grades, with abstentions by reason; of the episodes looked at.
        agreement: Of every two graders of the run.
    """

    run: RunFolder
    grader: str
    digest: str
    episodes: Sequence[EpisodeGrade]
    n_episodes: int
    summary: ScoreSummary
    agreement: Sequence[Agreement]

    @property
    def counts(self) -> Mapping[GradeState, int]:
        """Episodes by state."""
        return Counter(episode.state for episode in self.episodes)

    @property
    def complete(self) -> bool:
        """Whether every episode was looked at and none failed, was refused or stayed ungraded."""
        open_ones = (GradeState.FAILED, GradeState.UNGRADED, GradeState.REFUSED)
        return len(self.episodes) == self.n_episodes and not any(self.counts[state] for state in open_ones)

    @property
    def exit_code(self) -> int:
        """0 when complete, else 3."""
        return 0 if self.complete else 3


class GradingInterrupted(KeyboardInterrupt):
    """The operator stopped the grading; every finished grade is on disk and in ``grading``."""

    def __init__(self, grading: Grading) -> None:
        self.grading = grading
        super().__init__(
            f"stopped after {len(grading.episodes)} of {counted(grading.n_episodes, 'episode')}; their grades stay"
        )


def grade_run(
    run: RunFolder,
    grader: Grader,
    *,
    again: bool = False,
    workers: int = 1,
    finished: Callable[[EpisodeGrade], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> Grading:
    """Grade the episodes of a run that its log counts, and append the grades to their traces.

    Args:
        run: A finished run, or one that was stopped.
        grader: Who judges. It runs in one thread unless it declares ``parallel = True``.
        again: Judge also what the same digest has judged; the later grade counts, the earlier stays in the trace.
        workers: Episodes at once, for a parallel grader.
        finished: Told of every episode.
        stop: Asked between episodes; when it says True, those under way are finished and no other is begun.

    Raises:
        EvalError: The run has no log, or one of another run.
        GradingInterrupted: ``stop`` said so, or a signal arrived.
    """
    log = _own_log(run)
    episodes = [
        RecordedEpisode(
            path=str(trace_path(run, sample)),
            key=sample.key,
            episode_id=sample.episode_id,
            status=sample.status,
            benchmark_digest=log.benchmark.digest,
            trace_sha256=sample.trace_sha256,
        )
        for sample in log.samples
    ]
    found: dict[int, EpisodeGrade] = {}

    def conclude() -> Grading:
        return _conclude(run, grader, [found[index] for index in sorted(found)], len(episodes))

    results = _grades(grader, episodes, again=again, workers=workers if is_parallel(grader) else 1, stop=stop)
    try:
        for index, graded in results:
            found[index] = graded
            if finished is not None:
                finished(graded)
    except KeyboardInterrupt as interrupt:
        raise GradingInterrupted(conclude()) from interrupt
    finally:
        results.close()
    if len(found) < len(episodes) and stop is not None and stop():
        raise GradingInterrupted(conclude())
    return conclude()


def count_episodes(run: RunFolder) -> int:
    """How many episodes of a run count; raises as :func:`grade_run`."""
    return len(_own_log(run).samples)


def _own_log(run: RunFolder) -> EvalLog:
    source = log_of(run)
    log = read_evallog(source, check=False)
    refuse_foreign(log, run, source)
    refuse_other_episodes(log, run, source)
    return log


def _grades(
    grader: Grader, episodes: Sequence[RecordedEpisode], *, again: bool, workers: int, stop: Callable[[], bool] | None
) -> Generator[tuple[int, EpisodeGrade], None, None]:
    """Index and grade of each episode, as they are finished."""
    stopping = _Stopping(stop)
    if workers == 1:
        for index, episode in enumerate(episodes):
            if stopping():
                return
            yield index, _grade(grader, episode, again=again, stopping=stopping)
        return
    pool = ThreadPoolExecutor(workers, thread_name_prefix="grader")
    try:
        remaining = iter(enumerate(episodes))
        pending: dict[Future[EpisodeGrade], int] = {}
        while True:
            if stopping():
                remaining = iter(())
                pending = {future: index for future, index in pending.items() if not future.cancel()}
            for index, episode in islice(remaining, 2 * workers - len(pending)):
                pending[pool.submit(_grade, grader, episode, again=again, stopping=stopping)] = index
            if not pending:
                pool.shutdown()
                return
            done, _ = wait(pending, timeout=_POLL_SECONDS, return_when=FIRST_COMPLETED)
            for future in done:
                yield pending.pop(future), future.result()
    finally:
        # A second signal must not wait for a judge that takes its time; what a thread still writes is a whole grade.
        pool.shutdown(wait=False, cancel_futures=True)


class _Stopping:
    """Whether no other episode is to be begun: a stop was asked for, or the grader has given up."""

    def __init__(self, stop: Callable[[], bool] | None) -> None:
        self._stop = stop
        self.gave_up = False

    def __call__(self) -> bool:
        return self.gave_up or (self._stop is not None and self._stop())


def _grade(grader: Grader, episode: RecordedEpisode, *, again: bool, stopping: _Stopping) -> EpisodeGrade:
    path = Path(episode.path)
    try:
        recorded = read_recorded(path, episode.trace_sha256)
    except TraceError as error:
        return _refused(episode, TRACE_UNREADABLE if path.exists() else TRACE_MISSING, error.reason)
    trace = recorded.trace
    fault = "; ".join(differences_from_record(recorded, episode)) or ("" if trace.end else "the trace has no end event")
    if fault:
        return _refused(episode, TRACE_UNREADABLE, fault)
    if trace.status not in SCORED:
        return _outcome(grader, trace, GradeState.NOT_JUDGED, f"the episode ended as {trace.status}")
    if not again and _stands(grader, trace.grades):
        return _outcome(grader, trace, GradeState.ALREADY)
    try:
        check_gradable(path)  # a judgement may cost minutes and money, and could not be kept
        event = _judgement(grader, trace)
    except TraceError as error:
        state, reason = GradeState.FAILED, f"no grade can be written: {error}"
    except NoJudgement as none:
        stopping.gave_up = stopping.gave_up or none.stop
        state, reason = GradeState.UNGRADED, str(none)
    else:
        return _record(grader, path, trace, event, again=again)
    return _outcome(grader, trace, state, reason)


def _refused(episode: RecordedEpisode, reason: str, explanation: str) -> EpisodeGrade:
    score = Score.abstain(reason, explanation)
    return EpisodeGrade(key=episode.key, state=GradeState.REFUSED, reason=explanation, score=score)


def _judgement(grader: Grader, trace: EpisodeTrace) -> GradeEvent:
    """What the grader says; what it raises is the failure of this episode alone."""
    try:
        event: Any = grader.grade(trace, trace.instance)
    except NoJudgement:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001 - somebody's code: the one place where it becomes a grade
        return _failed(grader, f"the grader raised {describe_error(error)}")
    if not isinstance(event, GradeEvent):
        return _failed(grader, f"the grader returned a {type(event).__name__}, not a GradeEvent")
    if event.grader != grader.name or event.digest != (digest_of(grader) or event.digest):
        return _failed(grader, "the grader's event names another grader or digest than the grader's own")
    return event


def _failed(grader: Grader, reason: str) -> GradeEvent:
    graded_at = datetime.now(UTC).isoformat(timespec="milliseconds")
    return GradeEvent(
        grader=grader.name,
        digest=digest_of(grader),
        error=bounded_text(reason),
        volatile={"graded_at": graded_at},
    )


def _record(grader: Grader, path: Path, trace: EpisodeTrace, event: GradeEvent, *, again: bool) -> EpisodeGrade:
    def stands(grades: Sequence[GradeEvent]) -> bool:
        latest = _latest(grader, grades)
        repeated = latest is not None and bool(event.error) and latest.error == event.error
        return repeated or (not again and _stands(grader, grades))

    try:
        appended = append_grade_unless(path, event, stands)
    except EvalError as error:
        return _outcome(grader, trace, GradeState.FAILED, f"the grade could not be written: {error.message}")
    if appended is None and not event.error:
        # Somebody else graded it meanwhile, and that grade counts.
        return _outcome(grader, read_trace(path, digests="none"), GradeState.ALREADY)
    trace = attrs.evolve(trace, grades=(*trace.grades, appended or event))
    return _outcome(grader, trace, GradeState.FAILED if event.error else GradeState.GRADED, event.error)


def _latest(grader: Grader, grades: Sequence[GradeEvent]) -> GradeEvent | None:
    digest = digest_of(grader)
    own = [event for event in grades if event.grader == grader.name and event.digest == (digest or event.digest)]
    return own[-1] if own else None


def _stands(grader: Grader, grades: Sequence[GradeEvent]) -> bool:
    """Whether the same grader has given a judgement that needs no other."""
    latest = _latest(grader, grades)
    return latest is not None and not latest.error


def _outcome(grader: Grader, trace: EpisodeTrace, state: GradeState, reason: str = "") -> EpisodeGrade:
    score = GradeScorer(grader.name, digest=digest_of(grader)).score(trace, trace.instance)
    return EpisodeGrade(key=trace.key, state=state, reason=reason, score=score, judged=judged_successes(trace))


def _conclude(run: RunFolder, grader: Grader, episodes: Sequence[EpisodeGrade], n_episodes: int) -> Grading:
    summary = summarise(grader.name, [episode.score for episode in episodes], binary=False)
    return Grading(
        run=run,
        grader=grader.name,
        digest=digest_of(grader),
        episodes=episodes,
        n_episodes=n_episodes,
        summary=summary,
        agreement=pairwise_agreement(episode.judged for episode in episodes),
    )
