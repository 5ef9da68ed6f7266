"""How alike two boxes, points or segments are, one pair or all pairs at a time.

Formulas: intersection over union for boxes; exp(-ln 2 · (distance / half-life)²) for points and segments,
so that a distance of one half-life scores 0.5. The distance of two undirected segments is the smaller, over
the two pairings of their ends, of the larger end distance.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from hylo_eval.verify.response.contracts import Shape
    from hylo_eval.verify.response.coordinates import Item, ItemTable

    Matrix: TypeAlias = NDArray[np.float64]

_SMALLEST_HALF_LIFE_PX = 1e-6

_SAFE_CORNER = 1e150
"""Boxes with corners up to this size have finite areas."""

_FEW_PAIRS = 2_048
"""Pairs up to which the plain subtraction is the faster one."""

_EXACT_SQUARES = 2.0**50
"""Whole coordinates whose squares sum to no more have squared distances that floats hold without rounding."""

_LARGEST_DISTANCE = 1e300
"""Larger distances are held here, so that sums over an assignment stay finite; their similarity is 0."""


def pair_similarity(shape: Shape, first: Item, second: Item, half_life_px: float) -> float:
    """The similarity of one pair, in [0, 1]; boxes ignore the half-life."""
    if shape == "bbox":
        return box_iou(first, second)
    distance = point_distance(first, second) if shape == "point" else segment_distance(first, second)
    return soft_similarity(distance, half_life_px)


def point_distance(first: Item, second: Item) -> float:
    """Euclidean distance in pixels; infinite if it exceeds the floats."""
    return math.hypot(first[0] - second[0], first[1] - second[1])


def segment_distance(first: Item, second: Item) -> float:
    """Distance of two undirected segments in pixels."""
    direct = max(point_distance(first[:2], second[:2]), point_distance(first[2:], second[2:]))
    flipped = max(point_distance(first[:2], second[2:]), point_distance(first[2:], second[:2]))
    return min(direct, flipped)


def soft_similarity(distance: float, half_life_px: float) -> float:
    """exp(-ln 2 · (distance / half-life)²)."""
    ratio = distance / max(half_life_px, _SMALLEST_HALF_LIFE_PX)
    return math.exp(-math.log(2.0) * (ratio * ratio))


def box_iou(first: Item, second: Item) -> float:
    """Intersection over union of two boxes with ordered corners and positive area; 0 without overlap."""
    width = min(first[2], second[2]) - max(first[0], second[0])
    height = min(first[3], second[3]) - max(first[1], second[1])
    if width <= 0.0 or height <= 0.0:
        return 0.0
    overlap = width * height
    areas = (first[2] - first[0]) * (first[3] - first[1]) + (second[2] - second[0]) * (second[3] - second[1])
    if overlap > 0.0 and math.isfinite(areas):
        return overlap / (areas - overlap)
    return _iou_by_ratios(first, second)


def _iou_by_ratios(first: Item, second: Item) -> float:
    """The same for boxes whose areas overflow or vanish: each area is expressed in units of the overlap."""
    a, b = ([corner / 4.0 for corner in corners] for corners in (first, second))
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    if width <= 0.0 or height <= 0.0:
        return 0.0
    areas = [((corners[2] - corners[0]) / width) * ((corners[3] - corners[1]) / height) for corners in (a, b)]
    return 1.0 / (areas[0] + areas[1] - 1.0)


def iou_matrix(rows: ItemTable, columns: ItemTable) -> Matrix:
    """Intersection over union of every row with every column; shape (rows, columns)."""
    import numpy as np

    first, second = _vectors(rows), _vectors(columns)
    if max(np.abs(first).max(), np.abs(second).max()) > _SAFE_CORNER:
        return _iou_matrix_by_ratios(first, second)
    width = np.minimum(first[2][:, None], second[2])
    width -= np.maximum(first[0][:, None], second[0])
    np.maximum(width, 0.0, out=width)
    height = np.minimum(first[3][:, None], second[3])
    height -= np.maximum(first[1][:, None], second[1])
    np.maximum(height, 0.0, out=height)
    overlap = np.multiply(width, height, out=width)
    first_area = (first[2] - first[0]) * (first[3] - first[1])
    second_area = (second[2] - second[0]) * (second[3] - second[1])
    union = np.add(first_area[:, None], second_area, out=height)
    union -= overlap
    iou = np.zeros_like(overlap)
    return np.divide(overlap, union, out=iou, where=overlap > 0.0)


def _iou_matrix_by_ratios(first: Matrix, second: Matrix) -> Matrix:
    """`_iou_by_ratios` of every pair; an area that exceeds the floats in units of the overlap leaves nothing of it."""
    import numpy as np

    a, b = first[:, :, None] / 4.0, second[:, None, :] / 4.0
    width, height = (np.minimum(a[side + 2], b[side + 2]) - np.maximum(a[side], b[side]) for side in (0, 1))
    is_apart = (width <= 0.0) | (height <= 0.0)
    width[is_apart] = height[is_apart] = 1.0
    with np.errstate(over="ignore"):
        areas = sum(((box[2] - box[0]) / width) * ((box[3] - box[1]) / height) for box in (a, b))
    return np.where(is_apart, 0.0, 1.0 / np.maximum(areas - 1.0, 1.0))


def distances_and_similarities(
    shape: Shape, rows: ItemTable, columns: ItemTable, half_life_px: float
) -> tuple[Matrix, Matrix]:
    """Distance in pixels and similarity of every row item to every column item, each (rows, columns)."""
    import numpy as np

    first, second = _vectors(rows), _vectors(columns)
    half_life = max(half_life_px, _SMALLEST_HALF_LIFE_PX)
    are_many_whole = shape == "point" and rows.is_whole and columns.is_whole and len(rows) * len(columns) >= _FEW_PAIRS
    with np.errstate(over="ignore", under="ignore"):
        squared = _whole_squared_distances(first, second) if are_many_whole else None
        if squared is None:
            squared = _item_distances(shape, first, second, _squared_distances)
            if not math.isfinite(squared.max()):
                distances = np.minimum(_item_distances(shape, first, second, _far_distances), _LARGEST_DISTANCE)
                ratios = distances / half_life
                return distances, np.exp(-math.log(2.0) * (ratios * ratios))
        similarities = squared * (-math.log(2.0) / half_life / half_life)
        return np.sqrt(squared, out=squared), np.exp(similarities, out=similarities)


def _item_distances(
    shape: Shape,
    first: Matrix,
    second: Matrix,
    measure: Callable[[Matrix, Matrix], Matrix],
) -> Matrix:
    """Distances of points, or of undirected segments, as a measure of points gives them."""
    import numpy as np

    if shape == "point":
        return measure(first, second)
    direct = measure(first[:2], second[:2])
    np.maximum(direct, measure(first[2:], second[2:]), out=direct)
    flipped = measure(first[:2], second[2:])
    np.maximum(flipped, measure(first[2:], second[:2]), out=flipped)
    return np.minimum(direct, flipped, out=direct)


def _squared_distances(first: Matrix, second: Matrix) -> Matrix:
    """Squared Euclidean distances of m points to n points, given as (2, m) and (2, n); shape (m, n)."""
    import numpy as np

    if first.shape[1] * second.shape[1] < _FEW_PAIRS:
        difference = first[:, :, None] - second[:, None, :]
    else:
        # (a, 1) times (1, -b): one rounding, as in a - b, at a third of the cost of the broadcast subtraction.
        left, right = np.ones((*first.shape, 2)), np.ones((2, *second.shape)).swapaxes(0, 1)
        left[:, :, 0] = first
        np.negative(second, out=right[:, 1])
        difference = left @ right
    difference *= difference
    return np.add(difference[0], difference[1], out=difference[0])


def _whole_squared_distances(first: Matrix, second: Matrix) -> Matrix | None:
    """`_squared_distances` of points with whole coordinates as one product, which rounds nothing.

    a² - 2ab + b² costs digits elsewhere; here every term and sum is a whole number that floats hold. None if
    one may be too large for that.
    """
    import numpy as np

    if not np.vdot(first, first) + np.vdot(second, second) <= _EXACT_SQUARES:
        return None
    left, right = np.empty((4, first.shape[1])), np.empty((4, second.shape[1]))
    np.add(*(first * first), out=left[0])
    left[1:3] = first
    left[3] = right[0] = 1.0
    np.multiply(second, -2.0, out=right[1:3])
    np.add(*(second * second), out=right[3])
    return left.T @ right


def _far_distances(first: Matrix, second: Matrix) -> Matrix:
    """Euclidean distances of points whose squares overflow; shape (m, n)."""
    import numpy as np

    return np.hypot(first[0][:, None] - second[0], first[1][:, None] - second[1])


def _vectors(items: ItemTable) -> Matrix:
    """The columns of a table as the rows of a matrix; shape (numbers of an item, items)."""
    import numpy as np

    return np.array(items.columns, dtype=np.float64)
