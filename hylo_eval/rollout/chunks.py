"""The chunk buffer: the harness alone holds it, one an episode, so no action of one episode reaches the next."""

from __future__ import annotations

from typing import Any

import numpy as np

from hylo_eval.agents.protocol import Reply
from hylo_eval.errors import AgentError


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
            # A trace is UTF-8: text it cannot hold is the agent's fault, and must not end the run.
            raise AgentError(f"the text holds a lone surrogate at character {error.start}") from error
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
