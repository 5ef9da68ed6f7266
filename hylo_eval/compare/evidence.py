"""What a run says, as values: keyed outcomes and the conditions under which they came about."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import attrs

from hylo_core.trace import BenchmarkRef
from hylo_eval.compare.table import UNSTATED, Side
from hylo_eval.compare.words import short_digests
from hylo_eval.scoring.initial_states import StateCount, count_states
from hylo_eval.scoring.lengths import EpisodeLengths

START_ASPECTS = ("state", "model", "instruction", "frames")
"""What two episodes of one pair must have begun with in common."""


@attrs.frozen(kw_only=True)
class Start:
    """What an episode began with. An empty text is unknown, and unknown is equal to unknown only.

    Attributes:
        state: Digest of the simulator's state; of the first observation where the simulator has none.
        model: Digest of what the state does not hold, such as fixture poses.
        instruction: The text the agent was given.
        frames: Digest of the first pictures.
    """

    state: str = ""
    model: str = ""
    instruction: str = ""
    frames: str = ""

    def differing(self, other: Start) -> tuple[str, ...]:
        """The aspects in which two starts differ, in the order of `START_ASPECTS`."""
        return tuple(name for name in START_ASPECTS if getattr(self, name) != getattr(other, name))


@attrs.frozen(kw_only=True)
class EpisodeOutcome:
    """What came out of one episode.

    Attributes:
        scores: Metric -> number, or None for an abstention.
        reasons: Metric -> why it abstained.
        task_digest: Digest of the task as it was run; empty where no trace was read.
        start: What it began with; None where it never began, or no trace was read.
        tags: The task's tags.
    """

    scores: Mapping[str, float | None]
    reasons: Mapping[str, str]
    task_digest: str = ""
    start: Start | None = None
    tags: tuple[str, ...] = ()


@attrs.frozen(kw_only=True)
class RunConditions:
    """Under which conditions a run came about, from its manifest.

    Attributes:
        run_id: The run.
        created_at: When it began, ISO 8601.
        config_digest: Digest of all that must not change while it goes on.
        log_sha256: Digest of its log's bytes.
        benchmark: What was run.
        tasks_digest: Digest of the selected tasks as they were run.
        overrides: What was changed of the tasks.
        scorers: The scorers it was run with.
        scorer_sources: Scorer -> its reference and the digest of its file as its log has them; each may be empty.
        agent_name: Who was evaluated.
        agent_version: In which version.
        trained_on: Splits the agent was trained or tuned on, ``benchmark_id/split``.
        versions: Packages of the simulator.
        renderer: What drew the pictures.
        env: The environment: reference, options and spec, as JSON.
        safety: The filters, as JSON.
        env_source: Digest of the file that somebody else's environment is written in; empty where not on record.
        hylo_version: The release of Hylo it was made with.
        agent_digest: Digest of the agent's whole manifest: reference, options, components, spec.
        agent_settings: The agent's components and options.
        batch_size: How many observations the agent answered at a time, where its options or components say so.
        planned: Episodes that were planned; 0 where that is not on record.
        keys_digest: Digest of the planned instance keys in their declared order.
        replicate: Which repetition of the same instances it is, from 1: it decides the agent's seeds.
    """

    run_id: str
    created_at: str
    config_digest: str
    log_sha256: str
    benchmark: BenchmarkRef
    tasks_digest: str
    overrides: Mapping[str, Any]
    scorers: tuple[str, ...]
    agent_name: str
    agent_version: str
    trained_on: tuple[str, ...]
    versions: Mapping[str, str]
    renderer: str
    env: Mapping[str, Any]
    safety: tuple[Mapping[str, Any], ...]
    hylo_version: str
    scorer_sources: Mapping[str, tuple[str, str]] = attrs.field(factory=dict[str, tuple[str, str]])
    env_source: str = ""
    agent_digest: str = ""
    agent_settings: Mapping[str, Any] = attrs.field(factory=dict[str, Any])
    batch_size: str = ""
    planned: int = 0
    keys_digest: str = ""
    replicate: int = 1

    @property
    def agent(self) -> str:
        """Name and version of the agent."""
        return f"{self.agent_name} {self.agent_version}"

    @property
    def identity(self) -> tuple[str, str, str]:
        """What no other run has in common with this one: id, time and configuration."""
        return self.run_id, self.created_at, self.config_digest


@attrs.frozen(kw_only=True)
class RunEvidence:
    """One run as evidence.

    Attributes:
        conditions: Under which it came about.
        outcomes: Instance key -> what came out.
        finished: Whether every planned instance has an outcome.
        traces_read: Whether the outcomes were read from the traces, or the log alone was believed.
        faults: What contradicts itself in the run, a sentence each; evidence with faults is refused.
        order: The planned instance keys in their declared order; empty where that is not on record.
        to_finish: What finishes a run that is not whole.
        folder: Where it was read; empty where it lies nowhere.
    """

    conditions: RunConditions
    outcomes: Mapping[str, EpisodeOutcome]
    finished: bool = True
    traces_read: bool = True
    faults: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    to_finish: str = ""
    folder: str = ""

    @property
    def successes_end_first(self) -> bool:
        """Whether its episodes show that what has ended of it succeeds more often than all of it will."""
        return EpisodeLengths.of(
            (key.rpartition("#")[0], int(steps), bool(success))
            for key, outcome in self.outcomes.items()
            if (steps := outcome.scores.get("steps")) is not None
            and (success := outcome.scores.get("success")) is not None
        ).successes_end_first

    def narrowed(self, keys: Collection[str]) -> RunEvidence:
        """The same run with these instances only."""
        return attrs.evolve(self, outcomes={key: self.outcomes[key] for key in self.outcomes if key in keys})


@attrs.frozen(kw_only=True)
class Difference:
    """Something that keeps two runs from being comparable.

    Attributes:
        name: What ``--allow`` takes, in one word.
        sentence: What differs, with both values.
        allowable: Whether it may be allowed at all.
        fix: What mends it, where that is more than running both agents under the same conditions.
        flag: What lets it pass where it is not allowed by name, such as ``--intersect``.
    """

    name: str
    sentence: str
    allowable: bool = True
    fix: str = ""
    flag: str = ""

    @property
    def flags(self) -> tuple[str, ...]:
        """The arguments that let it pass; none where nothing does."""
        return ("--allow", self.name) if self.allowable else (self.flag,) if self.flag else ()

    @property
    def words(self) -> str:
        """Name and sentence in one line for people, with short digests; the sentence itself has them in full."""
        return short_digests(f"{self.name}: {' '.join(self.sentence.split())}")


NOT_A_PAIR = "not_a_pair"
"""The reason of both sides' abstention where two episodes of one instance began differently."""


