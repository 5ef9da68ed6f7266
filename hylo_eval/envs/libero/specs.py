"""What a LIBERO environment offers, said in full."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from hylo_core.frozen import FrozenMapping
from hylo_core.spec import ActionSlice, CameraSpec, EnvSpec, StateSpec
from hylo_eval.envs.libero.suites import CONTROL_HZ

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

Orientation: TypeAlias = Literal["flipped", "upright", "rotated_180"]
"""How pictures are turned.

``flipped`` is what LIBERO returns and its demonstrations hold: OpenGL's row order, upside down. ``upright`` reverses
the rows. ``rotated_180`` reverses rows and columns, as published LIBERO policies are trained: the scene is the right
way up, left and right exchanged.
"""

ACTION: Final = (
    ActionSlice(
        name="eef_position",
        start=0,
        stop=3,
        mode="delta",
        unit="normalised",
        frame="world",
        low=-1.0,
        high=1.0,
    ),
    ActionSlice(
        name="eef_rotation",
        start=3,
        stop=6,
        mode="delta",
        unit="normalised",
        frame="world",
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
"""robosuite's ``OSC_POSE``: 1 is 0.05 m or 0.5 rad from the present pose.

Of the gripper's entry the sign alone counts; the fingers move towards open or closed while it lasts.
"""

_IMAGE_SUFFIX = "_image"
_SUMMARY_SUFFIX = "-state"
_ROBOT_PREFIX = "robot0_"
_ROBOT_STATES: Final = FrozenMapping(
    {
        "robot0_joint_pos": ("rad", "joint", "seven arm joints, base first"),
        "robot0_joint_pos_cos": ("1", "joint", "cosine of the arm joints"),
        "robot0_joint_pos_sin": ("1", "joint", "sine of the arm joints"),
        "robot0_joint_vel": ("rad/s", "joint", "seven arm joints, base first"),
        "robot0_eef_pos": ("m", "world", "x, y, z between the fingertips"),
        "robot0_eef_quat": ("1", "world", "quaternion x, y, z, w"),
        "robot0_gripper_qpos": ("m", "eef", "finger positions; the gap is the first less the second"),
        "robot0_gripper_qvel": ("m/s", "eef", "finger velocities"),
    }
)


def is_image(key: str) -> bool:
    """Whether an observation key names a picture."""
    return key.endswith(_IMAGE_SUFFIX)


def is_kept(key: str, *, privileged: bool) -> bool:
    """Whether an observation key is handed on; robosuite's concatenations repeat the others and never are."""
    if key.endswith(_SUMMARY_SUFFIX):
        return False
    return privileged or is_image(key) or key.startswith(_ROBOT_PREFIX)


def turn(picture: NDArray[np.uint8], orientation: Orientation) -> NDArray[np.uint8]:
    """Turn a picture as LIBERO returns it, shape (height, width, 3); returns a contiguous copy."""
    import numpy as np

    if orientation == "upright":
        picture = picture[::-1]
    elif orientation == "rotated_180":
        picture = picture[::-1, ::-1]
    return np.array(picture, order="C")


def env_spec(observation: Mapping[str, Any], orientation: Orientation, instruction_source: str) -> EnvSpec:
    """The spec of an environment whose observations look like this one."""
    cameras = tuple(
        CameraSpec(name=key, height=int(value.shape[0]), width=int(value.shape[1]), orientation=orientation)
        for key, value in observation.items()
        if is_image(key)
    )
    return EnvSpec(
        action=ACTION,
        control_hz=float(CONTROL_HZ),
        step_seconds=1.0 / CONTROL_HZ,
        cameras=cameras,
        state=tuple(_state_spec(key, value) for key, value in observation.items() if not is_image(key)),
        instruction_source=instruction_source or "unknown",
        success_source="LIBERO's check of the BDDL goal, after every step",
    )


def _state_spec(key: str, value: Any) -> StateSpec:
    shape, dtype = tuple(int(size) for size in value.shape), str(value.dtype)
    if key in _ROBOT_STATES:
        unit, frame, layout = _ROBOT_STATES[key]
        return StateSpec(name=key, shape=shape, dtype=dtype, unit=unit, frame=frame, layout=layout)
    if key.startswith(_ROBOT_PREFIX):
        return StateSpec(name=key, shape=shape, dtype=dtype)
    rotation = key.endswith("_quat")
    return StateSpec(
        name=key,
        shape=shape,
        dtype=dtype,
        unit="1" if rotation else "m",
        frame="eef" if "_to_robot0_eef_" in key else "world",
        layout="quaternion x, y, z, w" if rotation else "x, y, z",
        privileged=True,
    )
