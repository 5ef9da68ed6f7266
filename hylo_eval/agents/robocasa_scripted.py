"""Scripted policies for two RoboCasa tasks that know where their target is: for trying out runs, no baseline.

They need ``--env-arg privileged=true``. In NavigateKitchen the base backs away from the counter, drives along it,
turns, and comes close again; in CloseDrawer the hand goes in front of the handle and pushes. Lengths in metres, world
frame.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from hylo_core.spec import ActionSlice, AgentSpec, StateSpec
from hylo_core.trace import AgentInfo
from hylo_eval.agents.protocol import AgentSession, Reply
from hylo_eval.errors import AgentError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from hylo_core.task import TaskInstance

CLEARANCE_M: Final = 0.35
"""How far from the target the base drives along: closer, its corners meet handles."""
ALONGSIDE_M: Final = 0.25
"""Sideways distance below which it comes close."""
_GAIN: Final = 4.0
_TURNING_GAIN: Final = 2.0


IN_FRONT_M: Final = 0.14
"""How far in front of a handle the hand comes down."""
ABOVE_M: Final = 0.25
"""How far above the handle it travels, and the height over it at which it pushes."""
PUSHING_HEIGHT_M: Final = 0.02
THROUGH_M: Final = 0.1
"""How far behind the handle it aims while it pushes."""
_METRES_PER_UNIT: Final = 0.05


class RobocasaScripted:
    """Drives to the target of NavigateKitchen, or closes the drawer of CloseDrawer.

    Args:
        noise: Standard deviation of the normal noise added to the entries in use (three of the base or of the hand)
            before clipping to [-1, 1]; drawn from the episode's agent seed. 0 adds none.

    Raises:
        AgentError: ``noise`` is negative.
    """

    def __init__(self, noise: float = 0.0) -> None:
        if noise < 0:
            raise AgentError(f"option 'noise' must be at least 0, not {noise:g}", fix="--agent-arg noise=0.1")
        self._noise = noise
        self.info = AgentInfo(name="robocasa-scripted", version="1", components={"noise": noise})
        self.spec = AgentSpec(
            action=_ACTION,
            control_hz=20.0,
            state=(
                StateSpec(name="robot0_base_pos", shape=(3,), unit="m", frame="world"),
                StateSpec(name="robot0_base_quat", shape=(4,), unit="1", frame="world"),
                StateSpec(name="robot0_eef_pos", shape=(3,), unit="m", frame="world"),
                StateSpec(name="target_pose", shape=(4,), unit="mixed", frame="world", privileged=True),
            ),
        )

    def open_episode(self, instance: TaskInstance, instruction: str, seed: int) -> AgentSession:
        """Begin an episode of one of the two tasks.

        Raises:
            AgentError: The instance is of another task.
        """
        del instruction
        task = instance.spec.params.get("task")
        controllers = {"NavigateKitchen": _Drive, "CloseDrawer": _Push}
        if task not in controllers:
            raise AgentError(
                f"robocasa-scripted solves {', '.join(controllers)}, and {instance.spec.id!r} is of {task}"
            )
        return _Session(controllers[task](), self._noise, seed)

    def close(self) -> None:
        """Nothing is held."""


class _Session:
    """One episode: a controller and its own stream of noise."""

    def __init__(self, controller: _Drive | _Push, noise: float, seed: int) -> None:
        import numpy as np

        self._controller = controller
        self._noise = noise
        self._generator = np.random.default_rng(seed)

    def act(self, observation: Mapping[str, Any]) -> Reply:
        """One action, shape (12,), in [-1, 1]."""
        import numpy as np

        action = np.zeros(12)
        used = self._controller.entries
        action[used] = self._controller.command(observation)
        action[6], action[11] = self._controller.gripper_and_mode
        if self._noise:
            action[used] += self._noise * self._generator.standard_normal(3)
        return Reply(np.clip(action, -1.0, 1.0))

    def close(self) -> None:
        """Nothing is held."""


class _Drive:
    """The base goes to the target; the arm's goal goes along with it."""

    entries = slice(7, 10)
    gripper_and_mode = (0.0, 1.0)

    def command(self, observation: Mapping[str, Any]) -> tuple[float, float, float]:
        """Velocities of the base."""
        return base_command(observation["robot0_base_pos"], observation["robot0_base_quat"], observation["target_pose"])


