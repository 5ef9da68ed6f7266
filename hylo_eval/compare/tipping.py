"""How many abstentions it would take to change a verdict."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

import attrs

from hylo_eval.compare.table import PairTable, Side

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@attrs.frozen(kw_only=True)
class TippingPoint:
    """The verdict holds if up to `holds_up_to` of the `abstained` pairs went against it.

    Attributes:
        holds_up_to: That number; None where the verdict does not hold even as scored.
        abstained: Pairs in which a side abstained.
        favour: Whom these pairs would have to favour: the parent for a pass, the candidate for a fail.
        group: The task whose abstentions are fewest to overturn it; empty where all pairs count together.
    """

    holds_up_to: int | None
    abstained: int
    favour: Side = "parent"
    group: str = ""

    @property
    def holds_always(self) -> bool:
        """Whether the verdict survives every abstention."""
        return self.holds_up_to == self.abstained

    def words(self) -> str:
        """The same as a sentence."""
        if self.holds_up_to is None:
            return "the verdict does not hold as scored"
        went = "went against the candidate" if self.favour == "parent" else "went in favour of the candidate"
        of = f" of {self.group}" if self.group else ""
        return f"the verdict holds if up to {self.holds_up_to} of the {self.abstained} abstained pairs{of} {went}"


def tipping_of_groups(tables: Mapping[str, PairTable], holds: Callable[[PairTable], bool]) -> TippingPoint | None:
    """The tipping point of a verdict that every group must pass by itself: that of the weakest group.

    Args:
        tables: Group -> its paired outcomes.
        holds: Whether a group passes; unlike for `tipping_point`, it may be lost and found again as pairs turn.

    Returns:
        The group with the fewest abstentions to overturn the verdict; None where no group has any.
    """
    found: list[TippingPoint] = []
    for group, table in sorted(tables.items()):
        steps = range(table.n_abstained + 1) if table.n_abstained else ()
        lost = next((turned for turned in steps if not holds(turned_against(table, turned))), table.n_abstained + 1)
        if table.n_abstained:
            holds_up_to = lost - 1 if lost else None
            found.append(TippingPoint(holds_up_to=holds_up_to, abstained=table.n_abstained, group=group))
    overturned = [point for point in found if not point.holds_always]
    if overturned:
        return min(overturned, key=lambda point: -1 if point.holds_up_to is None else point.holds_up_to)
    abstained = sum(point.abstained for point in found)
    return TippingPoint(holds_up_to=abstained, abstained=abstained) if found else None


def tipping_point(table: PairTable, holds: Callable[[PairTable], bool]) -> TippingPoint:
    """Find the number of abstentions that overturns a verdict.

    Abstained pairs are turned against the candidate one after the other, the most damaging first: those that
    become wins of the parent, then those that become ties. Whichever abstentions are the failures, this many
    cannot overturn it.

    Args:
        table: The paired outcomes with their abstained pairs.
        holds: Whether the verdict holds for a table of scored pairs; once lost, it must stay lost as more
            pairs turn against the candidate.
    """
    first = bisect_left(
        range(table.n_abstained + 1), 1, key=lambda turned: int(not holds(turned_against(table, turned)))
    )
    return TippingPoint(holds_up_to=first - 1 if first else None, abstained=table.n_abstained)


def turned_against(table: PairTable, turned: int) -> PairTable:
    """The table after so many abstained pairs went against the candidate, worst first; the rest is left out."""
    worst = table.worst_case()
    losses = worst.parent_wins - table.parent_wins
    if turned <= losses:
        return attrs.evolve(table, parent_wins=table.parent_wins + turned, abstained=())
    tied = turned - losses
    gained = min(tied, worst.both_failed - table.both_failed)
    return attrs.evolve(
        table,
        parent_wins=worst.parent_wins,
        both_failed=table.both_failed + gained,
        both_succeeded=table.both_succeeded + tied - gained,
        abstained=(),
    )
