"""From samples to a log: the statistics of every group of episodes, gathered one episode at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import attrs

from hylo_core.score import Score
from hylo_eval.evallog.facts import EpisodeFacts
from hylo_eval.evallog.v02 import (
    Bounds,
    EvalLog,
    EvalSpec,
    InitialStates,
    MacroMean,
    MeanInterval,
    ReplySeconds,
    Results,
    Sample,
    ScorerDeclaration,
    ScoreStatistics,
    Stats,
)
from hylo_eval.scoring.aggregate import mean_of, summarise
from hylo_eval.scoring.bootstrap import LEVEL, BootstrapInterval, mean_interval, stratified_interval
from hylo_eval.scoring.duration_histogram import quantile
from hylo_eval.scoring.initial_states import count_states


@attrs.define
class LogBuilder:
    """Gathers the samples of a run and their facts, and makes the log of them.

    What grows with the number of steps (durations of replies) is added up as it comes; what grows with the number of
    episodes (the samples themselves) is kept.
    """

    _samples: list[Sample] = attrs.field(factory=list[Sample], init=False)
    _started_at: str = attrs.field(default="", init=False)
    _finished_at: str = attrs.field(default="", init=False)
    _replies: Counter[int] = attrs.field(factory=Counter[int], init=False)
    _disagreements: int = attrs.field(default=0, init=False)

    def add(self, sample: Sample, facts: EpisodeFacts) -> None:
        """Take the next sample in the order of the benchmark's split."""
        self._samples.append(sample)
        self._replies.update(facts.replies)
        self._disagreements += facts.disagreement
        # Times of one zone and one format: their texts sort as they do.
        self._started_at = min(filter(None, (self._started_at, facts.started_at)), default="")
        self._finished_at = max(self._finished_at, facts.finished_at)

    def finish(self, *, status: str, spec: EvalSpec) -> EvalLog:
        """The log.

        Args:
            status: ``complete`` or ``partial``.
            spec: What was evaluated; its scorers decide which scores are summarised.
        """
        samples = self._samples
        return EvalLog(
            status=status,
            eval=spec,
            results=summarise_samples(samples, spec.scorers),
            stats=Stats(
                started_at=self._started_at,
                finished_at=self._finished_at,
                total_steps=sum(sample.steps or 0 for sample in samples),
                reply_seconds=_reply_seconds(self._replies),
                statuses=dict(sorted(Counter(sample.status for sample in samples).items())),
                initial_states=initial_states_of(samples),
                disagreements=self._disagreements,
            ),
            samples=samples,
        )


def summarise_samples(samples: Sequence[Sample], scorers: Mapping[str, ScorerDeclaration]) -> Results:
    """The results of a set of samples: overall, by task, by tag, and over tasks.

    Raises:
        EvalError: A scorer that is declared binary says another number than 0 or 1.
    """
    tasks: dict[str, list[Sample]] = {}
    tags: dict[str, list[Sample]] = {}
    for sample in samples:
        tasks.setdefault(sample.task_id, []).append(sample)
        for tag in dict.fromkeys(sample.tags):
            tags.setdefault(tag, []).append(sample)
    overall = _statistics(samples, scorers)
    first = next(iter(overall.values()), None)
    return Results(
        n_episodes=len(samples),
        n_scored=first.n_scored if first else 0,
        n_modified=sum(bool(sample.differences) for sample in samples),
        overall=overall,
        macro={name: _macro(name, declaration, tasks) for name, declaration in scorers.items()},
        tasks={task_id: _statistics(members, scorers) for task_id, members in tasks.items()},
        tags={tag: _statistics(members, scorers) for tag, members in sorted(tags.items())},
        other={},
    )


def _statistics(samples: Sequence[Sample], scorers: Mapping[str, ScorerDeclaration]) -> dict[str, ScoreStatistics]:
    return {
        name: score_statistics(name, declaration, (sample.scores[name] for sample in samples if name in sample.scores))
        for name, declaration in scorers.items()
    }


def score_statistics(name: str, declaration: ScorerDeclaration, scores: Iterable[Score]) -> ScoreStatistics:
    """One scorer's scores over a set of episodes.

    Raises:
        EvalError: It is declared binary and says another number than 0 or 1.
    """
    given = list(scores)
    summary = summarise(name, given, binary=declaration.binary is True, unit=declaration.unit)
    interval = None
    if summary.interval is not None:
        low, high = summary.interval
        interval = MeanInterval(low=low, high=high, level=LEVEL, method="wilson")
    elif declaration.binary is False:
        interval = _bootstrap(mean_interval([score.value for score in given if score.value is not None]))
    return ScoreStatistics(
        mean=summary.mean,
        n_attempted=summary.n_attempted,
        n_scored=summary.n_scored,
        abstained=summary.abstained,
        interval=interval,
        worst_case=None
        if summary.worst_case is None
        else Bounds(low=summary.worst_case[0], high=summary.worst_case[1]),
    )


def _macro(name: str, declaration: ScorerDeclaration, tasks: Mapping[str, Sequence[Sample]]) -> MacroMean:
    numbers = {
        task_id: [value for sample in members if (value := sample.value(name)) is not None]
        for task_id, members in tasks.items()
    }
    scored = {task_id: values for task_id, values in numbers.items() if values}
    means = [mean for values in scored.values() if (mean := mean_of(values)) is not None]
    return MacroMean(
        mean=mean_of(means),
        n_tasks=len(tasks),
        n_tasks_scored=len(scored),
        interval=None if declaration.binary is None else _bootstrap(stratified_interval(scored)),
    )


def _bootstrap(interval: BootstrapInterval | None) -> MeanInterval | None:
    if interval is None:
        return None
    return MeanInterval(low=interval.low, high=interval.high, level=LEVEL, method="bootstrap")


def _reply_seconds(replies: Counter[int]) -> ReplySeconds | None:
    p50, p95, p99 = (quantile(replies, share) for share in (0.5, 0.95, 0.99))
    if p50 is None or p95 is None or p99 is None:
        return None
    return ReplySeconds(n=replies.total(), p50=p50, p95=p95, p99=p99)


def initial_states_of(samples: Sequence[Sample]) -> InitialStates:
    """How many different states some samples began in."""
    states = (sample.initial_state for sample in samples)
    counted = count_states((state.task, state.state, state.model) if state else None for state in states)
    return InitialStates(distinct=counted.distinct, repeated=counted.repeated)
