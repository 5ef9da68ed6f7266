"""Leases kept alive while their owner works."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Self

from hylo_eval.errors import QueueError

if TYPE_CHECKING:
    from types import TracebackType

    from hylo_eval.queue.owner import Owner
    from hylo_eval.queue.run_queue import RunQueue

BEATS_A_LEASE = 4
"""Renewals in the length of a lease: three may fail before it ends."""


class Heartbeat:
    """Renews the leases of an owner from a thread with a connection of its own, while the context is open.

    A process that is stopped, or hangs in native code without giving the interpreter back, stops renewing too: that is
    how others learn of it.

    Attributes:
        failure: Why the last renewal failed; None when it did not. A failed renewal is tried again at the next beat.
    """

    def __init__(self, queue: RunQueue, owner: Owner) -> None:
        self.failure: QueueError | None = None
        self._queue = queue
        self._owner = owner
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="hylo-heartbeat", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def _beat(self) -> None:
        try:
            while not self._over.wait(self._queue.lease_seconds / BEATS_A_LEASE):
                try:
                    self._queue.renew(self._owner)
                    self.failure = None
                except QueueError as error:
                    self.failure = error
        finally:
            self._queue.release_thread()
