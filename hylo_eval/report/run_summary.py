"""What a report says about one run, read from its traces one at a time."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import attrs

from hylo_core.errors import clean_text
from hylo_core.score import Score
from hylo_eval.errors import TraceError
from hylo_eval.report.recorded import read_with_changes
from hylo_eval.report.run_record import EpisodeRecord, RunRecord
from hylo_eval.scoring.aggregate import ScoreSummary, summarise
from hylo_eval.scoring.applying import score_trace
from hylo_eval.scoring.initial_states import InitialState, StateCount, count_states, initial_state
from hylo_eval.scoring.latency import percentile, reply_durations
from hylo_eval.scoring.lengths import EpisodeLengths
from hylo_eval.scoring.outcome import TRACE_MISSING, TRACE_UNREADABLE
from hylo_eval.scoring.success import Success
from hylo_eval.scoring.survival import TimeToSuccessSummary, summarise_times
from hylo_eval.scoring.time_to_success import TimeToSuccess
from hylo_eval.video.films import FilmCheck, FilmDigest, films_on_record
from hylo_eval.video.reading import VideoFile, find_videos

if TYPE_CHECKING:
    from hylo_core.trace import EpisodeTrace

Outcome: TypeAlias = Literal["success", "failure", "abstained"]

MAX_EXPLANATION: Final = 400
"""Characters of an explanation or error that the page holds; the trace has it whole."""


@attrs.frozen(kw_only=True)
class EpisodeSummary:
    """One episode, without its steps.

    Attributes:
        record: What the log says.
        success: What the scorer ``success`` says of its trace.
        time: What ``time_to_success`` says of it.
        steps: Actions that reached the environment.
        horizon: How many it could have had.
        instruction: The text actually used.
        tags: Of its task.
        interventions: Steps that a safety filter changed or stopped, by filter.
        error: What failed: phase, type and message; empty where nothing did.
        initial_state: What it began in.
        reply_seconds: How long each reply of the agent took.
        changes: In which ways its trace is not the one on record; it is not believed then, and abstains.
        films: The digests of its videos, by file name; None where its trace is of a Hylo that recorded none.
        videos: Those that are there and are the ones on record.
        doubts: Why each of the others is not shown.
    """

    record: EpisodeRecord
    success: Score
    time: Score
    steps: int = 0
    horizon: int = 0
    instruction: str = ""
    tags: tuple[str, ...] = ()
    interventions: Mapping[str, int] = attrs.field(factory=dict[str, int])
    error: str = ""
    initial_state: InitialState | None = None
    reply_seconds: array[float] = attrs.field(factory=lambda: array("f"))
    changes: tuple[str, ...] = ()
    films: Mapping[str, FilmDigest] | None = attrs.field(factory=dict[str, FilmDigest])
    videos: tuple[VideoFile, ...] = ()
    doubts: tuple[str, ...] = ()

    @property
    def outcome(self) -> Outcome:
        """Success or failure, or neither."""
        return "abstained" if self.success.value is None else "success" if self.success.value else "failure"

    @property
    def reason(self) -> str:
        """Why there is no score, in one word; empty where there is one."""
        return "" if self.success.value is not None else str(self.success.metadata.get("reason", "unstated"))

    @property
    def is_unreadable(self) -> bool:
        """Whether there is a trace that cannot be read, or is not the one on record: nothing vouches for its scores."""
        return self.reason == TRACE_UNREADABLE

    @property
    def explanation(self) -> str:
        """Why, in words of a bounded length."""
        return clean_text(self.error or self.success.explanation, MAX_EXPLANATION)


@attrs.frozen(kw_only=True)
class LoggedScore:
    """A score as the log has it.

    Attributes:
        name: The scorer.
        mean: Over the episodes that have a score which is believed.
        n_scored: How many these are.
        n_episodes: How many the log has.
        n_left_out: How many it has a score of that is not: their traces were changed, or cannot be read any more.
    """

    name: str
    mean: float | None
    n_scored: int
    n_episodes: int
    n_left_out: int = 0


@attrs.frozen(kw_only=True)
class RunSummary:
    """One run.

    Attributes:
        record: What manifest and log say.
        episodes: In the log's order.
        success: Mean, interval, coverage and worst cases of ``success``.
        by_task: The same a task, in the log's order.
        by_tag: The same a tag, by name; an episode counts under each of its tags.
        times: Time to success, as the censored quantity it is.
        reply_seconds: Of all replies, ascending.
        scores: The log's other scores.
        contradictions: Episodes of which the log records another success than their trace says.
    """

    record: RunRecord
    episodes: tuple[EpisodeSummary, ...]
    success: ScoreSummary
    by_task: Mapping[str, ScoreSummary]
    by_tag: Mapping[str, ScoreSummary]
    times: TimeToSuccessSummary
    reply_seconds: array[float]
    scores: tuple[LoggedScore, ...]
    contradictions: int

    @property
    def successes_end_first(self) -> bool:
        """Whether its episodes show that what has ended of it succeeds more often than all of it will."""
        return EpisodeLengths.of(
            (episode.record.task_id, episode.steps, episode.outcome == "success")
            for episode in self.episodes
            if episode.outcome != "abstained"
        ).successes_end_first

    @property
    def changed(self) -> tuple[EpisodeSummary, ...]:
        """The episodes whose trace is not the one on record, and which count for nothing."""
        return tuple(episode for episode in self.episodes if episode.changes)

    @property
    def doubtful(self) -> tuple[EpisodeSummary, ...]:
        """The episodes of which a video is not the one on record, and is not shown."""
        return tuple(episode for episode in self.episodes if episode.doubts)

    @property
    def initial_states(self) -> StateCount:
        """How many different initial states there were."""
        return count_states(episode.initial_state for episode in self.episodes)

    @property
    def interventions(self) -> Mapping[str, tuple[int, int]]:
        """Safety filter -> steps it changed or stopped, and episodes in which it did."""
        steps: Counter[str] = Counter()
        episodes: Counter[str] = Counter()
        for episode in self.episodes:
            steps.update(episode.interventions)
            episodes.update(list(episode.interventions))
        return {name: (count, episodes[name]) for name, count in sorted(steps.items())}

    def reply_percentile(self, share: float) -> float | None:
        """A quantile of the reply times in seconds; None without replies."""
        return percentile(self.reply_seconds.tolist(), share) if self.reply_seconds else None


_SUCCESS: Final = Success.name


def summarise_run(
    record: RunRecord,
    *,
    known: dict[Path, EpisodeSummary] | None = None,
    check: FilmCheck | None = None,
    read: Callable[[], None] | None = None,
) -> RunSummary:
    """Read every trace of a run and say what it comes to; memory grows by the episode, not by the step.

    Args:
        record: The run.
        known: Episodes that were summarised before, by trace; new ones are added. Finished traces do not change but for
            grades, so a run that goes on is not read from the beginning each time.
        check: Has read videos of this run before.
        read: Called after each episode, for a progress bar.
    """
    known = {} if known is None else known
    check = check or FilmCheck()
    there = find_videos(record.folder)
    episodes: list[EpisodeSummary] = []
    for episode in record.episodes:
        found = known.get(episode.trace) if episode.trace is not None else None
        if found is None or found.record.trace_sha256 != episode.trace_sha256:
            found = summarise_episode(episode)
        else:
            found = attrs.evolve(found, record=episode)
        if episode.trace is not None:
            known[episode.trace] = found
        episodes.append(_with_videos(found, there.get(episode.episode_id, ()), check))
        if read is not None:
            read()
    return _summarise(record, tuple(episodes))


def _with_videos(episode: EpisodeSummary, there: Sequence[VideoFile], check: FilmCheck) -> EpisodeSummary:
    """An episode with its videos; where its trace is not the one on record, nothing vouches for any."""
    if episode.changes or not there:
        return episode
    doubts = {video: check.doubt(video.path, episode.films) for video in there}
    return attrs.evolve(
        episode,
        videos=tuple(video for video, doubt in doubts.items() if not doubt),
        doubts=tuple(doubt for doubt in doubts.values() if doubt),
    )


def summarise_episode(record: EpisodeRecord) -> EpisodeSummary:
    """Read one trace; one that is missing, torn, broken or not the one on record is an abstention with a reason."""
    if record.trace is None:
        lost = Score.abstain(TRACE_MISSING)
        return EpisodeSummary(record=record, success=lost, time=lost)
    try:
        trace, changes = read_with_changes(record, record.trace, by_column=True)
    except TraceError as error:
        lost = Score.abstain(TRACE_UNREADABLE, f"{error.path.name}: {error.reason}")
        return EpisodeSummary(record=record, success=lost, time=lost)
    if changes:
        lost = Score.abstain(TRACE_UNREADABLE, f"{record.trace.name} was changed: {'; '.join(changes)}")
        return EpisodeSummary(record=record, success=lost, time=lost, changes=changes)
    scores = score_trace((Success(), TimeToSuccess()), trace, trace.instance)
    by_filter = {
        name: len({event.index for event in trace.safety if event.filter == name})
        for name in {event.filter for event in trace.safety}
    }
    return EpisodeSummary(
        record=record,
        success=scores[_SUCCESS],
        time=scores[TimeToSuccess.name],
        steps=len(trace.steps),
        horizon=trace.instance.spec.max_steps,
        instruction=trace.reset.instruction if trace.reset else trace.instance.spec.instruction,
        tags=trace.instance.spec.tags,
        interventions=by_filter,
        error=_error(trace),
        initial_state=initial_state(trace),
        reply_seconds=array("f", (seconds for seconds in reply_durations(trace) if isinstance(seconds, float))),
        films=films_on_record(trace),
    )


def _error(trace: EpisodeTrace) -> str:
    if not trace.errors:
        return ""
    error = trace.errors[-1]
    return f"{error.phase}: {error.error_type}: {error.message}"


def _summarise(record: RunRecord, episodes: tuple[EpisodeSummary, ...]) -> RunSummary:
    by_task = _grouped(episodes, lambda episode: (episode.record.task_id,))
    by_tag = _grouped(episodes, lambda episode: episode.tags)
    seconds = array("f", sorted(value for episode in episodes for value in episode.reply_seconds))
    return RunSummary(
        record=record,
        episodes=episodes,
        success=_success(episodes),
        by_task={name: _success(group) for name, group in by_task.items()},
        by_tag={name: _success(group) for name, group in sorted(by_tag.items())},
        times=summarise_times(episode.time for episode in episodes),
        reply_seconds=seconds,
        scores=_logged_scores(episodes),
        contradictions=sum(
            _SUCCESS in episode.record.scores
            and episode.record.scores[_SUCCESS] != episode.success.value
            # What was changed, or is torn, is said of by itself.
            and not episode.is_unreadable
            for episode in episodes
        ),
    )


def _grouped(
    episodes: Iterable[EpisodeSummary], labels: Callable[[EpisodeSummary], Iterable[str]]
) -> dict[str, list[EpisodeSummary]]:
    groups: dict[str, list[EpisodeSummary]] = {}
    for episode in episodes:
        for label in labels(episode):
            groups.setdefault(label, []).append(episode)
    return groups


def _success(episodes: Sequence[EpisodeSummary]) -> ScoreSummary:
    return summarise(_SUCCESS, (episode.success for episode in episodes), binary=True)


def _logged_scores(episodes: Sequence[EpisodeSummary]) -> tuple[LoggedScore, ...]:
    names = dict.fromkeys(name for episode in episodes for name in episode.record.scores)
    found: list[LoggedScore] = []
    for name in names:
        logged = [episode for episode in episodes if episode.record.scores.get(name) is not None]
        believed = [item for item in logged if not item.is_unreadable]
        values = [value for item in believed if (value := item.record.scores[name]) is not None]
        found.append(
            LoggedScore(
                name=name,
                mean=sum(values) / len(values) if values else None,
                n_scored=len(values),
                n_episodes=len(episodes),
                n_left_out=len(logged) - len(believed),
            )
        )
    return tuple(found)
