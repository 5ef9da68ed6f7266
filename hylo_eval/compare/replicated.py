"""Repeated runs of the same instances: paired by key within each repetition, and the instance as the unit.

The repetitions of one instance share its scene, so they are no independent evidence; each instance counts once, by the
sum of its differences, in an exact sign-flip test.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import attrs

from hylo_core.errors import ContractError
from hylo_eval.compare.agent_labels import agent_labels
from hylo_eval.compare.cluster import ClusterComparison, cluster_compare, cluster_tables
from hylo_eval.compare.comparability import EvidenceRefused
from hylo_eval.compare.decision import Decision, GateRule, Verdict, missing_evidence, worst_verdict
from hylo_eval.compare.effect import measure_effect, scenarios
from hylo_eval.compare.evidence import Difference, PairedEvidence
from hylo_eval.compare.guards import Guard
from hylo_eval.compare.looking import judged_scores
from hylo_eval.compare.noise import measured_floor, noise_words
from hylo_eval.compare.pairing import PairedComparison, Scores, paired_compare
from hylo_eval.compare.permutation import bootstrap_mean_interval
from hylo_eval.compare.replicates import VarianceSplit, split_runs
from hylo_eval.compare.table import PairTable, Side, merged
from hylo_eval.compare.tango import Interval
from hylo_eval.numerals import counted

REPLICATED_SCOPE = "these instances, over repetitions"
"""What a replicated comparison makes a claim about."""

_SIDES: tuple[Side, Side] = ("candidate", "parent")


@attrs.frozen(kw_only=True)
class ReplicatedComparison:
    """A candidate against its parent over repeated runs.

    Attributes:
        repetitions: The comparison of each repetition by itself.
        cluster: All of them, with the instance as the unit.
        mean_difference: Mean over instances of the mean difference within each; None without pairs.
        interval: Its BCa bootstrap interval over instances, at level 1 - 2 alpha; None with fewer than two instances.
        candidate_variance: The candidate's variance, between scenes and by its own and the simulator's noise; None
            where no instance was scored twice.
        parent_variance: The parent's.
        scope: What the claim is about.
        notes: What else a reader must know, a sentence each.
    """

    repetitions: tuple[PairedComparison, ...]
    cluster: ClusterComparison
    mean_difference: float | None
    interval: Interval | None
    candidate_variance: VarianceSplit | None
    parent_variance: VarianceSplit | None
    scope: str = REPLICATED_SCOPE
    notes: tuple[str, ...] = ()


def require_replicates(repetitions: Sequence[PairedEvidence]) -> None:
    """Refuse repetitions that are not of the same two agents on the same instances.

    Raises:
        EvidenceRefused: They are not, or a run takes part twice.
    """
    fix = "name runs of the same two agents on the same instances, such as run --replicates K makes them"
    differences = [
        attrs.evolve(item, fix=fix)
        for place, other in enumerate(repetitions[1:], start=2)
        for item in _other(repetitions[0], other, place)
    ]
    runs = [evidence.run(side).conditions for evidence in repetitions for side in _SIDES]
    if len({run.identity for run in runs}) < len(runs):
        sentence = "a run takes part twice: a copy is no repetition"
        differences.append(Difference(name="replicates", sentence=sentence, allowable=False, fix="name each run once"))
    if differences:
        raise EvidenceRefused(differences, runs=("the repetitions of the candidate", "those of the parent"))


def require_repeatable(rule: GateRule) -> None:
    """Refuse a rule that repetitions do not decide.

    Raises:
        ContractError: It is another than "improve", or sequential.
    """
    if rule.mode != "improve":
        reason = f"repetitions decide mode improve only, not {rule.mode}. fix: --mode improve, or leave them out"
        raise ContractError(reason, path="mode")
    if rule.sequential:
        reason = "repetitions decide after the last episode only. fix: leave --sequential or the repetitions out"
        raise ContractError(reason, path="sequential")


def compare_replicates(
    repetitions: Sequence[PairedEvidence], metric: str, *, rule: GateRule | None = None, alpha: float = 0.05
) -> ReplicatedComparison:
    """Compare over repetitions by a metric of 0 and 1.

    Args:
        repetitions: The two runs of each, paired.
        metric: The metric.
        rule: How abstentions count; None leaves them out.
        alpha: One-sided level.

    Raises:
        EvidenceRefused: The repetitions do not belong together.
        ContractError: A score is neither 0, 1 nor None.
    """
    require_replicates(repetitions)
    scores = [_scores(evidence, metric, rule) for evidence in repetitions]
    clusters = cluster_tables(scores, lambda key: key)
    leads = [(table.candidate_wins - table.parent_wins) / table.n_pairs for table in clusters.values() if table.n_pairs]
    ours, theirs = (split_runs([sides[place] for sides in scores]) for place in (0, 1))
    difference = math.fsum(leads) / len(leads) if leads else None
    n_pairs = sum(table.n_pairs for table in clusters.values())
    return ReplicatedComparison(
        repetitions=tuple(paired_compare(*sides) for sides in scores),
        cluster=attrs.evolve(cluster_compare(clusters), scope=REPLICATED_SCOPE),
        mean_difference=difference,
        interval=bootstrap_mean_interval(leads, level=1.0 - 2.0 * alpha),
        candidate_variance=ours,
        parent_variance=theirs,
        notes=(*_same_draws(repetitions), *_noise(scores, difference or 0.0, n_pairs, alpha)),
    )


def _noise(scores: Sequence[tuple[Scores, Scores]], difference: float, n_pairs: int, alpha: float) -> Iterator[str]:
    """Where the difference stands to what the first two repetitions of the noisier agent differ by themselves."""
    if len(scores) < 2 or not difference:
        return
    (ours, theirs), (again, theirs_again), *_ = scores
    tables = {"candidate": paired_compare(ours, again).table, "parent": paired_compare(theirs, theirs_again).table}
    measured = {side: table for side, table in tables.items() if table.n_pairs}
    if not measured:
        return
    side = max(measured, key=lambda name: measured[name].discordant / measured[name].n_pairs)
    counts = measured[side]
    floor = measured_floor(counts.n_pairs, counts.discordant, compared_pairs=n_pairs, alpha=alpha)
    yield noise_words(floor, difference, of=f"the {side}")


def _same_draws(repetitions: Sequence[PairedEvidence]) -> Iterator[str]:
    """Runs that are the same repetition differ by the simulator's noise alone, or by an agent that is not seeded."""
    for side in _SIDES:
        runs = [evidence.run(side).conditions for evidence in repetitions]
        if len({run.replicate for run in runs}) < len(runs):
            named = ", ".join(f"{run.run_id} is repetition {run.replicate}" for run in runs)
            yield (
                f"the {side} was given the same seeds more than once ({named}): what they decide is no variance of the "
                "policy; hylo-eval run --replicates gives every repetition its own"
            )


