"""How many different initial states stand behind a number of episodes: the size of a sample that repeats none."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from functools import lru_cache
from typing import TypeAlias

import attrs

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
    """The simulator's own digest; where it has none, of the first observation, or of the first pictures.

    The observation's own JSON is enough here, and many times faster than canonical JSON: what is compared was written
    by one simulator, whose numbers are always of one kind. NaN and infinities have names of their own in it.
    """
    if reset.state_digest:
        return reset.state_digest
    shown = dict(reset.observation) or dict(reset.images)
    text = json.dumps(shown, sort_keys=True, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
