"""The interval of a success rate."""

from __future__ import annotations

import math
from statistics import NormalDist


def wilson_interval(successes: int, trials: int, confidence: float = 0.95) -> tuple[float, float] | None:
    """Wilson's score interval of a binomial proportion (Wilson 1927, JASA 22:209-212), without continuity correction.

    Returns:
        Lower and upper bound in [0, 1], or None without trials.
    """
    if trials == 0:
        return None
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    share = successes / trials
    centre = share + z * z / (2 * trials)
    spread = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    scale = 1 + z * z / trials
    low = 0.0 if successes == 0 else (centre - spread) / scale
    high = 1.0 if successes == trials else (centre + spread) / scale
    return low, high


def trials_for_width(width: float, confidence: float = 0.95) -> int:
    """Trials after which Wilson's interval is at most ``width`` wide, whatever the rate.

    The interval is widest at a rate of one half, where its width is ``z / sqrt(n + z * z)``.
    """
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    return max(1, math.ceil((z / width) ** 2 - z * z))
