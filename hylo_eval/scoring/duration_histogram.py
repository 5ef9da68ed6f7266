"""Quantiles of durations without keeping the durations.

Counts in buckets whose bounds grow by a constant factor, so that every quantile has the same relative error whatever
its size, and histograms of many episodes add up to that of the run in any order (Masson, Rim & Lee 2019, "DDSketch",
PVLDB 12:2195-2205).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from hylo_core.trace import EpisodeTrace
from hylo_eval.scoring.latency import reply_durations

RELATIVE_ERROR: Final = 0.01
"""Of every quantile."""

_GROWTH: Final = (1.0 + RELATIVE_ERROR) / (1.0 - RELATIVE_ERROR)
_LOG_GROWTH: Final = math.log(_GROWTH)
_SMALLEST_SECONDS: Final = 1e-9
"""Durations below a nanosecond, zero among them, count as one."""


def histogram(durations: Iterable[float]) -> Counter[int]:
    """Durations in seconds, counted by bucket: ``i`` holds ``(growth ** (i - 1), growth ** i]`` seconds.

    What is not finite is left out.
    """
    import numpy as np

    seconds = np.array(durations if isinstance(durations, list) else [*durations], dtype=float)
    seconds = seconds[np.isfinite(seconds)]
    buckets = np.ceil(np.log(np.maximum(seconds, _SMALLEST_SECONDS)) / _LOG_GROWTH)
    return Counter(buckets.astype(int).tolist())


def quantile(counts: Mapping[int, int], share: float) -> float | None:
    """The ``share`` quantile in seconds, to within :data:`RELATIVE_ERROR`; None without durations.

    Of ``n`` durations it is the one of rank ``floor(share * (n - 1))`` from 0.
    """
    total = sum(counts.values())
    if not total:
        return None
    rank = math.floor(share * (total - 1))
    reached = 0
    for index in sorted(counts):
        reached += counts[index]
        if reached > rank:
            return 2.0 * _GROWTH**index / (_GROWTH + 1.0)
    return None


def reply_histogram(trace: EpisodeTrace) -> Counter[int]:
    """How long the agent took to answer, over the steps at which it was asked; see :func:`histogram`."""
    recorded = reply_durations(trace)
    if set(map(type, recorded)) != {float}:
        recorded = [seconds for seconds in recorded if type(seconds) is float]
    return histogram(recorded)
