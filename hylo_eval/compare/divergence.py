"""Where two episodes of one instance part: the first moment at which what happened is not the same."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, TypeAlias, cast

import attrs

from hylo_core.errors import ContractError
from hylo_core.trace import EpisodeTrace, ResetEvent, StepEvent

Aspect: TypeAlias = Literal[
    "instruction", "state", "model", "proposed", "applied", "observation", "images", "reward", "success", "end"
]

ASPECTS: Final[Mapping[Aspect, str]] = {
    "instruction": "the instruction",
    "state": "the digest of the simulator's state",
    "model": "the digest of the model (fixtures)",
    "proposed": "the action the agent proposed",
    "applied": "the action that reached the environment",
    "observation": "the observation",
    "images": "the pictures",
    "reward": "the reward",
    "success": "success",
    "end": "the end",
}
"""What is compared, in the order in which it comes about within one step."""

_ORDER: Final = {aspect: place for place, aspect in enumerate(ASPECTS)}


@attrs.frozen(kw_only=True)
class Parting:
    """The first difference in one aspect.

    Attributes:
        aspect: What differs, one of :data:`ASPECTS`.
        step: The index of the step; None at the reset, before any step.
        members: The observations or cameras that differ; empty where the aspect has no members.
        largest: The greatest absolute difference of two numbers at the same place; None where something other than
            numbers differs (text, shape, a digest, a number that is not finite).
    """

    aspect: Aspect
    step: int | None
    members: tuple[str, ...] = ()
    largest: float | None = None

    @property
    def words(self) -> str:
        """``step 12: the observation (object_pose), by up to 0.013``."""
        where = "at the reset" if self.step is None else f"step {self.step}"
        members = f" ({', '.join(self.members)})" if self.members else ""
        by = "" if self.largest is None else f", by up to {self.largest:.3g}"
        return f"{where}: {ASPECTS[self.aspect]}{members}{by}"


@attrs.frozen(kw_only=True)
class Divergence:
    """How two episodes differ.

    Attributes:
        partings: The first difference in each aspect that has one, in the order of time; the first one is where the
            episodes part, those after it may follow from it.
        conditions: Names of the start event's members that differ (agent, versions, ...), which are no behaviour.
        steps: How many steps each has.
    """

    partings: tuple[Parting, ...]
    conditions: tuple[str, ...]
    steps: tuple[int, int]

    @property
    def first(self) -> Parting | None:
        """Where the episodes part; None where they are the same."""
        return self.partings[0] if self.partings else None


def find_divergence(ours: EpisodeTrace, theirs: EpisodeTrace, *, tolerance: float = 0.0) -> Divergence:
    """Find where two episodes part.

    Two numbers are the same when they differ by at most ``tolerance``, or both are the same infinity or both NaN;
    everything else (text, digests, shapes) has to be equal. Clocks and durations are not looked at. A picture or digest
    that only one side has on record is a difference.

    Args:
        ours: One episode.
        theirs: The other.
        tolerance: Absolute, in the unit of each number.

    Raises:
        ContractError: The tolerance is negative or not finite.
    """
    if not 0.0 <= tolerance < math.inf:
        raise ContractError(f"must be a finite number of at least 0, not {tolerance!r}", path="tolerance")
    found: dict[Aspect, Parting] = {}
    for parting in _partings(ours, theirs, tolerance):
        found.setdefault(parting.aspect, parting)
    ordered = sorted(found.values(), key=lambda item: (-1 if item.step is None else item.step, _ORDER[item.aspect]))
    return Divergence(
        partings=tuple(ordered),
        conditions=_conditions(ours, theirs),
        steps=(len(ours.steps), len(theirs.steps)),
    )


def _partings(ours: EpisodeTrace, theirs: EpisodeTrace, tolerance: float) -> Iterator[Parting]:
    if ours.reset is not None and theirs.reset is not None:
        yield from _at_reset(ours.reset, theirs.reset, tolerance)
    elif ours.reset is not theirs.reset:
        yield Parting(aspect="end", step=None)
    for left, right in zip(ours.steps, theirs.steps, strict=False):
        yield from _at_step(left, right, tolerance)
    shared = min(len(ours.steps), len(theirs.steps))
    if len(ours.steps) != len(theirs.steps) or _end(ours) != _end(theirs):
        yield Parting(aspect="end", step=shared if len(ours.steps) != len(theirs.steps) else max(shared - 1, 0))


def _at_reset(left: ResetEvent, right: ResetEvent, tolerance: float) -> Iterator[Parting]:
    if left.instruction != right.instruction:
        yield Parting(aspect="instruction", step=None)
    if left.state_digest != right.state_digest:
        yield Parting(aspect="state", step=None)
    if left.model_digest != right.model_digest:
        yield Parting(aspect="model", step=None)
    yield from _members("observation", None, left.observation, right.observation, tolerance)
    yield from _members("images", None, left.images, right.images, tolerance)
    if left.success != right.success:
        yield Parting(aspect="success", step=None)


def _at_step(left: StepEvent, right: StepEvent, tolerance: float) -> Iterator[Parting]:
    index = left.index
    for aspect in ("proposed", "applied", "reward"):
        difference = _difference(getattr(left, aspect), getattr(right, aspect))
        if difference is None or difference > tolerance:
            yield Parting(aspect=aspect, step=index, largest=difference)
    yield from _members("observation", index, left.observation, right.observation, tolerance)
    yield from _members("images", index, left.images or {}, right.images or {}, tolerance)
    if left.success != right.success or left.goal != right.goal:
        yield Parting(aspect="success", step=index)


def _members(
    aspect: Aspect, step: int | None, left: Mapping[str, Any], right: Mapping[str, Any], tolerance: float
) -> Iterator[Parting]:
    if left == right:
        return
    differences = {key: _difference(left.get(key), right.get(key)) for key in sorted(left.keys() | right.keys())}
    apart = {key: by for key, by in differences.items() if by is None or by > tolerance}
    if apart:
        numbers = [by for by in apart.values() if by is not None]
        largest = max(numbers) if len(numbers) == len(apart) else None
        yield Parting(aspect=aspect, step=step, members=tuple(apart), largest=largest)


def _difference(left: Any, right: Any) -> float | None:
    """The greatest difference of two numbers at the same place; None where something else differs."""
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        if left == right or (left != left and right != right):  # noqa: PLR0124 - NaN is the one number unlike itself
            return 0.0
        apart = abs(left - right)
        return apart if math.isfinite(apart) else None
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return _sequence_difference(cast("list[Any]", left), cast("list[Any]", right))
    return 0.0 if left == right else None


def _sequence_difference(left: list[Any], right: list[Any]) -> float | None:
    if len(left) != len(right):
        return None
    largest = 0.0
    for mine, other in zip(left, right, strict=True):
        apart = _difference(mine, other)
        if apart is None:
            return None
        largest = max(largest, apart)
    return largest


def _end(trace: EpisodeTrace) -> tuple[Any, ...]:
    if trace.end is None:
        return ()
    return trace.end.status, trace.end.success_once, trace.end.success_at_end, trace.end.reason


def _conditions(ours: EpisodeTrace, theirs: EpisodeTrace) -> tuple[str, ...]:
    left, right = ours.start, theirs.start
    pairs = {
        "task": (left.instance.spec.digest(), right.instance.spec.digest()),
        "seed": (left.instance.seed, right.instance.seed),
        **{
            name: (getattr(left, name), getattr(right, name))
            for name in ("benchmark", "agent", "env_spec", "agent_spec", "observations", "action", "versions")
        },
        "renderer": (left.renderer, right.renderer),
    }
    return tuple(name for name, (mine, other) in pairs.items() if mine != other)
