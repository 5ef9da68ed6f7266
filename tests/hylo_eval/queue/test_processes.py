"""The queue shared by real processes that are killed, stopped and forked."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hylo_eval.errors import QueueError
from hylo_eval.queue import Ending, Heartbeat, Owner, RunQueue, State
from tests.hylo_eval.queue.fakes import CONFIG, items, outcome

PROCESSES = 4
WORK_SECONDS = 0.001
DEADLINE_SECONDS = 120.0


def fork(work: Callable[[], None]) -> int:
    """A child that does its work and leaves without the parent's clean-up; status 1 when the work raised."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        work()
        status = 0
    finally:
        os._exit(status)


def run_episodes(folder: Path, queue: RunQueue) -> None:
    """Claim until all items have ended; each attempt writes its own trace, then its row."""
    owner, task = Owner.here(), None
    while True:
        lease = queue.claim(owner, prefer=task)
        if lease is None:
            counts = queue.counts()
            if counts[State.PENDING] + counts[State.LEASED] == 0:
                return
            time.sleep(WORK_SECONDS)
            continue
        task = lease.task
        name, content = f"{lease.key}.{lease.attempt}.jsonl", f"{lease.key} {owner.pid}".encode()
        partial = folder / f"{name}.partial"
        with partial.open("xb") as file:
            file.write(content)
        time.sleep(WORK_SECONDS)
        partial.rename(folder / name)
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        queue.finish(lease, outcome(trace=name, trace_sha256=digest, trace_bytes=len(content)))


def campaign(folder: Path, kills: int, episodes: int) -> None:
    """Kill workers at random moments, replace each, let the rest finish; then nothing is lost, double or stuck."""
    draw = random.Random(kills)
    path = folder / "queue.db"
    RunQueue.create(path, config=CONFIG, items=items(10, episodes), max_attempts=10**6).close()

    def work() -> None:
        run_episodes(folder, RunQueue.open(path, config=CONFIG))

    workers = [fork(work) for _ in range(PROCESSES)]
    for _ in range(kills):
        time.sleep(draw.expovariate(1 / 0.008))
        victim = workers.pop(draw.randrange(PROCESSES))
        os.kill(victim, signal.SIGKILL)
        # Every other victim stays a zombie for a while: it is dead to the queue all the same.
        if draw.random() < 0.5:
            os.waitpid(victim, 0)
        workers.append(fork(work))
    for worker in workers:
        assert os.waitpid(worker, 0)[1] == 0
    with RunQueue.open(path) as queue:
        total = 10 * episodes
        assert queue.counts() == {State.PENDING: 0, State.LEASED: 0, State.DONE: total, State.ABSTAINED: 0}
        attempts = list(queue.attempts())
        done = [attempt.key for attempt in attempts if attempt.ending is Ending.DONE]
        assert sorted(done) == sorted(item.key for item in items(10, episodes))
        lost = [attempt for attempt in attempts if attempt.ending is Ending.LOST]
        assert len(attempts) == len(done) + len(lost)
        assert 0 < len(lost) <= kills
        numbers = {(attempt.key, attempt.attempt) for attempt in attempts}
        assert len(numbers) == len(attempts)
    with RunQueue.open(path, config=CONFIG) as queue:
        assert queue.verify_recent(folder, seconds=float("inf")) == ()


def test_killed_workers_lose_nothing_and_double_nothing(tmp_path: Path):
    """Four processes, forty SIGKILLs."""
    campaign(tmp_path, kills=40, episodes=120)


@pytest.mark.slow
def test_a_thousand_kills_lose_nothing_and_double_nothing(tmp_path: Path):
    """Four processes, a thousand SIGKILLs."""
    campaign(tmp_path, kills=1000, episodes=2000)


def test_a_stopped_process_revived_after_its_lease_cannot_finish(tmp_path: Path):
    """It keeps its heartbeat, and still only the one who took over gives the item its outcome."""
    path = tmp_path / "queue.db"
    RunQueue.create(path, config=CONFIG, items=items(1, 1), max_attempts=5, lease_seconds=0.2).close()
    claimed, told = os.pipe()
    go, went = os.pipe()

    def work() -> None:
        own = RunQueue.open(path, config=CONFIG)
        owner = Owner.here()
        with Heartbeat(own, owner):
            lease = own.claim(owner)
            assert lease is not None
            os.write(told, b"x")
            os.read(go, 1)
            assert not own.finish(lease, outcome(steps=1))

    child = fork(work)
    queue = RunQueue.open(path, config=CONFIG)
    assert os.read(claimed, 1) == b"x"
    os.kill(child, signal.SIGSTOP)
    os.waitpid(child, os.WUNTRACED)
    here, deadline = Owner.here(), time.monotonic() + DEADLINE_SECONDS
    while (lease := queue.claim(here)) is None:
        assert time.monotonic() < deadline
    os.kill(child, signal.SIGCONT)
    os.write(went, b"x")
    assert os.waitpid(child, 0)[1] == 0
    # The lease is short; what was claimed here may have expired meanwhile, as any may.
    while not queue.finish(lease, outcome(steps=2)):
        lease = queue.claim(here)
        assert lease is not None
    assert [result.outcome and result.outcome.steps for result in queue.results()] == [2]
    queue.close()


def test_a_queue_that_was_open_before_a_fork_is_refused_in_the_child(tmp_path: Path):
    """What the child finished could be lost; neither its refusal nor its end takes a lock of the parent away."""
    queue = RunQueue.create(tmp_path / "queue.db", config=CONFIG, items=items(2, 20), max_attempts=3)
    before = queue.claim(Owner.here())
    assert before is not None

    def work() -> None:
        with pytest.raises(QueueError, match="open when this process was forked"):
            queue.claim(Owner.here())
        with pytest.raises(QueueError, match="open when this process was forked"):
            RunQueue.open(tmp_path / "queue.db", config=CONFIG)
        queue.close()

    children = [fork(work) for _ in range(2)]
    assert queue.finish(before, outcome())
    for child in children:
        assert os.waitpid(child, 0)[1] == 0
    assert queue.counts()[State.DONE] == 1
    queue.close()


def test_a_queue_that_was_closed_before_a_fork_is_opened_in_the_child(tmp_path: Path):
    """Nothing of the parent's is carried over; all that the child finished is on record."""
    path = tmp_path / "queue.db"
    RunQueue.create(path, config=CONFIG, items=items(2, 20), max_attempts=3).close()

    def work() -> None:
        with RunQueue.open(path, config=CONFIG) as queue:
            for _ in range(10):
                lease = queue.claim(Owner.here())
                assert lease is not None
                assert queue.finish(lease, outcome())

    for child in [fork(work) for _ in range(2)]:
        assert os.waitpid(child, 0)[1] == 0
    with RunQueue.open(path) as queue:
        assert queue.counts()[State.DONE] == 20
