"""Clip actions to the bounds of the action space."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from hylo_eval.errors import EvalError
from hylo_eval.safety.protocol import Action, FilteredAction

if TYPE_CHECKING:
    import gymnasium

    from hylo_core.spec import EnvSpec


class ActionBounds:
    """Clips every entry of an action to the environment's ``Box`` action space."""

    name = "bounds"

    def __init__(self) -> None:
        self._low: Action = np.empty(0)
        self._high: Action = np.empty(0)
        self._lows: list[float] = []
        self._highs: list[float] = []

    def begin(self, env_spec: EnvSpec, action_space: gymnasium.Space[Any]) -> None:
        """Read the bounds.

        Raises:
            EvalError: The action space has no bounds to clip to.
        """
        low, high = getattr(action_space, "low", None), getattr(action_space, "high", None)
        if low is None or high is None:
            raise EvalError(
                f"the bounds filter needs a Box action space, not {type(action_space).__name__}",
                fix="leave 'bounds' out of --safety",
            )
        self._low = np.asarray(low, dtype=np.float64)
        self._high = np.asarray(high, dtype=np.float64)
        self._lows, self._highs = self._low.ravel().tolist(), self._high.ravel().tolist()

    def apply(self, action: Action, observation: Mapping[str, Any]) -> FilteredAction:
        """Clip; what was inside passes as the same array."""
        # Plain floats: for the few entries of an action faster than four calls into numpy.
        for low, entry, high in zip(self._lows, action.ravel().tolist(), self._highs):  # noqa: B905 - in every step
            if not low <= entry <= high:
                return self._clip(action)
        return FilteredAction(action)

    def describe(self) -> Mapping[str, Any]:
        """The name; bounds stand in the start event."""
        return {"name": self.name}

    def _clip(self, action: Action) -> FilteredAction:
        clipped = np.minimum(np.maximum(action, self._low), self._high)
        outside = np.flatnonzero((clipped != action) & ~np.isnan(action))
        if outside.size == 0:
            # NaN is inside no bounds and clipped to nothing: it is the finite guard's matter.
            return FilteredAction(action)
        index = int(outside[0])
        reason = f"entry {index} is {action[index]:.6g}, outside [{self._low[index]:.6g}, {self._high[index]:.6g}]" + (
            f", and {outside.size - 1} more" if outside.size > 1 else ""
        )
        return FilteredAction(clipped.astype(action.dtype, copy=False), reason)
