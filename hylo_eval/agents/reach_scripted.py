"""A scripted agent for ``reach``: fly straight at the goal and brake.

A complete agent, and the one to copy from: an ``info``, a ``spec``, and a session an episode.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hylo_core.spec import ActionSlice, AgentSpec, StateSpec
from hylo_core.trace import AgentInfo
from hylo_eval.agents.protocol import Reply, StatelessSession
from hylo_eval.errors import AgentError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hylo_core.task import TaskInstance

GAIN_PER_SECOND = 2.0
"""Commanded speed over distance; with the robot's lag of 0.2 s this is well damped (damping ratio 0.79)."""


class ReachScripted:
    """Commands a velocity towards the goal, proportional to the distance, at most ``speed``.

    Args:
        speed: Speed limit in m/s, in (0, 0.25]. The robot's own bound holds for every entry of the command,
            so a limit on its length of at most 0.25 keeps the direction.

    Raises:
        AgentError: ``speed`` is out of range.
    """

    def __init__(self, speed: float = 0.25) -> None:
        if not 0 < speed <= 0.25:
            raise AgentError(
                f"option 'speed' must be above 0 and at most 0.25 m/s, not {speed:g}", fix="--agent-arg speed=0.25"
            )
        self._speed = speed
        self.info = AgentInfo(name="reach-scripted", version="1", components={"speed": speed})
        self.spec = AgentSpec(
            action=(ActionSlice(name="velocity", start=0, stop=3, mode="absolute", unit="m/s", frame="world"),),
            state=(
                StateSpec(name="position", shape=(3,), unit="m", frame="world"),
                StateSpec(name="goal", shape=(3,), unit="m", frame="world"),
            ),
        )

    def open_episode(self, instance: TaskInstance, instruction: str, seed: int) -> StatelessSession:
        """Begin an episode; nothing of its arguments is needed."""
        del instance, instruction, seed
        return StatelessSession(self._act)

    def close(self) -> None:
        """Nothing is held."""

    def _act(self, observation: Mapping[str, Any]) -> Reply:
        import numpy as np

        command = GAIN_PER_SECOND * (observation["goal"] - observation["position"])
        length = float(np.linalg.norm(command))
        return Reply(command * min(1.0, self._speed / length) if length > 0 else command)
