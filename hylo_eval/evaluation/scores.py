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
from hylo_eval.evallog.building import LogBuilder
from hylo_eval.evallog.facts import EpisodeFacts, episode_facts
from hylo_eval.evallog.parties import LoggedAgent, LoggedBenchmark
from hylo_eval.evallog.v02 import EvalLog, EvalSpec, Sample
from hylo_eval.evaluation.recorded_trace import read_recorded
from hylo_eval.evaluation.scorer_refs import declare
from hylo_eval.evaluation.worker import Episode
from hylo_eval.interpreters.own import hylo_version, source_digest
from hylo_eval.scoring.aggregate import ScoreSummary, summarise_scorer
from hylo_eval.scoring.applying import score_trace
from hylo_eval.scoring.initial_states import InitialState
from hylo_eval.scoring.outcome import REASONS, TRACE_UNREADABLE
from hylo_eval.traces.layout import EPISODES, RunFolder
from hylo_eval.traces.manifest import read_manifest


@attrs.frozen(kw_only=True)
class ScoredEpisode:
    """An episode, what its trace says beside the scores, and what each scorer says about it."""

    episode: Episode
    scores: Mapping[str, Score]
    facts: EpisodeFacts

    @property
    def initial_state(self) -> InitialState | None:
        """What it began in; None when it never began."""
        state = self.facts.initial_state
        return None if state is None else (state.task, state.state, state.model)


def checked_scorers(scorers: Sequence[Scorer]) -> Sequence[Scorer]:
    """The scorers, as they are.

    Raises:
        EvalError: There is none, two share a name, or one is no object with ``score()`` and a name that UTF-8 can hold.
    """
    for scorer in scorers:
        if isinstance(scorer, (str, type)) or not hasattr(scorer, "score"):
            raise EvalError(
                f"a scorer must be an object with name and score(), not {describe(scorer)}",
                fix="pass an object, such as hylo_eval.scoring's",
            )
    names: list[Any] = [getattr(scorer, "name", None) for scorer in scorers]
    if not names:
        raise EvalError("a run needs at least one scorer", fix="leave the scorers out to have the usual ones")
    for name, scorer in zip(names, scorers, strict=True):
        if not isinstance(name, str) or clean_text(name) != name:
            raise EvalError(
                f"{describe(scorer)} is no scorer: its name is {describe(name)}", fix="give it a name, a text"
            )
    for name in names:
        if names.count(name) > 1:
            raise EvalError(f"two scorers are called {name!r}", fix="name each scorer once")
    return scorers


def score_episodes(scorers: Sequence[Scorer], episodes: Iterable[Episode]) -> list[ScoredEpisode]:
    """Score the episodes of a run from their traces; one whose trace is lost or changed is abstained from."""
    return [_score(scorers, episode) for episode in episodes]


def _score(scorers: Sequence[Scorer], episode: Episode) -> ScoredEpisode:
    result = episode.result
    try:
        # Read as re-scoring reads it, so that a scorer sees the same.
        recorded = read_recorded(result.path, result.digests.trace_sha256)
    except TraceError as error:
        # The path is this machine's; the reason is the trace's.
        reason = f"line {error.line}: {error.reason}" if error.line else error.reason
    else:
        if recorded.trace_sha256 == result.digests.trace_sha256 and not recorded.changed_grades:
            trace = recorded.trace
            scores = score_trace(scorers, trace, episode.instance)
            return ScoredEpisode(episode=episode, scores=scores, facts=episode_facts(trace))
        reason = f"{REASONS[TRACE_UNREADABLE]}: {result.path.name} is not the file that was written"
    unread = Score.abstain(TRACE_UNREADABLE, clean_text(reason))
    facts = EpisodeFacts(behaviour_sha256=result.digests.behaviour_sha256, tags=episode.instance.spec.tags)
    return ScoredEpisode(episode=episode, scores={scorer.name: unread for scorer in scorers}, facts=facts)


def summaries(scorers: Sequence[Scorer], scored: Sequence[ScoredEpisode]) -> dict[str, ScoreSummary]:
    """A summary a scorer, by name."""
    return {
        scorer.name: summarise_scorer(scorer, (episode.scores[scorer.name] for episode in scored)) for scorer in scorers
    }


def build_evallog(
    scored: Sequence[ScoredEpisode],
    scorers: Sequence[Scorer],
    *,
    benchmark: Benchmark,
    split: str,
    agent: AgentInfo,
    run: RunFolder,
    complete: bool,
) -> EvalLog:
    """The EvalLog of a run, samples in the benchmark's order whatever order they ran in."""
    position = {task.id: index for index, task in enumerate(benchmark.tasks)}
    ordered = sorted(
        scored,
        key=lambda item: (position[item.episode.instance.spec.id], item.episode.instance.episode_index),
    )
    builder = LogBuilder()
    for item in ordered:
        builder.add(_sample(item), item.facts)
    spec = EvalSpec(
        run_id=run.run_id,
        benchmark=LoggedBenchmark(
            id=benchmark.id,
            version=benchmark.version,
            digest=benchmark.digest(),
            split=split,
            requires_privileged=benchmark.requires_privileged,
        ),
        agent=LoggedAgent(name=agent.name, version=agent.version, components=agent.components),
        scorers=declare(scorers),
        manifest=manifest_on_record(run),
        scored_by=this_release(),
    )
    return builder.finish(status="complete" if complete else "partial", spec=spec)


def manifest_on_record(run: RunFolder) -> dict[str, Any]:
    """A run's manifest; empty where it cannot be read, so that nobody loses the scores with it."""
    try:
        return read_manifest(run.manifest)
    except EvalError:
        return {}


def this_release() -> dict[str, str]:
    """Which Hylo scores: its version and the digest of its source files."""
    return {"version": hylo_version(), "source_digest": source_digest()}


def _sample(scored: ScoredEpisode) -> Sample:
    episode, facts = scored.episode, scored.facts
    return Sample(
        key=episode.instance.key,
        task_id=episode.instance.spec.id,
        seed=episode.instance.seed,
        episode_id=episode.episode_id,
        status=str(episode.result.end.status),
        scores=scored.scores,
        trace=f"{EPISODES}/{episode.result.path.name}",
        trace_sha256=episode.result.digests.trace_sha256,
        behaviour_sha256=facts.behaviour_sha256,
        tags=facts.tags,
        steps=facts.steps,
        initial_state=facts.initial_state,
    )
