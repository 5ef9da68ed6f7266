"""What a RoboCasa environment offers, said in full."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from hylo_core.frozen import FrozenMapping
from hylo_core.spec import ActionSlice, CameraSpec, EnvSpec, StateSpec
from hylo_eval.envs.robocasa.settings import INSTRUCTION_SOURCE
from hylo_eval.envs.robocasa.simulation import CAMERAS, CONTROL_HZ, PictureSize

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

ActionLayout: TypeAlias = Literal["mobile", "arm"]
"""``mobile``: twelve entries, all the robot has. ``arm``: the first seven; base and torso stand still."""

Orientation: TypeAlias = Literal["upright", "flipped"]
"""``upright`` is what the package's own Gymnasium wrapper gives; ``flipped`` is OpenGL's row order, upside down."""

TARGET: Final = "target_pose"
"""The privileged observation: x, y, z (m, world frame) and yaw (rad) of what the task wants the robot at."""

_ARM: Final = (
    ActionSlice(
        name="eef_position", start=0, stop=3, mode="delta", unit="normalised", frame="base", low=-1.0, high=1.0
    ),
    ActionSlice(
        name="eef_rotation",
        start=3,
        stop=6,
        mode="delta",
        unit="normalised",
        frame="base",
        rotation="axis_angle",
        low=-1.0,
        high=1.0,
    ),
    ActionSlice(
        name="gripper",
        start=6,
        stop=7,
        mode="absolute",
        unit="normalised",
        frame="eef",
        gripper="positive_closes",
        low=-1.0,
        high=1.0,
    ),
)
_REST: Final = (
    # Velocities: forward, to the left, and turning to the left, in the frame of the base as it stands.
    ActionSlice(name="base", start=7, stop=10, mode="absolute", unit="normalised", frame="base", low=-1.0, high=1.0),
    ActionSlice(name="torso", start=10, stop=11, mode="delta", unit="normalised", frame="base", low=-1.0, high=1.0),
    # Above 0 the arm's goal moves along with the base; otherwise it starts from where the arm is.
    ActionSlice(
        name="base_mode", start=11, stop=12, mode="absolute", unit="normalised", frame="none", low=-1.0, high=1.0
    ),
)
ACTIONS: Final[Mapping[str, tuple[ActionSlice, ...]]] = FrozenMapping({"mobile": (*_ARM, *_REST), "arm": _ARM})
"""The slices by layout. 1 moves the hand's goal by 0.05 m or 0.5 rad."""

_ARM_STILL: Final = (0.0, 0.0, 0.0, 0.0, -1.0)
"""What follows the seven entries of ``arm``: base and torso at rest, the mode of the arm."""

STATES: Final[Mapping[str, tuple[int, str, str, str]]] = FrozenMapping(
    {
        "robot0_joint_pos": (7, "rad", "joint", "seven arm joints, shoulder first"),
        "robot0_joint_vel": (7, "rad/s", "joint", "seven arm joints, shoulder first"),
        "robot0_eef_pos": (3, "m", "world", "x, y, z between the fingertips"),
        "robot0_eef_quat": (4, "1", "world", "quaternion x, y, z, w"),
        "robot0_gripper_qpos": (2, "m", "eef", "finger positions; the gap is the first less the second"),
        "robot0_gripper_qvel": (2, "m/s", "eef", "finger velocities"),
        "robot0_base_pos": (3, "m", "world", "x, y, z"),
        "robot0_base_quat": (4, "1", "world", "quaternion x, y, z, w"),
        "robot0_base_to_eef_pos": (3, "m", "base", "x, y, z"),
        "robot0_base_to_eef_quat": (4, "1", "base", "quaternion x, y, z, w"),
    }
)
"""The low-dimensional observations: entries, unit, frame, layout. All float64."""


def whole_action(action: NDArray[np.float64], layout: ActionLayout) -> NDArray[np.float64]:
    """The twelve entries the robot takes, a new array: its controllers write to what they are given."""
    import numpy as np

    return np.concatenate([action, _ARM_STILL]) if layout == "arm" else np.array(action, dtype=np.float64)


def image_key(camera: str) -> str:
    """The observation key of a camera."""
    return f"{camera}_image"


def env_spec(
    layout: ActionLayout, pictures: PictureSize | None, orientation: Orientation, *, privileged: bool
) -> EnvSpec:
    """The spec of an environment made with these options."""
    cameras = () if pictures is None else CAMERAS
    states = [
        StateSpec(name=name, shape=(size,), dtype="float64", unit=unit, frame=frame, layout=text)
        for name, (size, unit, frame, text) in STATES.items()
    ]
    if privileged:
        text = "x, y, z of the target (m), then its yaw (rad)"
        states.append(StateSpec(name=TARGET, shape=(4,), unit="mixed", frame="world", layout=text, privileged=True))
    return EnvSpec(
        action=ACTIONS[layout],
        control_hz=float(CONTROL_HZ),
        step_seconds=1.0 / CONTROL_HZ,
        cameras=tuple(
            CameraSpec(name=image_key(name), height=pictures.height, width=pictures.width, orientation=orientation)
            for name in cameras
            if pictures is not None
        ),
        state=tuple(states),
        instruction_source=INSTRUCTION_SOURCE,
        success_source="the task's own check, asked after every step",
    )


def observation_space(spec: EnvSpec) -> Any:
    """The Gymnasium space of the observations a spec names."""
    import gymnasium
    import numpy as np

    boxes: dict[str, Any] = {
        item.name: gymnasium.spaces.Box(-np.inf, np.inf, item.shape, np.float64) for item in spec.state
    }
    for camera in spec.cameras:
        boxes[camera.name] = gymnasium.spaces.Box(0, 255, (camera.height, camera.width, 3), np.uint8)
    return gymnasium.spaces.Dict(boxes)
