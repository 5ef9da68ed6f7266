"""One look of a sequential gate: the longest finished prefix of the declared order, and nothing beyond it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping

import attrs

from hylo_core.errors import ContractError
from hylo_eval.compare.decision import Decision, GateRule, missing_evidence, sequential_verdict, worst_verdict
from hylo_eval.compare.effect import measure_effect, scenarios
from hylo_eval.compare.evidence import PairedEvidence
from hylo_eval.compare.guards import Guard
from hylo_eval.compare.pairing import Scores, paired_compare, with_failures
from hylo_eval.compare.sequential import Pair, SequentialLook, longest_finished_prefix, sequential_test
from hylo_eval.compare.table import AGENT_ERROR, Side
from hylo_eval.compare.tipping import TippingPoint
from hylo_eval.errors import EvalError
from hylo_eval.numerals import counted


@attrs.frozen(kw_only=True)
class Look:
    """One look.

    Attributes:
        evidence: The two runs, with the instances of the prefix only: what lies beyond it is not looked at.
        test: The sequential test of the prefix.
        decision: The verdict.
        beyond: Instances that both runs have finished, but that come after one which is still missing.
    """

    evidence: PairedEvidence
    test: SequentialLook
    decision: Decision
    beyond: int


def declared_order(evidence: PairedEvidence) -> tuple[str, ...]:
    """The order that both runs declared.

    Raises:
        EvalError: It is not on record, or the two runs declared different ones.
    """
    ours, theirs = evidence.candidate, evidence.parent
    if ours.conditions.keys_digest != theirs.conditions.keys_digest:
        raise EvalError(
            f"the two runs were not planned alike: the candidate's declared order has digest "
            f"{ours.conditions.keys_digest}, the parent's {theirs.conditions.keys_digest}",
            fix="run both agents on the same selection",
        )
    order = ours.order or theirs.order
    if not order:
        raise EvalError(
            "the declared order of these runs is not on record (no queue.db), and they are not both whole and read "
            "from their traces",
            fix="leave --log-only out, or run the agents again",
        )
    return order


def look(rule: GateRule, evidence: PairedEvidence, metric: str, *, guarded: str | None = None) -> Look:
    """Look at two runs, whether they are finished or not.

    Args:
        rule: A sequential rule.
        evidence: The two runs.
        metric: The deciding metric, of 0 and 1.
        guarded: A count that must not rise, such as safety interventions, with an anytime-valid sign test; None
            for none.

    Raises:
        ContractError: The rule is not sequential, or a score is neither 0, 1 nor None.
        EvalError: No common declared order is on record.
    """
    if not rule.sequential:
        raise ContractError("is not sequential. fix: use decide", path="rule")
    order = declared_order(evidence)
    scores: dict[Side, Scores] = {
        side: judged_scores(rule, side, evidence.scores(side, metric), evidence.reasons(side, metric))
        for side in _SIDES
    }
    prefix = longest_finished_prefix(order, scores["candidate"], scores["parent"])
    seen = evidence.narrowed(frozenset(order[: len(prefix)]))
    test = sequential_test(prefix, n_declared=len(order), alpha=rule.alpha)
    ours, theirs = (seen.scores(side, metric) for side in _SIDES)
    table = paired_compare(
        ours,
        theirs,
        candidate_reasons=seen.reasons("candidate", metric),
        parent_reasons=seen.reasons("parent", metric),
    ).table
    counted = rule.counted(table).n_pairs
    coverage = counted / len(prefix) if prefix else 0.0
    guards = () if guarded is None else (_rise(seen, guarded, len(order), rule.alpha),)
    missing = missing_evidence(rule, counted, coverage, finished=True) if prefix else ("no pair is finished yet",)
    judged = rule.judged(table)
    finished = evidence.candidate.outcomes.keys() & evidence.parent.outcomes.keys()
    verdict = worst_verdict(sequential_verdict(test), guards, missing)
    decision = Decision(
        rule=rule,
        rule_in_words=rule.words(),
        verdict=verdict,
        reasons=(*missing, _words(test), *(guard.words for guard in guards)),
        p_value=test.p_value,
        reverse_p_value=test.reverse_p_value,
        effect=measure_effect(judged, alpha=rule.alpha, power=rule.power),
        coverage=coverage,
        scenarios=scenarios(table),
        tipping_point=_tipping(scores, order[: len(prefix)], len(order), rule.alpha) if verdict == "pass" else None,
        guards=guards,
    )
    return Look(evidence=seen, test=test, decision=decision, beyond=len(finished) - len(prefix))


def judged_scores(rule: GateRule, side: Side, scores: Scores, reasons: Mapping[str, str]) -> Scores:
    """A side's scores with its abstentions counted as the rule says."""
    if side == "candidate" and rule.agent_errors == "fail":
        scores = with_failures(scores, reasons, (AGENT_ERROR,))
    if rule.worst_case:
        worst = 0.0 if side == "candidate" else 1.0
        scores = {key: worst if score is None else score for key, score in scores.items()}
    return scores


