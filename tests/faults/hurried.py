"""``hylo-eval`` whose leases last a second and that waits two seconds for a lock, so that tests need not wait longer.

Episodes count as short ones however loaded the machine is. Nothing else is changed: all of these are constants.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from hylo_eval.cli import main
from hylo_eval.evaluation.workers import lookahead
from hylo_eval.queue import RunQueue, database

if __name__ == "__main__":
    create: Any = RunQueue.create
    RunQueue.create = partial(create, lease_seconds=1.0)  # type: ignore[method-assign]
    database.BUSY_SECONDS = 2.0
    lookahead.AHEAD_SECONDS = 3600.0  # type: ignore[misc]
    main()
