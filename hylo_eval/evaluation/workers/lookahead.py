"""How many episodes a worker is given beside the one it runs, so that short ones do not wait for their supervisor.

An episode of a millisecond costs its run less than telling the worker of the next one and committing what it came to.
So a worker whose episodes are short holds a few more, and they are committed many at a time. Nothing else changes: each
has a lease of its own, and one that was not begun is given back without counting a try.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from hylo_eval.evaluation.workers.limits import WorkerLimits
    from hylo_eval.evaluation.workers.seat import Seat

AHEAD_SECONDS: Final = 0.05
"""What a worker holds ahead takes about this long; one whose episodes are longer holds only the one it runs."""

MOST_AHEAD: Final = 63
"""Episodes at most: their commands must fit into the pipe, or a worker that hangs would have its supervisor wait."""

LONGEST_KEY: Final = 128
"""Characters of an instance key, for the same reason: a command is at most a kilobyte."""

STALLED_SECONDS: Final = 1.0
"""An episode that lasts this long was not short: what its worker holds ahead goes back, for other workers."""

GATHER_SECONDS: Final = 0.005
_ENOUGH_AHEAD: Final = 24


def wanted_ahead(seat: Seat, limits: WorkerLimits) -> int:
    """How many more episodes a worker is to get now, of the task it is at; none while it holds enough."""
    lease = seat.lease
    if lease is None or seat.pace is None or not seat.ready or seat.leaving or len(lease.key) > LONGEST_KEY:
        return 0
    if limits.max_rss_mb is not None:  # looked at after each episode
        return 0
    depth = min(MOST_AHEAD, int(AHEAD_SECONDS / max(seat.pace, AHEAD_SECONDS / MOST_AHEAD)))
    if limits.recycle_after is not None:
        depth = min(depth, limits.recycle_after - seat.episodes - 1)
    held = len(seat.ahead)
    return 0 if 2 * held > depth else depth - held


def can_wait(seats: Sequence[Seat]) -> bool:
    """Whether every worker is busy for a while, so that what they finish may gather."""
    busy = [seat for seat in seats if seat.lease is not None]
    return bool(busy) and all(len(seat.ahead) >= _ENOUGH_AHEAD for seat in busy)
