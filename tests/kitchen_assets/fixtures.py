"""Fixtures made of boxes, with the joints, sites and regions by which RoboCasa's classes know them."""

from __future__ import annotations

import math
from collections.abc import Callable

from tests.kitchen_assets.mjcf import body, box, cylinder_site, hinge, model, region

STEEL = "0.75 0.75 0.78 1"
DARK = "0.25 0.25 0.28 1"
WHITE = "0.95 0.95 0.95 1"


def sink() -> str:
    """A basin, and a tap whose handle turns the water on, whose spout turns, and whose heat can be set."""
    width, depth, height = 0.6, 0.53, 0.2
    wall, bottom = 0.02, -height / 2 + 0.01
    back = depth / 2 - 0.05
    handle = body(
        "handle",
        (0.12, back, height / 2),
        [
            hinge("handle_joint", (1, 0, 0), (0.0, 0.9)),
            hinge("handle_temp_joint", (0, 0, 1), (-0.6, 0.6)),
            box("handle_main", (0, -0.04, 0.03), (0.02, 0.1, 0.02), rgba=STEEL, mass=0.05),
        ],
    )
    spout = body(
        "spout",
        (0.0, back, height / 2),
        [
            hinge("spout_joint", (0, 0, 1), (-1.4, 1.4)),
            box("spout_main", (0, 0, 0.1), (0.025, 0.025, 0.2), rgba=STEEL, mass=0.05),
            box("spout_arm", (0, -0.08, 0.2), (0.02, 0.18, 0.02), rgba=STEEL, mass=0.05),
            cylinder_site("water", (0, -0.16, 0.05), 0.01, 0.14),
        ],
    )
    return model(
        "sink",
        (width, depth, height),
        [
            box("bottom", (0, 0, bottom), (width, depth, 0.02), rgba=STEEL),
            box("left", (-width / 2 + wall / 2, 0, 0), (wall, depth, height), rgba=STEEL),
            box("right", (width / 2 - wall / 2, 0, 0), (wall, depth, height), rgba=STEEL),
            box("front", (0, -depth / 2 + wall / 2, 0), (width, wall, height), rgba=STEEL),
            box("back", (0, depth / 2 - 0.05, 0), (width, 0.1, height), rgba=STEEL),
            region("main", (0, 0, 0), (width, depth, height)),
            region("basin", (0, -0.04, 0.01), (width - 0.08, depth - 0.16, height - 0.04)),
            handle,
            spout,
        ],
    )


def stove() -> str:
    """A block with four burners, each with a knob on its front that turns by 150 degrees."""
    width, depth, height = 0.76, 0.66, 0.915
    parts = [
        box("main", (0, 0.03, 0), (width, depth - 0.06, height), rgba=DARK, mass=20),
        region("main", (0, 0, 0), (width, depth, height)),
    ]
    for index, (location, x, y) in enumerate(
        (("rear_left", -0.2, 0.17), ("rear_right", 0.2, 0.17), ("front_left", -0.2, -0.13), ("front_right", 0.2, -0.13))
    ):
        parts += [
            cylinder_site(f"burner_on_{location}", (x, y, height / 2), 0.08, 0.002),
            body(
                f"knob_{location}",
                (-0.27 + 0.18 * index, -depth / 2 + 0.05, height / 2 - 0.09),
                [
                    hinge(f"knob_{location}_joint", (0, -1, 0), (0.0, math.radians(150)), damping=0.05),
                    box(f"knob_{location}_main", (0, -0.025, 0), (0.02, 0.05, 0.055), rgba=STEEL, mass=0.03),
                ],
            ),
        ]
    return model("stove", (width, depth, height), parts)


def microwave() -> str:
    """A box that is open in front, a door with a handle, and two buttons."""
    width, depth, height, wall = 0.76, 0.45, 0.44, 0.02
    inner = (0.5, depth - 0.06, height - 0.06)
    door = body(
        "door",
        (-width / 2 + 0.03, -depth / 2 + 0.02, 0),
        [
            hinge("microjoint", (0, 0, 1), (-1.5, 0.0), damping=1.0),
            box("door_main", (0.26, 0, 0), (0.52, 0.02, height - 0.04), rgba=DARK, mass=1.0),
            box("door_handle_main", (0.49, -0.035, 0), (0.02, 0.05, 0.25), rgba=STEEL, mass=0.1),
        ],
    )
    right = width / 2 - 0.11
    return model(
        "microwave",
        (width, depth, height),
        [
            box("bottom", (0, 0, -height / 2 + wall / 2), (width, depth, wall), rgba=WHITE),
            box("top", (0, 0, height / 2 - wall / 2), (width, depth, wall), rgba=WHITE),
            box("left", (-width / 2 + wall / 2, 0.03, 0), (wall, depth - 0.06, height), rgba=WHITE),
            box("panel", (right + 0.01, 0.015, 0), (0.2, depth - 0.03, height - 2 * wall), rgba=WHITE),
            box("back", (0, depth / 2 - wall / 2, 0), (width, wall, height), rgba=WHITE),
            box("start_button", (right, -depth / 2 + 0.01, 0.05), (0.05, 0.03, 0.03), rgba="0 0.8 0 1"),
            box("stop_button", (right, -depth / 2 + 0.01, -0.05), (0.05, 0.03, 0.03), rgba="0.8 0 0 1"),
            region("main", (0, 0, 0), (width, depth, height)),
            region("tray", (-0.1, 0, 0), inner),
            door,
        ],
    )


FIXTURES: dict[str, Callable[[], str]] = {
    "fixtures/sinks/StandInSink": sink,
    "fixtures/stoves/StandInStove": stove,
    "fixtures/microwaves/StandInMicrowave": microwave,
}
"""Folder below the asset root -> the model in it."""
