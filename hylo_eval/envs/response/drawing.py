"""Paints tabletop scenes with numpy alone.

Every pixel comes from additions, multiplications, divisions and comparisons of float64 and from integer
arithmetic, which IEEE 754 makes the same on every machine; no sine, no root, no font, no file. Each pixel is
the mean of ``SUBPIXELS`` squared samples.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from hylo_eval.envs.response.scene import mug_handle_reach

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hylo_eval.envs.response.scene import Scene, Thing

SUBPIXELS = 3

Colour: TypeAlias = tuple[int, int, int]
Place: TypeAlias = tuple[float, float]

PAINT: Mapping[str, Colour] = {
    "red": (206, 46, 42),
    "green": (48, 142, 72),
    "blue": (42, 94, 196),
    "yellow": (240, 204, 40),
    "purple": (128, 62, 164),
}
_WHITE: Colour = (246, 245, 240)
_INK: Colour = (30, 30, 34)
_COFFEE: Colour = (70, 44, 30)
_RAW_WOOD: Colour = (236, 206, 158)
_TABLE: Colour = (168, 136, 104)
_PLANK_PX = 56

_GLYPHS: Mapping[str, str] = {
    "A": "01110 10001 10001 11111 10001 10001 10001",
    "B": "11110 10001 10001 11110 10001 10001 11110",
    "C": "01110 10001 10000 10000 10000 10001 01110",
    "D": "11110 10001 10001 10001 10001 10001 11110",
    "E": "11111 10000 10000 11110 10000 10000 11111",
    "F": "11111 10000 10000 11110 10000 10000 10000",
    "G": "01110 10001 10000 10111 10001 10001 01111",
    "H": "10001 10001 10001 11111 10001 10001 10001",
    "0": "01110 10001 10011 10101 11001 10001 01110",
    "1": "00100 01100 00100 00100 00100 00100 01110",
    "2": "01110 10001 00001 00110 01000 10000 11111",
    "3": "11110 00001 00001 01110 00001 00001 11110",
    "4": "00010 00110 01010 10010 11111 00010 00010",
    "5": "11111 10000 11110 00001 00001 10001 01110",
    "6": "01110 10000 10000 11110 10001 10001 01110",
    "7": "11111 00001 00010 00100 01000 01000 01000",
    "8": "01110 10001 10001 01110 10001 10001 01110",
    "9": "01110 10001 10001 01111 00001 00001 01110",
}
"""Letters and digits, 5 columns by 7 rows."""


def draw(scene: Scene) -> NDArray[np.uint8]:
    """The picture of a scene: RGB, shape (height, width, 3), top row first."""
    canvas = _Canvas(scene.width, scene.height)
    for thing in scene.things:
        _SHADOWS[thing.kind](canvas, thing)
        _PAINTERS[thing.kind](canvas, thing)
    return canvas.picture()


class _Canvas:
    """A picture in the making, at ``SUBPIXELS`` times its size each way."""

    def __init__(self, width: int, height: int) -> None:
        self._width, self._height = width, height
        self._x = (np.arange(width * SUBPIXELS, dtype=np.float64) + 0.5) / SUBPIXELS
        self._y = (np.arange(height * SUBPIXELS, dtype=np.float64) + 0.5) / SUBPIXELS
        self._samples = _table(width, height).repeat(SUBPIXELS, axis=0).repeat(SUBPIXELS, axis=1)

    def picture(self) -> NDArray[np.uint8]:
        """The mean of the samples of each pixel, rounded."""
        count = SUBPIXELS * SUBPIXELS
        # Adding strided views is ten times faster than a sum over two axes, and integers forget no order.
        total = np.full((self._height, self._width, 3), count // 2, dtype=np.uint16)
        for row in range(SUBPIXELS):
            for column in range(SUBPIXELS):
                total += self._samples[row::SUBPIXELS, column::SUBPIXELS]
        return (total // count).astype(np.uint8)

    def disc(self, centre: Place, radius: float, paint: Colour | None) -> None:
        """A filled circle; without paint, a shadow."""
        (x, y), rows, columns = self._window(centre, centre, radius)
        distance = (x - centre[0]) ** 2 + (y - centre[1]) ** 2
        self._fill(distance <= radius * radius, rows, columns, paint)

    def rectangle(self, corner: Place, opposite: Place, paint: Colour | None) -> None:
        """A filled rectangle from top left to bottom right."""
        (x, y), rows, columns = self._window(corner, opposite, 0.0)
        inside = (x >= corner[0]) & (x < opposite[0]) & (y >= corner[1]) & (y < opposite[1])
        self._fill(inside, rows, columns, paint)

    def capsule(self, start: Place, end: Place, radius: float, paint: Colour | None) -> None:
        """A thick line with round ends."""
        self._stroke(start, end, radius, paint, round_ends=True)

    def bar(self, start: Place, end: Place, radius: float, paint: Colour | None) -> None:
        """A thick line with square ends."""
        self._stroke(start, end, radius, paint, round_ends=False)

    def _stroke(self, start: Place, end: Place, radius: float, paint: Colour | None, *, round_ends: bool) -> None:
        (x, y), rows, columns = self._window(start, end, radius)
        along_x, along_y = end[0] - start[0], end[1] - start[1]
        length_squared = along_x * along_x + along_y * along_y
        share = ((x - start[0]) * along_x + (y - start[1]) * along_y) / length_squared
        nearest = np.clip(share, 0.0, 1.0)
        distance = (x - start[0] - nearest * along_x) ** 2 + (y - start[1] - nearest * along_y) ** 2
        inside = distance <= radius * radius
        if not round_ends:
            inside &= (share >= 0.0) & (share <= 1.0)
        self._fill(inside, rows, columns, paint)

    def _window(
        self, first: Place, second: Place, margin: float
    ) -> tuple[tuple[NDArray[np.float64], NDArray[np.float64]], slice, slice]:
        """Sample positions around two places, and where they are, so that a thing costs what it covers."""
        columns = _span(first[0], second[0], margin, self._width)
        rows = _span(first[1], second[1], margin, self._height)
        return (self._x[None, columns], self._y[rows, None]), rows, columns

    def _fill(self, inside: NDArray[np.bool_], rows: slice, columns: slice, paint: Colour | None) -> None:
        part = self._samples[rows, columns]
        if paint is None:
            part[inside] = part[inside].astype(np.uint16) * 13 // 20
        else:
            part[inside] = paint


def _span(first: float, second: float, margin: float, limit: int) -> slice:
    low = max(int(min(first, second) - margin) - 1, 0)
    high = min(int(max(first, second) + margin) + 2, limit)
    return slice(low * SUBPIXELS, max(high, low) * SUBPIXELS)


def _table(width: int, height: int) -> NDArray[np.uint8]:
    """Planks with a grain from an integer hash."""
    y = np.arange(height, dtype=np.int64)[:, None]
    x = np.arange(width, dtype=np.int64)[None, :]
    plank = y // _PLANK_PX
    tint = plank * 40503 % 13 - 6
    grain = ((y * 2654435761 + (x // 48 + plank * 7) * 40503) % 4093) % 9 - 4
    seam = np.where(y % _PLANK_PX == 0, -34, 0)
    shade = (tint + grain + seam)[:, :, None] + np.zeros((1, width, 1), dtype=np.int64)
    table = np.asarray(_TABLE, dtype=np.int64)[None, None, :] + shade
    return np.clip(table, 0, 255).astype(np.uint8)


def _darker(paint: Colour) -> Colour:
    red, green, blue = (value * 3 // 5 for value in paint)
    return red, green, blue


def _lighter(paint: Colour) -> Colour:
    red, green, blue = (value + (255 - value) // 5 for value in paint)
    return red, green, blue


def _glossy(paint: Colour) -> Colour:
    red, green, blue = (value + (255 - value) * 3 // 5 for value in paint)
    return red, green, blue


def _round_shadow(canvas: _Canvas, thing: Thing) -> None:
    x, y = thing.centre
    canvas.disc((x + 4, y + 5), thing.size, None)


def _square_shadow(canvas: _Canvas, thing: Thing) -> None:
    x, y = thing.centre
    reach, lift = thing.size, 2 if thing.kind == "card" else 5
    canvas.rectangle((x - reach + lift, y - reach + lift), (x + reach + lift, y + reach + lift), None)


def _no_shadow(canvas: _Canvas, thing: Thing) -> None:
    """What lies flat and thin has none: the outline parts it from the table."""


def _ball(canvas: _Canvas, thing: Thing) -> None:
    paint = PAINT[thing.colour]
    x, y = thing.centre
    canvas.disc((x, y), thing.size, _darker(paint))
    canvas.disc((x - 0.5, y - 0.5), thing.size - 1.5, paint)
    canvas.disc((x - thing.size / 3, y - thing.size / 3), thing.size / 4, _glossy(paint))


def _block(canvas: _Canvas, thing: Thing) -> None:
    paint = PAINT[thing.colour]
    x, y = thing.centre
    reach = thing.size
    canvas.rectangle((x - reach, y - reach), (x + reach, y + reach), _darker(paint))
    canvas.rectangle((x - reach + 2, y - reach + 2), (x + reach - 2, y + reach - 2), paint)
    inset = max(reach // 4, 4)
    canvas.rectangle((x - reach + inset, y - reach + inset), (x + reach - inset, y + reach - inset), _lighter(paint))


def _mug(canvas: _Canvas, thing: Thing) -> None:
    paint = PAINT[thing.colour]
    x, y = thing.centre
    tip = (x + thing.size + mug_handle_reach(thing.size) - 4.0, float(y))
    canvas.capsule((x, y), tip, 4.0, _darker(paint))
    canvas.capsule((x, y), (tip[0] - 0.5, tip[1]), 2.5, paint)
    canvas.disc((x, y), thing.size, _darker(paint))
    canvas.disc((x, y), thing.size - 1.5, paint)
    canvas.disc((x, y), thing.size * 0.72, _darker(paint))
    canvas.disc((x, y), thing.size * 0.66, _COFFEE)


def _plate(canvas: _Canvas, thing: Thing) -> None:
    paint = PAINT[thing.colour]
    canvas.disc(thing.centre, thing.size, _darker(paint))
    canvas.disc(thing.centre, thing.size - 1.5, _WHITE)
    canvas.disc(thing.centre, thing.size * 0.90, paint)
    canvas.disc(thing.centre, thing.size * 0.82, _WHITE)
    canvas.disc(thing.centre, thing.size * 0.62, (226, 224, 218))
    canvas.disc(thing.centre, thing.size * 0.60, (238, 237, 232))


def _card(canvas: _Canvas, thing: Thing) -> None:
    x, y = thing.centre
    reach = thing.size
    canvas.rectangle((x - reach, y - reach), (x + reach, y + reach), _INK)
    canvas.rectangle((x - reach + 1, y - reach + 1), (x + reach - 1, y + reach - 1), _WHITE)
    dot = max(2 * reach // 9, 1)
    left, top = x - 2.5 * dot, y - 3.5 * dot
    for row, bits in enumerate(_GLYPHS[thing.label].split()):
        for column, bit in enumerate(bits):
            if bit == "1":
                corner = (left + column * dot, top + row * dot)
                canvas.rectangle(corner, (corner[0] + dot, corner[1] + dot), _INK)


def _pencil(canvas: _Canvas, thing: Thing) -> None:
    paint = PAINT[thing.colour]
    start, end = thing.ends
    radius = float(thing.size)

    def along(share: float) -> Place:
        return start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1])

    canvas.bar(start, along(0.84), radius, _darker(paint))
    canvas.bar(along(0.01), along(0.83), radius - 1.2, paint)
    canvas.bar(along(0.01), along(0.83), radius / 3, _glossy(paint))
    canvas.bar(start, along(0.07), radius, _INK)
    for step in range(8):
        share = 0.84 + step * 0.02
        canvas.bar(along(share), along(share + 0.02), radius * (1.0 - step / 8), _RAW_WOOD)
    canvas.bar(along(0.94), along(1.0), radius * 0.25, _INK)


def _cord(canvas: _Canvas, thing: Thing) -> None:
    paint = PAINT[thing.colour]
    for radius, colour in ((float(thing.size), _darker(paint)), (thing.size - 1.5, paint)):
        for start, end in pairwise(thing.points):
            canvas.capsule(start, end, radius, colour)


_SHADOWS = {
    "ball": _round_shadow,
    "block": _square_shadow,
    "mug": _round_shadow,
    "plate": _round_shadow,
    "card": _square_shadow,
    "pencil": _no_shadow,
    "cord": _no_shadow,
}
_PAINTERS = {
    "ball": _ball,
    "block": _block,
    "mug": _mug,
    "plate": _plate,
    "card": _card,
    "pencil": _pencil,
    "cord": _cord,
}
