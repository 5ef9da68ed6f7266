"""Paired differences of graded scores."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import attrs

from hylo_core.errors import ContractError
from hylo_eval.compare.checks import require_finite

if TYPE_CHECKING:
    from hylo_eval.compare.pairing import Scores


@attrs.frozen(kw_only=True)
class PairedDifferences:
    """Candidate minus parent on every instance scored on both sides.

    Attributes:
        keys: Instance keys, sorted: the order of the maps is irrelevant to everything computed from here.
        values: Candidate's score minus parent's, in the order of `keys`.
        n_abstained: Shared keys on which a side abstained.
        only_candidate: Keys that only the candidate has, sorted.
        only_parent: Keys that only the parent has, sorted.
    """

    keys: tuple[str, ...]
    values: tuple[float, ...]
    n_abstained: int
    only_candidate: tuple[str, ...]
    only_parent: tuple[str, ...]

    @property
    def n_pairs(self) -> int:
        """Pairs scored on both sides."""
        return len(self.values)

    def gains(self, *, higher_is_better: bool) -> tuple[float, ...]:
        """The differences with the sign under which positive means that the candidate is better."""
        return self.values if higher_is_better else tuple(-value for value in self.values)


def paired_differences(candidate: Scores, parent: Scores) -> PairedDifferences:
    """Subtract scores key by key, dropping pairs in which either side abstained.

    Raises:
        ContractError: A score is neither a finite number nor None, or a difference overflows.
    """
    keys: list[str] = []
    values: list[float] = []
    shared = sorted(candidate.keys() & parent.keys())
    for key in shared:
        ours, theirs = candidate[key], parent[key]
        if ours is None or theirs is None:
            continue
        difference = require_finite(ours, f"candidate[{key!r}]") - require_finite(theirs, f"parent[{key!r}]")
        if not math.isfinite(difference):
            raise ContractError("the difference of the two scores overflows", path=f"candidate[{key!r}]")
        keys.append(key)
        values.append(difference)
    return PairedDifferences(
        keys=tuple(keys),
        values=tuple(values),
        n_abstained=len(shared) - len(keys),
        only_candidate=tuple(sorted(candidate.keys() - parent.keys())),
        only_parent=tuple(sorted(parent.keys() - candidate.keys())),
    )
