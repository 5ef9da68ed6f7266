"""Comparisons and gates as JSON: ``hylo.comparison/v0.1``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from hylo_core.frozen import thaw
from hylo_eval.compare.agent_labels import agent_labels
from hylo_eval.compare.beside import BesideMetric
from hylo_eval.compare.evidence import Difference, PairedEvidence, RunEvidence
from hylo_eval.compare.gate import GateOutcome, GatePolicy
from hylo_eval.compare.ledger import COMPARISON_SCHEMA, Ledger
from hylo_eval.compare.looking import Look
from hylo_eval.compare.noise import NoiseFloor
from hylo_eval.compare.pairing import PairedComparison
from hylo_eval.compare.replicated import ReplicatedComparison
from hylo_eval.compare.replicates import VarianceSplit
from hylo_eval.compare.summary import BinarySummary, GradedSummary
from hylo_eval.compare.table import PairTable
from hylo_eval.versions import stand_in_sentence, stand_ins


def compare_document(evidence: PairedEvidence, summary: BinarySummary | GradedSummary) -> dict[str, Any]:
    """A comparison."""
    return {
        "schema": COMPARISON_SCHEMA,
        "kind": "compare",
        **_evidence(evidence),
        "metric": attrs.asdict(summary.metric),
        "comparison": _binary(summary) if isinstance(summary, BinarySummary) else _graded(summary),
    }


def gate_document(outcome: GateOutcome, *, exit_code: int) -> dict[str, Any]:
    """A gate that was decided."""
    decision = outcome.decision
    return {
        **compare_document(outcome.evidence, outcome.summary),
        "kind": "gate",
        "policy": policy_document(outcome.policy, words=outcome.words()),
        "verdict": decision.verdict,
        "exit_code": exit_code,
        "reasons": list(decision.reasons),
        "p_value": decision.p_value,
        "reverse_p_value": decision.reverse_p_value,
        "coverage": decision.coverage,
        "effect": attrs.asdict(decision.effect),
        "tipping_point": attrs.asdict(decision.tipping_point) if decision.tipping_point else None,
        "guards": [attrs.asdict(guard) for guard in decision.guards],
        "look": look_document(outcome.look) if outcome.look else None,
        "beside": [_beside(item) for item in outcome.beside],
        "repetitions": repetitions_document(outcome.repetitions),
        "replicated": replicated_document(outcome.replicated) if outcome.replicated else None,
    }


def repetitions_document(repetitions: Sequence[PairedEvidence]) -> list[dict[str, Any]]:
    """Which further runs took part."""
    return [
        {"candidate": run_document(evidence.candidate), "parent": run_document(evidence.parent)}
        for evidence in repetitions
    ]


def replicated_document(found: ReplicatedComparison) -> dict[str, Any]:
    """What all repetitions together say."""
    return {
        "scope": found.scope,
        "repetitions": [paired_document(comparison) for comparison in found.repetitions],
        "cluster": attrs.asdict(found.cluster),
        "mean_difference": found.mean_difference,
        "interval": attrs.asdict(found.interval) if found.interval else None,
        "candidate_variance": _variance(found.candidate_variance),
        "parent_variance": _variance(found.parent_variance),
        "notes": list(found.notes),
    }


def _beside(item: BesideMetric) -> dict[str, Any]:
    found = item.comparison
    return {
        "metric": attrs.asdict(item.metric),
        "n_pairs": found.n_pairs,
        "mean_difference": item.mean_difference,
        "hodges_lehmann": attrs.asdict(found.hodges_lehmann) if found.hodges_lehmann else None,
        "p_value": found.p_value,
        "reverse_p_value": found.reverse_p_value,
    }


def _variance(split: VarianceSplit | None) -> dict[str, Any] | None:
    return None if split is None else {**attrs.asdict(split), "scene_share": split.scene_share}


def noise_document(evidence: PairedEvidence, noise: NoiseFloor, *, metric: str) -> dict[str, Any]:
    """One agent run twice."""
    return {
        "schema": COMPARISON_SCHEMA,
        "kind": "noise",
        **_evidence(evidence),
        "metric": {"name": metric},
        "noise_floor": attrs.asdict(noise),
    }


def ledger_document(ledger: Ledger, notes: Sequence[str]) -> dict[str, Any]:
    """The looks at a split before this one."""
    return {
        "looks": len(ledger.looks),
        "gates": sum(look.kind == "gate" for look in ledger.looks),
        "candidates": list(agent_labels(ledger.candidates)),
        "unreadable": ledger.unreadable,
        "words": list(notes),
    }


def look_document(look: Look) -> dict[str, Any]:
    """One look under the sequential rule."""
    return {**attrs.asdict(look.test), "beyond_the_prefix": look.beyond}


def refusal_document(
    policy: GatePolicy, differences: tuple[Difference, ...], *, words: str, exit_code: int
) -> dict[str, Any]:
    """A gate whose evidence was refused."""
    return {
        "schema": COMPARISON_SCHEMA,
        "kind": "gate",
        "policy": policy_document(policy, words=words),
        **refused_members(differences, exit_code=exit_code),
    }


def refused_members(differences: tuple[Difference, ...], *, exit_code: int) -> dict[str, Any]:
    """Why evidence was refused, digests in full: on screen they are cut."""
    return {
        "verdict": "refused",
        "exit_code": exit_code,
        "reasons": [f"{item.name}: {item.sentence}" for item in differences],
        "differences": [
            {"name": item.name, "sentence": item.sentence, "allowable": item.allowable, "fix": item.fix}
            for item in differences
        ],
    }


def policy_document(policy: GatePolicy, *, words: str) -> dict[str, Any]:
    """A policy with its meaning in words."""
    members = attrs.asdict(policy)
    return {**members.pop("rule"), **members, "allow": list(policy.allow), "words": words}


def _evidence(evidence: PairedEvidence) -> dict[str, Any]:
    return {
        "benchmark": evidence.candidate.conditions.benchmark.to_dict(),
        "candidate": run_document(evidence.candidate),
        "parent": run_document(evidence.parent),
        "traces_read": evidence.traces_read,
        "intersected": evidence.intersected,
        "allowed": [{"name": item.name, "sentence": item.sentence} for item in evidence.allowed],
        "notes": list(evidence.notes),
        "not_pairs": {key: list(aspects) for key, aspects in evidence.unpaired.items()},
        "distinct_initial_states": evidence.distinct_starts(),
        "repeated_initial_states": evidence.repeated_starts(),
    }


def run_document(run: RunEvidence) -> dict[str, Any]:
    """Which run it was."""
    conditions = run.conditions
    return {
        "run_id": conditions.run_id,
        "agent": conditions.agent_name,
        "version": conditions.agent_version,
        "agent_digest": conditions.agent_digest,
        "agent_settings": thaw(conditions.agent_settings),
        "created_at": conditions.created_at,
        "config_digest": conditions.config_digest,
        "log_sha256": conditions.log_sha256,
        "finished": run.finished,
        "episodes": len(run.outcomes),
        "stand_ins": list(stand_ins(conditions.versions)),
    }


def stand_in_sentences(runs: Iterable[RunEvidence]) -> tuple[str, ...]:
    """What is said where numbers of several runs are shown: who ran on what only stands in for the real thing."""
    found: dict[str, tuple[list[str], Mapping[str, str]]] = {}
    for run in runs:
        named = ", ".join(stand_ins(run.conditions.versions))
        if named:
            found.setdefault(named, ([], run.conditions.versions))[0].append(run.conditions.run_id)
    return tuple(stand_in_sentence(", ".join(names), versions) for names, versions in found.values())


def _binary(summary: BinarySummary) -> dict[str, Any]:
    return {
        "alpha": summary.alpha,
        "scope": summary.scope,
        **paired_document(summary.comparison),
        "effect": attrs.asdict(summary.effect),
        "attainability": summary.attainability,
        "scenarios": [
            {"name": item.name, "p_value": item.p_value, "difference": item.difference, **_table(item.table)}
            for item in summary.scenarios
        ],
        "by": summary.by,
        "groups": [
            {"label": row.label, "adjusted_regression_p": row.adjusted_regression_p, **paired_document(row.comparison)}
            for row in summary.groups
        ],
        "new_tasks": attrs.asdict(summary.new_tasks) if summary.new_tasks else None,
    }


def _graded(summary: GradedSummary) -> dict[str, Any]:
    rank, mean = summary.by_rank, summary.by_mean
    return {
        "alpha": summary.alpha,
        "scope": summary.scope,
        "n_pairs": rank.n_pairs,
        "hodges_lehmann": attrs.asdict(rank.hodges_lehmann) if rank.hodges_lehmann else None,
        "wilcoxon": attrs.asdict(rank.wilcoxon),
        "mean_difference": mean.mean_difference,
        "mean_interval": attrs.asdict(mean.interval) if mean.interval else None,
        "sign_flip": attrs.asdict(mean.test),
        "candidate_abstentions": dict(summary.candidate_abstentions),
        "parent_abstentions": dict(summary.parent_abstentions),
        "only_candidate": list(rank.differences.only_candidate),
        "only_parent": list(rank.differences.only_parent),
    }


def paired_document(comparison: PairedComparison) -> dict[str, Any]:
    """Counts and tests of paired outcomes."""
    return {
        **_table(comparison.table),
        "p_value": comparison.p_value,
        "log10_p": comparison.log10_p,
        "mid_p": comparison.mid_p,
        "reverse_p_value": comparison.reverse_p_value,
        "reverse_log10_p": comparison.reverse_log10_p,
        "candidate_abstentions": comparison.candidate_abstentions,
        "parent_abstentions": comparison.parent_abstentions,
        "only_candidate": list(comparison.only_candidate),
        "only_parent": list(comparison.only_parent),
    }


def _table(table: PairTable) -> dict[str, Any]:
    return {
        "n_pairs": table.n_pairs,
        "both_succeeded": table.both_succeeded,
        "candidate_wins": table.candidate_wins,
        "parent_wins": table.parent_wins,
        "both_failed": table.both_failed,
    }
