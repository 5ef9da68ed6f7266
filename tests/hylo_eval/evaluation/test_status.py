"""How far a run is, and what lies in its folder that nobody names."""

from __future__ import annotations

import attrs
import orjson
import pytest

from hylo_eval.errors import EvalError, QueueError
from hylo_eval.evaluation.activity import SCHEMA, Activity, ActivityReport
from hylo_eval.evaluation.orphans import Orphan, remove
from hylo_eval.evaluation.status import read_status, refuse_cleaning
from hylo_eval.queue import Item, Machine, Outcome, Owner, RunQueue, State
from hylo_eval.traces.layout import RunFolder, episode_id
from tests.runs import keys, write_run

CONFIG = {"benchmark": {"id": "unit", "split": "heldout"}, "agent": {"name": "a", "version": "1"}}


def killed_owner() -> Owner:
    """A process of this machine that is gone: its number is another's now."""
    return attrs.evolve(Owner.here(), started=1)


def open_run(tmp_path, count: int = 4) -> tuple[RunFolder, RunQueue]:
    """A run folder with a queue of so many items, and as much of a manifest as is looked at."""
    run = RunFolder.at(tmp_path, "r")
    run.create()
    run.manifest.write_text('{"schema": "hylo.manifest/v0.1"}')
    items = [Item(key=f"t#{n}", task="t", position=n) for n in range(count)]
    return run, RunQueue.create(run.queue, config=CONFIG, items=items, max_attempts=3)


def outcome(key: str, attempt: int, success: bool = True) -> Outcome:
    """A completed episode."""
    plain = Outcome.without_trace("completed", "", started_at=1.0, seconds=1.0)
    trace = f"episodes/{episode_id(key, attempt)}.jsonl"
    return attrs.evolve(plain, trace=trace, trace_sha256=f"sha256:{'0' * 64}", steps=3, success=success)


def write_traces(run: RunFolder, *names: str) -> None:
    """Files of one byte each."""
    for name in names:
        (run.episodes / name).write_text("x")


def paths(orphans) -> list[str]:
    """The names of the files."""
    return [orphan.path.removeprefix("episodes/") for orphan in orphans]


def test_a_whole_run(tmp_path):
    """Every number can be counted by hand, and nothing is left over."""
    run = write_run(tmp_path, "whole", keys(0, 1, 2), agent_errors=(5,), broken=keys(6)).run
    status = read_status(run)
    assert status.complete
    assert status.counts == {State.PENDING: 0, State.LEASED: 0, State.DONE: 9, State.ABSTAINED: 1}
    assert status.tally.outcomes == {"completed": 8, "agent_error": 1, "env_error": 1}
    assert (status.tally.succeeded, status.tally.scored) == (3, 8)
    assert status.tally.bounds(status.planned) == (0.3, 0.5)
    assert list(status.orphans) == []
    assert list(status.faults) == []
    assert status.seconds_left is None
    assert status.described("benchmark", "id") == "unit"
    assert status.described("agent", "no", "such") == "?"


def test_files_that_no_row_names_are_orphans(tmp_path):
    """Attempts that do not count are named by their own rows; what is no trace, or no file, is left alone."""
    run, queue = open_run(tmp_path)
    with queue:
        owner = Owner.here()
        lease = queue.claim(owner)
        queue.retry(lease, attrs.evolve(outcome(lease.key, 1), status="env_error"))
        again = queue.claim(owner, in_order=True)
        queue.finish(again, outcome(again.key, again.attempt))
        mine = [f"{episode_id('t#0', 1)}.jsonl", f"{episode_id('t#0', 2)}.jsonl"]
        write_traces(run, *mine, "stranger.jsonl", f"{episode_id('t#1', 1)}.jsonl.partial", "notes.txt")
        (run.episodes / "folder.jsonl").mkdir()
        (run.episodes / "link.jsonl").symlink_to(run.manifest)
        (run.path / ".manifest.json.123.tmp").write_text("x")
        (run.path / ".mine.123.tmp").write_text("x")
        assert paths(read_status(run).orphans) == [
            ".manifest.json.123.tmp",
            "stranger.jsonl",
            f"{episode_id('t#1', 1)}.jsonl.partial",
        ]


def test_the_trace_of_a_stopped_attempt_is_told_from_a_lost_one(tmp_path):
    """A lease that was given back leaves a whole trace; a partial one was no orderly end, nor is the next attempt's."""
    run, queue = open_run(tmp_path)
    with queue:
        lease = queue.claim(Owner.here())
        queue.release(lease)
        name = episode_id(lease.key, lease.attempt)
        write_traces(run, f"{name}.jsonl", f"{name}.jsonl.partial", "stranger.jsonl")
        found = {orphan.path: orphan.stopped for orphan in read_status(run).orphans}
    assert found == {
        f"episodes/{name}.jsonl": True,
        f"episodes/{name}.jsonl.partial": False,
        "episodes/stranger.jsonl": False,
    }


