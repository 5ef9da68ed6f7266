"""Whenever what is killed: the episodes are those of a run in which nothing was."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

import attrs
import pytest

from hylo_eval.queue import Ending, State
from tests.faults.disturbed import NO_DEADLINES, PATIENCE_SECONDS, Disturbed, wait_for, workers_of

WORKERS = 4
SUPERVISOR_SHARE = 0.06
"""Of the moments: a supervisor takes its workers with it, and while the next one starts there is nobody else to kill."""
MANY = int(os.environ.get("HYLO_KILLS", "200"))
"""Kills of the slow test; a thousand take about ten minutes."""
MEAN_SECONDS = 0.3
"""Between two kills, exponentially distributed: every moment is as likely as any other."""


@attrs.define
class Killer:
    """Kills workers and supervisors of one run after another at random times.

    Attributes:
        run: What is run; every run has an id of its own.
        left: Kills to go.
        random: Where the times and the victims come from.
        killed: How many of each kind were killed.
    """

    run: Disturbed
    left: int
    random: random.Random
    killed: Counter[str] = attrs.field(factory=Counter)

    def finish(self, run_id: str) -> None:
        """Run to the end, continuing as often as it takes, with kills on the way while there are some left."""
        started = False
        until = time.monotonic() + PATIENCE_SECONDS + 2 * self.left
        while True:
            assert time.monotonic() < until, f"{run_id} is stuck:\n{self.run.printed()[-3000:]}"
            attempts = ("--max-attempts", 1000)
            arguments = (
                self.run.resume(run_id=run_id, workers=WORKERS)
                if started
                else self.run.command(*attempts, run_id=run_id, workers=WORKERS, deadlines=NO_DEADLINES)
            )
            process = self.run.start(arguments)
            # Before that nothing has begun that could be continued.
            wait_for(
                lambda process=process: (self.run.runs / run_id / "queue.db").exists() or process.poll() is not None
            )
            started = True
            if self.disturb(process) == 0:
                return
            wait_for(lambda: not self.run.survivors())

    def disturb(self, process: subprocess.Popen[bytes]) -> int:
        """Kill while it runs; gives its exit code, which is 2 where too many workers died in a row."""
        while self.left:
            with suppress(subprocess.TimeoutExpired):
                return self.code(process.wait(self.random.expovariate(1 / MEAN_SECONDS)))
            workers = workers_of(process.pid)
            if self.random.random() < SUPERVISOR_SHARE:
                victim, kind = process.pid, "supervisor"
            elif workers:
                victim, kind = self.random.choice(workers), "worker"
            else:
                continue
            with suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)
                self.killed[kind] += 1
                self.left -= 1
        return self.code(self.run.end(process))

    @staticmethod
    def code(code: int) -> int:
        """An exit code that may be: done, refused after many deaths, or killed."""
        assert code in {0, 2, -signal.SIGKILL}
        return code


@pytest.mark.parametrize("kills", [6, pytest.param(MANY, marks=pytest.mark.slow)])
def test_random_kills_change_nothing(disturbed: Callable[..., Disturbed], kills: int) -> None:
    """Four workers, killed and continued at random, against none: equal behaviour of every episode, each once."""
    run = disturbed(*(f"walk{number}" for number in range(4)), seeds=range(8), params={"seconds": 0.02})
    expected = run.undisturbed()
    killer = Killer(run, kills, random.Random(kills))
    began, number = time.monotonic(), 0
    while killer.left or not number:
        run_id = f"run{number}"
        killer.finish(run_id)
        results = run.results(run_id)
        assert {result.state for result in results.values()} == {State.DONE}
        assert run.behaviours(run_id) == expected
        ended = Counter(attempt.key for attempt in run.attempts(run_id) if attempt.ending is Ending.DONE)
        assert ended == dict.fromkeys(expected, 1)
        number += 1
    assert run.survivors() == []
    print(f"{sum(killer.killed.values())} kills {dict(killer.killed)}, {number} runs, {time.monotonic() - began:.0f} s")
