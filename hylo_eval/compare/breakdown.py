"""Comparisons by task or by tag, with Holm-adjusted p-values for regressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import attrs

from hylo_core.errors import ContractError
from hylo_eval.compare.holm import holm_adjust
from hylo_eval.compare.pairing import PairedComparison, compare_table, paired_compare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from hylo_eval.compare.pairing import Scores
    from hylo_eval.compare.table import PairTable

_Value = TypeVar("_Value")


@attrs.frozen(kw_only=True)
class GroupComparison:
    """One row of the table by task or by tag.

    Attributes:
        label: The task id or tag.
        comparison: The paired comparison of its instances.
        adjusted_regression_p: Holm-adjusted one-sided p-value for "the parent is better here", over all rows
            of the table; may be held against alpha itself.
    """

    label: str
    comparison: PairedComparison
    adjusted_regression_p: float


def task_of(key: str) -> str:
    """The task id of an instance key ``{task id}#{seed}``.

    Raises:
        ContractError: The key has no ``#``.
    """
    task, mark, _ = key.rpartition("#")
    if not mark:
        raise ContractError(f"is no instance key of the form task#seed: {key!r}", path="key")
    return task


def compare_by(
    candidate: Scores,
    parent: Scores,
    labels_of: Callable[[str], Iterable[str]],
    *,
    candidate_reasons: Mapping[str, str] | None = None,
    parent_reasons: Mapping[str, str] | None = None,
) -> tuple[GroupComparison, ...]:
    """Compare two agents label by label.

    Args:
        candidate: Instance key -> 1, 0 or None, for the new agent.
        parent: The same for the agent it is to replace.
        labels_of: The labels of an instance key. Several labels count the instance in several rows.
        candidate_reasons: Instance key -> why the candidate abstained.
        parent_reasons: The same for the parent.

    Returns:
        One row a label, sorted by label.

    Raises:
        ContractError: As `paired_compare`.
    """
    ours = _grouped(candidate, labels_of)
    theirs = _grouped(parent, labels_of)
    why_ours = _grouped(candidate_reasons or {}, labels_of)
    why_theirs = _grouped(parent_reasons or {}, labels_of)
    labels = sorted(ours.keys() | theirs.keys())
    comparisons = [
        paired_compare(
            ours.get(label, {}),
            theirs.get(label, {}),
            candidate_reasons=why_ours.get(label),
            parent_reasons=why_theirs.get(label),
        )
        for label in labels
    ]
    return adjust_groups(dict(zip(labels, comparisons, strict=True)))


def compare_by_task(
    candidate: Scores,
    parent: Scores,
    *,
    candidate_reasons: Mapping[str, str] | None = None,
    parent_reasons: Mapping[str, str] | None = None,
) -> tuple[GroupComparison, ...]:
    """Compare two agents task by task; the task stands in the instance key.

    Raises:
        ContractError: As `paired_compare` and `task_of`.
    """
    return compare_by(
        candidate,
        parent,
        lambda key: (task_of(key),),
        candidate_reasons=candidate_reasons,
        parent_reasons=parent_reasons,
    )


def adjust_groups(comparisons: Mapping[str, PairedComparison]) -> tuple[GroupComparison, ...]:
    """Rows sorted by label, their regression p-values adjusted over all of them."""
    rows = sorted(comparisons.items())
    adjusted = holm_adjust([comparison.reverse_p_value for _, comparison in rows])
    return tuple(
        GroupComparison(label=label, comparison=comparison, adjusted_regression_p=p_value)
        for (label, comparison), p_value in zip(rows, adjusted, strict=True)
    )


def regroup(
    groups: Iterable[GroupComparison], scenario: Callable[[PairTable], PairTable]
) -> tuple[GroupComparison, ...]:
    """The rows under another reading of their abstentions, adjusted afresh."""
    return adjust_groups(
        {
            group.label: compare_table(
                scenario(group.comparison.table),
                only_candidate=group.comparison.only_candidate,
                only_parent=group.comparison.only_parent,
            )
            for group in groups
        }
    )


def _grouped(values: Mapping[str, _Value], labels_of: Callable[[str], Iterable[str]]) -> dict[str, dict[str, _Value]]:
    groups: dict[str, dict[str, _Value]] = {}
    for key, value in values.items():
        for label in labels_of(key):
            groups.setdefault(label, {})[key] = value
    return groups
