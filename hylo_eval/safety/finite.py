"""Guard against actions that are not finite."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from hylo_eval.errors import AgentError, EvalError
from hylo_eval.safety.protocol import Action, FilteredAction

if TYPE_CHECKING:
    import gymnasium

    from hylo_core.spec import EnvSpec


class NonFiniteGuard:
    """Ends the episode as ``agent_error`` at the first NaN or infinity, or holds the last applied action instead.

    Args:
        response: ``error`` or ``hold``. With ``hold`` the first action of an episode must still be finite.
    """

    name = "finite"

    def __init__(self, response: Literal["error", "hold"] = "error") -> None:
        if response not in ("error", "hold"):
            raise EvalError(
                f"the finite guard's response is 'error' or 'hold', not {response!r}",
                fix="--safety finite:response=hold, or leave it out",
            )
        self.response = response
        self._last: Action | None = None

    def begin(self, env_spec: EnvSpec, action_space: gymnasium.Space[Any]) -> None:
        """Forget the last episode's action."""
        self._last = None

    def apply(self, action: Action, observation: Mapping[str, Any]) -> FilteredAction:
        """Pass a finite action.

        Raises:
            AgentError: It is not finite and there is nothing to hold.
        """
        # The sum is finite only if every entry is; it can also overflow, so a miss is looked at again.
        if math.isfinite(sum(action.ravel().tolist())) or np.isfinite(action).all():
            self._last = action
            return FilteredAction(action)
        bad = ", ".join(str(index) for index in np.flatnonzero(~np.isfinite(action)))
        if self.response == "hold" and self._last is not None:
            return FilteredAction(self._last, f"entries {bad} are not finite; the last action is held")
        raise AgentError(f"the action is not finite in entries {bad}")

    def describe(self) -> Mapping[str, Any]:
        """Name and response."""
        return {"name": self.name, "response": self.response}
