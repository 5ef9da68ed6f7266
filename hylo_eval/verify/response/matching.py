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
    Vector: TypeAlias = NDArray[np.float64]

TIE_BREAK = 1e-6
"""Pixels that one unit of similarity is worth in the assignment's cost."""

_LARGEST_FULL_MATRIX = 65_536
"""Entries above which only columns that an optimum needs are looked at (`nearest_columns`)."""

_SMALLEST_PRICED = 80
_CONTESTED = 0.66
"""From this many rows on, and below this share of rows with a cheapest column of their own, pricing pays."""

_LARGEST_PRICES_PX = 1e6
"""Larger prices are not used: they would leave the costs fewer digits than the tie-break needs."""

_COOLINGS = 3
_ROUNDS_A_TEMPERATURE = 2
_OVERRELAXATION = 1.75
"""How often the temperature is halved, how often prices are balanced at each, and how far a step overshoots.

Prices steer the solver's search and not its result; these were the quickest on points guessed at random.
"""


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
        from hylo_eval.verify.response.nearest_columns import assigned_among_many

        return assigned_among_many(
            shape,
            rows,
            columns,
            lambda some, others: _cost_matrix(shape, some, others, half_life_px),
            lambda cost: _assign(cost, is_distance=shape != "bbox"),
        )
    import numpy as np

    cost, similarities = _cost_matrix(shape, rows, columns, half_life_px)
    chosen = _assign(cost, is_distance=shape != "bbox")
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


def _assign(cost: Matrix, *, is_distance: bool) -> Indices:
    """The column of each row in an assignment of the least summed cost; rows are no more than columns.

    The cost is used up.
    """
    import numpy as np

    cheapest = cost.argmin(axis=1)
    distinct = len(set(cheapest.tolist()))
    if distinct == len(cost):
        return cheapest  # every row has the column it likes best: nothing can be cheaper
    if is_distance and _SMALLEST_PRICED <= len(cost) == cost.shape[1] and distinct < _CONTESTED * len(cost):
        prices = _balanced_prices(cost, cost[np.arange(len(cost)), cheapest])
        if prices is not None:
            cost += prices  # every assignment pays all prices once
    from scipy import optimize

    solve: Any = cast("Any", optimize).linear_sum_assignment
    return solve(cost)[1]


def _balanced_prices(cost: Matrix, least: Vector) -> Vector | None:
    """Prices of the columns of a square cost in pixels, at which the rows want every column about equally.

    The solver starts its search from prices of zero, at which many rows want the same column; near the
    optimum's own prices its searches are short. These are the prices of the assignment blurred by a
    temperature (entropic regularisation: Cuturi, 2013), by overrelaxed Sinkhorn steps (Thibault, Chizat,
    Dossal, Papadakis, 2021). The temperature starts at the mean least cost and is halved by squaring the
    kernel and the weights: warm steps carry prices far, cool ones make them sharp.

    Args:
        cost: Shape (n, n).
        least: The least cost of each row, shape (n,).

    Returns:
        Shape (n,); None if they are too large, or not finite: then a row is too far from every column for its
        temperature.
    """
    import numpy as np

    with np.errstate(all="ignore"):
        temperature = least.sum() / len(cost)
        kernel = cost * (-1.0 / temperature)
        np.exp(kernel, out=kernel)
        column_weights = np.ones(len(cost))
        row_weights = 1.0 / kernel.dot(column_weights)
        sums = np.empty(len(cost))
        sides = (row_weights, kernel, column_weights), (column_weights, kernel.T, row_weights)
        for cooling in range(_COOLINGS + 1):
            if cooling:
                temperature /= 2.0
                for factor in (kernel, row_weights, column_weights):
                    np.multiply(factor, factor, out=factor)
            for given, matrix, balanced in sides * _ROUNDS_A_TEMPERATURE:
                given.dot(matrix, out=sums)
                sums *= balanced
                np.multiply(balanced, np.power(sums, -_OVERRELAXATION, out=sums), out=balanced)
        prices: Vector = temperature * np.log(row_weights.dot(kernel))
        return prices if prices.dot(prices) <= _LARGEST_PRICES_PX**2 else None
