"""Regions of an image that points are asked to hit: masks, boxes, polygons, in pixels with y down.

A continuous point (x, y) lies in the pixel of column floor(x) and row floor(y): pixel centres are at halves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, cast

import attrs
import numpy as np
from numpy.typing import NDArray

from hylo_eval.verify.response.coordinates import Item, as_list, box, read_items

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

_LARGEST_MATRIX = 1 << 18
"""Points times edges that are looked at together, so that memory stays bounded."""


class Region(Protocol):
    """A part of the image plane."""

    @property
    def kind(self) -> str:
        """What it is: part of the id of the scorer that uses it."""
        ...

    def holds(self, points: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which points lie in it; its border belongs to it where the kind says so.

        Args:
            points: Finite coordinates in pixels, shape (n, 2).

        Returns:
            Shape (n,).
        """
        ...


@attrs.frozen(eq=False)
class MaskRegion:
    """A mask of shape (height, width), true inside. A point outside the image is outside the mask."""

    mask: NDArray[np.bool_]
    kind: str = attrs.field(default="mask", init=False)

    @classmethod
    def of(cls, mask: ArrayLike) -> MaskRegion:
        """A mask from any 2-D array of numbers or truth values; every non-zero pixel is inside.

        Raises:
            ValueError: The array has not two dimensions, or no pixel, or holds something else.
        """
        array = np.asarray(mask)
        if array.ndim != 2 or array.size == 0:
            raise ValueError(f"mask must have the shape (height, width), not {array.shape}")
        if array.dtype.kind not in "buif" or not np.isfinite(array).all():
            raise ValueError("mask must hold finite numbers or truth values alone")
        return cls(array.astype(np.bool_))

    def holds(self, points: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Whether the pixel that holds the point is set."""
        height, width = self.mask.shape
        x, y = points.T
        is_inside = (x >= 0.0) & (x < width) & (y >= 0.0) & (y < height)
        columns, rows = np.floor(points[is_inside]).astype(np.intp).T
        is_inside[is_inside] = self.mask[rows, columns]
        return is_inside


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

    def holds(self, points: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Whether the point is inside or on the border."""
        (x, y), (left, top, right, bottom) = points.T, self.corners
        return (left <= x) & (x <= right) & (top <= y) & (y <= bottom)


@attrs.frozen
class PolygonRegion:
    """A polygon by its corners in order, with its border; crossings of itself follow the even-odd rule."""

    corners: tuple[Item, ...]
    kind: str = attrs.field(default="polygon", init=False)

    @classmethod
    def of(cls, corners: object) -> PolygonRegion:
        """A polygon from a list of at least three points that do not all lie on one line.

        Raises:
            ValueError: It is no such list.
        """
        points = read_items("point", corners)
        if points is None or len(points) < 3:
            raise ValueError(f"polygon must be a list of at least 3 points [x, y], not {corners!r}")
        polygon = cls(tuple(points))
        if polygon.is_flat:
            raise ValueError(f"polygon must have an area, but its corners lie on one line: {corners!r}")
        return polygon

    @property
    def is_flat(self) -> bool:
        """Whether all corners lie on one line."""
        corners = np.array(self.corners)
        corners = np.ldexp(corners, -np.frexp(np.abs(corners).max())[1])  # to at most 1, without rounding
        steps = corners - corners[0]
        farthest = steps[np.abs(steps).max(axis=1).argmax()]
        return not (steps[:, 0] * farthest[1] - steps[:, 1] * farthest[0]).any()

    def holds(self, points: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Whether the point is on an edge, or a ray to its right crosses edges an odd number of times."""
        ends = np.array(self.corners).T
        starts = np.roll(ends, 1, axis=1)
        rows = max(1, _LARGEST_MATRIX // len(self.corners))
        found = np.zeros(len(points), dtype=np.bool_)
        with np.errstate(all="ignore"):  # coordinates near the ends of the floats, and edges without height
            for first in range(0, len(points), rows):
                chunk = points[first : first + rows].T[:, :, None]
                found[first : first + rows] = _hold(chunk, starts, ends)
        return found


def _hold(points: NDArray[np.float64], starts: NDArray[np.float64], ends: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which of m points, as (2, m, 1), the n edges of a polygon hold, whose ends are (2, n)."""
    (x, y), (x0, y0), (x1, y1) = points, starts, ends
    dx, dy = x1 - x0, y1 - y0
    is_on_line = dx * (y - y0) - dy * (x - x0) == 0.0
    is_between = (np.minimum(x0, x1) <= x) & (x <= np.maximum(x0, x1))
    is_between &= (np.minimum(y0, y1) <= y) & (y <= np.maximum(y0, y1))
    is_on_edge = (is_on_line & is_between).any(axis=1)
    is_crossed = ((y0 > y) != (y1 > y)) & (x < x0 + (y - y0) / dy * dx)
    found: NDArray[np.bool_] = is_on_edge | (is_crossed.sum(axis=1) % 2 == 1)
    return found


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
        return MaskRegion.of(cast("ArrayLike", _rows(value)))
    raise ValueError(f"region kind must be one of box, mask, polygon, not {kind!r}")


def _rows(value: object) -> Sequence[object]:
    rows = as_list(value)
    lists = [] if rows is None else [as_list(row) for row in rows]
    if rows is None or not lists or any(row is None or len(row) != len(lists[0] or ()) for row in lists):
        raise ValueError("mask must be a list of rows of equal length")
    return rows
