"""Scoring the traces of a run: from files to the EvalLog, one trace in memory at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from hylo_core.benchmark import Benchmark
from hylo_core.canonical import describe
from hylo_core.errors import clean_text
from hylo_core.score import Score, Scorer
from hylo_core.trace import AgentInfo
from hylo_eval.errors import EvalError, TraceError
from hylo_eval.evallog.v01 import EvalLog, LoggedAgent, LoggedBenchmark, Sample
from hylo_eval.evaluation.worker import Episode
from hylo_eval.scoring.aggregate import ScoreSummary, summarise_scorer
from hylo_eval.scoring.applying import score_trace
from hylo_eval.scoring.initial_states import InitialState, initial_state
from hylo_eval.scoring.outcome import REASONS, TRACE_UNREADABLE
from hylo_eval.traces.reader import read_trace


@attrs.frozen(kw_only=True)
class ScoredEpisode:
    """An episode, what it began in and what each scorer says about it."""

    episode: Episode
    scores: Mapping[str, Score]
    initial_state: InitialState | None = None


def checked_scorers(scorers: Sequence[Scorer]) -> Sequence[Scorer]:
    """The scorers, refused when there is none or two share a name.

    Raises:
        EvalError: Either.
    """
    for scorer in scorers:
        if isinstance(scorer, (str, type)) or not hasattr(scorer, "score"):
            raise EvalError(f"a scorer must be an object with name and score(), not {describe(scorer)}")
    names: list[Any] = [getattr(scorer, "name", None) for scorer in scorers]
    if not names:
        raise EvalError("a run needs at least one scorer")
    for name, scorer in zip(names, scorers, strict=True):
        if not isinstance(name, str) or clean_text(name) != name:
            raise EvalError(f"{describe(scorer)} is no scorer: its name is {describe(name)}")
    for name in names:
        if names.count(name) > 1:
            raise EvalError(f"two scorers are called {name!r}")
    return scorers


def score_episodes(scorers: Sequence[Scorer], episodes: Iterable[Episode]) -> list[ScoredEpisode]:
    """Score the episodes of a run from their traces; one whose trace is lost or changed is abstained from."""
    return [_score(scorers, episode) for episode in episodes]


def _score(scorers: Sequence[Scorer], episode: Episode) -> ScoredEpisode:
    try:
        # Read as re-scoring reads it, so that a scorer sees the same.
        trace = read_trace(episode.result.path, digests="behaviour")
    except TraceError as error:
        reason = str(error)
    else:
        if trace.behaviour_sha256 == episode.result.digests.behaviour_sha256:
            scores = score_trace(scorers, trace, episode.instance)
            return ScoredEpisode(episode=episode, scores=scores, initial_state=initial_state(trace))
        reason = f"{REASONS[TRACE_UNREADABLE]}: {episode.result.path} is not the file that was written"
    unread = Score.abstain(TRACE_UNREADABLE, clean_text(reason))
    return ScoredEpisode(episode=episode, scores={scorer.name: unread for scorer in scorers}, initial_state=None)


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
        results=log_results(summary, len(scored)),
        samples=[_sample(item) for item in ordered],
    )


def log_results(summary: Mapping[str, ScoreSummary], n_episodes: int) -> dict[str, Any]:
    """The log's ``results``: every mean, the number of episodes, and how many of them the first scorer scored."""
    primary = next(iter(summary.values()), None)
    means: dict[str, Any] = {f"{name}_mean": item.mean for name, item in summary.items()}
    return {**means, "n_episodes": n_episodes, "n_scored": primary.n_scored if primary else 0}


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
