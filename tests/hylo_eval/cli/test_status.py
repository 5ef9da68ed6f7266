"""``hylo-eval status``: what it says, what it refuses, what it removes."""

from __future__ import annotations

import attrs
import pytest

from hylo_eval.cli import status as command
from hylo_eval.cli.status_view import duration, one_line
from hylo_eval.evaluation.activity import ActivityReport, WorkerActivity
from hylo_eval.evaluation.conclusion import Interrupted
from hylo_eval.evaluation.status import read_status
from hylo_eval.queue import Item, Outcome, Owner, RunQueue
from hylo_eval.traces.layout import RunFolder
from tests.runs import keys, unit, write_run

HOSTILE = "\x1b[2Jboom\nrun whole"


@pytest.fixture
def whole(tmp_path):
    return write_run(tmp_path, "whole", keys(0, 1, 2), agent_errors=(5,), broken=keys(6)).run


@pytest.fixture
def going(tmp_path):
    """A run of four episodes in the middle of its work; two have ended, one is given up."""
    run = RunFolder.at(tmp_path, "going")
    run.create()
    run.manifest.write_text('{"schema": "hylo.manifest/v0.1"}')
    config = {"benchmark": {"id": HOSTILE, "split": "heldout"}, "selection": {"shard": "1/2"}}
    items = [Item(key=f"{HOSTILE}#{n}", task="t", position=n) for n in range(5)]
    owner = Owner.here()
    with (
        RunQueue.create(run.queue, config=config, items=items, max_attempts=2) as queue,
        ActivityReport(run, owner) as report,
    ):
        for success in (True, False):
            ended = Outcome.without_trace("completed", "", started_at=1.0, seconds=30.0)
            queue.finish(queue.claim(owner, in_order=True), attrs.evolve(ended, steps=5, success=success))
        for _ in range(2):
            lost = Outcome.without_trace("worker_lost", HOSTILE, started_at=1.0, seconds=1.0)
            queue.retry(queue.claim(owner, in_order=True), lost)
        lease = queue.claim(owner, in_order=True)
        report.refresh(lambda: [WorkerActivity(name="worker-0", pid=3, phase="reset", key=lease.key, attempt=1)])
        yield run


def test_a_whole_run_by_id(hylo, whole):
    """Under the run root; the numbers are those of the log."""
    done = hylo("status", "whole", "--run-root", whole.path.parent)
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0] == "whole: unit (heldout), agent whole 1"
    assert lines[1] == (
        "10 of 10 episodes have an outcome (1 agent_error, 1 env_error): 9 done, 1 given up (the infrastructure failed)"
    )
    assert "success: 37.5 % [13.7 %, 69.4 %], 3 of the 8 scored succeeded" in lines
    assert "  30.0 % had all others failed, 50.0 % had they all succeeded" in lines
    assert "error: act: ValueError: no such instruction" in lines
    assert "nobody works" not in done.out


def test_a_run_that_goes_on(hylo, going):
    """Who works on it, what the workers do, and the rate counted both ways; nothing moves the cursor."""
    done = hylo("status", going.path)
    assert done.code == 0
    assert "\x1b" not in done.out
    assert "3 of 5 episodes have an outcome (1 worker_lost): 2 done, 1 given up" in done.out
    assert "1 running, 1 waiting" in done.out
    assert ", shard 1/2" in done.out
    assert "at work: process " in done.out
    assert "success so far: 50.0 %" in done.out
    # Both episodes took five steps: nothing shows that successes end first.
    assert "  of all 5: 20.0 % if all others fail, 80.0 % if all succeed\n" in done.out
    assert "worker-0  \\x1b[2Jboom\\nrun whole#3        1" in done.out
    assert "worker_lost, tried again" in done.out
    assert "worker_lost, given up" in done.out
    assert "error, 2 times: \\x1b[2Jboom\\nrun whole" in done.out


def test_a_killed_run_says_how_to_go_on(hylo, tmp_path):
    """The command can be copied."""
    run = RunFolder.at(tmp_path, "killed")
    run.create()
    run.manifest.write_text('{"schema": "hylo.manifest/v0.1"}')
    RunQueue.create(run.queue, config={}, items=[Item(key="t#0", task="t", position=0)], max_attempts=1).close()
    done = hylo("status", run.path)
    assert done.code == 0
    assert f"nobody works on it; to go on: hylo-eval run --resume killed --run-root {tmp_path}" in done.out


def test_json_has_everything_and_nothing_else(hylo, going):
    """For programs."""
    found = hylo("status", going.path, "--json").json
    assert found["states"] == {"pending": 1, "leased": 1, "done": 2, "abstained": 1}
    assert found["success"]["bounds"] == [0.2, 0.8]
    assert found["processes"][0]["presence"] == "working"
    assert found["processes"][0]["workers"][0]["phase"] == "reset"
    assert found["errors"] == {HOSTILE: 2}
    assert {(item["attempt"], item["status"], item["ending"]) for item in found["attempts"]} == {
        (1, "completed", "done"),
        (1, "worker_lost", "retried"),
        (2, "worker_lost", "abstained"),
    }


