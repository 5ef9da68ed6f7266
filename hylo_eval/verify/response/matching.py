"""Unordered matching: the optimal one-to-one assignment of predicted items to true ones.

Boxes maximise the summed intersection over union. Points and segments minimise the summed pixel distance, not the
summed similarity: the reward ids are versioned v0 and recorded rewards must reproduce. Where distances tie, the
larger summed similarity wins, so that the order in which items are listed does not matter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from hylo_eval.verify.response.similarity import (
    distance_matrix,
    iou_matrix,
    pair_similarity,
    soft_similarities,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hylo_eval.verify.response.contracts import Shape
    from hylo_eval.verify.response.coordinates import Box, Item
    from hylo_eval.verify.response.similarity import Matrix

TIE_BREAK = 1e-6
"""Pixels that one unit of similarity is worth in the assignment's cost."""

_LARGEST_FULL_MATRIX = 65_536
"""Entries above which columns that no optimum can use are left out first."""


def matched_similarities(
    shape: Shape, predicted: Sequence[Item], truth: Sequence[Item], half_life_px: float
) -> list[float]:
    """Similarities of the assigned pairs: one for each item of the shorter side.

    Args:
        shape: What the items are.
        predicted: The predicted items.
        truth: The true items.
        half_life_px: Half-life of point and segment similarity, in pixels.
    """
    if not predicted or not truth:
        return []
    rows, columns = (predicted, truth) if len(predicted) <= len(truth) else (truth, predicted)
    if len(columns) == 1:
        return [pair_similarity(shape, rows[0], columns[0], half_life_px)]
    if len(rows) * len(columns) > _LARGEST_FULL_MATRIX and len(columns) > 2 * len(rows):
        columns = _nearest_columns(shape, rows, columns, half_life_px)
    cost, similarities = _cost_matrix(shape, rows, columns, half_life_px)
    chosen = _assign(cost)
    return [float(similarities[row, column]) for row, column in enumerate(chosen)]


def _cost_matrix(
    shape: Shape, rows: Sequence[Item], columns: Sequence[Item], half_life_px: float
) -> tuple[Matrix, Matrix]:
    """What the assignment minimises, and the similarities; both of shape (rows, columns)."""
    if shape == "bbox":
        similarities = iou_matrix(cast("Sequence[Box]", rows), cast("Sequence[Box]", columns))
        return -similarities, similarities
    distances = distance_matrix(shape, rows, columns)
    similarities = soft_similarities(distances, half_life_px)
    distances -= TIE_BREAK * similarities
    return distances, similarities


def _assign(cost: Matrix) -> list[int]:
    """The column of each row in an assignment of the least summed cost; rows are no more than columns."""
    cheapest: list[int] = cost.argmin(axis=1).tolist()
    if len(set(cheapest)) == len(cheapest):
        return cheapest  # every row has the column it likes best: nothing can be cheaper
    from scipy import optimize

    solve: Any = cast("Any", optimize).linear_sum_assignment
    return solve(cost)[1].tolist()


def _nearest_columns(
    shape: Shape, rows: Sequence[Item], columns: Sequence[Item], half_life_px: float
) -> Sequence[Item]:
    """The columns that an optimum may use: for n rows, the n cheapest of each.

    A row assigned to none of its n cheapest columns could move to one of them that the other n - 1 rows leave free.
    """
    import numpy as np

    kept = np.zeros(len(columns), dtype=np.bool_)
    for row in rows:
        cost, _ = _cost_matrix(shape, [row], columns, half_life_px)
        kept[np.argpartition(cost[0], len(rows) - 1)[: len(rows)]] = True
    return [columns[index] for index in np.flatnonzero(kept).tolist()]
