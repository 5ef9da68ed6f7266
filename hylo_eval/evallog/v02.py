"""EvalLog ``hylo.evallog/v0.2``: what a run came to, with everything needed to doubt it.

The top level is ``version, status, eval, results, stats, samples``. A log is written with all but the samples in its
first line and one sample in each line after it (:mod:`hylo_eval.evallog.files`). Unknown is a value: a log that came
from v0.1 has no references, digests or intervals, and says so by None or an empty text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import attrs

from hylo_core.canonical import is_digest
from hylo_core.contract import (
    Record,
    boolean,
    contracts_of,
    describe,
    instance_of,
    integer,
    mapping_of,
    member_of,
    number,
    one_of,
    text,
    texts,
)
from hylo_core.errors import ContractError
from hylo_core.frozen import FrozenMapping, freeze_mapping
from hylo_core.score import Score
from hylo_eval.evallog.parties import LoggedAgent, LoggedBenchmark

STATUSES = ("complete", "partial", "unknown")
"""Whether every planned instance has an outcome; ``unknown`` in a log that came from v0.1."""

INTERVAL_METHODS = ("wilson", "bootstrap")


def _count(value: Any, path: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**53:
        raise ContractError(f"must be a count, not {describe(value)}", path=path)
    return value


def _digest(_: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
    if value != "" and (not isinstance(value, str) or not is_digest(value)):
        raise ContractError(f"must be empty or sha256: and 64 digits, not {describe(value)}", path=attribute.name)


@attrs.frozen(kw_only=True)
class ScorerDeclaration(Record):
    """What is known of a scorer.

    Attributes:
        ref: ``package.module:Attr``; empty where it was made in a program and has no name to find it by.
        binary: Whether it says 0 or 1; None where that is not on record.
        unit: Of its numbers, ``s`` for seconds; empty for counts and shares.
        source_digest: Of the file that a scorer of somebody else's is written in; empty where not on record.
    """

    ref: str = attrs.field(validator=text())
    binary: bool | None = attrs.field(validator=attrs.validators.optional(boolean))
    unit: str = attrs.field(validator=text())
    source_digest: str = attrs.field(default="", validator=_digest)


@attrs.frozen(kw_only=True)
class EvalSpec(Record):
    """What was evaluated, and with what.

    Attributes:
        run_id: The run folder's name.
        benchmark: What was run.
        agent: Who was evaluated.
        scorers: By name, in the order in which they were asked; the first decides ``results.n_scored``.
        manifest: The run's manifest as it stands in ``manifest.json``: versions, digests, specs, options; empty where
            none is on record.
        scored_by: Hylo's ``version`` and ``source_digest`` at the scoring; empty where not on record.
    """

    run_id: str = attrs.field(validator=text(empty=False))
    benchmark: LoggedBenchmark = attrs.field(validator=instance_of(LoggedBenchmark))
    agent: LoggedAgent = attrs.field(validator=instance_of(LoggedAgent))
    scorers: Mapping[str, ScorerDeclaration] = attrs.field(
        converter=mapping_of("scorers", member_of(ScorerDeclaration))
    )
    manifest: Mapping[str, Any] = attrs.field(converter=freeze_mapping("manifest"))
    scored_by: Mapping[str, Any] = attrs.field(converter=freeze_mapping("scored_by"))


@attrs.frozen(kw_only=True)
class MeanInterval(Record):
    """A confidence interval of a mean.

    Attributes:
        low: Lower end.
        high: Upper end.
        level: Confidence, 0.95.
        method: ``wilson`` for a share of successes; ``bootstrap`` (percentiles of resampled means) for the rest.
    """

    low: float = attrs.field(validator=number())
    high: float = attrs.field(validator=number())
    level: float = attrs.field(validator=number(minimum=0.0))
    method: str = attrs.field(validator=one_of(*INTERVAL_METHODS))


@attrs.frozen(kw_only=True)
class Bounds(Record):
    """The mean with every abstention a failure (``low``) and with every one a success (``high``)."""

    low: float = attrs.field(validator=number())
    high: float = attrs.field(validator=number())


@attrs.frozen(kw_only=True)
class ScoreStatistics(Record):
    """One scorer over a set of episodes, each episode counting the same.

    Attributes:
        mean: Of the scored episodes; None when none was scored.
        n_attempted: Episodes with an outcome.
        n_scored: Episodes with a number.
        abstained: Abstentions by reason.
        interval: Of the mean; None without enough numbers, or where nothing says whether they are 0 and 1.
        worst_case: Only of a score of 0 and 1: others have no worst.
    """

    mean: float | None = attrs.field(validator=number(optional=True))
    n_attempted: int = attrs.field(validator=integer(minimum=0))
    n_scored: int = attrs.field(validator=integer(minimum=0))
    abstained: Mapping[str, int] = attrs.field(converter=mapping_of("abstained", _count))
    interval: MeanInterval | None = attrs.field(validator=instance_of(MeanInterval, optional=True))
    worst_case: Bounds | None = attrs.field(validator=instance_of(Bounds, optional=True))


@attrs.frozen(kw_only=True)
class MacroMean(Record):
    """One scorer over tasks, each task counting the same.

    Attributes:
        mean: Mean of the tasks' means, over the tasks with a number; None when there is none.
        n_tasks: Tasks with an episode.
        n_tasks_scored: Tasks with a number.
        interval: Of that mean, episodes resampled within each task; None where a scored task has a single number.
    """

    mean: float | None = attrs.field(validator=number(optional=True))
    n_tasks: int = attrs.field(validator=integer(minimum=0))
    n_tasks_scored: int = attrs.field(validator=integer(minimum=0))
    interval: MeanInterval | None = attrs.field(validator=instance_of(MeanInterval, optional=True))


def _groups(path: str) -> Callable[[Any], FrozenMapping[Any]]:
    def check(value: Any, group_path: str) -> Any:
        return mapping_of(group_path, member_of(ScoreStatistics))(value)

    return mapping_of(path, check)


def _agreements(value: object) -> tuple[Mapping[str, Any], ...]:
    if not isinstance(value, (list, tuple)):
        raise ContractError(f"must be a list, not {describe(value)}", path="grader_agreement")
    found = cast("Sequence[Any]", value)
    return tuple(freeze_mapping("grader_agreement")(item) for item in found)


@attrs.frozen(kw_only=True)
class Results(Record):
    """What the scorers say.

    Attributes:
        n_episodes: Episodes with an outcome.
        n_scored: Of them, those the first scorer gave a number.
        n_modified: Of them, those whose trace is not the one that was recorded (``rescore --accept-modified``).
        overall: Scorer -> its statistics, each episode counting the same (micro).
        macro: Scorer -> its mean over tasks, each task counting the same.
        tasks: Task id -> scorer -> statistics.
        tags: Tag of a task -> scorer -> statistics over all episodes of the tasks that have it.
        other: What a log of v0.1 held beside means and counts.
        grader_agreement: For every two graders of the same episodes, the members of
            :class:`hylo_eval.scoring.agreement.Agreement`.
    """

    n_episodes: int = attrs.field(validator=integer(minimum=0))
    n_scored: int = attrs.field(validator=integer(minimum=0))
    n_modified: int = attrs.field(validator=integer(minimum=0))
    overall: Mapping[str, ScoreStatistics] = attrs.field(converter=mapping_of("overall", member_of(ScoreStatistics)))
    macro: Mapping[str, MacroMean] = attrs.field(converter=mapping_of("macro", member_of(MacroMean)))
    tasks: Mapping[str, Mapping[str, ScoreStatistics]] = attrs.field(converter=_groups("tasks"))
    tags: Mapping[str, Mapping[str, ScoreStatistics]] = attrs.field(converter=_groups("tags"))
    other: Mapping[str, Any] = attrs.field(converter=freeze_mapping("other"))
    grader_agreement: tuple[Mapping[str, Any], ...] = attrs.field(default=(), converter=_agreements)


@attrs.frozen(kw_only=True)
class ReplySeconds(Record):
    """How long the agent took to answer, over all replies of the run; see :mod:`hylo_eval.scoring.duration_histogram`.

    Attributes:
        n: Replies.
        p50: Median, in seconds, to within 1 %; likewise the others.
        p95: 95th percentile.
        p99: 99th percentile.
    """

    n: int = attrs.field(validator=integer(minimum=1))
    p50: float = attrs.field(validator=number(minimum=0.0))
    p95: float = attrs.field(validator=number(minimum=0.0))
    p99: float = attrs.field(validator=number(minimum=0.0))


@attrs.frozen(kw_only=True)
class InitialStates(Record):
    """How many different initial states the episodes had, and how many episodes only repeat one."""

    distinct: int = attrs.field(validator=integer(minimum=0))
    repeated: int = attrs.field(validator=integer(minimum=0))


@attrs.frozen(kw_only=True)
class Stats(Record):
    """How the run went.

    Attributes:
        started_at: When the first episode began, ISO 8601; empty where not on record.
        finished_at: When the last one ended; likewise.
        total_steps: Actions that reached an environment, over all episodes; None where not on record.
        reply_seconds: None where no reply is on record.
        statuses: Episodes by how they ended.
        initial_states: None where not on record.
        disagreements: Episodes in which our evaluation of the goal and the simulator's own check differ; None where
            not on record.
    """

    started_at: str = attrs.field(validator=text())
    finished_at: str = attrs.field(validator=text())
    total_steps: int | None = attrs.field(validator=integer(minimum=0, optional=True))
    reply_seconds: ReplySeconds | None = attrs.field(validator=instance_of(ReplySeconds, optional=True))
    statuses: Mapping[str, int] = attrs.field(converter=mapping_of("statuses", _count))
    initial_states: InitialStates | None = attrs.field(validator=instance_of(InitialStates, optional=True))
    disagreements: int | None = attrs.field(validator=integer(minimum=0, optional=True))


@attrs.frozen(kw_only=True)
class LoggedState(Record):
    """What an episode began in.

    Attributes:
        task: Digest of the task.
        state: Digest of the simulator's state; of the first observation where it has none.
        model: Digest of what the state does not hold; empty where there is none.
    """

    task: str = attrs.field(validator=_digest)
    state: str = attrs.field(validator=text(empty=False))
    model: str = attrs.field(validator=text())


@attrs.frozen(kw_only=True)
class Sample(Record):
    """One episode. Members that are not on record are left out of the file.

    Attributes:
        key: The instance key.
        task_id: The task.
        seed: The seed.
        episode_id: Which attempt counts.
        status: How it ended.
        scores: Scorer -> its score; the value is None for an abstention, whose reason is ``metadata["reason"]``.
        trace: The trace's path, relative to the run folder.
        trace_sha256: Digest of the trace up to and including its end event; empty where not on record.
        behaviour_sha256: Digest of what equal behaviour has in common.
        tags: The task's tags.
        steps: Actions that reached the environment.
        initial_state: What it began in.
        differences: In what the trace that was scored is not the one that was recorded.
    """

    key: str = attrs.field(validator=text(empty=False))
    task_id: str = attrs.field(validator=text(empty=False))
    seed: int = attrs.field(validator=integer(minimum=0))
    episode_id: str = attrs.field(validator=text())
    status: str = attrs.field(validator=text(empty=False))
    scores: Mapping[str, Score] = attrs.field(converter=mapping_of("scores", member_of(Score)))
    trace: str = attrs.field(validator=text())
    trace_sha256: str = attrs.field(default="", validator=_digest)
    behaviour_sha256: str = attrs.field(default="", validator=_digest)
    tags: tuple[str, ...] = attrs.field(default=(), converter=texts("tags"))
    steps: int | None = attrs.field(default=None, validator=integer(minimum=0, optional=True))
    initial_state: LoggedState | None = attrs.field(default=None, validator=instance_of(LoggedState, optional=True))
    differences: tuple[str, ...] = attrs.field(default=(), converter=texts("differences"))

    def value(self, scorer: str) -> float | None:
        """A scorer's number; None where it abstained or was not asked."""
        score = self.scores.get(scorer)
        return None if score is None else score.value