def test_the_trace_that_a_log_gave_a_lost_episode_is_no_orphan(tmp_path):
    """Its row names none, because every process that knew of it was gone; the log of the run does."""
    run = write_run(tmp_path, "r", keys(0)).run
    with RunQueue.open(run.queue) as queue:
        config = queue.config
    with RunQueue.open(run.queue, config=config) as queue:
        queue.demote("unit/task#0", "to be run again")
        lease = queue.claim(killed_owner())
        queue.retry(lease, Outcome.without_trace("worker_lost", "gone", started_at=1.0))
    write_traces(run, f"{episode_id('unit/task#0', 2)}.jsonl", f"{episode_id('unit/task#0', 3)}.jsonl")
    assert paths(read_status(run).orphans) == [f"{episode_id('unit/task#0', 3)}.jsonl"]


def test_what_a_living_process_writes_is_no_orphan(tmp_path):
    """Neither its partial trace, nor the whole one whose row is not written yet."""
    run, queue = open_run(tmp_path)
    owner = Owner.here()
    with queue, ActivityReport(run, owner) as report:
        report.refresh(list)
        lease = queue.claim(owner)
        name = f"{episode_id(lease.key, lease.attempt)}.jsonl"
        write_traces(run, name, name + ".partial", "stranger.jsonl")
        (run.path / ".manifest.json.123.tmp").write_text("x")
        status = read_status(run)
        assert paths(status.orphans) == ["stranger.jsonl"]
        assert len(status.working) == 1
        with pytest.raises(EvalError, match="works on the run: nothing is removed"):
            refuse_cleaning(status, Machine())


def test_what_a_killed_process_wrote_is_an_orphan_and_can_be_removed(tmp_path):
    """Its lease is shown as nobody's; the traces that rows name stay."""
    run, queue = open_run(tmp_path)
    owner = killed_owner()
    with queue:
        done = queue.claim(owner)
        queue.finish(done, outcome(done.key, done.attempt))
        lost = queue.claim(owner)
        run.activity.mkdir()
        activity = Activity(schema=SCHEMA, owner=attrs.asdict(owner), began_at=1.0, written_at=2.0)
        (run.activity / f"{owner.id}.json").write_bytes(orjson.dumps(activity.to_dict()))
        write_traces(run, f"{episode_id(done.key, 1)}.jsonl", f"{episode_id(lost.key, 1)}.jsonl.partial")
        status = read_status(run)
        assert [lease.key for lease in status.unclaimed] == [lost.key]
        assert list(status.working) == []
        assert paths(status.orphans) == [f"{episode_id(lost.key, 1)}.jsonl.partial"]
        refuse_cleaning(status, Machine())
        remove(run, status.orphans)
        assert [path.name for path in run.episodes.iterdir()] == [f"{episode_id(done.key, 1)}.jsonl"]


def test_a_lease_of_which_nothing_is_known_forbids_cleaning(tmp_path):
    """Its process may be on another machine; once the lease is over, it may not commit any more."""
    run, queue = open_run(tmp_path)
    with queue:
        lease = queue.claim(killed_owner())
        write_traces(run, f"{episode_id(lease.key, 1)}.jsonl.partial", "stranger.jsonl")
        status = read_status(run)
        assert paths(status.orphans) == ["stranger.jsonl"]
        with pytest.raises(EvalError, match="held under a lease by a process that left no word"):
            refuse_cleaning(status, Machine())

        class Later(Machine):
            def seconds(self) -> float:
                return super().seconds() + 100.0

        refuse_cleaning(status, Later())


def test_nothing_is_removed_through_a_link(tmp_path):
    """A folder from somebody else may point its episodes anywhere."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious.jsonl").write_text("x")
    run, queue = open_run(tmp_path)
    queue.close()
    run.episodes.rmdir()
    run.episodes.symlink_to(elsewhere)
    with pytest.raises(EvalError, match="is a link to another folder"):
        remove(run, [Orphan(path="episodes/precious.jsonl", size=1)])
    assert (elsewhere / "precious.jsonl").exists()


def test_folders_that_are_no_runs_are_refused_with_a_sentence(tmp_path):
    """Each says what is missing."""
    with pytest.raises(EvalError, match=r"is no run folder: it holds neither manifest.json nor queue.db"):
        read_status(RunFolder(tmp_path))
    run, queue = open_run(tmp_path)
    queue.close()
    data = bytearray(run.queue.read_bytes())
    run.queue.unlink()
    with pytest.raises(EvalError, match=r"has no queue.db: the run ended before its first episode"):
        read_status(run)
    run.evallog.write_text("{}")
    with pytest.raises(EvalError, match="it is whole, and of a Hylo before there were queues"):
        read_status(run)
    data[100:2000] = bytes(1900)
    run.queue.write_bytes(data)
    with pytest.raises(QueueError):
        read_status(run)
    run.queue.write_bytes(b"no database at all" * 100)
    with pytest.raises(QueueError, match="damaged or no work queue"):
        read_status(run)


def test_a_damaged_manifest_is_a_fault_and_hides_nothing(tmp_path):
    """What is done can be seen all the same."""
    run = write_run(tmp_path, "r", keys(0)).run
    run.manifest.write_text("{")
    status = read_status(run)
    assert status.ended == 10
    assert len(status.faults) == 1
    assert "manifest.json: is not JSON" in status.faults[0]
