"""The chunk buffer: the harness alone holds it, one an episode, so no action of one episode reaches the next."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from hylo_core.canonical import check_json, describe
from hylo_core.errors import ContractError
from hylo_core.spec import AgentSpec
from hylo_core.trace import ArrayLayout
from hylo_eval.agents.protocol import Reply
from hylo_eval.errors import AgentError
from hylo_eval.rollout.observe import array_layout
from hylo_eval.traces.encoding import encode_value

_FLOAT64 = np.dtype(np.float64)
_PLAIN_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
_PLAIN_INTEGERS = (*_PLAIN_FLOATS, *map(np.dtype, ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")))


class ChunkBuffer:
    """Hands out the actions of a reply one by one.

    Args:
        action_shape: Of one action; None where actions are text.
        spec: Says how many actions a reply holds and how many of them are executed.
        integers: Whether the environment takes integers, so that they stay what they are. Elsewhere they become
            floats: a filter that clips 0 to 0.25 must not see the result cut back to an integer.
    """

    def __init__(self, action_shape: tuple[int, ...] | None, spec: AgentSpec, *, integers: bool = False) -> None:
        self._shape = action_shape
        self._chunk_length = spec.chunk_length
        self._replan = spec.replan
        self._kept = _PLAIN_INTEGERS if integers else _PLAIN_FLOATS
        self._actions: list[Any] = []

    def __bool__(self) -> bool:
        return bool(self._actions)

    def fill(self, reply: Reply) -> None:
        """Take a reply. Its actions are copied and read-only from here on.

        An agent may fill the same buffer again, and an environment may write to what it is given: neither may change
        what a filter compares with, what the trace says, or the rest of the chunk.

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
            self._actions = [self._owned(actions)]
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
        self._actions = list(self._owned(actions[: self._replan])[::-1])

    def pop(self) -> Any:
        """The next action."""
        return self._actions.pop()

    def _owned(self, actions: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """A read-only copy in the machine's own byte order; widths that JSON readers do not know become float64."""
        # The identity is the common case, and a tenth of the time of comparing dtypes.
        kept = actions.dtype is _FLOAT64 or actions.dtype in self._kept
        copy = actions.copy() if kept else actions.astype(np.float64)
        copy.setflags(write=False)
        return copy

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
    if isinstance(actions, np.ma.MaskedArray):
        raise AgentError("the action is a masked array, which says nothing about its masked entries")
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
        number = isinstance(seconds, (int, float)) and not isinstance(seconds, bool)
        if not number or not math.isfinite(seconds) or seconds < 0:
            raise AgentError(f"transport_seconds must be a finite number, not {describe(seconds)}, and at least 0")
        kept["transport_seconds"] = float(seconds)
    if reply.metadata:
        if not isinstance(reply.metadata, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - an agent may lie
            raise AgentError(f"the metadata of a reply is a mapping, not {describe(reply.metadata)}")
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


def choice(space: Any, action: np.ndarray[Any, Any]) -> Any:
    """An action as a space of choices takes it: an int where there is one choice, else the array.

    Raises:
        AgentError: The space has no such choice.
    """
    chosen = action.item() if action.shape == () else action
    if not space.contains(chosen):
        raise AgentError(f"the action {action.tolist()} is not in {space}")
    return chosen


def takes_integers(space: Any) -> bool:
    """Whether actions are integers: a choice, several choices, or a Box of integers."""
    return getattr(space, "dtype", None) is not None and np.dtype(space.dtype).kind in "iub"


@lru_cache(maxsize=256)
def _dtype_text(dtype: Any) -> str:
    """``str(dtype)``, with its byte order, cached: numpy builds the text at every call."""
    return str(dtype)


def action_layout(space: Any) -> ArrayLayout:
    """The layout of one action for the start event; ``unknown`` where there is no space."""
    if space is None:
        return array_layout((), "unknown")
    shape = action_shape(space)
    return array_layout((), "text") if shape is None else array_layout(shape, _dtype_text(space.dtype))
