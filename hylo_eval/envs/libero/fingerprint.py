"""Two recorded scenes that show when the simulator is not the one the published results were made with.

Other versions of MuJoCo, or another renderer, change settled scenes and pictures without an error, and published
policies lose tens of points. These scenes are the ones in which that was first noticed: in libero_spatial a bowl
stands on a ramekin and tips over while it settles, in libero_object most of the picture is floor.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import attrs

from hylo_core.frozen import FrozenMapping

POSITION_TOLERANCE_M: Final = 0.002
ANGLE_TOLERANCE_DEGREES: Final = 2.0
BRIGHTNESS_TOLERANCE: Final = 2.0
"""In levels of 255, of the mean over a picture; GPUs and software renderers differ by less than one."""


@attrs.frozen(kw_only=True)
class Fingerprint:
    """What the first observation of one instance looked like, with the known-good versions.

    Attributes:
        benchmark: The benchmark's id.
        task: The task's id.
        seed: The instance's seed.
        positions_m: Observation key to position, metres, world frame.
        orientations: Observation key to quaternion x, y, z, w.
        brightness: Observation key to mean level of red, green and blue, at 128 x 128 pixels.
    """

    benchmark: str
    task: str
    seed: int
    positions_m: Mapping[str, tuple[float, ...]]
    orientations: Mapping[str, tuple[float, ...]]
    brightness: Mapping[str, tuple[float, ...]]


FINGERPRINTS: Final = (
    Fingerprint(
        benchmark="libero_spatial",
        task="libero_spatial/pick_up_the_black_bowl_on_the_ramekin_and_place_it_on_the_plate",
        seed=0,
        positions_m=FrozenMapping(
            {
                "akita_black_bowl_1_pos": (-0.2114, 0.2022, 0.9344),
                "glazed_rim_porcelain_ramekin_1_pos": (-0.1969, 0.2016, 0.8993),
                "plate_1_pos": (0.0735, 0.1855, 0.9025),
            }
        ),
        orientations=FrozenMapping({"akita_black_bowl_1_quat": (0.1005, 0.0956, 0.6776, 0.7222)}),
        brightness=FrozenMapping(
            {"agentview_image": (128.34, 120.20, 111.40), "robot0_eye_in_hand_image": (137.02, 127.36, 117.35)}
        ),
    ),
    Fingerprint(
        benchmark="libero_object",
        task="libero_object/pick_up_the_alphabet_soup_and_place_it_in_the_basket",
        seed=0,
        positions_m=FrozenMapping(
            {"alphabet_soup_1_pos": (-0.1191, -0.2398, 0.0384), "basket_1_pos": (0.0148, 0.2521, -0.0046)}
        ),
        orientations=FrozenMapping({"alphabet_soup_1_quat": (0.0023, 0.7077, 0.7065, -0.0023)}),
        brightness=FrozenMapping(
            {"agentview_image": (145.23, 139.06, 132.88), "robot0_eye_in_hand_image": (146.59, 140.03, 133.86)}
        ),
    ),
)


def differences(recorded: Fingerprint, observation: Mapping[str, Any]) -> tuple[str, ...]:
    """In what an observation differs from the recorded one, as sentences; empty where it does not.

    Args:
        recorded: One of :data:`FINGERPRINTS`.
        observation: The first observation of its instance. Without pictures only poses are compared.
    """
    found: list[str] = []
    for key, expected in recorded.positions_m.items():
        shift = math.dist(expected, observation[key])
        if not shift <= POSITION_TOLERANCE_M:
            found.append(f"{key} is {1000 * shift:.1f} mm from where it was recorded")
    for key, expected in recorded.orientations.items():
        angle = _angle_degrees(expected, observation[key])
        if not angle <= ANGLE_TOLERANCE_DEGREES:
            found.append(f"{key} is turned by {angle:.1f} degrees from how it was recorded")
    for key, expected in recorded.brightness.items():
        if key in observation:
            levels = [float(level) for level in observation[key].mean((0, 1))]
            apart = max(abs(level - other) for level, other in zip(levels, expected, strict=True))
            if not apart <= BRIGHTNESS_TOLERANCE:  # so that NaN is found too
                shown = " ".join(f"{level:.1f}" for level in levels)
                found.append(f"{key} has mean red, green, blue {shown}; recorded were {expected}")
    return tuple(found)


def _angle_degrees(first: tuple[float, ...], second: Any) -> float:
    """The angle of the rotation from one unit quaternion to another."""
    product = abs(sum(a * float(b) for a, b in zip(first, second, strict=True)))
    return math.nan if math.isnan(product) else math.degrees(2.0 * math.acos(min(1.0, product)))
