"""What a safety filter is.

A filter sees the action an agent proposes (or the filter before it left) and passes it, changes it, or stops the
episode. Each change becomes a ``safety`` event with the proposed and the applied action.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

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
