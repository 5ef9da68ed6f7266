"""Which columns an optimal assignment needs when there are many more of them than rows.

Each row lists a few of its cheapest columns; the assignment among the listed ones is then checked by its dual prices,
and rows that might do better elsewhere list twice as many. So a flood of predictions costs one pass over them a row
and a matrix that the number of rows bounds, not theirs.
"""

from __future__ import annotations

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
    tree = _tree(copied.table) if shape == "point" and count >= _FEWEST_SEARCHES else None
    wanted = np.full(count, min(_FIRST_LISTED, count))
    listed: list[Indices] = [np.empty(0, dtype=np.intp)] * count
    unsure = np.arange(count)
    while True:
        for index in map(int, unsure):
            row, most = rows.take(index), int(wanted[index])
            different = min(most, len(copied.table))
            ordered = (
                _cheapest_columns(shape, row, copied.table, different, cost_matrix)
                if tree is None
                else np.atleast_1d(tree.query((row.columns[0][0], row.columns[1][0]), different)[1])
            )
            listed[index] = copied.nearest(ordered, most)
        kept = np.unique(np.concatenate(listed))
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
        columns = cast("tuple[Vector, ...]", self.table.columns)
        return ItemTable(cast("Any", tuple(column[which] for column in columns)))


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


def _cheapest_columns(
    shape: Shape,
    row: ItemTable,
    table: ItemTable,
    count: int,
    cost_matrix: Callable[[ItemTable, ItemTable], Matrices],
) -> Indices:
    """The columns that cost one row least, from the cheapest on."""
    import numpy as np

    with np.errstate(over="ignore", under="ignore"):
        order = -iou_matrix(row, table)[0] if shape == "bbox" else _squared_distances(row, table)
    chosen = _smallest(order, count)
    if np.isinf(order[chosen]).any():  # their squares overflow, their distances do not
        order = cost_matrix(row, table)[0][0]
        chosen = _smallest(order, count)
    return chosen[order[chosen].argsort()]


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
