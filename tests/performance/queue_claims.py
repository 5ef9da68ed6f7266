"""Claim and finish every item of a queue from several processes: ``ITEMS PROCESSES [CLAIMS]``, JSON on the last line."""

from __future__ import annotations

import json
import multiprocessing
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

# Not part of what is measured: the peer's script has its imports done before its clock starts, too.
import sqlite_utils  # noqa: F401

from hylo_eval.queue import Item, Outcome, Owner, RunQueue

CONFIG = {"benchmark": "speed"}
EPISODES_A_TASK = 50
OUTCOME = Outcome(
    status="completed",
    trace="episodes/t-0.1.jsonl",
    trace_sha256=f"sha256:{0:064}",
    behaviour_sha256=f"sha256:{0:064}",
    trace_bytes=1000,
    steps=1,
    success=True,
    started_at=1.0,
    seconds=0.1,
)


def create(path: Path, items: int) -> None:
    """A queue in the declared order of a run: every prefix holds all tasks alike."""
    tasks = max(1, items // EPISODES_A_TASK)
    RunQueue.create(
        path,
        config=CONFIG,
        items=(
            Item(key=f"t{number % tasks}#{number // tasks}", task=f"t{number % tasks}", position=number)
            for number in range(items)
        ),
        max_attempts=3,
    ).close()


def work(path: Path, claims: int, results: Any) -> None:
    """Claim and finish until nothing is pending, or so many items."""
    queue, owner, task = RunQueue.open(path, config=CONFIG), Owner.here(), None
    done = 0
    begun, begun_cpu = time.perf_counter(), time.process_time()
    while done < claims and (lease := queue.claim(owner, prefer=task)) is not None:
        task = lease.task
        done += queue.finish(lease, OUTCOME)
    results.put((done, time.perf_counter() - begun, time.process_time() - begun_cpu))
    queue.close()


def measure(items: int, processes: int, claims: int) -> dict[str, float]:
    """Items a second, with (``rate``) and without (``loop_rate``) making the queue and starting the processes."""
    context = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as folder:
        path, results = Path(folder, "queue.db"), context.Queue()
        begun = time.perf_counter()
        create(path, items)
        workers = [context.Process(target=work, args=(path, claims // processes, results)) for _ in range(processes)]
        for worker in workers:
            worker.start()
        found = [results.get(timeout=300) for _ in workers]
        for worker in workers:
            worker.join()
        seconds = time.perf_counter() - begun
        done = sum(count for count, _, _ in found)
        assert done == claims, f"{done} of {claims} items were finished"
        return {
            "rate": done / seconds,
            "loop_rate": done / max(wall for _, wall, _ in found),
            "cpu_us": 1e6 * sum(cpu for _, _, cpu in found) / done,
        }


if __name__ == "__main__":
    ITEMS, PROCESSES = int(sys.argv[1]), int(sys.argv[2])
    print(json.dumps(measure(ITEMS, PROCESSES, int(sys.argv[3]) if len(sys.argv) > 3 else ITEMS)))
