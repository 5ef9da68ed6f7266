"""The events of an episode's trace.

A trace is JSON lines: ``episode_start``, ``reset``, ``step`` (with ``safety`` before the step it belongs to),
``error`` if something failed, ``episode_end``, and any number of ``grade`` events after it. What may differ between two
equal runs (clocks, durations, host, attempt) sits in the one member ``volatile`` of each event and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import attrs

from hylo_core.contract import (
    Contract,
    Record,
    boolean,
    instance_of,
    integer,
    integers,
    number,
    one_of,
    text,
    texts,
)
from hylo_core.errors import ContractError
from hylo_core.frozen import FrozenMapping, freeze_mapping
from hylo_core.schema import TRACE_SCHEMA
from hylo_core.spec import AgentSpec, EnvSpec
from hylo_core.step_columns import ColumnSteps
from hylo_core.task import TaskInstance

if TYPE_CHECKING:
    from attrs import frozen
else:
    # Frozen for the type checker only: an attrs class that is frozen at run time takes five times as long to build.
    from attrs import define as frozen

Numbers: TypeAlias = Any
"""An array in flight (numpy) or as read back (nested lists of numbers); text where an action or observation is text."""

PHASES = ("make", "reset", "open", "act", "filter", "step", "record", "close")
"""The phases of an episode in which something can fail."""

AGENT_PHASES = frozenset({"open", "act"})
"""The phases in which the agent's own code runs: what fails in them is the agent's fault, whatever its type."""


class EpisodeStatus(StrEnum):
    """How an episode ended, and so who is to blame."""

    COMPLETED = "completed"
    """Terminated, or the horizon was reached: nobody."""
    SAFETY_ABORT = "safety_abort"
    """A safety filter stopped it: the agent's behaviour; scored as a failure."""
    SIM_UNSTABLE = "sim_unstable"
    """The simulator warned of a bad state: the agent's actions; scored as a failure, counted apart."""
    AGENT_ERROR = "agent_error"
    """The agent raised, or its action was misshapen or not finite: abstains, never retried."""
    ENV_ERROR = "env_error"
    """The environment raised or broke its contract: infrastructure; retried, then abstains."""
    TIMEOUT = "timeout"
    """The environment outlasted its deadline: infrastructure."""
    WORKER_LOST = "worker_lost"
    """The process died: infrastructure."""
    CANCELLED = "cancelled"
    """The operator stopped it: not an episode."""


INFRASTRUCTURE = frozenset({EpisodeStatus.ENV_ERROR, EpisodeStatus.TIMEOUT, EpisodeStatus.WORKER_LOST})
SCORED = frozenset({EpisodeStatus.COMPLETED, EpisodeStatus.SAFETY_ABORT, EpisodeStatus.SIM_UNSTABLE})


def _mapping(path: str) -> Any:
    return attrs.field(factory=FrozenMapping[Any], converter=freeze_mapping(path))


@attrs.frozen(kw_only=True)
class AgentInfo(Contract):
    """Who was evaluated: the agent manifest.

    Attributes:
        name: The agent's name.
        version: A release, a commit or a checkpoint step.
        components: What it is made of: name to digest or version (weights, tokenizer, library versions).
        trained_on: Splits it was trained or tuned on, as ``benchmark_id/split``; the gate refuses those as evidence.
    """

    name: str = attrs.field(validator=text(empty=False))
    version: str = attrs.field(default="unknown", validator=text(empty=False))
    components: Mapping[str, Any] = _mapping("components")
    trained_on: tuple[str, ...] = attrs.field(default=(), converter=texts("trained_on"))


@attrs.frozen(kw_only=True)
class BenchmarkRef(Record):
    """The benchmark an episode belongs to.

    Attributes:
        id: The benchmark's id.
        version: The benchmark's version.
        digest: ``sha256:<hex>`` of the benchmark's contract.
        split: The split that the episode's seed is from.
    """

    id: str = attrs.field(validator=text(empty=False))
    version: str = attrs.field(validator=text(empty=False))
    digest: str = attrs.field(validator=text(empty=False))
    split: str = attrs.field(validator=text(empty=False))


@attrs.frozen(kw_only=True)
class ArrayLayout(Record):
    """What one observation, or the action, looks like.

    Attributes:
        shape: Of the array; empty for a scalar and for text.
        dtype: numpy's name of the dtype, such as ``float64``; ``text`` for text, ``unknown`` where there is no
            action space to ask.
    """

    shape: tuple[int, ...] = attrs.field(default=(), converter=integers("shape"))
    dtype: str = attrs.field(default="float64", validator=text(empty=False))


