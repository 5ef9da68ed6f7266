"""Several runs on the same instances: read, held against each other pair by pair, and ranked."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import attrs

from hylo_core.errors import ContractError
from hylo_eval.compare.comparability import EvidenceRefused, pair_evidence
from hylo_eval.compare.conditions import condition_differences
from hylo_eval.compare.evidence import Difference, PairedEvidence, RunEvidence
from hylo_eval.compare.leaderboard import MAX_RUNS, Leaderboard, rank
from hylo_eval.compare.pairing import PairedComparison, paired_compare, with_failures
from hylo_eval.compare.summary import KNOWN_METRICS, metric_of
from hylo_eval.compare.table import AGENT_ERROR
from hylo_eval.errors import EvalError
from hylo_eval.evaluation.comparing.evidence import read_evidence
from hylo_eval.traces.finding import find_run


@attrs.frozen(kw_only=True)
class RankedRuns:
    """Several runs and their ranking.

    Attributes:
        runs: Run id -> the run, in the order named.
        leaderboard: What their pairs show; agent errors count as failures on every side.
        metric: The metric of 0 and 1.
        allowed: Differences that were allowed, between whichever runs.
    """

    runs: dict[str, RunEvidence]
    leaderboard: Leaderboard
    metric: str
    allowed: tuple[Difference, ...] = ()


def read_runs(names: Sequence[str], run_root: Path, *, traces: bool = True) -> dict[str, RunEvidence]:
    """Read runs by run id, in the order named.

    Raises:
        EvalError: There are fewer than two or too many, one cannot be read, or two have the same run id.
    """
    if not 2 <= len(names) <= MAX_RUNS:
        raise EvalError(
            f"name 2 to {MAX_RUNS} runs, not {len(names)}",
            fix="name each run to be held against the others; hylo-eval ls lists them",
        )
    runs: dict[str, RunEvidence] = {}
    for name in names:
        found = read_evidence(find_run(name, run_root), traces=traces)
        if found.conditions.run_id in runs:
            raise EvalError(f"two of the runs are called {found.conditions.run_id}", fix="name each run once")
        runs[found.conditions.run_id] = found
    return runs


def rank_runs(
    runs: dict[str, RunEvidence], *, metric: str = "success", alpha: float = 0.05, allow: Sequence[str] = ()
) -> RankedRuns:
    """Hold every two runs against each other.

    Raises:
        EvidenceRefused: Two of them are not comparable; every difference names the two.
        ContractError: The metric is not one of 0 and 1, or `alpha` is outside its range.
    """
    pairs: dict[tuple[str, str], PairedComparison] = {}
    allowed: dict[tuple[str, str], Difference] = {}
    refused: list[Difference] = []
    for one, other in combinations(runs, 2):
        try:
            evidence = pair_evidence(runs[one], runs[other], allow=allow, unfinished_refused=True)
        except EvidenceRefused as refusal:
            refused += [_between(one, other, item) for item in refusal.differences]
            continue
        allowed |= {(item.name, item.sentence): item for item in evidence.allowed}
        pairs[one, other] = judged_comparison(evidence, metric)
    refused += _trained_on(list(runs)[-1], runs, allow)
    if refused:
        raise EvidenceRefused(refused, runs=tuple(runs) if len(runs) == 2 else ())
    scores = {name: judged_scores(run, metric) for name, run in runs.items()}
    reasons = {name: _reasons(run, metric) for name, run in runs.items()}
    board = rank(scores, reasons, pairs, alpha=alpha)
    return RankedRuns(runs=runs, leaderboard=board, metric=metric, allowed=tuple(allowed.values()))


def _trained_on(last: str, runs: dict[str, RunEvidence], allow: Sequence[str]) -> list[Difference]:
    """What the last run says of its training: only candidates are asked, and it never was one."""
    conditions = runs[last].conditions
    return [
        item
        for item in condition_differences(conditions, conditions)
        if item.name == "trained-on" and item.name not in allow
    ]


def _between(one: str, other: str, item: Difference) -> Difference:
    return attrs.evolve(item, sentence=f"{one} (as candidate) and {other} (as parent): {item.sentence}")


def judged_comparison(evidence: PairedEvidence, metric: str) -> PairedComparison:
    """The pairs of two runs, with agent errors as failures on both sides.

    Raises:
        EvalError: Not both runs have the metric.
        ContractError: It is not one of 0 and 1.
    """
    found = metric_of(evidence, metric, None if metric in KNOWN_METRICS else "higher")
    if not found.binary:
        raise ContractError(f"{metric} measures something; runs are ranked by a metric of 0 and 1", path="metric")
    sides = ("candidate", "parent")
    scores = [evidence.scores(side, metric) for side in sides]
    reasons = [evidence.reasons(side, metric) for side in sides]
    ours, theirs = (with_failures(*two, (AGENT_ERROR,)) for two in zip(scores, reasons, strict=True))
    silent = [{key: why for key, why in found.items() if why != AGENT_ERROR} for found in reasons]
    return paired_compare(ours, theirs, candidate_reasons=silent[0], parent_reasons=silent[1])


def judged_scores(run: RunEvidence, metric: str) -> dict[str, float | None]:
    """Instance key -> score, with agent errors as failures."""
    scores = {key: outcome.scores.get(metric) for key, outcome in run.outcomes.items()}
    return with_failures(scores, _reasons(run, metric), (AGENT_ERROR,))


def _reasons(run: RunEvidence, metric: str) -> dict[str, str]:
    return {
        key: outcome.reasons.get(metric, "unstated")
        for key, outcome in run.outcomes.items()
        if outcome.scores.get(metric) is None
    }
