"""Unordered matching: the optimal one-to-one assignment of predicted items to true ones.

Boxes maximise the summed intersection over union. Points and segments minimise the summed pixel distance,
not the summed similarity: the reward ids are versioned v0 and recorded rewards must reproduce. Where
distances tie, the larger summed similarity wins, so that the order in which items are listed does not
matter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, cast

from hylo_eval.verify.response.coordinates import ItemTable
from hylo_eval.verify.response.similarity import (
    distances_and_similarities,
    iou_matrix,
    pair_similarity,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hylo_eval.verify.response.contracts import Shape
    from hylo_eval.verify.response.similarity import Matrix

    Indices: TypeAlias = NDArray[np.intp]

TIE_BREAK = 1e-6
"""Pixels that one unit of similarity is worth in the assignment's cost."""

_LARGEST_FULL_MATRIX = 65_536
"""Entries above which columns that no optimum can use are left out first."""

_SMALLEST_REDUCED = 40
_CONTESTED = 0.8
"""From this many rows on, and below this share of rows with a cheapest column of their own, reducing pays."""


def matched_similarities(shape: Shape, predicted: ItemTable, truth: ItemTable, half_life_px: float) -> list[float]:
    """Similarities of the assigned pairs: one for each item of the shorter side.

    Args:
        shape: What the items are.
        predicted: The predicted items.
        truth: The true items.
        half_life_px: Half-life of point and segment similarity, in pixels.
    """
    if not len(predicted) or not len(truth):
        return []
    rows, columns = (predicted, truth) if len(predicted) <= len(truth) else (truth, predicted)
    if len(columns) == 1:
        return [pair_similarity(shape, next(iter(rows)), next(iter(columns)), half_life_px)]
    if len(rows) * len(columns) > _LARGEST_FULL_MATRIX and len(columns) > 2 * len(rows):
        columns = _nearest_columns(shape, rows, columns, half_life_px)
    import numpy as np

    cost, similarities = _cost_matrix(shape, rows, columns, half_life_px)
    chosen = _assign(cost)
    picked: list[float] = similarities[np.arange(len(rows)), chosen].tolist()
    return picked


def _cost_matrix(shape: Shape, rows: ItemTable, columns: ItemTable, half_life_px: float) -> tuple[Matrix, Matrix]:
    """What the assignment minimises, and the similarities; both of shape (rows, columns)."""
    if shape == "bbox":
        similarities = iou_matrix(rows, columns)
        return -similarities, similarities
    distances, similarities = distances_and_similarities(shape, rows, columns, half_life_px)
    distances -= TIE_BREAK * similarities
    return distances, similarities


def _assign(cost: Matrix) -> Indices:
    """The column of each row in an assignment of the least summed cost; rows are no more than columns."""
    cheapest = cost.argmin(axis=1)
    distinct = len(set(cheapest.tolist()))
    if distinct == len(cost):
        return cheapest  # every row has the column it likes best: nothing can be cheaper
    if len(cost) >= _SMALLEST_REDUCED and len(cost) == cost.shape[1] and distinct < _CONTESTED * len(cost):
        cost = _reduced(cost, cheapest)
    from scipy import optimize

    solve: Any = cast("Any", optimize).linear_sum_assignment
    return solve(cost)[1]


def _reduced(cost: Matrix, cheapest: Indices) -> Matrix:
    """A square cost less the minimum of each row, then of each column: every assignment loses the same sum.

    The solver searches from prices of zero; with these it finds free columns in fewer steps.
    """
    import numpy as np

    reduced = cost - cost[np.arange(len(cost)), cheapest][:, None]
    reduced -= reduced.min(axis=0)
    return reduced


def _nearest_columns(shape: Shape, rows: ItemTable, columns: ItemTable, half_life_px: float) -> ItemTable:
    """The columns that an optimum may use: for n rows, the n cheapest of each.

    A row assigned to none of its n cheapest columns could move to one that the other n - 1 rows leave free.
    """
    import numpy as np

    vectors = [np.array(column, dtype=np.float64) for column in columns.columns]
    table = ItemTable(cast("Any", tuple(vectors)))  # converted once for all rows
    kept = np.zeros(len(columns), dtype=np.bool_)
    for index in range(len(rows)):
        cost, _ = _cost_matrix(shape, rows.take(index), table, half_life_px)
        kept[np.argpartition(cost[0], len(rows) - 1)[: len(rows)]] = True
    return ItemTable(cast("Any", tuple(vector[kept] for vector in vectors)))
