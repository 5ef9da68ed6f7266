"""Paired comparison of two agents, and the rules by which a version gate decides.

Everything here is a pure function of its arguments: no clock, no files, no hidden randomness (draws are
seeded by an argument). Names are loaded from their modules when first used, so importing the package costs
nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hylo_eval.compare.beside import BesideMetric, metrics_beside
    from hylo_eval.compare.breakdown import GroupComparison, adjust_groups, compare_by, compare_by_task, task_of
    from hylo_eval.compare.cluster import ClusterComparison, DurkalskiTest, cluster_compare, cluster_tables
    from hylo_eval.compare.comparability import EvidenceRefused, pair_evidence
    from hylo_eval.compare.continuous import ContinuousComparison, HodgesLehmann, compare_continuous, hodges_lehmann
    from hylo_eval.compare.decision import Decision, GateRule, decide, sequential_verdict
    from hylo_eval.compare.differences import PairedDifferences, paired_differences
    from hylo_eval.compare.effect import Effect, Scenario, attainability, measure_effect, scenarios
    from hylo_eval.compare.evidence import PairedEvidence, RunEvidence
    from hylo_eval.compare.gate import GateOutcome, GatePolicy, apply_policy
    from hylo_eval.compare.guards import Guard, margin_guard, rise_guard
    from hylo_eval.compare.holm import holm_adjust
    from hylo_eval.compare.leaderboard import Leaderboard, compact_letters, rank
    from hylo_eval.compare.ledger import Ledger, RecordedLook
    from hylo_eval.compare.looking import Look, look
    from hylo_eval.compare.mcnemar import (
        ExactMcNemar,
        critical_wins,
        discordant_pairs_needed,
        exact_mcnemar,
        smallest_attainable_p,
    )
    from hylo_eval.compare.noise import NoiseFloor, noise_floor, noise_reach
    from hylo_eval.compare.pairing import PairedComparison, compare_table, paired_compare, with_failures
    from hylo_eval.compare.permutation import PermutationComparison, bootstrap_mean_interval, paired_permutation
    from hylo_eval.compare.power import PairsPlan, exact_power, minimal_detectable_effect, plan_pairs
    from hylo_eval.compare.replicated import ReplicatedComparison, compare_replicates
    from hylo_eval.compare.replicates import VarianceSplit, split_runs, variance_split
    from hylo_eval.compare.restricted_mean import NEVER, RestrictedMeanComparison, compare_time_to_success
    from hylo_eval.compare.selection import expected_best_of_equal
    from hylo_eval.compare.sequential import SequentialLook, log_e_value, longest_finished_prefix, sequential_test
    from hylo_eval.compare.sign_flip import SignFlipTest, sign_flip_test
    from hylo_eval.compare.table import AGENT_ERROR, UNSTATED, AbstainedPairs, PairTable, SideOutcome
    from hylo_eval.compare.tango import Interval, tango_interval, tango_score
    from hylo_eval.compare.tipping import TippingPoint, tipping_of_groups, tipping_point
    from hylo_eval.compare.trend import TrendStep, VersionResult, trend_over_versions

__all__ = [
    "AGENT_ERROR",
    "NEVER",
    "UNSTATED",
    "AbstainedPairs",
    "BesideMetric",
    "ClusterComparison",
    "ContinuousComparison",
    "Decision",
    "DurkalskiTest",
    "Effect",
    "EvidenceRefused",
    "ExactMcNemar",
    "GateOutcome",
    "GatePolicy",
    "GateRule",
    "GroupComparison",
    "Guard",
    "HodgesLehmann",
    "Interval",
    "Leaderboard",
    "Ledger",
    "Look",
    "NoiseFloor",
    "PairTable",
    "PairedComparison",
    "PairedDifferences",
    "PairedEvidence",
    "PairsPlan",
    "PermutationComparison",
    "RecordedLook",
    "ReplicatedComparison",
    "RestrictedMeanComparison",
    "RunEvidence",
    "Scenario",
    "SequentialLook",
    "SideOutcome",
    "SignFlipTest",
    "TippingPoint",
    "TrendStep",
    "VarianceSplit",
    "VersionResult",
    "adjust_groups",
    "apply_policy",
    "attainability",
    "bootstrap_mean_interval",
    "cluster_compare",
    "cluster_tables",
    "compact_letters",
    "compare_by",
    "compare_by_task",
    "compare_continuous",
    "compare_replicates",
    "compare_table",
    "compare_time_to_success",
    "critical_wins",
    "decide",
    "discordant_pairs_needed",
    "exact_mcnemar",
    "exact_power",
    "expected_best_of_equal",
    "hodges_lehmann",
    "holm_adjust",
    "log_e_value",
    "longest_finished_prefix",
    "look",
    "margin_guard",
    "measure_effect",
    "metrics_beside",
    "minimal_detectable_effect",
    "noise_floor",
    "noise_reach",
    "pair_evidence",
    "paired_compare",
    "paired_differences",
    "paired_permutation",
    "plan_pairs",
    "rank",
    "rise_guard",
    "scenarios",
    "sequential_test",
    "sequential_verdict",
    "sign_flip_test",
    "smallest_attainable_p",
    "split_runs",
    "tango_interval",
    "tango_score",
    "task_of",
    "tipping_of_groups",
    "tipping_point",
    "trend_over_versions",
    "variance_split",
    "with_failures",
]

_HOMES = {
    "BesideMetric": "beside",
    "metrics_beside": "beside",
    "GroupComparison": "breakdown",
    "adjust_groups": "breakdown",
    "compare_by": "breakdown",
    "compare_by_task": "breakdown",
    "task_of": "breakdown",
    "ClusterComparison": "cluster",
    "DurkalskiTest": "cluster",
    "cluster_compare": "cluster",
    "cluster_tables": "cluster",
    "EvidenceRefused": "comparability",
    "pair_evidence": "comparability",
    "ContinuousComparison": "continuous",
    "HodgesLehmann": "continuous",
    "compare_continuous": "continuous",
    "hodges_lehmann": "continuous",
    "Decision": "decision",
    "GateRule": "decision",
    "decide": "decision",
    "sequential_verdict": "decision",
    "PairedDifferences": "differences",
    "paired_differences": "differences",
    "Effect": "effect",
    "Scenario": "effect",
    "attainability": "effect",
    "measure_effect": "effect",
    "scenarios": "effect",
    "PairedEvidence": "evidence",
    "RunEvidence": "evidence",
    "GateOutcome": "gate",
    "GatePolicy": "gate",
    "apply_policy": "gate",
    "Guard": "guards",
    "margin_guard": "guards",
    "rise_guard": "guards",
    "holm_adjust": "holm",
    "Leaderboard": "leaderboard",
    "compact_letters": "leaderboard",
    "rank": "leaderboard",
    "Ledger": "ledger",
    "RecordedLook": "ledger",
    "Look": "looking",
    "look": "looking",
    "ExactMcNemar": "mcnemar",
    "critical_wins": "mcnemar",
    "discordant_pairs_needed": "mcnemar",
    "exact_mcnemar": "mcnemar",
    "smallest_attainable_p": "mcnemar",
    "NoiseFloor": "noise",
    "noise_floor": "noise",
    "noise_reach": "noise",
    "PairedComparison": "pairing",
    "compare_table": "pairing",
    "paired_compare": "pairing",
    "with_failures": "pairing",
    "PermutationComparison": "permutation",
    "bootstrap_mean_interval": "permutation",
    "paired_permutation": "permutation",
    "PairsPlan": "power",
    "exact_power": "power",
    "minimal_detectable_effect": "power",
    "plan_pairs": "power",
    "ReplicatedComparison": "replicated",
    "compare_replicates": "replicated",
    "VarianceSplit": "replicates",
    "split_runs": "replicates",
    "variance_split": "replicates",
    "NEVER": "restricted_mean",
    "RestrictedMeanComparison": "restricted_mean",
    "compare_time_to_success": "restricted_mean",
    "expected_best_of_equal": "selection",
    "SequentialLook": "sequential",
    "log_e_value": "sequential",
    "longest_finished_prefix": "sequential",
    "sequential_test": "sequential",
    "SignFlipTest": "sign_flip",
    "sign_flip_test": "sign_flip",
    "AGENT_ERROR": "table",
    "UNSTATED": "table",
    "AbstainedPairs": "table",
    "PairTable": "table",
    "SideOutcome": "table",
    "Interval": "tango",
    "tango_interval": "tango",
    "tango_score": "tango",
    "TippingPoint": "tipping",
    "tipping_of_groups": "tipping",
    "tipping_point": "tipping",
    "TrendStep": "trend",
    "VersionResult": "trend",
    "trend_over_versions": "trend",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
