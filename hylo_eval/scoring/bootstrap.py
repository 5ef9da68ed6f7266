"""The interval of a mean about whose distribution nothing is assumed: percentiles of resampled means.

Efron & Tibshirani 1993, "An Introduction to the Bootstrap", chapters 13 (percentiles) and 8 (strata). The draws are a
function of the numbers alone, so that equal scores have equal intervals on every machine, in every order.
"""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import attrs

if TYPE_CHECKING:
    import numpy as np

RESAMPLES: Final = 1000
LEVEL: Final = 0.95
_AT_ONCE: Final = 1 << 20
"""Draws held in memory at a time."""
_REMEMBERED: Final = 8


@attrs.frozen
class BootstrapInterval:
    """A percentile interval of a mean, at :data:`LEVEL`."""

    low: float
    high: float


def mean_interval(values: Sequence[float]) -> BootstrapInterval | None:
    """The interval of the mean of independent numbers.

    Args:
        values: Finite numbers.

    Returns:
        None with fewer than two numbers, or when they are too large for their mean to be computed.
    """
    return stratified_interval({"": values})


def stratified_interval(strata: Mapping[str, Sequence[float]]) -> BootstrapInterval | None:
    """The interval of the mean of the strata's means, numbers resampled within each stratum.

    Args:
        strata: Finite numbers by stratum.

    Returns:
        None when a stratum has fewer than two numbers (its spread is unknown), there is no stratum, or the numbers are
        too large for their mean to be computed.
    """
    import numpy as np

    if not strata or any(len(values) < 2 for values in strata.values()):
        return None
    means = np.zeros(RESAMPLES)
    with np.errstate(over="ignore", invalid="ignore"):
        # Adding zero makes 0.0 of -0.0: the draws depend on the bytes, and sorting takes the two for equal.
        for name, values in sorted(strata.items()):
            ordered = np.sort(np.asarray(values, dtype=float) + 0.0)
            means += _resampled_means(name, ordered.tobytes()) / len(strata)
        tail = 100.0 * (1.0 - LEVEL) / 2.0
        low, high = (float(end) for end in np.percentile(means, (tail, 100.0 - tail)))
    return BootstrapInterval(low, high) if math.isfinite(low) and math.isfinite(high) else None


@functools.lru_cache(maxsize=_REMEMBERED)
def _resampled_means(name: str, ordered: bytes) -> np.ndarray[Any, Any]:
    """Means of :data:`RESAMPLES` resamples, shape (RESAMPLES,); never written to.

    Args:
        name: Of the stratum.
        ordered: The bytes of its numbers, ascending: a tag that all tasks have asks for what was just drawn.
    """
    import numpy as np

    values = np.frombuffer(ordered)
    if values[0] == values[-1]:
        return np.full(RESAMPLES, values[0])
    # Two strata with the same numbers must not be drawn alike.
    seed = hashlib.sha256(name.encode() + b"\0" + ordered).digest()
    generator = np.random.Generator(np.random.PCG64(int.from_bytes(seed[:16])))
    means = np.empty(RESAMPLES)
    rows = max(1, _AT_ONCE // values.size)
    for first in range(0, RESAMPLES, rows):
        count = min(rows, RESAMPLES - first)
        draws = generator.integers(0, values.size, size=(count, values.size))
        means[first : first + count] = values[draws].mean(axis=1)
    return means
