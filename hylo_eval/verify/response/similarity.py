"""How alike two boxes, points or segments are, one pair or all pairs at a time.

Formulas: intersection over union for boxes; exp(-ln 2 · (distance / half-life)²) for points and segments, so that a
distance of one half-life scores 0.5. The distance of two undirected segments is the smaller, over the two
pairings of their ends, of the larger end distance.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias, cast

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from hylo_eval.verify.response.contracts import Shape
    from hylo_eval.verify.response.coordinates import Box, Item, Point, Segment

    Matrix: TypeAlias = NDArray[np.float64]

_SMALLEST_HALF_LIFE_PX = 1e-6
_SAFE_TO_SQUARE = 1e150
"""Coordinates up to this size have squares and areas that are finite."""

_LARGEST_DISTANCE = 1e300
"""Distances beyond are held here, so that sums over an assignment stay finite; their similarity is 0 anyway."""


def pair_similarity(shape: Shape, first: Item, second: Item, half_life_px: float) -> float:
    """The similarity of one pair, in [0, 1]; boxes ignore the half-life."""
    if shape == "bbox":
        return box_iou(cast("Box", first), cast("Box", second))
    if shape == "point":
        distance = point_distance(cast("Point", first), cast("Point", second))
    else:
        distance = segment_distance(cast("Segment", first), cast("Segment", second))
    return soft_similarity(distance, half_life_px)


def point_distance(first: Point, second: Point) -> float:
    """Euclidean distance in pixels; infinite if it exceeds the floats."""
    return math.hypot(first[0] - second[0], first[1] - second[1])


def segment_distance(first: Segment, second: Segment) -> float:
    """Distance of two undirected segments in pixels."""
    direct = max(point_distance(first[0], second[0]), point_distance(first[1], second[1]))
    flipped = max(point_distance(first[0], second[1]), point_distance(first[1], second[0]))
    return min(direct, flipped)


def soft_similarity(distance: float, half_life_px: float) -> float:
    """exp(-ln 2 · (distance / half-life)²)."""
    ratio = distance / max(half_life_px, _SMALLEST_HALF_LIFE_PX)
    return math.exp(-math.log(2.0) * (ratio * ratio))


def box_iou(first: Box, second: Box) -> float:
    """Intersection over union of two boxes with ordered corners and positive area; 0 without overlap."""
    width = min(first[2], second[2]) - max(first[0], second[0])
    height = min(first[3], second[3]) - max(first[1], second[1])
    if width <= 0.0 or height <= 0.0:
        return 0.0
    overlap = width * height
    first_area = (first[2] - first[0]) * (first[3] - first[1])
    second_area = (second[2] - second[0]) * (second[3] - second[1])
    if overlap > 0.0 and math.isfinite(first_area + second_area):
        return overlap / (first_area + second_area - overlap)
    return _iou_by_ratios(first, second)


def _iou_by_ratios(first: Box, second: Box) -> float:
    """The same for boxes whose areas overflow or vanish: each area is expressed in units of the overlap."""
    a, b = ([coordinate / 4.0 for coordinate in corners] for corners in (first, second))
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    if width <= 0.0 or height <= 0.0:
        return 0.0
    areas = [((corners[2] - corners[0]) / width) * ((corners[3] - corners[1]) / height) for corners in (a, b)]
    return 1.0 / (areas[0] + areas[1] - 1.0)


def iou_matrix(rows: Sequence[Box], columns: Sequence[Box]) -> Matrix:
    """Intersection over union of every row with every column; shape (rows, columns)."""
    import numpy as np

    first, second = np.asarray(rows, dtype=np.float64), np.asarray(columns, dtype=np.float64)
    if max(np.abs(first).max(), np.abs(second).max()) > _SAFE_TO_SQUARE:
        return np.array([[box_iou(a, b) for b in columns] for a in rows], dtype=np.float64)
    width = np.minimum(first[:, None, 2], second[None, :, 2])
    width -= np.maximum(first[:, None, 0], second[None, :, 0])
    np.maximum(width, 0.0, out=width)
    height = np.minimum(first[:, None, 3], second[None, :, 3])
    height -= np.maximum(first[:, None, 1], second[None, :, 1])
    np.maximum(height, 0.0, out=height)
    overlap = np.multiply(width, height, out=width)
    first_area = (first[:, 2] - first[:, 0]) * (first[:, 3] - first[:, 1])
    second_area = (second[:, 2] - second[:, 0]) * (second[:, 3] - second[:, 1])
    union = np.add(first_area[:, None], second_area[None, :], out=height)
    union -= overlap
    iou = np.zeros_like(overlap)
    np.divide(overlap, union, out=iou, where=overlap > 0.0)
    return iou


def distance_matrix(shape: Shape, rows: Sequence[Item], columns: Sequence[Item]) -> Matrix:
    """Distance of every row item to every column item in pixels; shape (rows, columns)."""
    import numpy as np

    first, second = np.asarray(rows, dtype=np.float64), np.asarray(columns, dtype=np.float64)
    if shape == "point":
        return _point_distances(first, second)
    direct = _point_distances(first[:, 0], second[:, 0])
    np.maximum(direct, _point_distances(first[:, 1], second[:, 1]), out=direct)
    flipped = _point_distances(first[:, 0], second[:, 1])
    np.maximum(flipped, _point_distances(first[:, 1], second[:, 0]), out=flipped)
    return np.minimum(direct, flipped, out=direct)


def _point_distances(first: Matrix, second: Matrix) -> Matrix:
    """Euclidean distances of (m, 2) and (n, 2) points; shape (m, n)."""
    import numpy as np

    if max(np.abs(first).max(), np.abs(second).max()) > _SAFE_TO_SQUARE:
        with np.errstate(over="ignore"):
            far = np.hypot(first[:, None, 0] - second[None, :, 0], first[:, None, 1] - second[None, :, 1])
        return np.minimum(far, _LARGEST_DISTANCE, out=far)
    x = np.subtract.outer(first[:, 0], second[:, 0])
    y = np.subtract.outer(first[:, 1], second[:, 1])
    np.multiply(x, x, out=x)
    np.multiply(y, y, out=y)
    x += y
    return np.sqrt(x, out=x)


def soft_similarities(distances: Matrix, half_life_px: float) -> Matrix:
    """`soft_similarity` of every distance."""
    import numpy as np

    with np.errstate(over="ignore", under="ignore"):
        exponent = distances / max(half_life_px, _SMALLEST_HALF_LIFE_PX)
        np.multiply(exponent, exponent, out=exponent)
        exponent *= -math.log(2.0)
        return np.exp(exponent, out=exponent)
