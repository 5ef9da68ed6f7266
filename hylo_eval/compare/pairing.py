"""From two maps of scores to one paired comparison."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

import attrs

from hylo_core.errors import ContractError
from hylo_eval.compare.mcnemar import exact_mcnemar
from hylo_eval.compare.table import FAILED, SUCCEEDED, UNSTATED, PairTable, Side, SideOutcome, tally

Scores = Mapping[str, float | None]
"""Instance key -> score; None where the scorer abstained."""

_ABSENT = object()
_BINARY = (1, 0)

_Label = bool | str
"""How the loop over keys writes down a side: whether it succeeded, or why it abstained."""

_SCORED_CELLS = ((SUCCEEDED, SUCCEEDED), (SUCCEEDED, FAILED), (FAILED, SUCCEEDED), (FAILED, FAILED))


@attrs.frozen(kw_only=True)
class PairedComparison:
    """A candidate against its parent on the same task instances.

    The claim is about these tasks (scope "these tasks"): pairs count as independent. For a claim about
    tasks nobody has run, see `cluster_compare`.

    Attributes:
        table: Counts of the paired outcomes, abstained pairs included.
        p_value: One-sided exact McNemar p-value for "the candidate is better".
        log10_p: Its decimal logarithm, finite also where `p_value` underflows.
        mid_p: Its mid-p variant: shown, never deciding.
        reverse_p_value: One-sided exact McNemar p-value for "the parent is better".
        reverse_log10_p: Its decimal logarithm.
        only_candidate: Keys that only the candidate has, sorted.
        only_parent: Keys that only the parent has, sorted.
    """

    table: PairTable
    p_value: float
    log10_p: float
    mid_p: float
    reverse_p_value: float
    reverse_log10_p: float
    only_candidate: tuple[str, ...] = ()
    only_parent: tuple[str, ...] = ()

    @property
    def n_pairs(self) -> int:
        """Pairs scored on both sides."""
        return self.table.n_pairs

    @property
    def candidate_wins(self) -> int:
        """Pairs in which only the candidate succeeded."""
        return self.table.candidate_wins

    @property
    def parent_wins(self) -> int:
        """Pairs in which only the parent succeeded."""
        return self.table.parent_wins

    @property
    def ties(self) -> int:
        """Pairs with the same outcome on both sides."""
        return self.table.ties

    @property
    def candidate_abstentions(self) -> dict[str, int]:
        """The candidate's abstentions on shared keys, by reason."""
        return self.table.abstentions("candidate")

    @property
    def parent_abstentions(self) -> dict[str, int]:
        """The parent's abstentions on shared keys, by reason."""
        return self.table.abstentions("parent")

    @property
    def coverage(self) -> float:
        """Scored pairs over all keys that either side has; 0.0 when there are none."""
        keys = self.table.n_shared + len(self.only_candidate) + len(self.only_parent)
        return self.n_pairs / keys if keys else 0.0


def paired_compare(
    candidate: Scores,
    parent: Scores,
    *,
    candidate_reasons: Mapping[str, str] | None = None,
    parent_reasons: Mapping[str, str] | None = None,
) -> PairedComparison:
    """Compare two agents on the instances both were run on, with the exact one-sided McNemar test.

    Pairs in which either side abstained are dropped from the test and counted by side and reason.

    Args:
        candidate: Instance key -> 1 (success), 0 (failure) or None (abstained), for the new agent.
        parent: The same for the agent it is to replace.
        candidate_reasons: Instance key -> why the candidate abstained, for keys whose score is None.
            A missing reason reads "unstated".
        parent_reasons: The same for the parent.

    Returns:
        The comparison; its p-value is 1 where no pair is discordant.

    Raises:
        ContractError: A score is neither 0, 1 nor None (see `paired_permutation` for such scores), or a
            reason is given for a key that is not there or did not abstain.
    """
    why_candidate = _checked_reasons("candidate", candidate, candidate_reasons)
    why_parent = _checked_reasons("parent", parent, parent_reasons)
    # A million pairs go through this loop: four integers and plain labels, no object a pair.
    scored = [0, 0, 0, 0]
    odd: Counter[tuple[_Label, _Label]] = Counter()
    only_candidate: list[str] = []
    look_up = parent.get
    for key, ours in candidate.items():
        theirs = look_up(key, _ABSENT)
        if ours in _BINARY and theirs in _BINARY:
            scored[2 * (ours == 0) + (theirs == 0)] += 1
            continue
        label = _label("candidate", key, ours, why_candidate)
        if theirs is _ABSENT:
            only_candidate.append(key)
        else:
            odd[label, _label("parent", key, theirs, why_parent)] += 1
    shared = len(candidate) - len(only_candidate)
    only_parent = [key for key in parent if key not in candidate] if shared < len(parent) else []
    for key in only_parent:
        _label("parent", key, parent[key], why_parent)
    cells = Counter({pair: count for pair, count in zip(_SCORED_CELLS, scored, strict=True) if count})
    for (ours, theirs), count in odd.items():
        cells[_outcome(ours), _outcome(theirs)] += count
    return compare_table(tally(cells), only_candidate=only_candidate, only_parent=only_parent)


def with_failures(scores: Scores, reasons: Mapping[str, str], blamed: Collection[str]) -> dict[str, float | None]:
    """The scores in which abstentions for the `blamed` reasons count as failures.

    For tests that look at pairs in order; on counted pairs see `PairTable.with_candidate_failures`.
    """
    return {
        key: 0.0 if score is None and reasons.get(key, UNSTATED) in blamed else score for key, score in scores.items()
    }


def compare_table(
    table: PairTable, *, only_candidate: Collection[str] = (), only_parent: Collection[str] = ()
) -> PairedComparison:
    """The comparison that a table of counted pairs amounts to."""
    test = exact_mcnemar(table.candidate_wins, table.parent_wins)
    return PairedComparison(
        table=table,
        p_value=test.p_value,
        log10_p=test.log10_p,
        mid_p=test.mid_p,
        reverse_p_value=test.reverse_p_value,
        reverse_log10_p=test.reverse_log10_p,
        only_candidate=tuple(sorted(only_candidate)),
        only_parent=tuple(sorted(only_parent)),
    )


def _label(side: Side, key: str, score: object, reasons: Mapping[str, str]) -> _Label:
    if score is None:
        return reasons.get(key, UNSTATED)
    if score == 1:
        return True
    if score == 0:
        return False
    raise ContractError(
        f"McNemar's test needs 0, 1 or None, got {score!r}. fix: use paired_permutation for graded scores",
        path=f"{side}[{key!r}]",
    )


def _outcome(label: _Label) -> SideOutcome:
    return SideOutcome(reason=label) if isinstance(label, str) else SideOutcome(success=label)


def _checked_reasons(side: Side, scores: Scores, reasons: Mapping[str, str] | None) -> Mapping[str, str]:
    for key, reason in (reasons or {}).items():
        path = f"{side}_reasons[{key!r}]"
        if key not in scores:
            raise ContractError(f"the {side} has no such key", path=path)
        if scores[key] is not None:
            raise ContractError(f"the {side} was scored on this key, so it has no reason to abstain", path=path)
        if not isinstance(reason, str) or not reason:
            raise ContractError(f"a reason is a word, got {reason!r}", path=path)
    return reasons or {}
