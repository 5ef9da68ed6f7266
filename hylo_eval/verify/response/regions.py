"""Regions of an image that points are asked to hit: masks, boxes, polygons, in pixels with y down.

A continuous point (x, y) lies in the pixel of column floor(x) and row floor(y): pixel centres are at halves.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol, cast

import attrs
import numpy as np
from numpy.typing import NDArray

from hylo_eval.verify.response.coordinates import Item, as_list, box, read_items

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike


class Region(Protocol):
    """A part of the image plane."""

    @property
    def kind(self) -> str:
        """What it is: part of the id of the scorer that uses it."""
        ...

    def contains(self, x: float, y: float) -> bool:
        """Whether a point in pixels lies in it; its border belongs to it where the kind says so."""
        ...


@attrs.frozen(eq=False)
class MaskRegion:
    """A mask of shape (height, width), true inside. A point outside the image is outside the mask."""

    mask: NDArray[np.bool_]
    kind: str = attrs.field(default="mask", init=False)

    @classmethod
    def of(cls, mask: ArrayLike) -> MaskRegion:
        """A mask from any 2-D array; every non-zero pixel is inside.

        Raises:
            ValueError: The array has not two dimensions, or no pixel.
        """
        import numpy as np

        array = np.asarray(mask)
        if array.ndim != 2 or array.size == 0:
            raise ValueError(f"mask must have the shape (height, width), not {array.shape}")
        return cls(array.astype(np.bool_))

    def contains(self, x: float, y: float) -> bool:
        """Whether the pixel that holds the point is set."""
        height, width = self.mask.shape
        if not (0.0 <= x < width and 0.0 <= y < height):
            return False
        return bool(self.mask[math.floor(y), math.floor(x)])


@attrs.frozen
class BoxRegion:
    """An axis-aligned box (left, top, right, bottom) with its border."""

    corners: Item
    kind: str = attrs.field(default="box", init=False)

    @classmethod
    def of(cls, corners: object) -> BoxRegion:
        """A box from `[x0, y0, x1, y1]`, corners in any order.

        Raises:
            ValueError: It is no box, or has no area.
        """
        ordered = box(corners)
        if ordered is None:
            raise ValueError(f"box must be [x0, y0, x1, y1] with an area, not {corners!r}")
        return cls(ordered)

    def contains(self, x: float, y: float) -> bool:
        """Whether the point is inside or on the border."""
        left, top, right, bottom = self.corners
        return left <= x <= right and top <= y <= bottom


@attrs.frozen
class PolygonRegion:
    """A polygon by its corners in order, with its border; crossings of itself follow the even-odd rule."""

    corners: tuple[Item, ...]
    kind: str = attrs.field(default="polygon", init=False)

    @classmethod
    def of(cls, corners: object) -> PolygonRegion:
        """A polygon from a list of at least three points.

        Raises:
            ValueError: It is no such list.
        """
        points = read_items("point", corners)
        if points is None or len(points) < 3:
            raise ValueError(f"polygon must be a list of at least 3 points [x, y], not {corners!r}")
        return cls(tuple(points))

    def contains(self, x: float, y: float) -> bool:
        """Whether the point is on an edge, or a ray to its right crosses edges an odd number of times."""
        inside = False
        previous = self.corners[-1]
        for corner in self.corners:
            if _is_on_edge(x, y, previous, corner):
                return True
            (x0, y0), (x1, y1) = previous, corner
            if (y0 > y) != (y1 > y) and x < x0 + (y - y0) / (y1 - y0) * (x1 - x0):
                inside = not inside
            previous = corner
        return inside


def _is_on_edge(x: float, y: float, start: Item, end: Item) -> bool:
    (x0, y0), (x1, y1) = start, end
    cross = (x1 - x0) * (y - y0) - (y1 - y0) * (x - x0)
    return cross == 0.0 and min(x0, x1) <= x <= max(x0, x1) and min(y0, y1) <= y <= max(y0, y1)


def read_region(kind: str, value: object) -> Region:
    """A region from its JSON form: a box, a polygon, or a mask as rows of zeros and ones.

    Raises:
        ValueError: The kind is unknown, or the value is no such region.
    """
    if kind == "box":
        return BoxRegion.of(value)
    if kind == "polygon":
        return PolygonRegion.of(value)
    if kind == "mask":
        return MaskRegion.of(_rows(value))
    raise ValueError(f"region kind must be one of box, mask, polygon, not {kind!r}")


def _rows(value: object) -> list[list[bool]]:
    rows = as_list(value)
    lists = [] if rows is None else [as_list(row) for row in rows]
    if not lists or any(row is None or len(row) != len(lists[0] or ()) for row in lists):
        raise ValueError("mask must be a list of rows of equal length")
    return [[bool(pixel) for pixel in row] for row in cast("Sequence[Sequence[object]]", lists)]
