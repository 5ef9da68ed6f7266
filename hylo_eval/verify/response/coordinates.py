"""Shapes in pixel coordinates, read from parsed values.

A number is an int or a float, finite, and no truth value. A point is `[x, y]`, a box `[x0, y0, x1, y1]` with its
corners in any order and an area, a segment `[[x0, y0], [x1, y1]]`. Nothing is clipped or rescaled.
"""

from __future__ import annotations

import math
from numbers import Real
from typing import TYPE_CHECKING, TypeAlias, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Point: TypeAlias = tuple[float, float]
Box: TypeAlias = tuple[float, float, float, float]
Segment: TypeAlias = tuple[Point, Point]
Item: TypeAlias = Point | Box | Segment


def finite_float(value: object) -> float | None:
    """The value as a float if it is a finite number, else None."""
    if type(value) is float:
        return value if math.isfinite(value) else None
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def point(value: object) -> Point | None:
    """A point, or None."""
    if not isinstance(value, list | tuple):
        return None
    items = cast("Sequence[object]", value)
    if len(items) != 2:
        return None
    x, y = finite_float(items[0]), finite_float(items[1])
    return None if x is None or y is None else (x, y)


def box(value: object) -> Box | None:
    """A box with its corners in order, or None."""
    if not isinstance(value, list | tuple):
        return None
    items = cast("Sequence[object]", value)
    if len(items) != 4:
        return None
    x0, y0, x1, y1 = (finite_float(item) for item in items)
    if x0 is None or y0 is None or x1 is None or y1 is None or x0 == x1 or y0 == y1:
        return None
    return min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)


def segment(value: object) -> Segment | None:
    """A segment, which may have no length, or None."""
    if not isinstance(value, list | tuple):
        return None
    items = cast("Sequence[object]", value)
    if len(items) != 2:
        return None
    start, end = point(items[0]), point(items[1])
    return None if start is None or end is None else (start, end)


READERS: dict[str, Callable[[object], Item | None]] = {"bbox": box, "point": point, "segment": segment}
"""What reads one item of each shape."""
