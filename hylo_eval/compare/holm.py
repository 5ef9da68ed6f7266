"""Holm's step-down adjustment for several tests at once.

Holm (1979), "A Simple Sequentially Rejective Multiple Test Procedure", Scandinavian Journal of Statistics
6:65-70. It bounds the chance of any false alarm by alpha whatever the dependence between the tests, so tags
may overlap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hylo_eval.compare.checks import require_between

if TYPE_CHECKING:
    from collections.abc import Sequence


def holm_adjust(p_values: Sequence[float]) -> tuple[float, ...]:
    """Adjust p-values so that each may be held against alpha itself.

    With p sorted upwards, adjusted p(i) = max over j <= i of min(1, (m - j + 1) p(j)).

    Args:
        p_values: m p-values, in any order.

    Returns:
        The adjusted p-values in the order given.

    Raises:
        ContractError: A value is no probability.
    """
    for index, p_value in enumerate(p_values):
        require_between(p_value, f"p_values[{index}]", 0.0, 1.0, closed=True)
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = highest
    return tuple(adjusted)
