"""The table of paired outcomes: four scored cells, and the pairs in which a side abstained.

A scenario ("agent errors count as failures", "every abstention turned against the candidate") is another
table made from this one, so every statistic is computed the same way under each.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal

import attrs

from hylo_core.errors import ContractError
from hylo_eval.compare.checks import require_count

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

Side = Literal["candidate", "parent"]

AGENT_ERROR = "agent_error"
"""The reason of an abstention that the agent is to blame for."""

UNSTATED = "unstated"
"""The reason of an abstention for which none was handed in."""


@attrs.frozen(kw_only=True, order=True)
class SideOutcome:
    """One side of one pair.

    Attributes:
        reason: Why this side abstained; empty when it was scored.
        success: Whether it succeeded; False when it abstained.
    """

    reason: str = ""
    success: bool = False

    @property
    def abstained(self) -> bool:
        """Whether this side has no score."""
        return bool(self.reason)


SUCCEEDED = SideOutcome(success=True)
FAILED = SideOutcome()


@attrs.frozen(kw_only=True, order=True)
class AbstainedPairs:
    """Pairs of one kind in which at least one side abstained.

    Attributes:
        candidate: The candidate's side.
        parent: The parent's side.
        count: How many such pairs there are.
    """

    candidate: SideOutcome
    parent: SideOutcome
    count: int


def _in_order(cells: Iterable[AbstainedPairs]) -> tuple[AbstainedPairs, ...]:
    return tuple(sorted(cells))


@attrs.frozen(kw_only=True)
class PairTable:
    """Counts of paired outcomes over the keys both sides have.

    Attributes:
        both_succeeded: Pairs in which both succeeded.
        candidate_wins: Pairs in which only the candidate succeeded.
        parent_wins: Pairs in which only the parent succeeded.
        both_failed: Pairs in which both failed.
        abstained: Pairs in which a side abstained, by outcome and reason, in sorted order. They are no
            evidence and enter no test, only the scenarios.

    Raises:
        ContractError: A count is negative or no integer.
    """

    both_succeeded: int = 0
    candidate_wins: int = 0
    parent_wins: int = 0
    both_failed: int = 0
    abstained: tuple[AbstainedPairs, ...] = attrs.field(default=(), converter=_in_order)

    def __attrs_post_init__(self) -> None:
        for name in ("both_succeeded", "candidate_wins", "parent_wins", "both_failed"):
            require_count(getattr(self, name), name)
        for cell in self.abstained:
            require_count(cell.count, "abstained.count")
            if not (cell.candidate.abstained or cell.parent.abstained):
                raise ContractError("holds a pair in which neither side abstained", path="abstained")

    @property
    def n_pairs(self) -> int:
        """Pairs scored on both sides."""
        return self.ties + self.discordant

    @property
    def ties(self) -> int:
        """Pairs with the same outcome on both sides."""
        return self.both_succeeded + self.both_failed

    @property
    def discordant(self) -> int:
        """Pairs won by one side."""
        return self.candidate_wins + self.parent_wins

    @property
    def n_abstained(self) -> int:
        """Pairs dropped because a side abstained."""
        return sum(cell.count for cell in self.abstained)

    @property
    def n_shared(self) -> int:
        """Keys both sides have, scored or not."""
        return self.n_pairs + self.n_abstained

    def abstentions(self, side: Side) -> dict[str, int]:
        """Abstentions of one side by reason; a pair in which both abstained counts on both sides."""
        counts: Counter[str] = Counter()
        for cell in self.abstained:
            outcome = cell.candidate if side == "candidate" else cell.parent
            if outcome.abstained:
                counts[outcome.reason] += cell.count
        return dict(sorted(counts.items()))

    def mirrored(self) -> PairTable:
        """The same pairs with candidate and parent swapped."""
        swapped = tuple(
            AbstainedPairs(candidate=cell.parent, parent=cell.candidate, count=cell.count) for cell in self.abstained
        )
        return PairTable(
            both_succeeded=self.both_succeeded,
            candidate_wins=self.parent_wins,
            parent_wins=self.candidate_wins,
            both_failed=self.both_failed,
            abstained=swapped,
        )

    def with_candidate_failures(self, reasons: Collection[str] = (AGENT_ERROR,)) -> PairTable:
        """The candidate's abstentions for these reasons counted as failures; the parent's stay abstentions.

        Counting them on both sides would let a parent that crashed often make its successor look better.
        """
        return self.reassigned(
            lambda cell: (FAILED if cell.candidate.reason in reasons else cell.candidate, cell.parent)
        )

    def worst_case(self) -> PairTable:
        """Every abstention turned against the candidate: its own failed, the parent's succeeded."""
        return self.reassigned(
            lambda cell: (
                FAILED if cell.candidate.abstained else cell.candidate,
                SUCCEEDED if cell.parent.abstained else cell.parent,
            )
        )

    def best_case(self) -> PairTable:
        """Every abstention turned in favour of the candidate."""
        return self.mirrored().worst_case().mirrored()

    def reassigned(self, decide: Callable[[AbstainedPairs], tuple[SideOutcome, SideOutcome]]) -> PairTable:
        """The table in which `decide` says what the two sides of each kind of abstained pair count as."""
        cells: Counter[tuple[SideOutcome, SideOutcome]] = Counter()
        for cell in self.abstained:
            cells[decide(cell)] += cell.count
        added = tally(cells)
        return PairTable(
            both_succeeded=self.both_succeeded + added.both_succeeded,
            candidate_wins=self.candidate_wins + added.candidate_wins,
            parent_wins=self.parent_wins + added.parent_wins,
            both_failed=self.both_failed + added.both_failed,
            abstained=added.abstained,
        )


def merged(tables: Iterable[PairTable]) -> PairTable:
    """The table of all the pairs in several tables."""
    cells: Counter[tuple[SideOutcome, SideOutcome]] = Counter()
    for table in tables:
        cells[SUCCEEDED, SUCCEEDED] += table.both_succeeded
        cells[SUCCEEDED, FAILED] += table.candidate_wins
        cells[FAILED, SUCCEEDED] += table.parent_wins
        cells[FAILED, FAILED] += table.both_failed
        for cell in table.abstained:
            cells[cell.candidate, cell.parent] += cell.count
    return tally(cells)


def tally(cells: Counter[tuple[SideOutcome, SideOutcome]]) -> PairTable:
    """The table of counted (candidate, parent) outcomes."""
    return PairTable(
        both_succeeded=cells[SUCCEEDED, SUCCEEDED],
        candidate_wins=cells[SUCCEEDED, FAILED],
        parent_wins=cells[FAILED, SUCCEEDED],
        both_failed=cells[FAILED, FAILED],
        abstained=tuple(_abstained(cells)),
    )


def _abstained(cells: Counter[tuple[SideOutcome, SideOutcome]]) -> Iterable[AbstainedPairs]:
    for (candidate, parent), count in cells.items():
        if count and (candidate.abstained or parent.abstained):
            yield AbstainedPairs(candidate=candidate, parent=parent, count=count)