@attrs.frozen(kw_only=True)
class EpisodeStart(Record):
    """The first event: everything the episode depends on.

    Attributes:
        instance: The task instance, whole.
        benchmark: Which benchmark and split it is from.
        agent: The agent manifest.
        env_spec: What the environment offers.
        agent_spec: What the agent expects.
        observations: Layout of every observation key.
        action: Layout of the action.
        versions: The simulator's packages with versions.
        renderer: What draws the pictures; ``none`` for state only.
        seeds: The seeds handed out: ``env`` (the instance's own) and ``agent``.
        volatile: ``episode_id``, ``attempt``, ``started_at``, ``host``, ``pid``.
    """

    type: ClassVar[str] = "episode_start"
    schema: ClassVar[str] = TRACE_SCHEMA

    instance: TaskInstance = attrs.field(validator=instance_of(TaskInstance))
    benchmark: BenchmarkRef = attrs.field(validator=instance_of(BenchmarkRef))
    agent: AgentInfo = attrs.field(validator=instance_of(AgentInfo))
    env_spec: EnvSpec = attrs.field(factory=EnvSpec, validator=instance_of(EnvSpec))
    agent_spec: AgentSpec = attrs.field(factory=AgentSpec, validator=instance_of(AgentSpec))
    observations: Mapping[str, ArrayLayout] = attrs.field(
        factory=FrozenMapping[ArrayLayout], converter=FrozenMapping[ArrayLayout]
    )
    action: ArrayLayout = attrs.field(factory=ArrayLayout, validator=instance_of(ArrayLayout))
    versions: Mapping[str, str] = _mapping("versions")
    renderer: str = attrs.field(default="none", validator=text(empty=False))
    seeds: Mapping[str, int] = _mapping("seeds")
    volatile: Mapping[str, Any] = _mapping("volatile")


@attrs.frozen(kw_only=True)
class ResetEvent:
    """The initial state as the agent met it.

    Attributes:
        instruction: The text actually used.
        observation: Low-dimensional observations by key.
        images: Digest of every picture by key.
        success: Whether success already held before any action.
        settle_steps: Steps the environment took to settle, not charged to the horizon.
        state_digest: Digest of the simulator's state after settling; empty where there is none.
        model_digest: Digest of what the state does not hold (fixture poses); empty where there is none.
        snapshot: The scene as JSON, from which its family can set it up again; empty where the family has none.
        volatile: ``reset_seconds``.
    """

    type: ClassVar[str] = "reset"

    instruction: str
    observation: Mapping[str, Numbers] = attrs.field(factory=dict[str, Numbers])
    images: Mapping[str, str] = attrs.field(factory=dict[str, str])
    success: bool = False
    settle_steps: int = 0
    state_digest: str = ""
    model_digest: str = ""
    snapshot: Mapping[str, Any] = attrs.field(factory=dict[str, Any])
    volatile: Mapping[str, Any] = attrs.field(factory=dict[str, Any])


@frozen
class StepEvent:
    """One control step.

    Attributes:
        index: From 0.
        proposed: What the agent asked for, shape (action_size,).
        applied: What reached the environment, after the safety filters.
        inference: Whether the agent was asked at this step (else the action came from the chunk buffer).
        reward: The environment's reward.
        terminated: The environment's own end.
        truncated: The environment's own time limit (the harness's horizon is no truncation).
        success: ``info["success"]`` after the action.
        observation: Low-dimensional observations after the action.
        images: Digest of every picture the agent is about to see.
        goal: Whether each conjunct of the goal holds after the action, in the predicate's order; None where the
            environment does not say.
        disagreement: Whether our evaluation of the goal and the simulator's own check differ.
        volatile: ``act_seconds`` (with inference), ``transport_seconds``, ``step_seconds``, ``reply``.
    """

    type: ClassVar[str] = "step"

    index: int
    proposed: Numbers
    applied: Numbers
    inference: bool
    reward: float
    terminated: bool
    truncated: bool
    success: bool
    observation: Mapping[str, Numbers]
    images: Mapping[str, str] | None = None
    goal: Sequence[bool] | None = None
    disagreement: bool = False
    volatile: Mapping[str, Any] | None = None


@attrs.frozen
class SafetyEvent:
    """A safety filter changed an action, or stopped the episode in front of it.

    The step of the same index follows, unless the episode was stopped.

    Attributes:
        index: The step the action was for, from 0.
        filter: The filter's name.
        reason: Why it intervened, in words.
        proposed: The action the filter was given, shape (action_size,).
        applied: The action it returned, of the same shape; None where it stopped the episode.
        abort: Whether it stopped the episode.
    """

    type: ClassVar[str] = "safety"

    index: int
    filter: str
    reason: str
    proposed: Numbers
    applied: Numbers
    abort: bool = False


