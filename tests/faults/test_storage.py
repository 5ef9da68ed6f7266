"""Disks that are full or cannot be written, locked and damaged queues, and two commands with one run id."""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from hylo_eval.queue import Ending, State
from tests.faults.disturbed import NO_DEADLINES, Disturbed, wait_for

SEEDS = (0, 1, 2)


def check_whole(run: Disturbed, expected: dict[str, str]) -> None:
    """Every episode has been run once, and is what it is where nothing fails."""
    assert run.behaviours() == expected
    ended = Counter(attempt.key for attempt in run.attempts() if attempt.ending is Ending.DONE)
    assert ended == dict.fromkeys(expected, 1)
    assert run.survivors() == []


@pytest.mark.slow
def test_a_full_disk_ends_the_run_with_a_sentence_and_loses_nothing(disturbed: Callable[..., Disturbed]) -> None:
    """What is finished is kept; with room again the run is continued."""
    # Long enough for each to be committed by itself: the log of the queue must outgrow what there is room for.
    run = disturbed("steady", "walk", seeds=range(40), params={"seconds": 0.01})
    expected = run.undisturbed()
    full = ["bash", "-c", 'ulimit -f 400; exec "$@"', "bash"]
    assert run.run(run.command(), before=full) == 2, run.printed()
    assert "Traceback" not in run.printed()
    assert "queue.db" in run.printed()
    done = {key: result for key, result in run.results().items() if result.state is State.DONE}
    assert 0 < len(done) < len(expected)
    assert run.run(run.resume()) == 0, run.printed()
    after = run.results()
    assert {key: after[key] for key in done} == done
    check_whole(run, expected)


def test_in_process_a_limit_on_files_ends_the_run_and_loses_nothing(disturbed: Callable[..., Disturbed]) -> None:
    """The limit cannot be lifted and holds for the queue too: what to do is said, and another process goes on."""
    run = disturbed("steady", "limit-act", seeds=SEEDS)
    expected = run.undisturbed()
    # What it prints goes to a file by way of a process that has no such limit.
    piped = ["bash", "-c", '"$@" 2>&1 | cat; exit ${PIPESTATUS[0]}', "bash"]
    assert run.run(run.command(workers=0, deadlines={}), before=piped) == 2, run.printed()
    assert "found a limit on the size of files that it was not started with" in run.printed()
    assert "--workers 1" in run.printed()
    assert "Traceback" not in run.printed()
    done = {key: result for key, result in run.results().items() if result.state is State.DONE}
    assert 0 < len(done) < len(expected)
    assert run.run(run.resume(workers=0)) == 0, run.printed()
    after = run.results()
    assert {key: after[key] for key in done} == done
    check_whole(run, expected)


def test_a_run_root_that_cannot_be_written_is_found_before_the_first_episode(
    disturbed: Callable[..., Disturbed], tmp_path: Path
) -> None:
    """Exit code 2 and the folder's name; no episode was begun."""
    run = disturbed("steady")
    root = tmp_path / "locked" / "runs"
    root.parent.mkdir(mode=0o555)
    if os.geteuid() == 0:
        root = Path("/sys/hylo-runs")  # not even root makes a folder there
    arguments = [str(root) if part == str(run.runs) else part for part in run.command()]
    assert run.run(arguments) == 2
    assert f"cannot write the run root {root}" in run.printed()
    assert not root.exists()
    assert run.survivors() == []


@pytest.mark.slow
def test_a_locked_queue_ends_the_run_with_a_sentence_and_stays_whole(disturbed: Callable[..., Disturbed]) -> None:
    """Another program that keeps the file locked is named as what to look for; then the run goes on."""
    run = disturbed("steady", "hold-step", seeds=SEEDS)
    expected = run.undisturbed()
    process = run.start(run.command(deadlines=NO_DEADLINES), module="hurried")
    wait_for(run.reached)
    with closing(sqlite3.connect(run.runs / "run" / "queue.db", isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        run.let_go()
        assert run.end(process) == 2, run.printed()
        connection.execute("ROLLBACK")
    assert "was locked by another program" in run.printed()
    assert run.run(run.resume()) == 0, run.printed()
    check_whole(run, expected)


def test_a_damaged_queue_is_refused_and_the_traces_stay(disturbed: Callable[..., Disturbed]) -> None:
    """Exit code 2 and what to do; nothing of the run is touched."""
    run = disturbed("steady", seeds=SEEDS)
    run.undisturbed()
    run.runs.mkdir()
    folder = next((run.folder / "undisturbed").iterdir()).rename(run.runs / "run")
    queue = folder / "queue.db"
    queue.write_bytes(b"\x00" * 100 + queue.read_bytes()[100:])
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.parent.name != "logs"}
    assert run.run(run.command()) == 2
    assert "is damaged or no work queue" in run.printed()
    assert "Traceback" not in run.printed()
    after = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.parent.name != "logs"}
    assert after == before


@pytest.mark.parametrize(
    "damage", [lambda path: path.unlink(), lambda path: path.write_bytes(path.read_bytes()[:-10])], ids=["gone", "cut"]
)
@pytest.mark.slow
def test_a_trace_that_is_not_what_its_row_says_is_run_again(
    disturbed: Callable[..., Disturbed], damage: Callable[[Path], object]
) -> None:
    """As after a power cut: the row is there, its file is not."""
    run = disturbed("steady", seeds=SEEDS)
    expected = run.undisturbed()
    assert run.run(run.command(workers=1)) == 0, run.printed()
    result = run.results()["faults/steady#1"]
    damage(run.runs / "run" / result.outcome.trace)
    assert run.run(run.resume()) == 0, run.printed()
    assert run.behaviours() == expected
    assert {key: result.attempt for key, result in run.results().items()} == {
        "faults/steady#0": 1,
        "faults/steady#1": 2,
        "faults/steady#2": 1,
    }


def test_two_commands_with_one_run_id_share_its_episodes(disturbed: Callable[..., Disturbed]) -> None:
    """Started at once: one makes the run, the other joins it, also if it comes while the run is being made."""
    run = disturbed("steady", "walk", seeds=SEEDS)
    expected = run.undisturbed()
    both = [run.start(run.command(workers=1)) for _ in range(2)]
    assert [run.end(process) for process in both] == [0, 0], run.printed()
    check_whole(run, expected)


@pytest.mark.slow
def test_a_second_command_joins_a_run_that_goes_on(disturbed: Callable[..., Disturbed]) -> None:
    """It takes what is left, waits for what the first one works on, and both end with the whole result."""
    run = disturbed("steady", "hold-step", seeds=SEEDS)
    expected = run.undisturbed()
    first = run.start(run.command(workers=1, deadlines=NO_DEADLINES))
    wait_for(run.reached)
    second = run.start(run.command(workers=1))
    wait_for(lambda: run.done() == len(expected) - 1)
    assert second.poll() is None
    run.let_go()
    assert (run.end(first), run.end(second)) == (0, 0), run.printed()
    check_whole(run, expected)
    # What the first one was given and had not begun may have gone back, for the second one.
    assert {attempt.ending for attempt in run.attempts()} <= {Ending.DONE, Ending.RELEASED}
