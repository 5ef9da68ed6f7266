"""Means over the number of discordant pairs.

Among n pairs of which each is discordant with probability psi, the number of discordant ones is Binomial(n, psi). What
a paired test reaches depends on that number, so its unconditional probability is a mean over it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from hylo_eval.compare.numeric import numpy, special_functions

_NEGLIGIBLE_SD: Final = 9.0
"""Counts of discordant pairs this many standard deviations off carry less than 1e-18 of the probability."""

_SPARE_COUNTS: Final = 40.0
"""Counts that are kept on both sides beyond that: where psi is near 0 or 1 the count is far from normal."""


def mean_over_discordant(n_pairs: int, discordant: float, chance: Callable[[Any], Any], *, at_least: int = 0) -> float:
    """The probability of an event whose probability is known for each number of discordant pairs.

    Args:
        n_pairs: Pairs.
        discordant: Probability that a pair is discordant, in [0, 1].
        chance: From consecutive, ascending numbers of discordant pairs (float64 array) to the event's probability given
            each (array of the same shape).
        at_least: Discordant pairs below which the event is impossible.

    Returns:
        The mean of ``chance`` over Binomial(n_pairs, discordant), to about 1e-15.
    """
    np, special = numpy(), special_functions()
    spread = _NEGLIGIBLE_SD * math.sqrt(n_pairs * discordant * (1.0 - discordant)) + _SPARE_COUNTS
    low = max(at_least, math.floor(n_pairs * discordant - spread))
    high = min(n_pairs, math.ceil(n_pairs * discordant + spread))
    if low > high:
        return 0.0
    pairs = np.arange(low, high + 1, dtype=float)
    log_share = (
        special.gammaln(n_pairs + 1.0)
        - special.gammaln(pairs + 1.0)
        - special.gammaln(n_pairs - pairs + 1.0)
        + special.xlogy(pairs, discordant)
        + special.xlog1py(n_pairs - pairs, -discordant)
    )
    return min(1.0, float(np.sum(np.exp(log_share) * chance(pairs))))
