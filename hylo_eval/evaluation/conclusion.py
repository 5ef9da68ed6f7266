"""What a run came to: its log, written from what is done, whether all of it or a part."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import attrs

from hylo_core.score import Scorer
from hylo_core.spec import AgentSpec, SpecDifference
from hylo_core.trace import SCORED, ErrorEvent
from hylo_eval.errors import TraceError
from hylo_eval.evallog.files import write_evallog
from hylo_eval.evallog.v02 import EvalLog
from hylo_eval.evaluation.plan import Plan
from hylo_eval.evaluation.recipe import RunSetup
from hylo_eval.evaluation.scores import ScoredEpisode, build_evallog, score_episodes, summaries
from hylo_eval.evaluation.worker import Episode
from hylo_eval.evaluation.workers.lost_episode import with_trace
from hylo_eval.numerals import counted
from hylo_eval.queue import RunQueue, State
from hylo_eval.scoring.aggregate import ScoreSummary
from hylo_eval.scoring.initial_states import StateCount, count_states
from hylo_eval.traces.layout import RunFolder
from hylo_eval.traces.reader import read_trace
from hylo_eval.video.recorder import VideoTally


@attrs.frozen(kw_only=True)
class EvalResult:
    """What a run came to.

    Attributes:
        run: The run folder.
        log: The EvalLog, as written to ``log_path``.
        log_path: ``evallog.json``, or ``evallog.partial.json`` of a run that was stopped.
        summaries: One a scorer, by name, in the order given.
        scored: Every episode with its scores, in the order they ran.
        complete: Whether every planned instance has an outcome.
        agent_spec: What the agent expects and how it acts, after it met the environment.
        differences: What agent and environment do not say or disagree on.
        videos: How many videos were written and how many could not be; None where none were asked for.
    """

    run: RunFolder
    log: EvalLog
    log_path: Path
    summaries: Mapping[str, ScoreSummary]
    scored: Sequence[ScoredEpisode]
    complete: bool
    agent_spec: AgentSpec = attrs.field(factory=AgentSpec)
    differences: Sequence[SpecDifference] = ()
    videos: VideoTally | None = None

    @property
    def exit_code(self) -> int:
        """0 when every instance has an outcome, something was scored and no infrastructure failed; else 3."""
        primary = next(iter(self.summaries.values()), None)
        if not self.complete or primary is None or primary.n_scored == 0:
            return 3
        return 3 if any(item.n_infrastructure for item in self.summaries.values()) or self.disagreements else 0

    @property
    def disagreements(self) -> int:
        """Episodes in which our evaluation of the goal and the simulator's own check differed."""
        return sum(episode.episode.result.disagreements > 0 for episode in self.scored)

    @property
    def first_error(self) -> tuple[Episode, ErrorEvent] | None:
        """The first episode that nobody can score because something failed, and what failed, by its trace."""
        for item in self.scored:
            if item.episode.result.end.status in SCORED:
                continue
            with contextlib.suppress(TraceError):
                errors = read_trace(item.episode.result.path, digests="none", by_column=True).errors
                if errors:
                    return item.episode, errors[0]
        return None

    @property
    def initial_states(self) -> StateCount:
        """How many different initial states the episodes began in (task, state and model digest)."""
        return count_states(episode.initial_state for episode in self.scored)


class Interrupted(KeyboardInterrupt):
    """The operator stopped the run; what is finished is kept in ``result``."""

    def __init__(self, result: EvalResult) -> None:
        self.result = result
        super().__init__(f"stopped after {counted(len(result.scored), 'episode')}")


def conclude_run(
    queue: RunQueue,
    *,
    plan: Plan,
    setup: RunSetup,
    run: RunFolder,
    scorers: Sequence[Scorer],
    differences: Sequence[SpecDifference] = (),
    videos: VideoTally | None = None,
) -> EvalResult:
    """Score what is done in a run and write its log, ``evallog.partial.json`` while the run is not whole.

    Args:
        queue: What is done.
        plan: What was to be run.
        setup: With what.
        run: Where the traces lie and the log is written.
        scorers: Pure scorers.
        differences: What agent and environment do not say or disagree on, for the result.
        videos: How many videos were written, for the result; None where none were asked for.

    Raises:
        EvalError: The log cannot be written, or the queue holds an outcome that is none.
    """
    done = [
        Episode.recorded(run, plan.instance(result.key), result.attempt, with_trace(result, plan, setup, run))
        for result in queue.results()
        if result.state in (State.DONE, State.ABSTAINED)
    ]
    scored = score_episodes(scorers, done)
    summary = summaries(scorers, scored)
    complete = len(done) == plan.count
    log = build_evallog(
        scored,
        scorers,
        benchmark=plan.benchmark,
        split=plan.split,
        agent=setup.agent,
        run=run,
        complete=complete,
    )
    path = run.evallog if complete else run.partial_evallog
    write_evallog(log, path)
    if complete:
        run.partial_evallog.unlink(missing_ok=True)
    return EvalResult(
        run=run,
        log=log,
        log_path=path,
        summaries=summary,
        scored=scored,
        complete=complete,
        agent_spec=setup.agent_spec,
        differences=differences,
        videos=videos,
    )
