"""The chunk buffer: the harness alone holds it, one an episode, so no action of one episode reaches the next."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hylo_core.canonical import check_json
from hylo_core.errors import ContractError
from hylo_core.trace import ArrayLayout
from hylo_eval.agents.protocol import Reply
from hylo_eval.errors import AgentError
from hylo_eval.traces.encoding import encode_value


class ChunkBuffer:
    """Hands out the actions of a reply one by one.

    Args:
        action_shape: Of one action; None where actions are text.
        replan: Actions executed of each reply.
    """

    def __init__(self, action_shape: tuple[int, ...] | None, replan: int) -> None:
        self._shape = action_shape
        self._replan = replan
        self._actions: list[Any] = []

    def __bool__(self) -> bool:
        return bool(self._actions)

    def fill(self, reply: Reply) -> None:
        """Take a reply.

        Raises:
            AgentError: It is no :class:`Reply`, its actions have another shape or kind, or there are too few.
        """
        if not isinstance(reply, Reply):
            raise AgentError(f"act() must return a Reply, not {type(reply).__name__}")
        actions = reply.actions
        if self._shape is None or isinstance(actions, str):
            self._actions = [self._text(actions)]
            return
        if type(actions) is not np.ndarray or actions.dtype.kind not in "fiu":
            actions = _numbers(actions)
        if actions.shape == self._shape:
            self._actions = [actions]
            return
        if actions.shape[1:] != self._shape or actions.ndim != len(self._shape) + 1:
            raise AgentError(
                f"the action has shape {actions.shape}; the environment takes {self._shape}, "
                f"or a chunk of shape (horizon, {', '.join(map(str, self._shape))})"
            )
        if len(actions) < self._replan:
            raise AgentError(f"the chunk holds {len(actions)} actions, fewer than the replan count {self._replan}")
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
