"""How many different initial states stand behind a number of episodes: the size of a sample that repeats none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, TypeAlias, cast

import attrs

from hylo_core.canonical import digest
from hylo_core.task import TaskSpec
from hylo_core.trace import EpisodeTrace, ResetEvent

InitialState: TypeAlias = tuple[str, str, str]
"""Digests of the task, of the simulator's state, and of what the state does not hold."""


@attrs.frozen
class StateCount:
    """How many initial states a set of episodes had.

    Attributes:
        distinct: Different ones.
        repeated: Episodes that began in a state another one had too, beyond the first of each.
    """

    distinct: int
    repeated: int


def count_states(states: Iterable[InitialState | None]) -> StateCount:
    """Count different initial states; episodes whose state is not on record are left out."""
    known = [state for state in states if state is not None]
    distinct = len(set(known))
    return StateCount(distinct, len(known) - distinct)


def initial_state(trace: EpisodeTrace) -> InitialState | None:
    """What an episode began in; None when it never began."""
    if trace.reset is None:
        return None
    return _task_digest(_Itself(trace.instance.spec)), state_digest(trace.reset), trace.reset.model_digest


@attrs.frozen(eq=False)
class _Itself:
    """A task compared by identity: two that are equal to Python (1 and True) may have different digests."""

    spec: TaskSpec

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and other.spec is self.spec

    def __hash__(self) -> int:
        return id(self.spec)


@lru_cache(maxsize=64)
def _task_digest(task: _Itself) -> str:
    """A run has thousands of episodes of few tasks, and its reader shares their specs."""
    return task.spec.digest()


def state_digest(reset: ResetEvent) -> str:
    """The simulator's own digest; where it has none, of the first observation, or of the first pictures."""
    shown = dict(reset.observation) or dict(reset.images)
    return reset.state_digest or digest(_without_non_finite(shown))


def _without_non_finite(value: Any) -> Any:
    """Canonical JSON knows no NaN and no infinity; their texts stand for them."""
    if isinstance(value, float) and value - value != 0.0:
        return str(value)
    if isinstance(value, Mapping):
        return {name: _without_non_finite(item) for name, item in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list):
        return [_without_non_finite(item) for item in cast("list[Any]", value)]
    return value
