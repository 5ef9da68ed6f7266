"""What the processes of a run say they do."""

from __future__ import annotations

import attrs
import orjson
import pytest

from hylo_eval.evaluation.activity import (
    OTHER_HOST_SECONDS,
    SCHEMA,
    SILENT_SECONDS,
    Activity,
    ActivityReport,
    Presence,
    WorkerActivity,
    activity_of,
    presence,
    read_activities,
    sweep,
)
from hylo_eval.evaluation.phases import PhaseBoard
from hylo_eval.queue import Lease, Machine, Owner
from hylo_eval.traces.layout import RunFolder


class KnownMachine(Machine):
    """A machine at a known time on which a process is dead or not."""

    def __init__(self, now: float, dead: bool = False) -> None:
        self.now, self.dead = now, dead

    def wall_seconds(self) -> float:
        return self.now

    def is_dead(self, owner: Owner) -> bool:
        return self.dead


@pytest.fixture
def run(tmp_path):
    folder = RunFolder.at(tmp_path, "r")
    folder.create()
    return folder


def activity(owner: Owner | None = None, **changes) -> Activity:
    owner = owner or Owner.here()
    return attrs.evolve(Activity(schema=SCHEMA, owner=attrs.asdict(owner), began_at=0.0, written_at=0.0), **changes)


def test_what_is_written_is_read_back_and_gone_when_the_process_is_through(run):
    """And whoever watches is told the same."""
    owner, told = Owner.here(), []
    worker = WorkerActivity(name="worker-0", pid=7, phase="reset", since=3.0, key="a#1", attempt=2, attempt_since=1.5)
    with ActivityReport(run, owner, told.append) as report:
        report.refresh(lambda: [worker])
        found, faults = read_activities(run)
        assert faults == []
        assert [item.workers for item in found] == [(worker,)]
        assert found[0].holder == owner
        assert found == told
    assert not run.activity.exists()


def test_nobody_is_asked_more_than_once_a_second(run):
    """The supervisor calls it in every round."""
    with ActivityReport(run, Owner.here()) as report:
        looks = []
        for _ in range(100):
            report.refresh(lambda: looks.append(1) or [])
        assert len(looks) == 1


def test_two_processes_may_work_on_one_run(run):
    """Each has a file of its own, and takes only its own away."""
    with ActivityReport(run, Owner.here()) as first:
        first.refresh(lambda: [WorkerActivity(name="one")])
        with ActivityReport(run, Owner.here()) as second:
            second.refresh(lambda: [WorkerActivity(name="two")])
            assert {item.workers[0].name for item in read_activities(run)[0]} == {"one", "two"}
        assert [item.workers[0].name for item in read_activities(run)[0]] == ["one"]


def test_a_folder_that_takes_no_file_stops_nothing(run):
    """Where a file is in the way, the run goes on and the watcher is told."""
    told = []
    run.activity.write_text("in the way")
    with ActivityReport(run, Owner.here(), told.append) as report:
        report.refresh(list)
    assert len(told) == 1


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "cannot be read"),
        (b"[]", "it is no JSON object"),
        (b'{"schema": "hylo.activity/v0.1"}', "owner"),
        (b"x" * (1 << 20) + b"x", "it is larger than"),
        (b'{"schema":"hylo.activity/v9","owner":{},"began_at":0,"written_at":0}', "schema"),
        (b'{"schema":"hylo.activity/v0.1","owner":{},"began_at":0,"written_at":0}', "lacks members"),
        (b'{"schema":"hylo.activity/v0.1","owner":{},"began_at":"x","written_at":0}', "began_at"),
    ],
)
def test_a_damaged_file_is_named_and_hides_no_other(run, content, fault):
    """Anybody can write in the folder."""
    with ActivityReport(run, Owner.here()) as report:
        report.refresh(list)
        (run.activity / "bad.json").write_bytes(content)
        found, faults = read_activities(run)
        assert len(found) == 1
        assert len(faults) == 1
        assert "activity/bad.json" in faults[0]
        assert fault in faults[0]


def test_a_file_under_another_process_name_is_refused(run):
    """Or one process could speak for another."""
    run.activity.mkdir()
    (run.activity / "other.json").write_bytes(orjson.dumps(activity().to_dict()))
    assert "another process" in read_activities(run)[1][0]


def test_presence():
    """Dead is gone; silence on this machine is silence; on another, where nobody can look, it becomes gone."""
    here, there = activity(), activity(attrs.evolve(Owner.here(), host="elsewhere", boot_id="other"))
    assert presence(here, KnownMachine(1.0)) is Presence.WORKING
    assert presence(here, KnownMachine(1.0, dead=True)) is Presence.GONE
    assert presence(here, KnownMachine(SILENT_SECONDS + 1)) is Presence.SILENT
    assert presence(here, KnownMachine(OTHER_HOST_SECONDS + 1)) is Presence.SILENT
    assert presence(there, KnownMachine(SILENT_SECONDS + 1)) is Presence.SILENT
    assert presence(there, KnownMachine(OTHER_HOST_SECONDS + 1)) is Presence.GONE


def test_what_killed_processes_left_is_swept_away(run):
    """And what a living one says is not."""
    dead = attrs.evolve(Owner.here(), boot_id="an earlier one")
    run.activity.mkdir()
    (run.activity / f"{dead.id}.json").write_bytes(orjson.dumps(activity(dead).to_dict()))
    with ActivityReport(run, Owner.here()) as report:
        report.refresh(list)
        sweep(run)
        assert [item.holder.id != dead.id for item in read_activities(run)[0]] == [True]


@attrs.define
class Process:
    """As much of a worker process as a look at it needs."""

    board: PhaseBoard
    started: float = 0.0
    pid: int = 11


@attrs.define
class Seat:
    """A worker's place."""

    process: Process | None
    lease: Lease | None = None
    leased_at: float = 0.0
    name: str = "worker-0"
    episodes: int = 4


def test_a_seat_tells_what_its_worker_wrote_into_shared_memory():
    """Before it has written anything it is being made; a place without a process has nothing to do."""
    board = PhaseBoard.create()
    try:
        lease = Lease(key="a#1", task="a", position=0, attempt=2, owner="o", expires=1.0)
        seat = Seat(Process(board), lease, leased_at=5.0)
        assert activity_of(seat).phase == "make"
        board.enter("step")
        found = activity_of(seat)
        assert (found.phase, found.key, found.attempt, found.attempt_since) == ("step", "a#1", 2, 5.0)
        assert (found.pid, found.episodes) == (11, 4)
        assert activity_of(Seat(None)).phase == "idle"
        assert activity_of(Seat(None)).pid == 0
    finally:
        board.close()


@pytest.mark.parametrize("since", [float("nan"), float("inf"), -1e300, 1e300])
def test_nonsense_in_the_shared_memory_is_a_time_that_can_be_shown(since):
    """An agent may write anything there."""
    board = PhaseBoard.create()
    try:
        board._memory[:24] = __import__("struct").pack("=qdq", 1, since, 99)
        found = activity_of(Seat(Process(board)))
        assert found.phase == "idle"
        assert abs(found.since) < 1e12
    finally:
        board.close()
