"""A run that is told to stop, killed or stopped for a while loses nothing, and goes on to the same result."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from hylo_eval import read_evallog, read_trace
from hylo_eval.queue import Ending
from tests.faults.disturbed import NO_DEADLINES, Disturbed, wait_for, workers_of

SEEDS = (0, 1, 2)
ANNOUNCEMENT = "stopping after this step"
LEASE_SECONDS = 60.0


def check_stopped(run: Disturbed) -> None:
    """What is finished is in a partial log, nothing is torn, and no process is left."""
    assert run.survivors() == []
    folder = run.runs / "run"
    assert not (folder / "evallog.json").exists()
    samples = read_evallog(folder / "evallog.partial.json").samples
    assert len(samples) == run.done()
    for sample in samples:
        assert read_trace(folder / sample.trace).end is not None


def check_finished(run: Disturbed, expected: dict[str, str]) -> None:
    """Continuing gives what an uninterrupted run gives: every episode once."""
    assert run.run(run.resume()) == 0, run.printed()
    assert run.behaviours() == expected
    ended = Counter(attempt.key for attempt in run.attempts() if attempt.ending is Ending.DONE)
    assert ended == dict.fromkeys(expected, 1)
    folder = run.runs / "run"
    assert not (folder / "evallog.partial.json").exists()
    assert len(read_evallog(folder / "evallog.json").samples) == len(expected)
    assert run.survivors() == []


def between(disturbed: Callable[..., Disturbed], kind: str, phase: str) -> tuple[Disturbed, int]:
    """A run with a fault, and workers for it: one whose first env is closed between two episodes, or two."""
    if phase == "close":
        return disturbed(f"{kind}-close", "steady", seeds=SEEDS), 1
    return disturbed("steady", f"{kind}-{phase}", seeds=SEEDS), 2


@pytest.mark.parametrize(
    ("number", "phase"),
    [
        (signal.SIGINT, "step"),
        pytest.param(signal.SIGINT, "close", marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, "act", marks=pytest.mark.slow),
    ],
)
def test_the_first_signal_ends_the_run_after_the_present_step(
    disturbed: Callable[..., Disturbed], number: signal.Signals, phase: str
) -> None:
    """Exit code 130, every env closed, no unfinished file; the run can be continued."""
    run, workers = between(disturbed, "hold", phase)
    expected = run.undisturbed()
    undisturbed = len(run.notes())
    process = run.start(run.command(deadlines=NO_DEADLINES, workers=workers))
    wait_for(run.reached)
    process.send_signal(number)
    wait_for(lambda: ANNOUNCEMENT in run.printed())
    run.let_go()
    assert run.end(process) == 130, run.printed()
    check_stopped(run)
    assert list((run.runs / "run" / "episodes").glob("*.partial")) == []
    counted = Counter(line.split()[0] for line in run.notes()[undisturbed:])
    assert counted["made"] == counted["closed"] > 0
    check_finished(run, expected)


@pytest.mark.parametrize(
    ("number", "phase"),
    [(signal.SIGINT, "make"), pytest.param(signal.SIGTERM, "reset", marks=pytest.mark.slow)],
)
def test_what_comes_before_the_first_step_is_not_waited_for(
    disturbed: Callable[..., Disturbed], number: signal.Signals, phase: str
) -> None:
    """One signal ends a run whose simulator hangs in native code there, whatever the deadlines say."""
    run, workers = between(disturbed, "hang", phase)
    expected = run.undisturbed()
    process = run.start(run.command(deadlines=NO_DEADLINES, workers=workers))
    wait_for((run.faults / f"faults-hang-{phase}").exists)
    process.send_signal(number)
    assert run.end(process) == 130, run.printed()
    check_stopped(run)
    check_finished(run, expected)


@pytest.mark.slow
def test_many_workers_that_import_slowly_are_not_waited_for(
    disturbed: Callable[..., Disturbed], tmp_path: Path
) -> None:
    """The first one is ready at once; the others are busy with imports that catch whatever is raised, and stay so."""
    (tmp_path / "slow_import.py").write_text(SLOW_IMPORT)
    run = disturbed(*(f"steady-{index}" for index in range(8)), seeds=SEEDS, env="slow_import:SlowEnv")
    expected = run.undisturbed()
    process = run.start(run.command(deadlines=NO_DEADLINES, workers=8), path=tmp_path)
    wait_for(lambda: len([*run.faults.glob("importing-*")]) == 7)
    process.send_signal(signal.SIGINT)
    assert run.end(process) == 130, run.printed()
    check_stopped(run)
    (run.faults / "released").touch()
    assert run.run(run.resume(), path=tmp_path) == 0, run.printed()
    assert run.behaviours() == expected
    assert run.survivors() == []


SLOW_IMPORT = """
import os, time
from pathlib import Path
from faulty import FOLDER, FaultyEnv

