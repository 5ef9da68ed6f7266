"""Bound the change from one action to the next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from hylo_eval.errors import EvalError
from hylo_eval.safety.protocol import Action, FilteredAction, cast_back

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
            raise EvalError(f"the rate limit must be above zero, not {limit}", fix="--safety rate:limit=0.1, say")
        self.limit = limit
        self._last: Action | None = None

    def begin(self, env_spec: EnvSpec, action_space: gymnasium.Space[Any]) -> None:
        """Forget the last episode's action.

        Raises:
            EvalError: Actions are choices, which have no rate.
        """
        if not hasattr(action_space, "low"):
            raise EvalError(
                f"the rate filter needs a Box action space, not {type(action_space).__name__}",
                fix="leave 'rate' out of --safety",
            )
        self._last = None

    def apply(self, action: Action, observation: Mapping[str, Any]) -> FilteredAction:
        """Clip the change; an action that is not finite is the finite guard's matter and no base for the next."""
        if not np.isfinite(action).all():
            return FilteredAction(action)
        if self._last is None:
            self._last = action
            return FilteredAction(action)
        low, high = self._last - self.limit, self._last + self.limit
        limited = cast_back(np.clip(action, low, high), action, low, high)
        changed = np.flatnonzero(limited != action)
        if changed.size == 0:
            self._last = action
            return FilteredAction(action)
        index = int(changed[0])
        step = float(action.flat[index] - self._last.flat[index])
        self._last = limited
        return FilteredAction(limited, f"entry {index} would change by {step:.6g}, more than {self.limit:g}")

    def describe(self) -> Mapping[str, Any]:
        """Name and limit."""
        return {"name": self.name, "limit": self.limit}