@attrs.frozen(kw_only=True)
class PairedEvidence:
    """Two runs that may be compared.

    Attributes:
        candidate: The new agent's run.
        parent: The run of the agent it is to replace.
        allowed: Differences that were allowed by name.
        notes: What else a reader must know, a sentence each.
        unpaired: Instance key -> the aspects in which its two episodes began differently.
        intersected: Whether keys that only one run has were left out on request.
    """

    candidate: RunEvidence
    parent: RunEvidence
    allowed: tuple[Difference, ...] = ()
    notes: tuple[str, ...] = ()
    unpaired: Mapping[str, tuple[str, ...]] = attrs.field(factory=dict[str, tuple[str, ...]])
    intersected: bool = False

    @property
    def finished(self) -> bool:
        """Whether both runs are whole."""
        return self.candidate.finished and self.parent.finished

    @property
    def traces_read(self) -> bool:
        """Whether the traces of both runs were read and checked."""
        return self.candidate.traces_read and self.parent.traces_read

    def narrowed(self, keys: Collection[str]) -> PairedEvidence:
        """The same two runs with these instances only."""
        unpaired = {key: aspects for key, aspects in self.unpaired.items() if key in keys}
        return attrs.evolve(
            self, candidate=self.candidate.narrowed(keys), parent=self.parent.narrowed(keys), unpaired=unpaired
        )

    def run(self, side: Side) -> RunEvidence:
        """One of the two runs."""
        return self.candidate if side == "candidate" else self.parent

    def scores(self, side: Side, metric: str) -> dict[str, float | None]:
        """Instance key -> the metric's score, or None: its scorer abstained, or the instance is no pair."""
        return {
            key: None if key in self.unpaired else outcome.scores.get(metric)
            for key, outcome in self.run(side).outcomes.items()
        }

    def reasons(self, side: Side, metric: str) -> dict[str, str]:
        """Instance key -> why there is no score."""
        found: dict[str, str] = {}
        for key, outcome in self.run(side).outcomes.items():
            if key in self.unpaired:
                found[key] = NOT_A_PAIR
            elif outcome.scores.get(metric) is None:
                found[key] = outcome.reasons.get(metric, UNSTATED)
        return found

    def has_metric(self, metric: str) -> bool:
        """Whether both runs have this metric for every episode, abstentions included."""
        return all(
            metric in outcome.scores for run in (self.candidate, self.parent) for outcome in run.outcomes.values()
        )

    def tags_of(self, key: str) -> tuple[str, ...]:
        """The tags of an instance's task."""
        outcome = self.candidate.outcomes.get(key) or self.parent.outcomes.get(key)
        return outcome.tags if outcome else ()

    def distinct_starts(self) -> int | None:
        """How many different initial states the pairs began in; None where no state is on record."""
        return self._state_count().distinct or None

    def repeated_starts(self) -> int:
        """How many pairs began in a state that another pair had too, beyond the first of each."""
        return self._state_count().repeated

    def _state_count(self) -> StateCount:
        shared = self.candidate.outcomes.keys() & self.parent.outcomes.keys()
        outcomes = {key: self.candidate.outcomes[key] for key in shared - self.unpaired.keys()}
        return count_states(
            (outcome.task_digest, outcome.start.state, outcome.start.model)
            for outcome in outcomes.values()
            if outcome.start is not None and outcome.start.state
        )


def faulty(side: str, run: str, fault: str) -> Difference:
    """The refusal of a run in which something is not as it was recorded.

    Args:
        side: Which of the two it is.
        run: Its folder or name.
        fault: What is wrong, as what is said of a run: ``has …``.
    """
    fix = f"restore the files of {run} as they were written, or run its agent again"
    return Difference(name="traces", sentence=f"the {side}'s run {fault}", allowable=False, fix=fix)
