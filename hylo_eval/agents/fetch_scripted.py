"""Scripted controllers for the Fetch tasks, with seeded action noise.

They read the object's true pose: privileged.

Each controller is a pure function of the observation and of a phase that only ever moves on
(:class:`_Phase`), so an episode can be followed by reading the phases in order. All lengths in metres, in the
world frame.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Any

from hylo_core.spec import ActionSlice, AgentSpec, StateSpec
from hylo_core.trace import AgentInfo
from hylo_eval.agents.protocol import AgentSession, Reply
from hylo_eval.errors import AgentError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from hylo_core.task import TaskInstance

    Floats = NDArray[np.float64]

METRES_PER_UNIT = 0.05
"""An action entry of 1 moves the gripper's target by this much."""
OPEN, CLOSE = 1.0, -1.0
"""The gripper entry: positive opens."""


class FetchScripted:
    """Solves FetchReach, FetchPush and FetchPickAndPlace; ``noise`` makes it fail in a controlled way.

    Args:
        noise: Standard deviation of the normal noise added to every action entry before clipping to [-1, 1];
            the noise is drawn from the episode's agent seed. 0 adds none.

    Raises:
        AgentError: ``noise`` is negative.
    """

    def __init__(self, noise: float = 0.4) -> None:
        if noise < 0:
            raise AgentError(f"option 'noise' must be at least 0, not {noise:g}", fix="--agent-arg noise=0.4")
        self._noise = noise
        self.info = AgentInfo(name="fetch-scripted", version="1", components={"noise": noise})
        self.spec = AgentSpec(
            action=(
                ActionSlice(name="eef_position", start=0, stop=3, mode="delta", unit="normalised", frame="world"),
                ActionSlice(
                    name="gripper",
                    start=3,
                    stop=4,
                    mode="delta",
                    unit="normalised",
                    frame="eef",
                    gripper="positive_opens",
                ),
            ),
            control_hz=25.0,
            state=(
                StateSpec(name="observation", unit="mixed", frame="world", privileged=True),
                StateSpec(name="desired_goal", shape=(3,), unit="m", frame="world"),
            ),
        )

    def open_episode(self, instance: TaskInstance, instruction: str, seed: int) -> AgentSession:
        """Begin an episode of one of the three tasks.

        Raises:
            AgentError: The instance is of another task.
        """
        del instruction
        env_id = instance.spec.params.get("env_id")
        controllers = {"FetchReach-v4": _Reach, "FetchPush-v4": _Push, "FetchPickAndPlace-v4": _PickAndPlace}
        if env_id not in controllers:
            raise AgentError(f"fetch-scripted solves {', '.join(controllers)}, not task {instance.spec.id!r}")
        return _Session(controllers[env_id](), self._noise, seed)

    def close(self) -> None:
        """Nothing is held."""


class _Session:
    """One episode: a controller and its own stream of noise."""

    def __init__(self, controller: _Controller, noise: float, seed: int) -> None:
        import numpy as np

        self._controller = controller
        self._noise = noise
        self._generator = np.random.default_rng(seed)

    def act(self, observation: Mapping[str, Any]) -> Reply:
        """One action, shape (4,), in [-1, 1]."""
        import numpy as np

        action = self._controller.command(_Scene(observation))
        if self._noise:
            action = action + self._noise * self._generator.standard_normal(4)
        return Reply(np.clip(action, -1.0, 1.0))

    def close(self) -> None:
        """Nothing is held."""


class _Scene:
    """The entries of the observation that the controllers read."""

    def __init__(self, observation: Mapping[str, Any]) -> None:
        state = observation["observation"]
        self.gripper: Floats = state[0:3]
        self.block: Floats = state[3:6]
        self.goal: Floats = observation["desired_goal"]


class _Phase(Enum):
    APPROACH = auto()
    DESCEND = auto()
    GRASP = auto()
    TRANSPORT = auto()


