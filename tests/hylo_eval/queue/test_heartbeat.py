"""Leases stay alive while their owner does."""

from __future__ import annotations

import threading
from pathlib import Path

from hylo_eval.errors import QueueError
from hylo_eval.queue import Heartbeat, Owner, RunQueue
from tests.hylo_eval.queue.fakes import CONFIG, FakeMachine, items, outcome

LEASE_SECONDS = 0.02


def test_a_heartbeat_outlasts_any_number_of_leases(tmp_path: Path):
    """The clock only moves by half a lease once a beat was seen: fifty halves later the lease still holds."""
    machine = FakeMachine()
    with RunQueue.create(
        tmp_path / "queue.db",
        config=CONFIG,
        items=items(1, 1),
        max_attempts=2,
        lease_seconds=LEASE_SECONDS,
        machine=machine,
    ) as queue:
        owner = machine.owner("worker")
        lease = queue.claim(owner)
        assert lease is not None
        with Heartbeat(queue, owner):
            for _ in range(50):
                machine.sleep(LEASE_SECONDS / 2)
                while queue.leases()[0].expires < machine.now + LEASE_SECONDS:
                    pass
        assert queue.finish(lease, outcome())


class FailingQueue:
    """A queue whose renewals fail until the test says otherwise."""

    lease_seconds = LEASE_SECONDS

    def __init__(self) -> None:
        self.works = False
        self.tried = threading.Event()
        self.released = False

    def renew(self, owner: Owner) -> int:
        """Fail or not."""
        self.tried.set()
        if not self.works:
            raise QueueError("the disk is full")
        return 1

    def release_thread(self) -> None:
        """The thread's end."""
        self.released = True


def test_a_failed_renewal_is_told_and_tried_again():
    """The thread outlives a disk that is full for a while, and closes its connection when it ends."""
    queue = FailingQueue()
    with Heartbeat(queue, FakeMachine().owner("worker")) as heartbeat:  # type: ignore[arg-type]
        for _ in range(3):
            queue.tried.clear()
            assert queue.tried.wait(10)
        while heartbeat.failure is None:
            pass
        assert heartbeat.failure.message == "the disk is full"
        queue.works = True
        while heartbeat.failure is not None:
            pass
    assert queue.released
