"""Shapes in pixel coordinates, read from parsed values.

A number is an int or a float, finite, and neither True nor False. A point is `[x, y]`, a box `[x0, y0, x1,
y1]` with its corners in any order and an area, a segment `[[x0, y0], [x1, y1]]` of any length. Nothing is
clipped or rescaled.
"""

from __future__ import annotations

import math
import struct
from array import array
from collections.abc import Sequence
from itertools import chain
from numbers import Real
from operator import eq
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hylo_eval.verify.response.contracts import Shape

Item: TypeAlias = tuple[float, ...]
"""The numbers of one point (x, y), box (left, top, right, bottom) or segment (x0, y0, x1, y1)."""

_PLAIN_LISTS: frozenset[type] = frozenset({list, tuple})
_PLAIN_NUMBERS: frozenset[type] = frozenset({int, float})


@attrs.frozen
class ItemTable:
    """Items of one shape in a list.

    Attributes:
        columns: The first numbers of all items, the second ones, and so on: the layout that vectors need.
        is_whole: Whether every number is known to be an integer; then distances can be had for less.
    """

    columns: tuple[Sequence[float], ...]
    is_whole: bool = False

    def __len__(self) -> int:
        return len(self.columns[0])

    def __iter__(self) -> Iterator[Item]:
        return zip(*self.columns, strict=True)

    def take(self, index: int) -> ItemTable:
        """The one item at a position."""
        return ItemTable(tuple([column[index]] for column in self.columns))


def finite_float(value: object) -> float | None:
    """The value as a float if it is a finite number, else None."""
    kind = type(value)
    if kind is not float and kind is not int and (kind is bool or not isinstance(value, Real)):
        return None
    number: Any = value
    try:
        number = float(number)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def as_list(value: object) -> Sequence[object] | None:
    """The value if it is a list or a tuple, else None."""
    items: Any = value
    is_list = type(items) is list or isinstance(items, list | tuple)
    return cast("Sequence[object]", items) if is_list else None


def point(value: object) -> Item | None:
    """A point, or None."""
    items = as_list(value)
    if items is None or len(items) != 2:
        return None
    x, y = finite_float(items[0]), finite_float(items[1])
    return None if x is None or y is None else (x, y)


def box(value: object) -> Item | None:
    """A box with its corners in order, or None."""
    items = as_list(value)
    if items is None or len(items) != 4:
        return None
    x0, y0, x1, y1 = map(finite_float, items)
    if x0 is None or y0 is None or x1 is None or y1 is None or x0 == x1 or y0 == y1:
        return None
    return (min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1))


def segment(value: object) -> Item | None:
    """A segment, or None."""
    items = as_list(value)
    if items is None or len(items) != 2:
        return None
    start, end = point(items[0]), point(items[1])
    return None if start is None or end is None else start + end


READ_ITEM: dict[Shape, Callable[[object], Item | None]] = {"bbox": box, "point": point, "segment": segment}
"""What reads one item of each shape."""


def read_items(shape: Shape, value: object) -> ItemTable | None:
    """A list of items of one shape; None if the value is no list or anything in it is no such item."""
    values = as_list(value)
    if values is None:
        return None
    length = 2 if shape == "point" else 4
    if not values:
        return ItemTable(tuple([] for _ in range(length)))
    plain = _ends(values) if shape == "segment" else _plain_numbers(values, length)
    if plain is None:
        items = [READ_ITEM[shape](item) for item in values]
        return None if None in items else ItemTable(tuple(zip(*cast("list[Item]", items), strict=True)))
    numbers, is_whole = plain
    count = len(values)
    columns = tuple(numbers[start : start + count] for start in range(0, len(numbers), count))
    if shape != "bbox":
        return ItemTable(columns, is_whole)
    x0, y0, x1, y1 = columns
    if any(map(eq, x0, x1)) or any(map(eq, y0, y1)):
        return None
    lower, upper = map(min, x0, x1), map(max, x0, x1)
    return ItemTable((list(lower), list(map(min, y0, y1)), list(upper), list(map(max, y0, y1))))


def _ends(segments: Sequence[object]) -> tuple[array[float], bool] | None:
    """The numbers of plain segments, column after column, and whether all are integers."""
    ends = _transposed(segments, 2)
    plain = None if ends is None else _plain_numbers(ends, 2)
    if plain is None:
        return None
    numbers, is_whole = plain
    count = len(segments)  # x of the first ends, x of the second, y of the first, y of the second
    columns = numbers[:count] + numbers[2 * count : 3 * count] + numbers[count : 2 * count] + numbers[3 * count :]
    return columns, is_whole


def _plain_numbers(rows: Sequence[object], length: int) -> tuple[array[float], bool] | None:
    """The finite numbers of plain lists of one length, column after column, and whether all are integers.

    None if there is anything else.

    It does in a few passes at C speed what reading item by item does, for the values that JSON gives; numpy
    takes an array of doubles over as it lies.
    """
    flat = _transposed(rows, length)
    if flat is None:
        return None
    kinds = set(map(type, flat))
    if not kinds <= _PLAIN_NUMBERS:
        return None
    try:
        is_whole = float not in kinds
        # If a sum of floats is finite, every term is; else they are looked at one by one.
        if is_whole or math.isfinite(sum(cast("list[float]", flat))):
            return array("d", struct.pack(f"{len(flat)}d", *flat)), is_whole  # quicker than array() over integers
    except (OverflowError, struct.error):  # an integer beyond the floats
        pass
    return None


def _transposed(rows: Sequence[object], length: int) -> list[object] | None:
    """The entries of plain lists of one length, column after column; None if there is anything else."""
    if not _PLAIN_LISTS.issuperset(map(type, rows)):
        return None
    try:
        flat = list(chain.from_iterable(zip(*cast("Sequence[Sequence[object]]", rows), strict=True)))
    except ValueError:  # their lengths differ
        return None
    return flat if len(flat) == length * len(rows) else None
