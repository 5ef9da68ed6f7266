"""One gate from run folders to a verdict: evidence, declaration, ledger, confirmation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs

from hylo_eval.compare.comparability import pair_evidence
from hylo_eval.compare.evidence import PairedEvidence, RunConditions
from hylo_eval.compare.gate import GateOutcome, GatePolicy, apply_policy
from hylo_eval.compare.ledger import Ledger, RecordedLook
from hylo_eval.compare.noise import measured_floor, noise_words
from hylo_eval.compare.replicated import require_repeatable
from hylo_eval.errors import EvalError
from hylo_eval.evaluation.comparing.declaration import declare, refuse_mixing
from hylo_eval.evaluation.comparing.evidence import is_imported, read_evidence
from hylo_eval.evaluation.comparing.ledger_files import read_ledger
from hylo_eval.suggest import did_you_mean, quoted
from hylo_eval.traces.layout import RunFolder


@attrs.frozen(kw_only=True)
class JudgedGate:
    """A gate with its place among the looks on record.

    Attributes:
        outcome: The verdict and what it rests on.
        ledger: The looks at this split before it.
        notes: What the ledger, a selection and the noise floor say about it, a sentence each.
        declared_at: When a sequential rule was declared; empty for a fixed one.
        confirms: The selection it is the confirmation of; empty for none.
    """

    outcome: GateOutcome
    ledger: Ledger
    notes: tuple[str, ...]
    declared_at: str = ""
    confirms: str = ""


def judge(
    policy: GatePolicy,
    candidate: RunFolder,
    parent: RunFolder,
    *,
    run_root: Path,
    confirms: str | None = None,
    repetitions: Sequence[tuple[RunFolder, RunFolder]] = (),
) -> JudgedGate:
    """Judge a candidate's run against its parent's.

    Args:
        policy: What the candidate must show.
        candidate: Its run.
        parent: The run of the agent it is to replace.
        run_root: Where the records of earlier looks are.
        confirms: The record id of the selection that chose the candidate.
        repetitions: Further runs of the candidate and of its parent on the same instances.

    Raises:
        EvidenceRefused: The runs are not comparable.
        ContractError: There are repetitions, and the rule is none that they decide.
        EvalError: A run or record cannot be read; fixed and sequential rules are mixed; the selection chose another
            agent, or was confirmed already.
    """
    if repetitions:
        require_repeatable(policy.rule)
    sequential = policy.rule.sequential

    def paired(ours: RunFolder, theirs: RunFolder) -> PairedEvidence:
        for run in (ours, theirs):
            if not policy.log_only and is_imported(run):
                raise EvalError(
                    f"{run.path} was imported: there are no traces to check its log by",
                    fix="believe the log, which the verdict says, with --log-only",
                    again=("--log-only",),
                )
        read = [read_evidence(run, traces=not policy.log_only, running=sequential) for run in (ours, theirs)]
        return pair_evidence(*read, allow=policy.allow, intersect=policy.intersect)

    evidence = paired(candidate, parent)
    further = [paired(*two) for two in repetitions]
    ours, theirs = evidence.candidate, evidence.parent
    ledger = read_ledger(run_root)
    refuse_mixing(policy, ((candidate, ours.conditions), (parent, theirs.conditions)), ledger)
    if confirms is not None:
        _require_choice(ledger, confirms, evidence)
    outcome = apply_policy(policy, evidence, further)
    declared_at = declare(candidate, policy, ours.conditions, theirs.conditions) if sequential else ""
    benchmark = ours.conditions.benchmark
    here = ledger.of_split(benchmark.digest, benchmark.split)
    effect = outcome.decision.effect
    notes = (
        *here.words(ours.conditions, n_episodes=effect.n_pairs, success_rate=effect.parent_rate),
        *(() if sequential else _judged_before(here, ours.conditions, theirs.conditions)),
        *_noise(here, outcome),
        *_selections(ledger, ours.conditions, confirms),
    )
    return JudgedGate(outcome=outcome, ledger=here, notes=notes, declared_at=declared_at, confirms=confirms or "")


def _judged_before(ledger: Ledger, candidate: RunConditions, parent: RunConditions) -> Iterator[str]:
    """Two runs that are judged until a rule likes them have not been judged by that rule."""
    earlier = ledger.of_pair(candidate.identity, parent.identity)
    if earlier:
        swapped = " with the sides swapped"
        verdicts = ", ".join(
            f"{look.verdict}{'' if look.runs[0].identity == candidate.identity else swapped}" for look in earlier
        )
        yield f"earlier gates on these same two runs: {len(earlier)} ({verdicts}); only the rule chosen first counts"


def _noise(ledger: Ledger, outcome: GateOutcome) -> Iterator[str]:
    """Where the difference stands to what one agent run twice shows, in as many pairs as were judged."""
    effect, evidence = outcome.decision.effect, outcome.evidence
    agents = (evidence.candidate.conditions, evidence.parent.conditions)
    measured = ledger.noise_of(*(item.agent_digest for item in agents))
    if measured is None or measured.noise is None or not effect.difference:
        return
    if outcome.repetitions and measured.runs[0].agent_digest not in {item.agent_digest for item in agents}:
        # What the repetitions of these two agents show of their noise is said with them.
        return
    counts, alpha = measured.noise, outcome.policy.rule.alpha
    floor = measured_floor(counts.n_pairs, counts.discordant, compared_pairs=effect.n_pairs, alpha=alpha)
    agent = measured.runs[0]
    theirs = "" if agent.agent_digest in {item.agent_digest for item in agents} else ", another agent,"
    yield noise_words(floor, effect.difference, of=f"{agent.agent}{theirs}")


def _selections(ledger: Ledger, candidate: RunConditions, confirms: str | None) -> Iterator[str]:
    if confirms is not None:
        yield f"this is the one confirmation of selection {confirms}, which chose the candidate"
        return
    found = [look for look in ledger.looks if look.kind == "select" and _took_part(look, candidate)]
    if not found:
        return
    look = found[-1]
    before = "" if len(found) == 1 else f"; earlier selections with it: {len(found) - 1}"
    if look.split == candidate.benchmark.split:
        yield f"selection {look.id} was made on this split: what made it choose is no confirmation{before}"
    elif look.chosen == candidate.agent_digest:
        yield f"selection {look.id} chose the candidate: --confirms {look.id} makes a gate its confirmation{before}"
    else:
        yield f"selection {look.id} did not choose the candidate, but another of its {len(look.runs)} agents{before}"


def _took_part(look: RecordedLook, candidate: RunConditions) -> bool:
    agents = {look.chosen, *(run.agent_digest for run in look.runs)}
    return look.benchmark_digest == candidate.benchmark.digest and candidate.agent_digest in agents


def _require_choice(ledger: Ledger, record_id: str, evidence: PairedEvidence) -> None:
    selection = ledger.find(record_id)
    if selection is None or selection.kind != "select":
        known = [look.id for look in ledger.looks if look.kind == "select"]
        raise EvalError(
            f"there is no selection {quoted(record_id)} on record{did_you_mean(record_id, known)}",
            fix="name one that hylo-eval ls --comparisons lists",
        )
    candidate = evidence.candidate.conditions
    benchmark = candidate.benchmark
    if selection.benchmark_digest != benchmark.digest:
        raise EvalError(
            f"selection {record_id} was made on another benchmark, {selection.benchmark}",
            fix="choose on a validation split of this benchmark with hylo-eval select",
        )
    if selection.split == benchmark.split:
        raise EvalError(
            f"selection {record_id} was made on this split, {benchmark.split!r}: it cannot confirm itself",
            fix="run the chosen agent and its parent on a split that nothing was chosen on",
        )
    if selection.chosen != candidate.agent_digest:
        raise EvalError(
            f"selection {record_id} did not choose {candidate.agent}, or it has changed since",
            fix="judge the agent that it chose, or choose anew with hylo-eval select",
        )
    pair = {candidate.identity, evidence.parent.conditions.identity}
    for look in ledger.looks:
        if look.confirms == record_id and {run.identity for run in look.runs} != pair:
            raise EvalError(
                f"selection {record_id} has had its one confirmation ({_told(look)})",
                fix="choose anew on a validation split; a second try on this one is a choice too",
            )


def _told(look: RecordedLook) -> str:
    return f"{look.id}, {look.verdict}, {look.created_at}"