def decide_replicated(
    rule: GateRule, repetitions: Sequence[PairedEvidence], metric: str, guards: Sequence[Guard]
) -> tuple[Decision, ReplicatedComparison]:
    """Apply a rule to repeated runs.

    Raises:
        ContractError: As `require_repeatable`.
        EvidenceRefused: As `compare_replicates`.
    """
    require_repeatable(rule)
    found = compare_replicates(repetitions, metric, rule=rule, alpha=rule.alpha)
    cluster = found.cluster
    shown = f"over {counted(cluster.n_clusters, 'instance')} in {len(repetitions)} repetitions"
    verdict: Verdict = "inconclusive"
    reason = f"no difference shown {shown}: p = {cluster.p_value:.3g} for a better candidate"
    if cluster.p_value <= rule.alpha:
        verdict, reason = "pass", f"the candidate is better {shown}: p = {cluster.p_value:.3g}"
    elif cluster.reverse_p_value <= rule.alpha:
        verdict, reason = "fail", f"the parent is better {shown}: p = {cluster.reverse_p_value:.3g}"
    raw = merged(_table(evidence, metric) for evidence in repetitions)
    planned = sum(len(_keys(evidence)) for evidence in repetitions)
    judged_pairs = rule.counted(raw).n_pairs
    coverage = judged_pairs / planned if planned else 0.0
    finished = all(evidence.finished for evidence in repetitions)
    missing = missing_evidence(rule, judged_pairs, coverage, finished=finished)
    decision = Decision(
        rule=rule,
        rule_in_words=rule.words(repetitions=len(repetitions)),
        verdict=worst_verdict(verdict, guards, missing),
        reasons=(*missing, reason, *(guard.words for guard in guards)),
        p_value=cluster.p_value,
        reverse_p_value=cluster.reverse_p_value,
        effect=measure_effect(rule.judged(raw), alpha=rule.alpha, power=rule.power),
        coverage=coverage,
        scenarios=scenarios(raw),
        tipping_point=None,
        guards=tuple(guards),
    )
    return decision, found


def mean_scores(repetitions: Sequence[PairedEvidence], side: Side, metric: str) -> dict[str, float | None]:
    """Instance key -> the mean of a metric over the repetitions in which both sides were scored; None without any."""
    other: Side = "parent" if side == "candidate" else "candidate"
    found: dict[str, list[float]] = {}
    for evidence in repetitions:
        theirs = evidence.scores(other, metric)
        for key, score in evidence.scores(side, metric).items():
            kept = found.setdefault(key, [])
            if score is not None and theirs.get(key) is not None:
                kept.append(score)
    return {key: math.fsum(values) / len(values) if values else None for key, values in found.items()}


def _other(first: PairedEvidence, other: PairedEvidence, place: int) -> Iterator[Difference]:
    for side in _SIDES:
        ours, theirs = first.run(side), other.run(side)
        what = f"repetition {place} of the {side} ({theirs.conditions.run_id})"
        if ours.conditions.agent_digest != theirs.conditions.agent_digest:
            labels = agent_labels((ours.conditions, theirs.conditions))
            sentence = f"{what} is of another agent: {labels[1]}, the first {labels[0]}"
            yield Difference(name="replicates", sentence=sentence, allowable=False)
        one, two = ours.conditions.benchmark, theirs.conditions.benchmark
        if (one.digest, one.split) != (two.digest, two.split):
            sentence = (
                f"{what} is on {two.id}, split {two.split} ({two.digest}), the first on {one.id}, split {one.split}"
            )
            yield Difference(name="replicates", sentence=sentence, allowable=False)
        elif ours.finished and theirs.finished and ours.outcomes.keys() != theirs.outcomes.keys():
            sentence = f"{what} is of other instances than the first"
            yield Difference(name="replicates", sentence=sentence, allowable=False)


def _scores(evidence: PairedEvidence, metric: str, rule: GateRule | None) -> tuple[Scores, Scores]:
    ours, theirs = (
        evidence.scores(side, metric)
        if rule is None
        else judged_scores(rule, side, evidence.scores(side, metric), evidence.reasons(side, metric))
        for side in _SIDES
    )
    return ours, theirs


def _table(evidence: PairedEvidence, metric: str) -> PairTable:
    return paired_compare(
        evidence.scores("candidate", metric),
        evidence.scores("parent", metric),
        candidate_reasons=evidence.reasons("candidate", metric),
        parent_reasons=evidence.reasons("parent", metric),
    ).table


def _keys(evidence: PairedEvidence) -> frozenset[str]:
    return frozenset(evidence.candidate.outcomes.keys() | evidence.parent.outcomes.keys())
