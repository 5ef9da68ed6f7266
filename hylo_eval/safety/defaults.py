"""The filters a run has unless it says otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hylo_eval.safety.bounds import ActionBounds
from hylo_eval.safety.finite import NonFiniteGuard

if TYPE_CHECKING:
    import gymnasium

    from hylo_eval.safety.protocol import SafetyFilter


def default_filters(action_space: gymnasium.Space[Any]) -> tuple[SafetyFilter, ...]:
    """``finite`` and ``bounds`` where actions are bounded numbers, ``finite`` where they are numbers, none for text."""
    from gymnasium import spaces

    if isinstance(action_space, spaces.Text):
        return ()
    if isinstance(action_space, spaces.Box):
        return (NonFiniteGuard(), ActionBounds())
    return (NonFiniteGuard(),)
