"""What workers have started ends also when the process that watched them was killed."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hylo_eval.evaluation.workers.guardian import Guardian, guard


@pytest.fixture
def group():
    """Start a process in a group of its own; it is gone at the end."""
    started: list[subprocess.Popen[bytes]] = []

    def start() -> subprocess.Popen[bytes]:
        started.append(
            subprocess.Popen([sys.executable, "-S", "-c", "import signal; signal.pause()"], start_new_session=True)
        )
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


def test_the_end_of_the_pipe_ends_the_groups_that_are_left(group) -> None:
    """Those that were forgotten live on: their numbers may be somebody else's by now."""
    left, forgotten = group(), group()
    guard(io.BytesIO(f"+{left.pid}\n+{forgotten.pid}\n-{forgotten.pid}\n+{2**22 + 1}\n".encode()))
    assert left.wait(60) == -signal.SIGKILL
    assert forgotten.poll() is None


def test_a_guardian_outlives_the_process_that_was_killed(group) -> None:
    """It ends what it watches then, and itself: nothing else knows of it."""
    watched = group()
    code = (
        "import os, signal, sys; from hylo_eval.evaluation.workers.guardian import Guardian; "
        f"guardian = Guardian(); guardian.watch({watched.pid}); os.kill(os.getpid(), signal.SIGKILL)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], check=False, env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[4])}
    )
    assert ended.returncode == -signal.SIGKILL
    assert watched.wait(60) == -signal.SIGKILL


def test_a_guardian_that_is_closed_is_gone_and_may_be_told_more(group) -> None:
    """A run that ends leaves no process; one that never began has none."""
    guardian = Guardian()
    guardian.forget(1)
    guardian.close()
    watched = group()
    guardian.watch(watched.pid)
    guardian.forget(watched.pid)
    guardian.close()
    assert watched.poll() is None
    guardian.forget(watched.pid)
