"""Everything a comparison says about one metric: one value that text, Markdown and JSON are drawn from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Final, Literal

import attrs

from hylo_eval.compare.breakdown import GroupComparison, compare_by, task_of
from hylo_eval.compare.checks import require_alpha
from hylo_eval.compare.cluster import ClusterComparison, cluster_compare
from hylo_eval.compare.continuous import ContinuousComparison, compare_continuous
from hylo_eval.compare.effect import Effect, Scenario, attainability, measure_effect, scenarios
from hylo_eval.compare.evidence import EpisodeOutcome, PairedEvidence
from hylo_eval.compare.pairing import PairedComparison, paired_compare
from hylo_eval.compare.permutation import PermutationComparison, paired_permutation
from hylo_eval.compare.table import Side
from hylo_eval.errors import EvalError
from hylo_eval.suggest import did_you_mean

Better = Literal["higher", "lower"]
GroupBy = Literal["task", "tag"]

SCOPE = "these tasks"
"""What a comparison of pairs makes a claim about; see `cluster_compare` for the other one."""


@attrs.frozen
class Metric:
    """How a metric is to be compared.

    Attributes:
        name: The scorer's name.
        better: Which way it points.
        binary: Whether it says 0 or 1 and McNemar's test is its test.
        unit: Its unit; empty for counts and shares.
    """

    name: str
    better: Better
    binary: bool
    unit: str = ""


KNOWN_METRICS: Final[Mapping[str, Metric]] = {
    metric.name: metric
    for metric in (
        Metric("success", "higher", binary=True),
        Metric("success_once", "higher", binary=True),
        Metric("success_at_end", "higher", binary=True),
        Metric("steps", "lower", binary=False),
        Metric("safety_interventions", "lower", binary=False),
        Metric("latency_p95", "lower", binary=False, unit="s"),
        Metric("time_to_success", "lower", binary=False, unit="steps"),
        Metric("reward_sum", "higher", binary=False),
        Metric("action_smoothness", "lower", binary=False),
        Metric("progress_best", "higher", binary=False),
        Metric("progress_at_end", "higher", binary=False),
        Metric("response", "higher", binary=False),
        Metric("response_success", "higher", binary=True),
        Metric("points_in_region", "higher", binary=False),
        Metric("exact_count", "higher", binary=True),
        Metric("trajectory_rmse", "lower", binary=False, unit="px"),
        Metric("trajectory_similarity", "higher", binary=False),
    )
}
"""The built-in scorers."""


@attrs.frozen(kw_only=True)
class BinarySummary:
    """A comparison by a metric of 0 and 1.

    Attributes:
        metric: The metric.
        alpha: One-sided significance level of everything below.
        comparison: Counts and tests.
        effect: The difference of rates and what the pairs could have shown.
        attainability: Whether the discordant pairs could have shown an improvement at all, as a sentence.
        scenarios: As scored, agent errors failed, worst case.
        by: What the rows of `groups` are.
        groups: One row a task or tag.
        new_tasks: The same for a claim about tasks nobody has run; None with a single task.
        scope: What `comparison` makes a claim about.
    """

    metric: Metric
    alpha: float
    comparison: PairedComparison
    effect: Effect
    attainability: str
    scenarios: tuple[Scenario, ...]
    by: GroupBy
    groups: tuple[GroupComparison, ...]
    new_tasks: ClusterComparison | None
    scope: str = SCOPE


@attrs.frozen(kw_only=True)
class GradedSummary:
    """A comparison by a metric that measures something. Shown, never deciding by itself.

    Attributes:
        metric: The metric.
        alpha: One-sided significance level; the intervals are of level 1 - 2 alpha.
        by_rank: Hodges-Lehmann difference and signed-rank test.
        by_mean: Mean difference, bootstrap interval and sign-flip test.
        candidate_abstentions: The candidate's abstentions on shared instances, by reason.
        parent_abstentions: The parent's.
        scope: What it makes a claim about.
    """

    metric: Metric
    alpha: float
    by_rank: ContinuousComparison
    by_mean: PermutationComparison
    candidate_abstentions: Mapping[str, int]
    parent_abstentions: Mapping[str, int]
    scope: str = SCOPE


def metric_of(evidence: PairedEvidence, name: str, better: Better | None = None) -> Metric:
    """How to compare a metric that both runs have.

    Args:
        evidence: The two runs.
        name: The metric.
        better: Which way it points; required for a metric that is not built in, refused for one that is.

    Raises:
        EvalError: A run does not have it, or nobody says, or somebody says wrongly, which way it points.
    """
    if not evidence.has_metric(name):
        known = sorted({found for run in (evidence.candidate, evidence.parent) for found in _metrics(run.outcomes)})
        raise EvalError(
            f"not both runs have the metric {name!r}{did_you_mean(name, known)} "
            f"(metrics: {', '.join(known) or 'none'})",
            fix="name one that both have with --metric",
        )
    known_metric = KNOWN_METRICS.get(name)
    if known_metric is not None:
        if better is not None:
            raise EvalError(f"--better changes nothing: {known_metric.better} {name} is better", fix="leave it out")
        return known_metric
    if better is None:
        raise EvalError(f"nobody says whether a higher {name} is better", fix="say --better higher, or --better lower")
    values = {value for side in _SIDES for value in evidence.scores(side, name).values() if value is not None}
    return Metric(name, better, binary=better == "higher" and values <= {0.0, 1.0})


def summarise_binary(
    evidence: PairedEvidence, metric: Metric, *, alpha: float = 0.05, power: float = 0.8, by: GroupBy = "task"
) -> BinarySummary:
    """Compare two runs by a metric of 0 and 1.

    Raises:
        ContractError: `alpha` or `power` is outside its range.
        EvalError: Tags are asked for, and no trace was read.
    """
    ours, theirs = (evidence.scores(side, metric.name) for side in _SIDES)
    reasons = {f"{side}_reasons": evidence.reasons(side, metric.name) for side in _SIDES}
    comparison = paired_compare(ours, theirs, **reasons)
    by_task = compare_by(ours, theirs, _task, **reasons)
    groups = by_task if by == "task" else compare_by(ours, theirs, _tags(evidence), **reasons)
    return BinarySummary(
        metric=metric,
        alpha=alpha,
        comparison=comparison,
        effect=measure_effect(comparison.table, alpha=alpha, power=power),
        attainability=attainability(comparison.table, alpha=alpha),
        scenarios=scenarios(comparison.table),
        by=by,
        groups=groups,
        new_tasks=cluster_compare({row.label: row.comparison.table for row in by_task}) if len(by_task) > 1 else None,
    )


def summarise_graded(evidence: PairedEvidence, metric: Metric, *, alpha: float = 0.05) -> GradedSummary:
    """Compare two runs by a metric that measures something.

    Raises:
        ContractError: `alpha` is outside its range, or a score is not finite.
    """
    level = 1.0 - 2.0 * require_alpha(alpha)
    ours, theirs = (evidence.scores(side, metric.name) for side in _SIDES)
    higher = metric.better == "higher"
    shared = ours.keys() & theirs.keys()
    abstentions = {
        side: Counter(why for key, why in sorted(evidence.reasons(side, metric.name).items()) if key in shared)
        for side in _SIDES
    }
    return GradedSummary(
        metric=metric,
        alpha=alpha,
        by_rank=compare_continuous(ours, theirs, higher_is_better=higher, level=level),
        by_mean=paired_permutation(ours, theirs, higher_is_better=higher, level=level),
        candidate_abstentions=abstentions["candidate"],
        parent_abstentions=abstentions["parent"],
    )


_SIDES: Final[tuple[Side, Side]] = ("candidate", "parent")


def _task(key: str) -> Iterable[str]:
    return (task_of(key),)


def _tags(evidence: PairedEvidence) -> Callable[[str], Iterable[str]]:
    if not evidence.traces_read:
        raise EvalError("tags stand in the traces, which were not read", fix="leave --log-only or --by tag out")
    return evidence.tags_of


def _metrics(outcomes: Mapping[str, EpisodeOutcome]) -> set[str]:
    return {name for outcome in outcomes.values() for name in outcome.scores}
