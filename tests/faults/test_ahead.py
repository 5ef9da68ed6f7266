"""Episodes that a worker was given and had not begun when its run was stopped or killed: nothing happened to them."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest

from hylo_eval.evaluation.plan import plan_run
from hylo_eval.queue import Ending
from tests.faults.disturbed import NO_DEADLINES, Disturbed, wait_for
from tests.faults.faulty import FAULT_SEED

SEEDS = (2, 3, FAULT_SEED, *range(4, 16))


@pytest.mark.parametrize("fault", ["freeze", "behead"])
def test_what_was_given_ahead_loses_no_try_with_its_run(disturbed: Callable[..., Disturbed], fault: str) -> None:
    """A run is stopped beyond its leases, or killed, in one of many short episodes: another command takes over.

    The episode that ran has lost a try; those behind it have lost none, and begin under another number all the same,
    for the stopped worker may still come to write under the first one.
    """
    run = disturbed(f"{fault}-step", seeds=SEEDS, max_steps=4)
    expected = run.undisturbed()
    order = [item.key for item in plan_run(run.benchmark, "heldout").declared]
    faulty = order.index(f"faults/{fault}-step#{FAULT_SEED}")
    # From the third episode on, everything was handed out before it began.
    assert 2 <= faulty < len(order) - 1

    first = run.start(run.command(workers=1, deadlines=NO_DEADLINES), module="hurried")
    wait_for(run.reached)
    assert run.run(run.resume(workers=1)) == 0, run.printed()
    assert run.behaviours() == expected
    results = run.results()
    endings: dict[str, list[Ending]] = {key: [] for key in order}
    for attempt in run.attempts():
        endings[attempt.key].append(attempt.ending)
        if attempt.ending is Ending.RELEASED:
            assert "never begun" in attempt.outcome.error
    assert endings[order[faulty]] == [Ending.LOST, Ending.DONE]
    for key in order[faulty + 1 :]:
        assert endings[key] == [Ending.RELEASED, Ending.DONE]
        assert results[key].attempt == 2

    run.let_go()
    if fault == "freeze":
        os.kill(first.pid, signal.SIGCONT)
    assert run.end(first) == (0 if fault == "freeze" else -signal.SIGKILL), run.printed()
    assert run.results() == results
    assert run.behaviours() == expected
    assert wait_for(lambda: run.survivors() == [])
