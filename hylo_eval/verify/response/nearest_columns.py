"""Which columns an optimal assignment needs when there are many more of them than rows.

Each row lists a few of its cheapest columns; the assignment among the listed ones is then checked by its dual prices,
and rows that might do better elsewhere list twice as many. So a flood of predictions costs a pass or two a row
over them, and a matrix that the number of rows bounds, not theirs.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import attrs

from hylo_eval.verify.response.coordinates import ItemTable
from hylo_eval.verify.response.similarity import iou_matrix

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from hylo_eval.verify.response.contracts import Shape
    from hylo_eval.verify.response.similarity import Matrix

    Indices: TypeAlias = NDArray[np.intp]
    Vector: TypeAlias = NDArray[np.float64]
    Matrices: TypeAlias = tuple[Matrix, Matrix]

_FIRST_LISTED = 4
"""Columns that a row lists at first."""
_FEWEST_SEARCHES = 128
"""Rows from which on a tree is worth growing, and scipy importing."""
_MOST_SWEEPS = 256
"""Rounds after which prices that are still moving prove nothing."""
_SAMPLED = 4_096
"""Columns looked at to guess how near the nearest are, so that few are compared with each other."""
_LARGEST_COORDINATE = 1e150
_SLACK = 1e-9
"""Of a cost and of one pixel: rounding is no better column."""
_ROUNDING = 1e-14
"""Of the largest coordinate: more than the sums of four of them are rounded by."""
_SEARCHED_AGAIN = 8
"""How many times what it asks for is found for a row that asks again."""


def assigned_among_many(
    shape: Shape,
    rows: ItemTable,
    columns: ItemTable,
    cost_matrix: Callable[[ItemTable, ItemTable], Matrices],
    assign: Callable[[Matrix], Indices],
) -> list[float]:
    """Similarities of the pairs of an optimal assignment of every row.

    Args:
        shape: What the items are.
        rows: Items of the shorter side.
        columns: Items of the longer side.
        cost_matrix: Costs and similarities of all pairs, each of shape (rows, columns). The cost rises with the
            distance of points and segments, and falls with the intersection over union of boxes.
        assign: The column of each row in an optimal assignment of a cost matrix, which it may use up.
    """
    import numpy as np

    count = len(rows)
    copied = _Copied.of(columns, count)
    search = _Search(shape, rows, copied.table, cost_matrix)
    wanted = np.full(count, min(_FIRST_LISTED, count))
    listed: list[Indices] = [np.empty(0, dtype=np.intp)] * count
    unsure = np.arange(count)
    while True:
        for index in map(int, unsure):
            most = int(wanted[index])
            listed[index] = copied.nearest(search.cheapest(index, min(most, len(copied.table))), most)
        kept = np.unique(np.concatenate(listed))
        if shape == "bbox":  # most pairs share nothing: there, one column is as good as another
            kept = _at_least(count, kept)
        if len(kept) >= count:
            cost, similarities = cost_matrix(rows, copied.part(kept))
            chosen = assign(cost.copy())
            limits = np.array([cost[row, np.searchsorted(kept, own)].max() for row, own in enumerate(listed)])
            # Of its n cheapest columns the other n - 1 rows leave one free: such a row needs no other.
            limits[wanted == count] = np.inf
            unsure = np.flatnonzero(_least_prices(cost, chosen) > limits + _SLACK * (1.0 + np.abs(limits)))
            if not len(unsure):
                picked: list[float] = similarities[np.arange(count), chosen].tolist()
                return picked
        wanted[unsure] = np.minimum(2 * wanted[unsure], count)


def _at_least(count: int, kept: Indices) -> Indices:
    """Columns, and where they are too few to assign one to every row, the first others."""
    import numpy as np

    if len(kept) >= count:
        return kept
    others = np.setdiff1d(np.arange(count), kept, assume_unique=True)
    return np.union1d(kept, others[: count - len(kept)])


@attrs.frozen
class _Copied:
    """Columns that differ, and how often each stands there: copies that the rows cannot all be assigned to are none.

    Attributes:
        table: The different columns, as vectors.
        starts: Where the copies of each begin when all are counted through.
        copies: How many there are.
    """

    table: ItemTable
    starts: Indices
    copies: Indices

    @classmethod
    def of(cls, columns: ItemTable, rows: int) -> _Copied:
        """What a list of columns comes to for so many rows."""
        import numpy as np

        numbers = np.array(columns.columns, dtype=np.float64)
        numbers = numbers[:, np.lexsort(numbers)]
        changes = (numbers[:, 1:] != numbers[:, :-1]).any(axis=0)
        firsts = np.concatenate(([0], np.flatnonzero(changes) + 1))
        copies = np.minimum(np.diff(firsts, append=numbers.shape[1]), rows)
        return cls(ItemTable(tuple(numbers[:, firsts])), np.cumsum(copies) - copies, copies)

    def nearest(self, ordered: Indices, count: int) -> Indices:
        """The first so many columns, copies counted, of different ones from the cheapest on."""
        import numpy as np

        ends = np.cumsum(self.copies[ordered])
        ordered = ordered[: int(np.searchsorted(ends, count)) + 1]
        copies = self.copies[ordered]
        befores = np.cumsum(copies) - copies
        within = np.arange(int(copies.sum())) - np.repeat(befores, copies)
        return (np.repeat(self.starts[ordered], copies) + within)[:count]

    def part(self, kept: Indices) -> ItemTable:
        """The items of some columns, copies counted."""
        import numpy as np

        which = np.searchsorted(self.starts, kept, side="right") - 1
        return _part(self.table, which)


def _tree(points: ItemTable) -> Any:
    """A tree that finds the nearest points; None where squared distances may overflow."""
    import numpy as np

    coordinates = np.array(points.columns).T
    if np.abs(coordinates).max() > _LARGEST_COORDINATE:
        return None
    from scipy import spatial

    # Splitting at the middle: medians take longer than the searches save.
    return cast("Any", spatial).cKDTree(coordinates, balanced_tree=False, compact_nodes=False)


def _least_prices(cost: Matrix, chosen: Indices) -> Vector:
    """What each row pays at least in a dual solution that proves an assignment optimal; infinite where none is found.

    A row's price is no less than its own cost, nor than what keeps another row from its column. A row that pays no
    more than any column left out of the matrix would cost it has nothing to gain there (linear programming duality).

    Args:
        cost: Shape (rows, columns).
        chosen: The column of each row.
    """
    import numpy as np

    own = cost[np.arange(len(cost)), chosen]
    drives = own - cost[:, chosen]  # by how much row i must pay more than row k for its column to stay its own
    prices = own
    for _ in range(_MOST_SWEEPS):
        raised = (prices[:, None] + drives).max(axis=0)
        if (raised <= prices + _SLACK).all():
            return prices
        prices = np.maximum(prices, raised)
    return np.full(len(cost), np.inf)


class _Search:
    """The cheapest columns of each row, found in one pass over the columns for many of them.

    Rows that ask again ask for more: a second search finds several times what is asked for.
    """

    def __init__(
        self,
        shape: Shape,
        rows: ItemTable,
        table: ItemTable,
        cost_matrix: Callable[[ItemTable, ItemTable], Matrices],
    ) -> None:
        """Hold the rows and the different columns, sorted as :class:`_Copied` sorts them."""
        import numpy as np

        self._shape = shape
        self._rows = rows
        self._table = table
        self._cost_matrix = cost_matrix
        self._found: dict[int, Indices] = {}
        self._tree = _tree(table) if shape == "point" and len(rows) >= _FEWEST_SEARCHES else None
        numbers = cast("tuple[Vector, ...]", table.columns)
        self._largest = max(float(np.abs(side).max()) for side in (*numbers, *map(np.asarray, rows.columns)))
        # Twice the middle of a segment, which does not know one end from the other.
        has_middles = shape == "segment" and self._largest <= _LARGEST_COORDINATE
        self._middles = (numbers[0] + numbers[2], numbers[1] + numbers[3]) if has_middles else None

    def cheapest(self, index: int, count: int) -> Indices:
        """The columns that cost a row least, from the cheapest on; no more than there are rows and columns."""
        found = self._found.get(index)
        if found is None or len(found) < count:
            most = min(len(self._rows), len(self._table))
            searched = count if found is None else min(_SEARCHED_AGAIN * count, most)
            found = self._found[index] = self._search(index, searched)
        return found[:count]

    def _search(self, index: int, count: int) -> Indices:
        import numpy as np

        row = self._rows.take(index)
        if self._tree is not None:
            return np.atleast_1d(self._tree.query((row.columns[0][0], row.columns[1][0]), count)[1])
        if self._shape == "bbox":
            return self._overlapping(row, count)
        with np.errstate(over="ignore", under="ignore"):
            if self._middles is not None:
                return self._near_middles(row, count, self._middles)
            order = _squared_distances(row, self._table)
        chosen = _smallest(order, count)
        if np.isinf(order[chosen]).any():  # their squares overflow, their distances do not
            order = self._cost_matrix(row, self._table)[0][0]
            chosen = _smallest(order, count)
        return chosen[order[chosen].argsort()]

    def _overlapping(self, row: ItemTable, count: int) -> Indices:
        """The boxes that share most with one; any others, which share nothing and cost the same, where too few do."""
        import numpy as np

        x0, y0, x1, y1 = cast("tuple[Vector, ...]", self._table.columns)
        left, top, right, bottom = (column[0] for column in row.columns)
        start = int(np.searchsorted(y1, top, side="right"))
        meets = x0[start:] < right
        meets &= x1[start:] > left
        meets &= y0[start:] < bottom
        meeting = np.flatnonzero(meets)
        meeting += start
        chosen = meeting
        if len(meeting):
            with np.errstate(over="ignore", under="ignore"):
                order = -iou_matrix(row, _part(self._table, meeting))[0]
            best = _smallest(order, min(count, len(meeting)))
            chosen = meeting[best[order[best].argsort()]]
        if len(chosen) < count:
            first = np.arange(min(count + len(meeting), len(x0)))
            others = np.setdiff1d(first, meeting, assume_unique=True)[: count - len(chosen)]
            chosen = np.concatenate((chosen, others))
        return chosen

    def _near_middles(self, row: ItemTable, count: int, middles: tuple[Vector, Vector]) -> Indices:
        """The nearest segments: no two are nearer to each other than their middles are."""
        import numpy as np

        stride = max(1, len(self._table) // max(_SAMPLED, 4 * count))
        sample = _part(self._table, slice(None, None, stride))
        limit = np.partition(_squared_distances(row, sample), count - 1)[count - 1]
        reach = 2.0 * math.sqrt(float(limit)) * (1.0 + _SLACK) + _ROUNDING * self._largest
        is_near = np.ones(len(self._table), dtype=np.bool_)
        for axis, middle in enumerate(middles):
            apart = middle - (row.columns[axis][0] + row.columns[axis + 2][0])
            is_near &= np.abs(apart, out=apart) <= reach
        near = np.flatnonzero(is_near)
        order = _squared_distances(row, _part(self._table, near))
        chosen = _smallest(order, count)
        return near[chosen[order[chosen].argsort()]]


def _part(table: ItemTable, kept: Indices | slice) -> ItemTable:
    columns = cast("tuple[Vector, ...]", table.columns)
    return ItemTable(cast("Any", tuple(column[kept] for column in columns)))


def _smallest(values: Vector, count: int) -> Indices:
    """Where the smallest values stand."""
    import numpy as np

    stride = len(values) // max(_SAMPLED, 4 * count)
    candidates = np.arange(len(values))
    if stride > 1:
        limit = np.partition(values[::stride], count - 1)[count - 1]
        candidates = np.flatnonzero(values <= limit)
    return candidates[np.argpartition(values[candidates], count - 1)[:count]]


def _squared_distances(row: ItemTable, table: ItemTable) -> Vector:
    """Squared distances of one point or segment to all others."""
    import numpy as np

    columns = cast("tuple[Vector, ...]", table.columns)

    def apart(first: int, second: int) -> Vector:
        across: Vector = columns[second] - row.columns[first][0]
        across *= across
        down: Vector = columns[second + 1] - row.columns[first + 1][0]
        down *= down
        return np.add(across, down, out=across)

    if len(row.columns) == 2:
        return apart(0, 0)
    direct = np.maximum(apart(0, 0), apart(2, 2))
    return np.minimum(direct, np.maximum(apart(0, 2), apart(2, 0)), out=direct)
