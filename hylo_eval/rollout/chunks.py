"""The chunk buffer: the harness alone holds it, one an episode, so no action of one episode reaches the next."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hylo_core.canonical import check_json
from hylo_core.errors import ContractError
from hylo_core.spec import AgentSpec
from hylo_core.trace import ArrayLayout
from hylo_eval.agents.protocol import Reply
from hylo_eval.errors import AgentError
from hylo_eval.traces.encoding import encode_value


class ChunkBuffer:
    """Hands out the actions of a reply one by one.

    Args:
        action_shape: Of one action; None where actions are text.
        spec: Says how many actions a reply holds and how many of them are executed.
    """

    def __init__(self, action_shape: tuple[int, ...] | None, spec: AgentSpec) -> None:
        self._shape = action_shape
        self._chunk_length = spec.chunk_length
        self._replan = spec.replan
        self._actions: list[Any] = []

    def __bool__(self) -> bool:
        return bool(self._actions)

    def fill(self, reply: Reply) -> None:
        """Take a reply.

        Raises:
            AgentError: It is no :class:`Reply`, its actions have another shape or kind, or there are fewer than the
                replan count or more than the chunk length: what is on record would not be what was executed.
        """
        if not isinstance(reply, Reply):
            raise AgentError(f"act() must return a Reply, not {type(reply).__name__}")
        actions = reply.actions
        if self._shape is None or isinstance(actions, str):
            self._actions = [self._text(actions)]
            return
        if type(actions) is not np.ndarray or actions.dtype.kind not in "fiu":
            actions = _numbers(actions)
        single = actions.shape == self._shape
        if single and self._replan == 1:
            self._actions = [actions]
            return
        if single:
            actions = actions[np.newaxis]
        elif actions.shape[1:] != self._shape or actions.ndim != len(self._shape) + 1:
            raise AgentError(
                f"the action has shape {actions.shape}; the environment takes {self._shape}, "
                f"or a chunk of shape (horizon, {', '.join(map(str, self._shape))})"
            )
        count = len(actions)
        if count < self._replan:
            raise AgentError(f"the reply holds {_actions(count)}, fewer than the replan count {self._replan}")
        if count > self._chunk_length:
            raise AgentError(
                f"the reply holds {count} actions, more than the chunk length {self._chunk_length} of the agent's spec"
            )
        # Reversed, so that pop() hands out row 0 first.
        self._actions = list(actions[: self._replan][::-1])

    def pop(self) -> Any:
        """The next action."""
        return self._actions.pop()

    def _text(self, actions: Any) -> str:
        if self._shape is not None:
            raise AgentError(f"the agent answered with text; the environment takes actions of shape {self._shape}")
        if not isinstance(actions, str):
            raise AgentError(f"the environment takes text, not {type(actions).__name__}")
        try:
            actions.encode()
        except UnicodeEncodeError as error:
            raise AgentError("the text holds a lone surrogate, which UTF-8 cannot encode") from error
        return actions


def _actions(count: int) -> str:
    return "1 action" if count == 1 else f"{count} actions"


def _numbers(actions: Any) -> np.ndarray[Any, Any]:
    """A list of numbers as an array; a bool, text or a ragged list is no action."""
    try:
        array = np.asarray(actions)
    except (ValueError, TypeError) as error:
        raise AgentError(f"the action is not an array of numbers: {error}") from error
    if array.dtype.kind not in "fiu":
        raise AgentError(f"the action is not an array of numbers: it holds {array.dtype}")
    return array


def volatile_of(reply: Reply) -> dict[str, Any]:
    """What a step keeps of a reply beside its actions: ``transport_seconds`` and ``reply``, where there is any.

    Raises:
        AgentError: The seconds are no finite number, or the metadata is not JSON (numpy's scalars and numbers that are
            not finite are written as everywhere in a trace).
    """
    kept: dict[str, Any] = {}
    seconds = reply.transport_seconds
    if seconds:
        if not isinstance(seconds, (int, float)) or not math.isfinite(seconds):
            raise AgentError(f"transport_seconds must be a finite number, not {seconds!r}")
        kept["transport_seconds"] = seconds
    if reply.metadata:
        try:
            kept["reply"] = encode_value(reply.metadata)
            check_json(kept["reply"], "metadata")
        except (ContractError, RecursionError) as error:
            raise AgentError(f"the metadata of a reply is JSON: {error}") from error
    return kept


def action_shape(space: Any) -> tuple[int, ...] | None:
    """The shape of one action; None where actions are text."""
    from gymnasium import spaces

    return None if isinstance(space, spaces.Text) else tuple(space.shape)


def action_layout(space: Any) -> ArrayLayout:
    """The layout of one action for the start event; ``unknown`` where there is no space."""
    if space is None:
        return ArrayLayout(dtype="unknown")
    shape = action_shape(space)
    return ArrayLayout(dtype="text") if shape is None else ArrayLayout(shape=shape, dtype=str(space.dtype))
