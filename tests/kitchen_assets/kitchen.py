"""One layout in one style, under the numbers of the package's first ones.

The kitchen is one wall of 5.5 m: a sink and drawers in a counter, a stove, a counter with more drawers; above them a
shelf, cabinets with one door and with two, a microwave. What there is one of stands at both ends, so that from every
fixture there is somewhere to drive to: where there is nowhere, NavigateKitchen looks for it for ever.
"""

from __future__ import annotations

from typing import Any

Fixture = dict[str, Any]

WIDTH_M = 5.5
DEPTH_M = 3.6
HEIGHT_M = 3.0


def layout() -> dict[str, Any]:
    return {
        "room": {"walls": _walls(), "floor": _floor()},
        "main_group": {"bottom_row": _bottom_row(), "top_row": _top_row(), "bottom_row_cabinets": _drawers()},
    }


def layout_without_targets() -> dict[str, Any]:
    """A counter with drawers: NavigateKitchen finds nowhere to drive to, and looks for it for ever."""
    counter = {"name": "counter_main", "type": "counter", "size": [3.2, 0.65, 0.92], "pos": [1.7, -0.325, 0.46]}
    return {
        "room": {"walls": _walls(), "floor": _floor()},
        "main_group": {"bottom_row": [counter], "bottom_row_cabinets": _drawers()[:1]},
    }


def style() -> dict[str, Any]:
    return dict.fromkeys(REGISTRY, "default")


REGISTRY: dict[str, dict[str, dict[str, Any]]] = {
    "cabinet": {
        "default": {
            "texture": "textures/flat/gray.png",
            "panel_type": "slab",
            "handle_type": "bar",
            "handle_config": {"texture": "textures/metals/bright_metal.png"},
        },
    },
    "counter": {
        "default": {
            "top_texture": "textures/flat/white.png",
            "base_texture": "textures/flat/gray.png",
            "obj_x_percent": 0.5,
            "obj_y_percent": 0.5,
            "overhang": 0.05,
        },
    },
    "floor": {"default": {"texture": "textures/flat/dark_gray.png"}},
    "wall": {"default": {"texture": "textures/flat/warm_white.png"}},
    "sink": {"default": {"xml": "fixtures/sinks/StandInSink", "size": [None, 0.53, None]}},
    "stove": {"default": {"xml": "fixtures/stoves/StandInStove", "size": [0.76, 0.66, 0.915]}},
    "microwave": {"default": {"xml": "fixtures/microwaves/StandInMicrowave"}},
}
"""Fixture type -> name -> arguments of its class. The package's own files name hundreds, and take seconds to parse."""


def _walls() -> list[Fixture]:
    half_width, half_depth, half_height = WIDTH_M / 2, DEPTH_M / 2, HEIGHT_M / 2
    places = {
        "wall": ("back", half_width, [half_width, 0, half_height]),
        "wall_left": ("left", half_depth, [0, -half_depth, half_height]),
        "wall_right": ("right", half_depth, [WIDTH_M, -half_depth, half_height]),
        "wall_front": ("front", half_width, [half_width, -DEPTH_M, half_height]),
    }
    return [
        {"name": name, "type": "wall", "wall_side": side, "size": [half, half_height, 0.02], "pos": position}
        for name, (side, half, position) in places.items()
    ]


def _floor() -> list[Fixture]:
    size, position = [WIDTH_M / 2, DEPTH_M / 2, 0.02], [WIDTH_M / 2, -DEPTH_M / 2, 0]
    return [{"name": "floor", "type": "floor", "size": size, "pos": position}]


def _bottom_row() -> list[Fixture]:
    return [
        {"name": "sink", "type": "sink"},
        {
            "name": "counter_main",
            "type": "counter",
            "interior_obj": "sink",
            "size": [3.2, 0.65, 0.92],
            "pos": [1.7, -0.325, 0.46],
            "obj_x_percent": 0.2,
            "obj_y_percent": 0.2,
        },
        {"name": "stove", "type": "stove", **_beside("counter_main", "top_back"), "size": [None, 0.66, None]},
        {"name": "counter_right", "type": "counter", **_beside("stove", "top_back"), "size": [1.3, 0.65, 0.92]},
    ]


def _top_row() -> list[Fixture]:
    size = [0.6, 0.40, 0.92]
    return [
        {"name": "shelf", "type": "open_cabinet", "num_levels": 2, "size": size, "pos": [0.4, -0.2, 1.85]},
        {"name": "cab_1", "type": "single_cabinet", "orientation": "left", "size": size, **_beside("shelf")},
        {"name": "cab_2", "type": "hinge_cabinet", "size": [1.0, 0.40, 0.92], **_beside("cab_1")},
        {"name": "cab_3", "type": "hinge_cabinet", "size": [1.0, 0.40, 0.92], **_beside("cab_2")},
        {"name": "microwave", "type": "microwave", "size": [0.76, 0.45, 0.44], "pos": [4.88, -0.225, 1.61]},
    ]


def _drawers() -> list[Fixture]:
    four = {"levels": ["drawer"] * 4, "percentages": [0.25] * 4}
    size = [0.5, 0.60, 0.84]
    return [
        {"name": "stack_1", "type": "stack", **four, "size": size, "pos": [1.6, -0.30, 0.47]},
        {"name": "stack_2", "type": "stack", **four, "size": size, "pos": [4.35, -0.30, 0.47]},
    ]


def _beside(name: str, alignment: str = "") -> Fixture:
    return {"align_to": name, "side": "right", **({"alignment": alignment} if alignment else {})}
