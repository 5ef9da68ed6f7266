"""Scoring the traces of a run: from files to the EvalLog, one trace in memory at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from hylo_core.benchmark import Benchmark
from hylo_core.errors import clean_text, describe_error
from hylo_core.score import Score, Scorer
from hylo_core.task import TaskInstance
from hylo_core.trace import AgentInfo, EpisodeTrace
from hylo_eval.errors import TraceError
from hylo_eval.evallog.v01 import EvalLog, LoggedAgent, LoggedBenchmark, Sample
from hylo_eval.evaluation.worker import Episode
from hylo_eval.scoring.aggregate import ScoreSummary, summarise_scorer
from hylo_eval.scoring.outcome import REASONS, SCORER_ERROR, UNREADABLE
from hylo_eval.traces.reader import read_trace


@attrs.frozen(kw_only=True)
class ScoredEpisode:
    """An episode and what each scorer says about it."""

    episode: Episode
    scores: Mapping[str, Score]


def score_trace(scorers: Sequence[Scorer], trace: EpisodeTrace, task: TaskInstance) -> dict[str, Score]:
    """What each scorer says; one that raises abstains, so that one bad scorer loses no run."""
    scores: dict[str, Score] = {}
    for scorer in scorers:
        try:
            score: Any = _plain(scorer.score(trace, task))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - a scorer is somebody's code; its failure is an abstention
            score = Score.abstain(SCORER_ERROR, describe_error(error))
        if not isinstance(score, Score):
            score = Score.abstain(SCORER_ERROR, f"returned a {type(score).__name__}, not a Score")
        elif score.value not in (None, 0.0, 1.0) and getattr(scorer, "binary", False) is True:
            score = Score.abstain(SCORER_ERROR, f"declares itself binary and says {score.value:g}")
        scores[scorer.name] = score
    return scores


def _plain(score: Any) -> Any:
    """A score whose value is a float of Python's: a subclass (numpy's) or an endless integer cannot be logged."""
    if not isinstance(score, Score) or score.value is None or type(score.value) is float:
        return score
    return attrs.evolve(score, value=float(score.value))


def score_episodes(scorers: Sequence[Scorer], episodes: Iterable[Episode]) -> list[ScoredEpisode]:
    """Score the episodes of a run from their traces; one whose trace is lost or changed is abstained from."""
    return [ScoredEpisode(episode=episode, scores=_scores(scorers, episode)) for episode in episodes]


def _scores(scorers: Sequence[Scorer], episode: Episode) -> dict[str, Score]:
    try:
        trace = read_trace(episode.result.path)
    except TraceError as error:
        reason = str(error)
    else:
        if trace.trace_sha256 == episode.result.digests.trace_sha256:
            return score_trace(scorers, trace, episode.instance)
        reason = f"{REASONS[UNREADABLE]}: {episode.result.path} is not the file that was written"
    return {scorer.name: Score.abstain(UNREADABLE, clean_text(reason)) for scorer in scorers}


def summaries(scorers: Sequence[Scorer], scored: Sequence[ScoredEpisode]) -> dict[str, ScoreSummary]:
    """A summary a scorer, by name."""
    return {
        scorer.name: summarise_scorer(scorer, (episode.scores[scorer.name] for episode in scored)) for scorer in scorers
    }


def build_evallog(
    benchmark: Benchmark,
    split: str,
    agent: AgentInfo,
    run_id: str,
    scored: Sequence[ScoredEpisode],
    summary: Mapping[str, ScoreSummary],
) -> EvalLog:
    """The EvalLog of a run, samples in the benchmark's order whatever order they ran in."""
    results: dict[str, Any] = {f"{name}_mean": item.mean for name, item in summary.items()}
    primary = next(iter(summary.values()), None)
    results["n_episodes"] = len(scored)
    results["n_scored"] = primary.n_scored if primary else 0
    position = {task.id: index for index, task in enumerate(benchmark.tasks)}
    ordered = sorted(
        scored,
        key=lambda item: (position[item.episode.instance.spec.id], item.episode.instance.episode_index),
    )
    return EvalLog(
        run_id=run_id,
        benchmark=LoggedBenchmark(
            id=benchmark.id,
            version=benchmark.version,
            digest=benchmark.digest(),
            split=split,
            requires_privileged=benchmark.requires_privileged,
        ),
        agent=LoggedAgent(name=agent.name, version=agent.version, components=agent.components),
        results=results,
        samples=[_sample(item) for item in ordered],
    )


def _sample(scored: ScoredEpisode) -> Sample:
    episode = scored.episode
    return Sample(
        key=episode.instance.key,
        task_id=episode.instance.spec.id,
        seed=episode.instance.seed,
        episode_id=episode.episode_id,
        status=str(episode.result.end.status),
        scores={name: score.value for name, score in scored.scores.items()},
        trace=f"episodes/{episode.result.path.name}",
    )