@attrs.frozen(kw_only=True)
class ErrorEvent(Record):
    """Something failed.

    Attributes:
        phase: Where, one of :data:`PHASES`.
        error_type: The exception's class name.
        message: Its text.
        step: The step it happened in; None before the first.
        volatile: ``traceback``.
    """

    type: ClassVar[str] = "error"

    phase: str = attrs.field(validator=one_of(*PHASES))
    error_type: str = attrs.field(validator=text())
    message: str = attrs.field(validator=text())
    step: int | None = attrs.field(default=None, validator=integer(minimum=0, optional=True))
    volatile: Mapping[str, Any] = _mapping("volatile")


@attrs.frozen(kw_only=True)
class EpisodeEnd(Record):
    """The last event of the episode itself.

    Attributes:
        status: How it ended.
        steps: Actions that reached the environment.
        success_once: Whether success held after any step; None when no step was taken.
        success_at_end: Whether it held after the last step; None when no step was taken, or when the episode ended
            because of its success, so that nobody knows what would have followed.
        reason: ``success``, ``terminated``, ``truncated``, ``horizon``, or the failing phase.
        volatile: ``finished_at``, ``seconds``, ``resident_bytes`` (memory of the process), ``close_error``,
            ``behaviour_sha256``.
    """

    type: ClassVar[str] = "episode_end"

    status: EpisodeStatus
    steps: int = attrs.field(validator=integer(minimum=0))
    success_once: bool | None = attrs.field(default=None, validator=attrs.validators.optional(boolean))
    success_at_end: bool | None = attrs.field(default=None, validator=attrs.validators.optional(boolean))
    reason: str = attrs.field(default="", validator=text())
    volatile: Mapping[str, Any] = _mapping("volatile")

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.status, EpisodeStatus):
            raise ContractError(f"must be an EpisodeStatus, not {self.status!r}", path="status")


@attrs.frozen(kw_only=True)
class GradeEvent(Record):
    """An outside judgement, appended after the end.

    Attributes:
        grader: Who judged: the grader's name.
        value: The judgement, or None when there is none (see ``error``).
        ref: What judged: a reference or model name.
        digest: Digest of what judged (a rubric, a prompt).
        explanation: Why, in words.
        error: What failed; empty when nothing did.
        metadata: Details as JSON.
        prev_sha256: Digest of all bytes of the trace before this event; set when it is appended.
        volatile: ``graded_at``.
    """

    type: ClassVar[str] = "grade"

    grader: str = attrs.field(validator=text(empty=False))
    value: float | None = attrs.field(default=None, validator=number(optional=True))
    ref: str = attrs.field(default="", validator=text())
    digest: str = attrs.field(default="", validator=text())
    explanation: str = attrs.field(default="", validator=text())
    error: str = attrs.field(default="", validator=text())
    metadata: Mapping[str, Any] = _mapping("metadata")
    prev_sha256: str = attrs.field(default="", validator=text())
    volatile: Mapping[str, Any] = _mapping("volatile")


@attrs.frozen(kw_only=True)
class EpisodeTrace:
    """A trace as read back: what scorers see.

    Attributes:
        start: The first event.
        reset: None when the environment never came up.
        steps: In order of index. What is asked of all of them is asked for by column (:meth:`column`).
        safety: Every intervention.
        errors: What failed.
        end: None when the file ends before its end event: not a finished episode.
        grades: Judgements appended later.
        torn: Whether the last line was incomplete.
        trace_sha256: Digest of all bytes up to and including the end event's newline; empty where the reader was not
            asked for it (scorers do not get it: it covers clocks).
        behaviour_sha256: Digest of the stable part of the same events.
    """

    start: EpisodeStart
    reset: ResetEvent | None = None
    steps: Sequence[StepEvent] = ()
    safety: tuple[SafetyEvent, ...] = ()
    errors: tuple[ErrorEvent, ...] = ()
    end: EpisodeEnd | None = None
    grades: tuple[GradeEvent, ...] = ()
    torn: bool = False
    trace_sha256: str = ""
    behaviour_sha256: str = ""

    @property
    def instance(self) -> TaskInstance:
        """The task instance the episode ran."""
        return self.start.instance

    @property
    def key(self) -> str:
        """The instance key."""
        return self.start.instance.key

    @property
    def episode_id(self) -> str:
        """The id of this attempt; empty when it is not on record."""
        return str(self.start.volatile.get("episode_id", ""))

    def column(self, name: str) -> Sequence[Any]:
        """One member of every step, in order: ``trace.column("reward")``.

        A trace that was read with ``by_column`` holds the short members as columns, so this is many times faster than
        going through ``steps``. All members but ``proposed``, ``applied`` and ``observation`` are short.
        """
        steps = self.steps
        return steps.column(name) if isinstance(steps, ColumnSteps) else [getattr(step, name) for step in steps]

    @property
    def first_success(self) -> int | None:
        """The index of the first step after which success held; None where it never did."""
        try:
            return self.column("success").index(True)
        except ValueError:
            return None

    @property
    def status(self) -> EpisodeStatus | None:
        """How it ended, None when it did not."""
        return None if self.end is None else self.end.status