class _Controller:
    """Base: a proportional move towards a point."""

    gain = 10.0
    """Action units per metre of error."""

    def command(self, scene: _Scene) -> Floats:
        raise NotImplementedError

    def move(self, scene: _Scene, target: Floats, gripper: float) -> Floats:
        """The action that moves the gripper towards ``target`` and drives the fingers."""
        import numpy as np

        return np.clip(np.append(self.gain * (target - scene.gripper), gripper), -1.0, 1.0)


class _Reach(_Controller):
    def command(self, scene: _Scene) -> Floats:
        return self.move(scene, scene.goal, 0.0)


class _PickAndPlace(_Controller):
    """Above the block, down, close for a few steps, carry."""

    hover = 0.08
    grasp_steps = 3

    def __init__(self) -> None:
        self._phase = _Phase.APPROACH
        self._closed_for = 0

    def command(self, scene: _Scene) -> Floats:
        self._advance(scene)
        if self._phase is _Phase.APPROACH:
            return self.move(scene, _above(scene.block, self.hover), OPEN)
        if self._phase is _Phase.DESCEND:
            return self.move(scene, scene.block, OPEN)
        if self._phase is _Phase.GRASP:
            self._closed_for += 1
            return self.move(scene, scene.block, CLOSE)
        return self.move(scene, scene.gripper + (scene.goal - scene.block), CLOSE)

    def _advance(self, scene: _Scene) -> None:
        offset = scene.gripper - scene.block
        if self._phase is _Phase.APPROACH and _length(offset[:2]) < 0.01:
            self._phase = _Phase.DESCEND
        elif self._phase is _Phase.DESCEND and _length(offset) < 0.01:
            self._phase = _Phase.GRASP
        elif self._phase is _Phase.GRASP and self._closed_for >= self.grasp_steps:
            self._phase = _Phase.TRANSPORT
        elif self._phase in (_Phase.GRASP, _Phase.TRANSPORT) and _length(offset) > 0.05:
            # The block slipped out of the fingers: begin again.
            self._phase, self._closed_for = _Phase.APPROACH, 0


class _Push(_Controller):
    """Over the block to its far side, down, then push it along the line to the goal."""

    hover = 0.10
    standoff = 0.07
    arrived = 0.015

    def __init__(self) -> None:
        self._phase = _Phase.APPROACH

    def command(self, scene: _Scene) -> Floats:
        import numpy as np

        to_goal: Floats = scene.goal - scene.block
        to_goal = np.array([to_goal[0], to_goal[1], 0.0])
        remaining = _length(to_goal)
        if remaining < self.arrived:
            return self.move(scene, scene.gripper, CLOSE)
        direction = to_goal / remaining
        behind = scene.block - self.standoff * direction
        self._advance(scene, behind, direction)
        if self._phase is _Phase.APPROACH:
            return self.move(scene, _above(behind, self.hover), CLOSE)
        if self._phase is _Phase.DESCEND:
            return self.move(scene, behind, CLOSE)
        # Aim at the line through block and goal first, then along it, no further than the block has to go.
        advance = min(remaining, METRES_PER_UNIT)
        return self.move(scene, scene.block + (advance - 0.03) * direction, CLOSE)

    def _advance(self, scene: _Scene, behind: Floats, direction: Floats) -> None:
        import numpy as np

        offset = scene.gripper - scene.block
        sideways = _length(np.cross(direction, offset)[2:])
        if self._phase is _Phase.APPROACH and _length(scene.gripper[:2] - behind[:2]) < 0.015:
            self._phase = _Phase.DESCEND
        elif self._phase is _Phase.DESCEND and abs(offset[2]) < 0.015:
            self._phase = _Phase.TRANSPORT
        elif self._phase is _Phase.TRANSPORT and (sideways > 0.025 or float(offset @ direction) > 0.0):
            self._phase = _Phase.APPROACH


def _above(point: Floats, height: float) -> Floats:
    import numpy as np

    return point + np.array([0.0, 0.0, height])


def _length(vector: Floats) -> float:
    import numpy as np

    return float(np.linalg.norm(vector))
