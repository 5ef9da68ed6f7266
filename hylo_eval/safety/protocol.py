"""What a safety filter is.

A filter sees the action an agent proposes (or the filter before it left) and passes it, changes it, or stops the
episode. Each change becomes a ``safety`` event with the proposed and the applied action.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from hylo_core.canonical import describe
from hylo_core.errors import clean_text
from hylo_eval.errors import EvalError

if TYPE_CHECKING:
    import gymnasium
    from attrs import frozen

    from hylo_core.spec import EnvSpec
else:
    # Frozen to the type checker alone: at run time freezing doubles the cost of a value made at every step.
    from attrs import define as frozen

Action = np.ndarray[Any, np.dtype[np.floating[Any]]]


@frozen
class FilteredAction:
    """What a filter made of an action.

    Attributes:
        action: Shape (action_size,); the very same array when nothing changed.
        reason: Why it changed or stopped, in words; empty when nothing did.
        abort: Whether the episode ends here, as ``safety_abort``; the action is then not applied.
    """

    action: Action
    reason: str = ""
    abort: bool = False


@runtime_checkable
class SafetyFilter(Protocol):
    """Looks at every action. ``apply`` depends on its arguments and on the episode so far, on nothing else."""

    name: str

    def begin(self, env_spec: EnvSpec, action_space: gymnasium.Space[Any]) -> None:
        """Begin an episode: forget the one before, and read bounds and slices.

        Raises:
            EvalError: The filter cannot work with this environment; an accepted filter filters.
        """
        ...

    def apply(self, action: Action, observation: Mapping[str, Any]) -> FilteredAction:
        """Look at one action; ``observation`` is the one before it. The given array is not to be written to."""
        ...

    def describe(self) -> Mapping[str, Any]:
        """Name and settings as JSON, for the manifest."""
        ...


def begin_filters(filters: Sequence[SafetyFilter], env_spec: EnvSpec, action_space: gymnasium.Space[Any]) -> None:
    """Begin an episode for every filter.

    Raises:
        EvalError: A filter cannot work with this environment. None works on text: an accepted filter filters.
    """
    for safety_filter in filters:
        name: object = getattr(safety_filter, "name", None)
        if not isinstance(name, str) or clean_text(name) != name:
            raise EvalError(
                f"{describe(safety_filter)} is no safety filter: its name is {describe(name)}",
                fix="give it a name, a text",
            )
    if filters and action_space.shape is None:
        raise EvalError(
            f"the {filters[0].name} filter looks at numbers, and the actions of this environment are not",
            fix="--safety none",
        )
    for safety_filter in filters:
        safety_filter.begin(env_spec, action_space)


def cast_back(changed: Action, action: Action, low: Action, high: Action) -> Action:
    """A changed action in the dtype it came in, unless rounding to it would leave ``[low, high]`` again."""
    narrowed = changed.astype(action.dtype, copy=False)
    inside = (narrowed >= low) & (narrowed <= high) | ~np.isfinite(changed)
    return narrowed if inside.all() else changed
