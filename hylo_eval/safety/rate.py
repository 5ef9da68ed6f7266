"""Bound the change from one action to the next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from hylo_eval.errors import EvalError
from hylo_eval.safety.protocol import Action, FilteredAction

if TYPE_CHECKING:
    import gymnasium

    from hylo_core.spec import EnvSpec


class RateLimit:
    """Keeps every entry within ``limit`` of the action applied before it; the first action of an episode is free.

    Args:
        limit: Largest change a step, in the action's own units. Above zero.
    """

    name = "rate"

    def __init__(self, limit: float) -> None:
        if not limit > 0:
            raise EvalError(f"the rate limit must be above zero, not {limit}")
        self.limit = limit
        self._last: Action | None = None

    def begin(self, env_spec: EnvSpec, action_space: gymnasium.Space[Any]) -> None:
        """Forget the last episode's action."""
        self._last = None

    def apply(self, action: Action, observation: Mapping[str, Any]) -> FilteredAction:
        """Clip the change."""
        if self._last is None or not np.isfinite(action).all():
            self._last = action
            return FilteredAction(action)
        limited = np.clip(action, self._last - self.limit, self._last + self.limit).astype(action.dtype, copy=False)
        changed = np.flatnonzero(limited != action)
        if changed.size == 0:
            self._last = action
            return FilteredAction(action)
        index = int(changed[0])
        step = float(action[index] - self._last[index])
        self._last = limited
        return FilteredAction(limited, f"entry {index} would change by {step:.6g}, more than {self.limit:g}")

    def describe(self) -> Mapping[str, Any]:
        """Name and limit."""
        return {"name": self.name, "limit": self.limit}
