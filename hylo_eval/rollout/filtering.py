"""What the safety filters make of one action."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hylo_core.trace import SafetyEvent
from hylo_eval.errors import AgentError, EvalError, SafetyAbort
from hylo_eval.safety.finite import NonFiniteGuard

if TYPE_CHECKING:
    from hylo_eval.safety.protocol import SafetyFilter


def filter_action(
    filters: Sequence[SafetyFilter],
    index: int,
    proposed: Any,
    observation: Mapping[str, Any],
    record: Callable[[SafetyEvent], None],
) -> Any:
    """The action that reaches the environment: the proposed one after every filter, in order.

    Args:
        filters: As :class:`hylo_eval.safety.protocol.SafetyFilter` describes them.
        index: The step.
        proposed: What the agent asked for, shape (action_size,).
        observation: What the agent saw.
        record: Told of every intervention.

    Raises:
        SafetyAbort: A filter stopped the episode.
        AgentError: The action is not finite after the filters.
        EvalError: A filter changed the action's shape.
    """
    action = proposed
    known_finite = None
    for safety_filter in filters:
        filtered = safety_filter.apply(action, observation)
        if filtered.action is not action or filtered.abort:
            applied = None if filtered.abort else filtered.action
            record(SafetyEvent(index, safety_filter.name, filtered.reason, action, applied, filtered.abort))
            if filtered.abort:
                raise SafetyAbort(f"{safety_filter.name}: {filtered.reason}")
            if filtered.action.shape != action.shape:
                raise EvalError(
                    f"the {safety_filter.name} filter made an action of shape {filtered.action.shape}",
                    fix="mend the filter: it must keep the action's shape",
                )
            action = filtered.action
            action.setflags(write=False)
        if type(safety_filter) is NonFiniteGuard:
            known_finite = action
    # The sum is finite only if every entry is; it can also overflow, so a miss is looked at again.
    if action is not known_finite and not math.isfinite(sum(action.ravel().tolist())) and not np.isfinite(action).all():
        raise AgentError("the action is not finite")
    return action
