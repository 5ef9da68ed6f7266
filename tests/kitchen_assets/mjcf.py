"""The few elements of MJCF that boxes with joints need."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

Vector: TypeAlias = Sequence[float]

_REGION = 'group="1" contype="0" conaffinity="0" rgba="0 1 0 0"'


def numbers(values: Vector) -> str:
    return " ".join(f"{value:.6g}" for value in values)


def box(name: str, centre: Vector, size: Vector, *, rgba: str = "0.7 0.7 0.7 1", mass: float = 0.5) -> str:
    """A box that collides, and the same box to be seen; size is whole width, depth and height."""
    where = f'pos="{numbers(centre)}" size="{numbers([edge / 2 for edge in size])}" type="box"'
    return (
        f'<geom name="{name}" {where} group="0" rgba="0.5 0 0 0.5" mass="{mass:g}"/>'
        f'<geom name="{name}_visual" {where} group="1" contype="0" conaffinity="0" rgba="{rgba}" mass="0.0001"/>'
    )


def region(name: str, centre: Vector, size: Vector) -> str:
    """A box that the package measures and nothing touches; size is whole width, depth and height."""
    half = numbers([edge / 2 for edge in size])
    return f'<geom name="reg_{name}" type="box" pos="{numbers(centre)}" size="{half}" mass="0.0001" {_REGION}/>'


def cylinder_site(name: str, centre: Vector, radius: float, half_height: float) -> str:
    size = numbers((radius, half_height))
    return f'<site name="{name}" type="cylinder" pos="{numbers(centre)}" size="{size}" rgba="0.4 0.7 1 0"/>'


def hinge(name: str, axis: Vector, limits: Vector, *, at: Vector = (0.0, 0.0, 0.0), damping: float = 0.2) -> str:
    return (
        f'<joint name="{name}" type="hinge" axis="{numbers(axis)}" pos="{numbers(at)}" limited="true" '
        f'range="{numbers(limits)}" damping="{damping:g}" frictionloss="0.01" armature="0.001"/>'
    )


def body(name: str, centre: Vector, content: Iterable[str]) -> str:
    return f'<body name="{name}" pos="{numbers(centre)}">{"".join(content)}</body>'


def model(name: str, size: Vector, content: Iterable[str]) -> str:
    """A whole model around the origin, with the sites and the region that say how large it is."""
    width, depth, height = size
    sites = "".join(
        f'<site name="{site}" pos="{numbers(position)}" size="0.005" rgba="0 0 0 0"/>'
        for site, position in (
            ("bottom_site", (0.0, 0.0, -height / 2)),
            ("top_site", (0.0, 0.0, height / 2)),
            ("horizontal_radius_site", (width / 2, depth / 2, 0.0)),
        )
    )
    inner = body("object", (0.0, 0.0, 0.0), content)
    return (
        f'<mujoco model="{name}"><compiler angle="radian"/><asset/>'
        f"<worldbody><body>{inner}{sites}</body></worldbody></mujoco>\n"
    )
