"""Keep the end effector in a box."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from hylo_eval.errors import EvalError
from hylo_eval.safety.protocol import Action, FilteredAction

if TYPE_CHECKING:
    import gymnasium

    from hylo_core.spec import ActionSlice, EnvSpec


class WorkspaceBox:
    """Cuts the part of a position command that leads out of a box.

    With a ``delta`` slice in metres the target is the observed position plus the command; with an ``absolute`` one
    it is the command. A normalised slice needs ``scale``, the metres of a full command.

    Args:
        low: Lower corner, metres, as JSON: ``[x, y, z]``.
        high: Upper corner, metres.
        position: The observation key of the end effector's position, shape (3,), in the slice's frame.
        slice: The name of the action slice that commands the position.
        scale: Metres of a command of 1; 1 for slices in metres.
    """

    name = "box"

    def __init__(self, low: str, high: str, position: str, slice: str = "eef_position", scale: float = 1.0) -> None:  # noqa: A002 - the field's own word
        self.low = _corner(low, "low")
        self.high = _corner(high, "high")
        if not (self.low < self.high).all():
            raise EvalError(
                f"the workspace box is empty: low {low} is not below high {high}",
                fix="give the lower corner as low, the upper one as high",
            )
        if not scale > 0:
            raise EvalError(f"the workspace box's scale must be above zero, not {scale}", fix="scale=1")
        self.position = position
        self.slice = slice
        self.scale = scale
        self._entries = np.s_[0:0]
        self._delta = True

    def begin(self, env_spec: EnvSpec, action_space: gymnasium.Space[Any]) -> None:
        """Find the slice.

        Raises:
            EvalError: The environment names no such slice, or does not say how to read it.
        """
        found = {item.name: item for item in env_spec.action}
        if self.slice not in found:
            raise EvalError(
                f"the workspace box needs the action slice {self.slice!r}; there is {', '.join(found) or 'none'}",
                fix="name one of them with slice=, or leave the filter out",
            )
        item = found[self.slice]
        self._check(item, env_spec)
        self._entries = np.s_[item.start : item.stop]
        self._delta = item.mode == "delta"

    def apply(self, action: Action, observation: Mapping[str, Any]) -> FilteredAction:
        """Cut the command so that its target stays in the box."""
        origin = np.asarray(observation[self.position], dtype=np.float64) if self._delta else np.zeros(3)
        command = action[self._entries]
        target = origin + command * self.scale
        # Outside already: never further out, but free to come back at its own pace.
        low = np.minimum(self.low, origin) if self._delta else self.low
        high = np.maximum(self.high, origin) if self._delta else self.high
        inside = np.minimum(np.maximum(target, low), high)
        if np.array_equal(inside, target) or not np.isfinite(command).all():
            return FilteredAction(action)
        changed = action.astype(np.result_type(action, np.float32))
        changed[self._entries] = (inside - origin) / self.scale
        axis = "xyz"[int(np.flatnonzero(inside != target)[0])]
        return FilteredAction(changed, f"the target leaves the workspace box along {axis}")

    def describe(self) -> Mapping[str, Any]:
        """Name, corners, and where they apply."""
        return {
            "name": self.name,
            "low": self.low.tolist(),
            "high": self.high.tolist(),
            "position": self.position,
            "slice": self.slice,
            "scale": self.scale,
        }

    def _check(self, item: ActionSlice, env_spec: EnvSpec) -> None:
        if item.stop - item.start != 3:
            raise EvalError(
                f"the workspace box needs three position entries; {item.name!r} has {item.stop - item.start}",
                fix="name the slice of the position with slice=",
            )
        if item.mode == "unknown":
            raise EvalError(
                f"the workspace box must know whether {item.name!r} is delta or absolute",
                fix="declare the slice's mode in the environment's spec",
            )
        if item.unit != "m" and self.scale == 1.0:
            raise EvalError(
                f"the action slice {item.name!r} is in {item.unit}, not metres",
                fix="give the box scale=<metres of a command of 1>",
            )
        if item.mode == "delta" and self.position not in {state.name for state in env_spec.state}:
            known = ", ".join(state.name for state in env_spec.state) or "none"
            raise EvalError(
                f"the workspace box needs the observation {self.position!r}; there is {known}",
                fix="name one of them with position=",
            )


def _corner(value: str, name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    try:
        corner = np.asarray(json.loads(value) if isinstance(value, str) else value, dtype=np.float64)
    except (ValueError, TypeError):
        corner = np.empty(0)
    if corner.shape != (3,) or not np.isfinite(corner).all():
        raise EvalError(
            f"the workspace box's {name} corner must be three numbers such as [0.1, -0.3, 0.8], not {value!r}",
            fix=f"{name}=[0.1,-0.3,0.8]",
        )
    return corner
