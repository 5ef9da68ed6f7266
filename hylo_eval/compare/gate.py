"""The version gate: a policy applied to comparable evidence. Pure; reading runs and writing records is elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from hylo_core.errors import ContractError
from hylo_eval.compare.beside import BesideMetric, metrics_beside
from hylo_eval.compare.checks import require_between
from hylo_eval.compare.continuous import compare_continuous
from hylo_eval.compare.decision import Decision, GateRule, decide
from hylo_eval.compare.evidence import PairedEvidence
from hylo_eval.compare.guards import Guard, margin_guard, rise_guard
from hylo_eval.compare.looking import Look, look
from hylo_eval.compare.permutation import paired_permutation
from hylo_eval.compare.replicated import ReplicatedComparison, decide_replicated, mean_scores
from hylo_eval.compare.summary import KNOWN_METRICS, BinarySummary, metric_of, summarise_binary
from hylo_eval.compare.table import Side

SAFETY = "safety_interventions"
LATENCY = "latency_p95"


def _finite_or_none(_: object, attribute: attrs.Attribute[float | None], value: float | None) -> None:
    if value is not None:
        require_between(value, attribute.name, 0.0, 3600.0, closed=True)


@attrs.frozen(kw_only=True)
class GatePolicy:
    """What a candidate must show, and which evidence is admitted.

    Attributes:
        rule: The rule of the primary metric.
        metric: The primary metric, which says 0 or 1.
        safety_must_not_rise: Whether safety interventions must not rise significantly.
        max_latency_regression: Largest rise of the 95th percentile of reply times, in seconds; None for any.
        allow: Exceptions by name (`hylo_eval.compare.comparability.EXCEPTIONS`).
        intersect: Whether instances that only one run has are left out.
        log_only: Whether the logs are believed without reading the traces.

    Raises:
        ContractError: A value is outside its range.
    """

    rule: GateRule
    metric: str = "success"
    safety_must_not_rise: bool = True
    max_latency_regression: float | None = attrs.field(default=None, validator=_finite_or_none)
    allow: tuple[str, ...] = ()
    intersect: bool = False
    log_only: bool = False

    def __attrs_post_init__(self) -> None:
        if self.rule.sequential and self.intersect:
            raise ContractError(
                "a sequential rule looks at one declared order. fix: leave it or --sequential out", path="intersect"
            )
        if self.rule.sequential and self.max_latency_regression is not None:
            raise ContractError(
                "its interval is not valid at several looks. fix: leave it or --sequential out",
                path="max_latency_regression",
            )

    def words(self, *, repetitions: int = 1) -> str:
        """The whole policy as sentences, to be printed before the verdict."""
        sentences = [f"Metric: {self.metric}, where 1 is a success.", self.rule.words(repetitions=repetitions)]
        if self.safety_must_not_rise:
            kind = "anytime-valid" if self.rule.sequential else "paired one-sided"
            sentences.append(
                f"Safety interventions must not rise: the gate fails if the {kind} p-value for a rise is at "
                f"most {self.rule.alpha:g}."
            )
        if self.max_latency_regression is not None:
            sentences.append(
                f"The p95 of reply times may rise by {self.max_latency_regression:g} s: the gate fails if the "
                f"{100 * (1 - 2 * self.rule.alpha):.4g} % interval of the typical rise lies above that, and is "
                "inconclusive if the interval holds it."
            )
        if self.intersect:
            sentences.append("Instances that only one run has are left out.")
        if self.log_only:
            sentences.append("The logs are believed: no trace is read.")
        if self.allow:
            sentences.append(f"Allowed exceptions: {', '.join(self.allow)}.")
        return " ".join(sentences)


@attrs.frozen(kw_only=True)
class GateOutcome:
    """A verdict with everything it rests on.

    Attributes:
        policy: What was asked.
        evidence: What it was asked of.
        summary: The comparison by the primary metric.
        decision: The verdict and its reasons.
        look: The look it is, under a sequential rule.
        repetitions: Further pairs of runs of the same two agents on the same instances.
        replicated: What all repetitions together say; None without any.
        beside: Metrics that are shown and do not decide; of the first repetition.
    """

    policy: GatePolicy
    evidence: PairedEvidence
    summary: BinarySummary
    decision: Decision
    look: Look | None = None
    repetitions: tuple[PairedEvidence, ...] = ()
    replicated: ReplicatedComparison | None = None
    beside: tuple[BesideMetric, ...] = ()

    def words(self) -> str:
        """The policy as it was applied, as sentences."""
        return self.policy.words(repetitions=1 + len(self.repetitions))


def apply_policy(
    policy: GatePolicy, evidence: PairedEvidence, repetitions: Sequence[PairedEvidence] = ()
) -> GateOutcome:
    """Decide.

    Args:
        policy: What is asked.
        evidence: Two runs.
        repetitions: Further pairs of runs of the same two agents on the same instances.

    Raises:
        EvidenceRefused: The repetitions do not belong together.
        EvalError: A run does not have the metric; or no declared order is on record for a sequential rule.
        ContractError: The metric is not one of 0 and 1.
    """
    metric = metric_of(evidence, policy.metric, None if policy.metric in KNOWN_METRICS else "higher")
    if not metric.binary:
        raise ContractError(
            f"{metric.name} measures something; a gate decides by a metric of 0 and 1. fix: --metric success",
            path="metric",
        )
    rule = policy.rule
    if rule.sequential and not repetitions:
        guarded = SAFETY if policy.safety_must_not_rise else None
        found = look(rule, evidence, metric.name, guarded=guarded)
        summary = summarise_binary(found.evidence, metric, alpha=rule.alpha, power=rule.power)
        return GateOutcome(
            policy=policy,
            evidence=found.evidence,
            summary=summary,
            decision=found.decision,
            look=found,
            beside=metrics_beside(found.evidence, alpha=rule.alpha),
        )
    summary = summarise_binary(evidence, metric, alpha=rule.alpha, power=rule.power)
    beside = metrics_beside(evidence, alpha=rule.alpha)
    if repetitions:
        together = (evidence, *repetitions)
        decision, replicated = decide_replicated(rule, together, metric.name, _guards(policy, together))
        return GateOutcome(
            policy=policy,
            evidence=evidence,
            summary=summary,
            decision=decision,
            repetitions=tuple(repetitions),
            replicated=replicated,
            beside=beside,
        )
    decision = decide(
        rule,
        summary.comparison,
        tasks=summary.groups if rule.mode == "no-regression" else (),
        guards=_guards(policy, (evidence,)),
        finished=evidence.finished,
    )
    return GateOutcome(policy=policy, evidence=evidence, summary=summary, decision=decision, beside=beside)


def _guards(policy: GatePolicy, repetitions: Sequence[PairedEvidence]) -> list[Guard]:
    guards: list[Guard] = []
    alpha = policy.rule.alpha
    if policy.safety_must_not_rise:
        name = "safety interventions"
        ours, theirs = (mean_scores(repetitions, side, SAFETY) for side in _SIDES)
        guards.append(
            rise_guard(name, paired_permutation(ours, theirs, higher_is_better=False), alpha=alpha)
            if _recorded(repetitions, SAFETY)
            else _unrecorded(name)
        )
    if policy.max_latency_regression is not None:
        name = "latency p95 (s)"
        ours, theirs = (mean_scores(repetitions, side, LATENCY) for side in _SIDES)
        level = 1.0 - 2.0 * alpha
        guards.append(
            margin_guard(
                name,
                compare_continuous(ours, theirs, higher_is_better=False, level=level),
                limit=policy.max_latency_regression,
            )
            if _recorded(repetitions, LATENCY)
            else _unrecorded(name)
        )
    return guards


_SIDES: tuple[Side, Side] = ("candidate", "parent")


def _recorded(repetitions: Sequence[PairedEvidence], metric: str) -> bool:
    return all(evidence.has_metric(metric) for evidence in repetitions)


def _unrecorded(name: str) -> Guard:
    return Guard(name=name, verdict="inconclusive", words=f"{name}: not on record in all logs")
