"""What runs that are there already say about a comparison to be planned: how often pairs differ, and by noise alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import attrs

from hylo_eval.compare.agent_labels import agent_labels
from hylo_eval.compare.comparability import pair_evidence
from hylo_eval.compare.evidence import PairedEvidence
from hylo_eval.compare.noise import NoiseFloor, noise_floor
from hylo_eval.compare.table import PairTable
from hylo_eval.errors import EvalError
from hylo_eval.evaluation.comparing.evidence import read_evidence
from hylo_eval.evaluation.comparing.several_runs import judged_comparison
from hylo_eval.scoring.intervals import wilson_interval
from hylo_eval.traces.finding import find_run


@attrs.frozen(kw_only=True)
class Pilot:
    """A small comparison from which a larger one is planned.

    Attributes:
        table: Its pairs.
        discordant: The share of pairs that one side won.
        discordant_high: The upper end of its 95 % interval: a pilot is small.
    """

    table: PairTable
    discordant: float
    discordant_high: float


@attrs.frozen(kw_only=True)
class MeasuredNoise:
    """One agent that was run twice.

    Attributes:
        floor: How far its two runs differ.
        same_draws: Whether the agent was given the same seeds in both, so that they tell nothing of what those decide.
    """

    floor: NoiseFloor
    same_draws: bool


def read_pair(
    names: Sequence[str], run_root: Path, *, allow: Sequence[str] = (), traces: bool = True
) -> PairedEvidence:
    """Read two runs and hold them against each other.

    Raises:
        EvidenceRefused: They are not comparable.
        EvalError: One of them cannot be read.
    """
    one, other = (read_evidence(find_run(name, run_root), traces=traces) for name in names)
    return pair_evidence(one, other, allow=allow, unfinished_refused=True)


def measure_pilot(evidence: PairedEvidence, metric: str) -> Pilot:
    """How often the pairs of a pilot differ; agent errors count as failures.

    Raises:
        EvalError: It has no scored pair.
    """
    table = judged_comparison(evidence, metric).table
    interval = wilson_interval(table.discordant, table.n_pairs)
    if interval is None:
        raise EvalError(
            "the pilot has no scored pair to plan from",
            fix="name two runs with scored episodes; hylo-eval ls lists the rates of runs",
        )
    return Pilot(table=table, discordant=table.discordant / table.n_pairs, discordant_high=interval[1])


def measure_noise(evidence: PairedEvidence, metric: str, *, alpha: float) -> MeasuredNoise:
    """The noise floor from one agent that was run twice.

    Raises:
        EvalError: The two runs are of two agents, or of two versions of one.
        ContractError: There are too few scored pairs, or `alpha` is outside its range.
    """
    ours, theirs = evidence.candidate.conditions, evidence.parent.conditions
    if ours.agent_digest != theirs.agent_digest:
        labels = agent_labels((ours, theirs))
        raise EvalError(
            f"{ours.run_id} and {theirs.run_id} are not one agent run twice: their agents' manifests differ "
            f"({labels[0]}; {labels[1]})",
            fix="run the same agent twice, with the same options",
        )
    floor = noise_floor(judged_comparison(evidence, metric).table, alpha=alpha)
    return MeasuredNoise(floor=floor, same_draws=ours.replicate == theirs.replicate)