@attrs.frozen(kw_only=True)
class LogHeader(Record):
    """Everything but the samples: the first line of the file.

    Attributes:
        status: One of :data:`STATUSES`.
        eval: What was evaluated.
        results: What the scorers say.
        stats: How it went.
    """

    status: str = attrs.field(validator=one_of(*STATUSES))
    eval: EvalSpec = attrs.field(validator=instance_of(EvalSpec))
    results: Results = attrs.field(validator=instance_of(Results))
    stats: Stats = attrs.field(validator=instance_of(Stats))

    @property
    def run_id(self) -> str:
        """The run folder's name."""
        return self.eval.run_id

    @property
    def benchmark(self) -> LoggedBenchmark:
        """What was run."""
        return self.eval.benchmark

    @property
    def agent(self) -> LoggedAgent:
        """Who was evaluated."""
        return self.eval.agent

    def mean(self, scorer: str) -> float | None:
        """A scorer's mean over all episodes; None where it has none."""
        statistics = self.results.overall.get(scorer)
        return None if statistics is None else statistics.mean


@attrs.frozen(kw_only=True)
class EvalLog(LogHeader):
    """The log of one run.

    Attributes:
        samples: One an instance, in the order of the benchmark's split.
    """

    samples: tuple[Sample, ...] = attrs.field(converter=contracts_of("samples", Sample))

    def header(self) -> LogHeader:
        """Everything but the samples."""
        return LogHeader(status=self.status, eval=self.eval, results=self.results, stats=self.stats)
