"""The work queue beside a peer's, at two sizes, and against the import of numpy."""

from __future__ import annotations

import json
import os
import re
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hylo_eval.queue import RunQueue
from tests.performance.queue_claims import CONFIG, create

PROCESSES = 4
CORES = 2
PAIRS, MORE_PAIRS = 3, 5
TIMES_THE_PEERS_RATE = 15.0
PEER_ITEMS, OUR_ITEMS = 300, 5_000  # a second or so of each on an idle machine
ITEMS, MANY_ITEMS = 2_000, 100_000
CLAIMS_OF_MANY = 20_000
PEER_DEADLINE_SECONDS = 180
SHARE_OF_THE_SMALL_RATE = 0.8
TIMES_NUMPY = 3.0
OURS = Path(__file__).with_name("queue_claims.py")


@pytest.fixture(autouse=True)
def two_cores() -> Iterator[None]:
    """Both sides get the same two processors."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[:CORES])
    yield
    os.sched_setaffinity(0, before)


def our_rates(items: int, claims: int) -> dict[str, float]:
    """Items a second of our queue, by four processes."""
    command = list(map(str, (sys.executable, OURS, items, PROCESSES, claims)))
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def peer_rate(python: Path, script: Path) -> float | None:
    """Items a second of the peer's queue; None when it came to no end: its waits for the lock can run out."""
    command = list(map(str, (python, script, PEER_ITEMS, PROCESSES)))
    # A session of its own: when one of its processes fails, the others wait for ever.
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
    )
    try:
        output, _ = process.communicate(timeout=PEER_DEADLINE_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None
    seconds = re.search(r": ([0-9.]+) s wall", output)
    return None if seconds is None else PEER_ITEMS / float(seconds[1])


@pytest.mark.peer
@pytest.mark.slow
@pytest.mark.parametrize("peer_script", ["queue_bench.py"], indirect=True)
def test_claim_and_finish_are_fifteen_times_a_peers(
    vla_eval_python: Path, peer_script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Four processes on two cores and one disk, making the queue included; the median over pairs run in turns.

    A first round that misses the limit is continued, not repeated: all pairs decide together.
    """
    pairs: list[tuple[float, float]] = []
    for wanted in (PAIRS, PAIRS + MORE_PAIRS):
        while len(pairs) < wanted:
            ours, theirs = our_rates(OUR_ITEMS, OUR_ITEMS)["rate"], peer_rate(vla_eval_python, peer_script)
            if theirs is None:
                pytest.skip(f"the peer's queue did not finish {PEER_ITEMS} items in {PEER_DEADLINE_SECONDS} s")
            pairs.append((ours, theirs))
        if median_ratio(pairs) >= TIMES_THE_PEERS_RATE:
            break
    with capsys.disabled():
        print(f"\n{'items claimed and finished a second':<38}{'ours':>8}{'peer':>8}{'ratio':>8}")
        for number, (ours, theirs) in enumerate(pairs, 1):
            print(f"{f'pair {number}':<38}{ours:>8.0f}{theirs:>8.0f}{ours / theirs:>8.1f}")
        print(f"{'median of the ratios':<54}{median_ratio(pairs):>8.1f}")
    assert median_ratio(pairs) >= TIMES_THE_PEERS_RATE


def median_ratio(pairs: list[tuple[float, float]]) -> float:
    """The first over the second."""
    return statistics.median(first / second for first, second in pairs)


@pytest.mark.slow
def test_a_hundred_thousand_items_are_as_fast_as_two_thousand(capsys: pytest.CaptureFixture[str]) -> None:
    """The rate at 100,000 items is at least 80 % of the rate at 2,000; without making the queue."""
    pairs: list[tuple[float, float]] = []
    for wanted in (PAIRS, PAIRS + MORE_PAIRS):
        while len(pairs) < wanted:
            # Several small queues, so that both sides take about as long.
            small = statistics.median(our_rates(ITEMS, ITEMS)["loop_rate"] for _ in range(3))
            pairs.append((our_rates(MANY_ITEMS, CLAIMS_OF_MANY)["loop_rate"], small))
        if median_ratio(pairs) >= SHARE_OF_THE_SMALL_RATE:
            break
    with capsys.disabled():
        print(f"\n{'items claimed and finished a second':<38}{'100,000':>8}{'2,000':>8}{'ratio':>8}")
        for number, (many, few) in enumerate(pairs, 1):
            print(f"{f'pair {number}':<38}{many:>8.0f}{few:>8.0f}{many / few:>8.2f}")
        print(f"{'median of the ratios':<54}{median_ratio(pairs):>8.2f}")
    assert median_ratio(pairs) >= SHARE_OF_THE_SMALL_RATE


@pytest.mark.slow
def test_opening_a_large_queue_takes_no_longer_than_three_imports_of_numpy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Fresh interpreters on both sides: ours imports the queue, opens it with its configuration and claims an item."""
    path = tmp_path / "queue.db"
    create(path, MANY_ITEMS)
    opening = (
        "from hylo_eval.queue import Owner, RunQueue\n"
        f"queue = RunQueue.open({str(path)!r}, config={CONFIG!r})\n"
        "assert queue.claim(Owner.here()) is not None"
    )
    ratios = []
    for _ in range(PAIRS + MORE_PAIRS):
        empty, ours, numpy = seconds_of("pass"), seconds_of(opening), seconds_of("import numpy")
        ratios.append((ours - empty) / (numpy - empty))
    with RunQueue.open(path) as queue:
        held = len(queue.leases())
    with capsys.disabled():
        print(f"\nopening a queue of {MANY_ITEMS} items over importing numpy: {statistics.median(ratios):.2f}")
    assert held >= 1
    assert statistics.median(ratios) <= TIMES_NUMPY


def seconds_of(code: str) -> float:
    """Wall time of a fresh interpreter."""
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - begun
