"""The display of a run: what it shows, and that it stops nothing."""

from __future__ import annotations

import attrs
import pytest

from hylo_eval.cli import progress, terminal
from hylo_eval.cli.progress import RunDisplay
from hylo_eval.errors import QueueError
from hylo_eval.evaluation.activity import SCHEMA, Activity, WorkerActivity
from hylo_eval.evaluation.manifest import write_manifest
from hylo_eval.queue import Attempt, Ending, Item, Outcome, Owner, RunQueue
from hylo_eval.traces.layout import RunFolder
from hylo_eval.traces.manifest import MANIFEST_SCHEMA

KEY = "\x1b[31mt#0"


@pytest.fixture
def run(tmp_path):
    folder = RunFolder.at(tmp_path, "r")
    folder.create()
    return folder


@pytest.fixture
def queue(run):
    items = [Item(key=f"\x1b[31mt#{n}", task="t", position=n) for n in range(3)]
    with RunQueue.create(run.queue, config={}, items=items, max_attempts=3) as queue:
        yield queue


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands until it is moved."""

    class Clock:
        now = 1000.0

        def __call__(self) -> float:
            return self.now

    clock = Clock()
    monkeypatch.setattr(progress.time, "monotonic", clock)
    return clock


def activity(owner: Owner) -> Activity:
    worker = WorkerActivity(name="worker-0", phase="act", key=KEY, attempt=1)
    return Activity(schema=SCHEMA, owner=attrs.asdict(owner), began_at=0.0, written_at=60.0, workers=(worker,))


def settle(queue: RunQueue, owner: Owner) -> Attempt:
    """End one episode, as an executor does."""
    lease = queue.claim(owner, in_order=True)
    outcome = attrs.evolve(Outcome.without_trace("completed", "", started_at=1.0, seconds=1.0), steps=1, success=True)
    queue.finish(lease, outcome)
    return Attempt(
        key=lease.key, task="t", position=lease.position, attempt=1, owner=owner.id, ending=Ending.DONE, outcome=outcome
    )


def test_a_log_gets_a_line_every_thirty_seconds(run, queue, clock, capfd):
    """Also when no episode ends in that time, and none at once."""
    owner, display = Owner.here(), RunDisplay(quiet=False)
    display.opened(run, queue)
    for seconds in (0.0, 29.0, 1.0, 1.0, 28.0, 1.0):
        clock.now += seconds
        display.active(activity(owner))
    assert capfd.readouterr().err.splitlines() == ["0/3 episodes", "0/3 episodes"]
    display.settled(settle(queue, owner))
    clock.now += 30.0
    display.active(activity(owner))
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith("1/3 episodes, 1 of 1 scored succeeded (of all, 33.3 % to 100.0 %); ")
    display.close()


def test_what_another_process_ends_is_counted_too(run, queue, clock, capfd):
    """Its attempts are told to nobody here; the queue has them."""
    owner, display = Owner.here(), RunDisplay(quiet=False)
    display.opened(run, queue)
    settle(queue, owner)
    clock.now += 30.0
    display.active(activity(owner))
    assert "1 of 1 scored succeeded" in capfd.readouterr().err


def test_a_continued_run_begins_where_it_was(run, queue, clock, capfd):
    """What is in the queue is counted when it is opened."""
    owner = Owner.here()
    settle(queue, owner)
    display = RunDisplay(quiet=False)
    display.opened(run, queue)
    display.settled(settle(queue, owner))
    clock.now += 30.0
    display.active(activity(owner))
    assert "2/3 episodes, 2 of 2 scored succeeded" in capfd.readouterr().err


def test_quiet_is_quiet(run, queue, clock, capfd):
    """With --json, nothing but the result is said."""
    owner, display = Owner.here(), RunDisplay(quiet=True)
    display.opened(run, queue)
    display.settled(settle(queue, owner))
    clock.now += 100.0
    display.active(activity(owner))
    display.close()
    assert capfd.readouterr().err == ""


def test_a_locked_queue_stops_no_run(run, queue, clock, monkeypatch, capfd):
    """Those that work will find out themselves."""

    def locked() -> None:
        raise QueueError("locked")

    display = RunDisplay(quiet=False)
    display.opened(run, queue)
    monkeypatch.setattr(queue, "counts", locked)
    clock.now += 30.0
    display.active(activity(Owner.here()))
    assert capfd.readouterr().err == ""


def test_a_terminal_shows_what_status_shows(run, queue, monkeypatch, capfd):
    """Workers with what they do now; control codes of a key are spelled out, and the display is taken away."""
    from rich.console import Console

    def forced(*, stderr: bool = False, redrawn: bool = False) -> Console:
        return Console(stderr=stderr, highlight=False, markup=False, force_terminal=True, width=100, height=40)

    monkeypatch.setattr(progress, "console", forced)
    write_manifest({"schema": MANIFEST_SCHEMA, "overrides": {"max_steps": 30}}, run.manifest)
    owner, display = Owner.here(), RunDisplay(quiet=False)
    display.opened(run, queue)
    display.settled(settle(queue, owner))
    display.active(activity(owner))
    display.notice("stopping after this step")
    shown = capfd.readouterr().err
    assert "\x1b[31m" not in shown
    for text in (
        "1 of 3 episodes has an outcome",
        "\\x1b[31mt#0",
        "act for 1 min 00 s",
        "success so far",
        "stopping",
        "settings: max_steps=30",
    ):
        assert text in shown
    display.close()
    up_and_erase = "\x1b[1A\x1b[2K"
    assert capfd.readouterr().err.endswith(up_and_erase * 3)


def test_a_notice_needs_no_terminal(capfd):
    """It is a line of the log."""
    display = RunDisplay(quiet=True)
    display.notice("stopping after this step")
    assert capfd.readouterr().err == "stopping after this step\n"
    assert terminal.console(redrawn=True).soft_wrap is False