class _Push:
    """The closed hand comes down in front of the handle, then pushes through it."""

    entries = slice(0, 3)
    gripper_and_mode = (1.0, -1.0)

    def __init__(self) -> None:
        self._pushing = False

    def command(self, observation: Mapping[str, Any]) -> tuple[float, float, float]:
        """The hand's next move in the frame of the base, in units of 5 cm."""
        hand, target = observation["robot0_eef_pos"], observation["target_pose"]
        x, y, z = (float(value) for value in target[:3])
        # A drawer of yaw 0 opens towards -y.
        out_x, out_y = math.sin(float(target[3])), -math.cos(float(target[3]))
        in_front = (x + IN_FRONT_M * out_x, y + IN_FRONT_M * out_y, z + PUSHING_HEIGHT_M)
        self._pushing = self._pushing or math.dist(in_front, hand) < 0.03
        if self._pushing:
            goal = (x - THROUGH_M * out_x, y - THROUGH_M * out_y, z + PUSHING_HEIGHT_M)
        elif math.dist(in_front[:2], hand[:2]) > 0.06:
            goal = (in_front[0], in_front[1], z + ABOVE_M)
        else:
            goal = in_front
        ahead, left = _in_frame(
            goal[0] - float(hand[0]), goal[1] - float(hand[1]), yaw_of(observation["robot0_base_quat"])
        )
        up = goal[2] - float(hand[2])
        return ahead / _METRES_PER_UNIT, left / _METRES_PER_UNIT, up / _METRES_PER_UNIT


def base_command(
    position: NDArray[np.float64], quaternion: NDArray[np.float64], target: NDArray[np.float64]
) -> tuple[float, float, float]:
    """Velocities forward, to the left and turning to the left, not yet clipped.

    Args:
        position: Of the base, shape (3,), m.
        quaternion: Of the base, x, y, z, w.
        target: x, y, z (m) and yaw (rad), shape (4,).
    """
    yaw = yaw_of(quaternion)
    ahead, aside = _in_frame(float(target[0] - position[0]), float(target[1] - position[1]), float(target[3]))
    if abs(aside) > ALONGSIDE_M:
        # Back away first, then along: in the target's frame, of which the first axis points at the furniture.
        ahead -= CLEARANCE_M
        aside = aside if ahead > -0.15 else 0.0
    forward, left = _in_frame(ahead, aside, yaw - float(target[3]))
    turn = math.remainder(float(target[3]) - yaw, 2.0 * math.pi)
    return _GAIN * forward, _GAIN * left, _TURNING_GAIN * turn


def yaw_of(quaternion: NDArray[np.float64]) -> float:
    """The turn about the vertical of a quaternion x, y, z, w, in rad."""
    x, y, z, w = (float(value) for value in quaternion)
    return math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))


def _in_frame(x: float, y: float, yaw: float) -> tuple[float, float]:
    """A vector in a frame turned by ``yaw``: along its first axis, and along its second."""
    return math.cos(yaw) * x + math.sin(yaw) * y, -math.sin(yaw) * x + math.cos(yaw) * y


def _slice(name: str, start: int, stop: int, frame: str, **more: Any) -> ActionSlice:
    return ActionSlice(name=name, start=start, stop=stop, unit="normalised", frame=frame, **more)


_ACTION: Final = (
    _slice("eef_position", 0, 3, "base", mode="delta"),
    _slice("eef_rotation", 3, 6, "base", mode="delta", rotation="axis_angle"),
    _slice("gripper", 6, 7, "eef", mode="absolute", gripper="positive_closes"),
    _slice("base", 7, 10, "base", mode="absolute"),
    _slice("torso", 10, 11, "base", mode="delta"),
    _slice("base_mode", 11, 12, "none", mode="absolute"),
)
