"""What a gate reports beside the metric that decides: times, rewards, smoothness. Shown, never deciding."""

from __future__ import annotations

import math
from typing import Final

import attrs

from hylo_eval.compare.continuous import ContinuousComparison, compare_continuous
from hylo_eval.compare.evidence import PairedEvidence
from hylo_eval.compare.summary import KNOWN_METRICS, Metric

BESIDE: Final = (
    "time_to_success",
    "reward_sum",
    "progress_best",
    "action_smoothness",
    "safety_interventions",
    "latency_p95",
)
"""Metrics that are reported where both runs have them."""


@attrs.frozen(kw_only=True)
class BesideMetric:
    """One metric beside the gate.

    Attributes:
        metric: The metric.
        comparison: Hodges-Lehmann difference and signed-rank test.
        mean_difference: Candidate's mean less the parent's over the pairs. For the time to success, restricted to the
            horizon, it is the difference of restricted means.
    """

    metric: Metric
    comparison: ContinuousComparison
    mean_difference: float


def metrics_beside(evidence: PairedEvidence, *, alpha: float) -> tuple[BesideMetric, ...]:
    """Every metric of `BESIDE` that both runs have and at least one pair is scored by.

    Args:
        evidence: The two runs.
        alpha: One-sided level; intervals are of level 1 - 2 alpha.
    """
    found: list[BesideMetric] = []
    for name in BESIDE:
        if not evidence.has_metric(name):
            continue
        metric = KNOWN_METRICS[name]
        comparison = compare_continuous(
            evidence.scores("candidate", name),
            evidence.scores("parent", name),
            higher_is_better=metric.better == "higher",
            level=1.0 - 2.0 * alpha,
        )
        values = comparison.differences.values
        if values:
            mean = math.fsum(values) / len(values)
            found.append(BesideMetric(metric=metric, comparison=comparison, mean_difference=mean))
    return tuple(found)