_SIDES: tuple[Side, Side] = ("candidate", "parent")


def _words(test: SequentialLook) -> str:
    score = f"{test.candidate_wins} wins to {test.parent_wins}"
    place = f"in the first {test.n_looked} of {test.n_declared} declared pairs"
    if test.state == "candidate better":
        return f"the candidate is better: {score} {place}, decided after {test.decided_at}, p = {test.p_value:.3g}"
    if test.state == "parent better":
        return f"the parent is better: {score} {place}, decided after {test.decided_at}, p = {test.reverse_p_value:.3g}"
    if test.state == "futile":
        return f"futile: {score} {place}; even winning every pair left would not reach p <= {test.alpha:g}"
    return f"undecided: {score} {place}, p = {test.p_value:.3g} for a better candidate; look again when more are done"


def _rise(evidence: PairedEvidence, metric: str, n_declared: int, alpha: float) -> Guard:
    """A count must not rise: the same e-process over the pairs in which it differs, since a gate looks many times."""
    name = metric.replace("_", " ")
    if not evidence.has_metric(metric):
        return Guard(name=name, verdict="inconclusive", words=f"{name}: not on record in all logs")
    ours, theirs = (evidence.scores(side, metric) for side in _SIDES)
    order = [key for key in declared_order(evidence) if key in ours and key in theirs]
    test = sequential_test([_more(ours[key], theirs[key]) for key in order], n_declared=n_declared, alpha=alpha)
    verdict = "fail" if test.p_value <= alpha else "pass"
    found = f"more in {counted(test.candidate_wins, 'pair')}, fewer in {test.parent_wins}"
    return Guard(name=name, verdict=verdict, words=f"{name}: {found}, anytime-valid p = {test.p_value:.3g} for a rise")


def _more(ours: float | None, theirs: float | None) -> Pair:
    if ours is None or theirs is None:
        return None, None
    return float(ours > theirs), float(ours < theirs)


def _tipping(scores: dict[Side, Scores], keys: tuple[str, ...], n_declared: int, alpha: float) -> TippingPoint:
    """How many abstentions of the prefix, turned against the candidate from the first on, leave the pass standing.

    Those that become losses come first, the earliest of them foremost: E falls with every loss, so one that comes
    earlier lowers it at more prefixes.
    """
    pairs: list[Pair] = [(scores["candidate"][key], scores["parent"][key]) for key in keys]
    against = {
        index: (0.0 if ours is None else ours, 1.0 if theirs is None else theirs)
        for index, (ours, theirs) in enumerate(pairs)
        if ours is None or theirs is None
    }
    worst_first = sorted(against, key=lambda index: (against[index] != (0.0, 1.0), index))

    def overturned(turned: int) -> bool:
        changed = {index: against[index] for index in worst_first[:turned]}
        read = [changed.get(index, pair) for index, pair in enumerate(pairs)]
        return sequential_test(read, n_declared=n_declared, alpha=alpha).state != "candidate better"

    first = bisect_left(range(len(against) + 1), 1, key=lambda turned: int(overturned(turned)))
    return TippingPoint(holds_up_to=first - 1 if first else None, abstained=len(against))
