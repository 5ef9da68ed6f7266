"""How many abstentions it would take to change a verdict."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable

    from hylo_eval.compare.table import PairTable


@attrs.frozen(kw_only=True)
class TippingPoint:
    """The verdict holds if up to `holds_up_to` of the `abstained` pairs went against the candidate.

    Attributes:
        holds_up_to: That number; None where the verdict does not hold even as scored.
        abstained: Pairs in which a side abstained.
    """

    holds_up_to: int | None
    abstained: int

    @property
    def holds_always(self) -> bool:
        """Whether the verdict survives every abstention."""
        return self.holds_up_to == self.abstained

    def words(self) -> str:
        """The same as a sentence."""
        if self.holds_up_to is None:
            return "the verdict does not hold as scored"
        return (
            f"the verdict holds if up to {self.holds_up_to} of the {self.abstained} abstained pairs "
            "went against the candidate"
        )


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
    worst = table.worst_case()
    losses = worst.parent_wins - table.parent_wins

    def overturned(turned: int) -> bool:
        if turned <= losses:
            lost = attrs.evolve(table, parent_wins=table.parent_wins + turned, abstained=())
            return not holds(lost)
        tied = turned - losses
        gained = min(tied, worst.both_failed - table.both_failed)
        return not holds(
            attrs.evolve(
                table,
                parent_wins=worst.parent_wins,
                both_failed=table.both_failed + gained,
                both_succeeded=table.both_succeeded + tied - gained,
                abstained=(),
            )
        )

    first = bisect_left(range(table.n_abstained + 1), 1, key=lambda turned: int(overturned(turned)))
    return TippingPoint(holds_up_to=first - 1 if first else None, abstained=table.n_abstained)