def test_cleaning_lists_what_it_removes(hylo, whole):
    """And nothing else goes."""
    before = sorted(path.name for path in whole.episodes.iterdir())
    (whole.episodes / "lost.jsonl.partial").write_text("x" * 9)
    shown = hylo("status", whole.path)
    assert "1 file of lost attempts" in shown.out
    assert "  episodes/lost.jsonl.partial" in shown.out
    done = hylo("status", whole.path, "--clean")
    assert done.code == 0
    assert "removing episodes/lost.jsonl.partial" in done.out
    assert sorted(path.name for path in whole.episodes.iterdir()) == before
    assert "there is nothing to remove" in hylo("status", whole.path, "--clean").out


def test_an_attempt_that_was_stopped_in_order_is_no_lost_one(hylo, tmp_path):
    """After Ctrl-C, status speaks of no loss; cleaning removes its trace, and a run that goes on has its outcome."""
    asked = []

    def stop():
        asked.append(None)
        return len(asked) > 3

    with pytest.raises(Interrupted):
        write_run(tmp_path, "stopped", bench=unit(2), stop=stop)
    before = {path.name for path in (tmp_path / "stopped" / "episodes").iterdir()}
    shown = hylo("status", tmp_path / "stopped")
    assert "1 trace of stopped attempts" in shown.out
    assert "lost" not in shown.out
    (orphan,) = hylo("status", tmp_path / "stopped", "--json").json["orphans"]
    assert orphan["stopped"]
    done = hylo("status", tmp_path / "stopped", "--clean")
    assert f"removing {orphan['path']}" in done.out
    left = {path.name for path in (tmp_path / "stopped" / "episodes").iterdir()}
    assert before - left == {orphan["path"].removeprefix("episodes/")}
    assert "stopped attempts" not in hylo("status", tmp_path / "stopped").out


def test_cleaning_is_refused_while_somebody_works(hylo, going):
    """With 2 and a sentence; the file stays."""
    orphan = going.episodes / "lost.jsonl.partial"
    orphan.write_text("x")
    done = hylo("status", going.path, "--clean")
    assert done.code == 2
    assert "works on the run: nothing is removed" in done.err
    assert orphan.exists()


@pytest.mark.parametrize("damage", ["foreign", "queue", "manifest", "nothing"])
def test_what_is_no_run_or_damaged_ends_with_2(hylo, tmp_path, whole, damage):
    """One sentence, no traceback."""
    target = whole.path
    if damage == "foreign":
        target = tmp_path
    elif damage == "queue":
        whole.queue.write_bytes(b"x" * 5000)
    elif damage == "manifest":
        whole.manifest.write_text("{")
    else:
        target = tmp_path / "nothing"
    done = hylo("status", target)
    assert done.code == 2
    assert "Traceback" not in done.err
    if damage == "manifest":
        assert "10 of 10 episodes" in done.out
        assert "fault: " in done.out
    else:
        assert done.err.startswith("error: ")


def test_watching_ends_with_the_run(hylo, whole):
    """Without a terminal a line each time, then all of it."""
    done = hylo("status", whole.path, "--watch")
    assert done.code == 0
    assert done.out.startswith("10/10 episodes, 1 of them given up, 3 of 8 scored succeeded")
    assert "10 of 10 episodes have an outcome" in done.out
    assert hylo("status", whole.path, "--watch", "--clean").code == 2


def test_watching_looks_until_nobody_works(hylo, going, monkeypatch):
    """As JSON, a line a look."""
    looks = []

    def leave(seconds: float) -> None:
        looks.append(seconds)
        for path in going.activity.iterdir():
            path.unlink()

    monkeypatch.setattr(command.time, "sleep", leave)
    done = hylo("status", going.path, "--watch", "--json")
    assert done.code == 0
    assert len(done.out.splitlines()) == 2
    assert len(looks) == 1
    assert looks[0] >= command.WATCH_SECONDS


def test_watching_ends_when_nobody_reads(hylo, going, monkeypatch):
    """Otherwise ``--watch | head -1`` would look on until the run is whole."""
    monkeypatch.setattr(command, "reader_left", lambda: True)
    done = hylo("status", going.path, "--watch", "--json")
    assert (done.code, len(done.out.splitlines())) == (0, 1)


def test_one_line_for_a_log(going):
    """The least there is to say, retries included."""
    line = one_line(read_status(going))
    assert line.startswith(
        "3/5 episodes, 1 of them given up, 1 of 2 scored succeeded (of all, 20.0 % to 80.0 %), 1 attempt failed; "
    )
    assert "\n" not in line


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-3.0, "0.0 s"),
        (0.44, "0.4 s"),
        (9.99, "10.0 s"),
        (59.6, "1 min 00 s"),
        (125.0, "2 min 05 s"),
        (3 * 3600 + 60, "3 h 01 min"),
        (49 * 3600, "2 d 1 h"),
    ],
)
def test_durations_as_people_read_them(seconds, text):
    """No more digits than anybody needs."""
    assert duration(seconds) == text