folder = Path(os.environ[FOLDER])
try:
    (folder / "first").touch(exist_ok=False)
except FileExistsError:
    (folder / f"importing-{os.getpid()}").touch()
    while not (folder / "released").exists():
        try:
            time.sleep(0.01)
        except BaseException:
            pass

class SlowEnv(FaultyEnv):
    def step(self, action):
        time.sleep(0.05)
        return super().step(action)
"""


@pytest.mark.parametrize(
    ("number", "phase"),
    [(signal.SIGTERM, "step"), pytest.param(signal.SIGTERM, "close", marks=pytest.mark.slow)],
)
def test_the_second_signal_ends_the_run_at_once(
    disturbed: Callable[..., Disturbed], number: signal.Signals, phase: str
) -> None:
    """Also where the simulator hangs in native code and no deadline would ever end it."""
    run, workers = between(disturbed, "hang", phase)
    expected = run.undisturbed()
    process = run.start(run.command(deadlines=NO_DEADLINES, workers=workers))
    wait_for((run.faults / f"faults-hang-{phase}").exists)
    process.send_signal(number)
    wait_for(lambda: ANNOUNCEMENT in run.printed())
    process.send_signal(number)
    assert run.end(process) == 130, run.printed()
    check_stopped(run)
    check_finished(run, expected)


@pytest.mark.slow
def test_a_scheduler_that_signals_every_process_ends_the_run_after_the_present_step(
    disturbed: Callable[..., Disturbed],
) -> None:
    """Workers are signalled by it and by their supervisor: they finish the step and close their envs all the same."""
    run = disturbed("steady", "hold-step", seeds=SEEDS)
    expected = run.undisturbed()
    undisturbed = len(run.notes())
    process = run.start(run.command(deadlines=NO_DEADLINES))
    wait_for(run.reached)
    for pid in [*workers_of(process.pid), process.pid]:
        os.kill(pid, signal.SIGTERM)
    wait_for(lambda: ANNOUNCEMENT in run.printed())
    run.let_go()
    assert run.end(process) == 130, run.printed()
    check_stopped(run)
    assert list((run.runs / "run" / "episodes").glob("*.partial")) == []
    counted = Counter(line.split()[0] for line in run.notes()[undisturbed:])
    assert counted["made"] == counted["closed"] > 0
    check_finished(run, expected)
    assert {attempt.ending for attempt in run.attempts()} <= {Ending.DONE, Ending.RELEASED}


def test_a_signal_while_the_first_env_is_made_ends_the_run_before_it_began(disturbed: Callable[..., Disturbed]) -> None:
    """A simulator that hangs while it starts is not waited for, and there is no run to continue."""
    run = disturbed("hang-make")
    process = run.start(run.command(deadlines=NO_DEADLINES))
    wait_for((run.faults / "faults-hang-make").exists)
    process.send_signal(signal.SIGINT)
    assert run.end(process) == 130
    assert run.survivors() == []
    assert not run.runs.exists()


@pytest.mark.slow
def test_a_second_signal_while_the_last_env_is_closed_keeps_the_whole_result(
    disturbed: Callable[..., Disturbed],
) -> None:
    """Every episode has its outcome by then; only the simulator is not waited for any longer."""
    run = disturbed("hang-close", seeds=SEEDS)
    expected = run.undisturbed()
    process = run.start(run.command(deadlines=NO_DEADLINES, workers=1))
    wait_for((run.faults / "faults-hang-close").exists)
    process.send_signal(signal.SIGINT)
    wait_for(lambda: ANNOUNCEMENT in run.printed())
    process.send_signal(signal.SIGINT)
    assert run.end(process) == 130, run.printed()
    assert run.survivors() == []
    assert run.behaviours() == expected
    assert len(read_evallog(run.runs / "run" / "evallog.json").samples) == len(expected)


def test_a_killed_run_is_continued_at_once(disturbed: Callable[..., Disturbed]) -> None:
    """The workers and what they forked die with their supervisor, and nobody waits for the lease of the dead."""
    run = disturbed("steady", "litter-step", "hang-step", seeds=SEEDS)
    expected = run.undisturbed()
    process = run.start(run.command(deadlines=NO_DEADLINES))
    wait_for((run.faults / "faults-hang-step").exists)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    wait_for(lambda: not run.survivors())
    began = time.monotonic()
    check_finished(run, expected)
    assert time.monotonic() - began < LEASE_SECONDS
    lost = [attempt.key for attempt in run.attempts() if attempt.ending is Ending.LOST]
    assert "faults/hang-step#1" in lost
    assert set(Counter(lost).values()) == {1}


@pytest.mark.slow
def test_a_stopped_worker_costs_its_attempt(disturbed: Callable[..., Disturbed]) -> None:
    """Its deadline ends it, stopped as it is."""
    run = disturbed("steady", "hold-step", seeds=SEEDS)
    expected = run.undisturbed()
    process = run.start(run.command(workers=1))
    wait_for(run.reached)
    (worker,) = workers_of(process.pid)
    os.kill(worker, signal.SIGSTOP)
    assert run.end(process) == 0, run.printed()
    assert run.behaviours() == expected
    failed = {attempt.key: attempt.outcome.status for attempt in run.attempts() if attempt.ending is Ending.RETRIED}
    assert failed == {"faults/hold-step#1": "timeout"}
    assert run.survivors() == []


def test_a_revived_run_commits_nothing_that_another_has_taken_over(disturbed: Callable[..., Disturbed]) -> None:
    """It was stopped until its lease was over: its attempt does not count, and it touches no trace that does."""
    run = disturbed("steady", "hold-step", seeds=SEEDS)
    expected = run.undisturbed()
    first = run.start(run.command(workers=1, deadlines=NO_DEADLINES), module="hurried")
    wait_for(run.reached)
    os.kill(first.pid, signal.SIGSTOP)
    assert run.run(run.resume(workers=1)) == 0, run.printed()
    folder = run.runs / "run"
    results, log = run.results(), (folder / "evallog.json").read_bytes()
    assert results["faults/hold-step#1"].attempt == 2
    counting = {result.outcome.trace for result in results.values()}
    before = {name: ((folder / name).read_bytes(), (folder / name).stat().st_mtime_ns) for name in counting}

    run.let_go()
    os.kill(first.pid, signal.SIGCONT)
    assert run.end(first) == 0, run.printed()
    assert run.results() == results
    assert {name: ((folder / name).read_bytes(), (folder / name).stat().st_mtime_ns) for name in counting} == before
    assert (folder / "evallog.json").read_bytes() == log
    assert run.behaviours() == expected
    with closing(run.queue()) as queue:
        assert queue.leases() == ()
    orphans = [path for path in (folder / "episodes").iterdir() if f"episodes/{path.name}" not in counting]
    # And perhaps one that its worker was given and began before it was taken back.
    assert "faults/hold-step#1" in {read_trace(path).key for path in orphans}
