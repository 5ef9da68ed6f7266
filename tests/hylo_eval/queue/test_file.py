"""The file: opened again, refused, damaged, locked, full, read-only, older and newer."""

from __future__ import annotations

import itertools
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hylo_eval.errors import QueueError
from hylo_eval.queue import Ending, Owner, RunQueue, State, database, file_system, run_queue, tables
from tests.hylo_eval.queue.fakes import CONFIG, FakeMachine, items, outcome

NOBODY = 65534


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A queue of four items."""
    RunQueue.create(tmp_path / "queue.db", config=CONFIG, items=items(2, 2), max_attempts=3).close()
    return tmp_path / "queue.db"


def change(path: Path, sql: str) -> None:
    """What somebody else may do to the file."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(sql)
    connection.close()


def other_config(**members: Any) -> dict[str, Any]:
    """Another configuration."""
    return {**CONFIG, **members}


def test_an_existing_file_is_never_written_over(path: Path):
    """A second creation says how to go on; the first queue stays whole."""
    with pytest.raises(QueueError, match="already") as caught:
        RunQueue.create(path, config=CONFIG, items=items(1, 1), max_attempts=1)
    assert "--run-id" in caught.value.fix
    with RunQueue.open(path) as queue:
        assert queue.counts()[State.PENDING] == 4


def test_creation_that_breaks_off_leaves_no_file(tmp_path: Path):
    """A queue is whole under its name or not there."""

    def broken() -> Iterator[Any]:
        yield from items(1, 2)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        RunQueue.create(tmp_path / "queue.db", config=CONFIG, items=broken(), max_attempts=1)
    assert list(tmp_path.iterdir()) == []


def test_the_same_configuration_continues_the_run(path: Path):
    """Rules and configuration come from the file; 1 and 1.0 are the same number."""
    with RunQueue.open(path, config=CONFIG) as queue:
        assert queue.config == CONFIG
        assert (queue.max_attempts, queue.lease_seconds, queue.code_changes) == (3, 60.0, ())
        assert queue.config_digest.startswith("sha256:")


def test_another_configuration_is_refused_with_a_line_a_difference(path: Path):
    """Path, stored and given value; what a stored name holds cannot move the cursor."""
    given = {"benchmark": {"id": "fetch\x1b[2J"}, "seeds": [1], "hylo": CONFIG["hylo"]}
    with pytest.raises(QueueError) as caught:
        RunQueue.open(path, config=given, allow_code_change=True)
    assert caught.value.message.splitlines() == [
        f"{path}: the run was begun with another configuration:",
        r"  benchmark.id: stored 'reach', given 'fetch\x1b[2J'",
        "  seeds: stored nothing, given [1] (list)",
    ]


def test_other_code_continues_a_run_only_when_that_is_allowed(path: Path):
    """It is put on record, and from then on the new code is the run's."""
    newer = other_config(hylo={"version": "2", "source_digest": "b"})
    with pytest.raises(QueueError, match="other code") as caught:
        RunQueue.open(path, config=newer)
    assert "--allow-code-change" in caught.value.fix
    with RunQueue.open(path, config=newer, allow_code_change=True) as queue:
        (recorded,) = queue.code_changes
        assert recorded.after == queue.config_digest != recorded.before
    with RunQueue.open(path, config=newer) as queue:
        assert len(queue.code_changes) == 1
    with pytest.raises(QueueError, match="other code"):
        RunQueue.open(path, config=CONFIG)


def test_without_a_configuration_a_queue_is_only_read(path: Path):
    """Status never changes a run."""
    with RunQueue.open(path) as queue:
        assert queue.counts()[State.PENDING] == 4
        for write in (lambda: queue.claim(Owner.here()), lambda: queue.demote("task-0#0", "")):
            with pytest.raises(QueueError, match="reading only"):
                write()


@pytest.mark.parametrize("config", [{"a": float("nan")}, {"a": {1, 2}}, {"a": "\ud800"}, {"a": 2**60}])
def test_a_configuration_that_is_no_json_is_refused(tmp_path: Path, config: dict[str, Any]):
    """With no file left behind."""
    with pytest.raises(QueueError, match="configuration cannot be stored"):
        RunQueue.create(tmp_path / "q.db", config=config, items=(), max_attempts=1)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_file_is_named(tmp_path: Path):
    """And not created."""
    with pytest.raises(QueueError, match="there is no queue"):
        RunQueue.open(tmp_path / "queue.db", config=CONFIG)
    assert not (tmp_path / "queue.db").exists()


def overwrite_header(path: Path) -> None:
    path.write_bytes(b"no database at all" * 1000)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:2048])


def scramble(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[1024:] = b"\xa5" * (len(data) - 1024)
    path.write_bytes(bytes(data))


@pytest.mark.parametrize("damage", [overwrite_header, empty, cut, scramble])
def test_a_damaged_file_is_refused(path: Path, damage: Callable[[Path], None]):
    """With a sentence that names the file, whatever is broken in it."""
    damage(path)
    with pytest.raises(QueueError) as caught:
        RunQueue.open(path, config=CONFIG)
    assert str(path) in caught.value.message


def test_another_applications_database_is_refused(tmp_path: Path):
    """Nothing is written into it."""
    path = tmp_path / "other.db"
    change(path, "CREATE TABLE cities (name TEXT)")
    before = path.read_bytes()
    with pytest.raises(QueueError, match="no work queue"):
        RunQueue.open(path, config=CONFIG)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        (
            "UPDATE items SET state = 'lost' WHERE position = 2",
            r"item 2 has the state 'lost'; there are pending, leased",
        ),
        ("UPDATE items SET state = 'done' WHERE position = 1", "item 1 is ended without an outcome"),
        ("UPDATE items SET attempt = -1", "item 0 attempt must be a whole number of at least 0, not -1"),
        ("UPDATE items SET key = x'00ff' WHERE position = 0", "item 0 key must be text"),
        ("UPDATE tasks SET name = '' WHERE id = 0", "task must be a text that is not empty"),
        ("UPDATE attempts SET trace = '../../etc/passwd'", "trace must be a path below the folder of the run"),
        ("UPDATE attempts SET trace = '/etc/passwd'", "trace must be a path below the folder of the run"),
        ("UPDATE attempts SET success = 7", "success must be true, false or None, not 7"),
        ("UPDATE attempts SET steps = 'many'", "steps must be a whole number"),
        ("UPDATE attempts SET trace_sha256 = 'abc'", "trace_sha256 must be empty or 'sha256"),
        ("UPDATE attempts SET seconds = 9e999", "seconds must be a finite number, not inf"),
        ("UPDATE attempts SET error = x'00'", "error must be text"),
        ("UPDATE attempts SET worker = hex(zeroblob(9999))", "worker must be a text of at most"),
    ],
)
def test_values_that_break_the_rules_are_named_when_read(path: Path, sql: str, reason: str):
    """A file from somebody else is read as what it says or not at all."""
    with RunQueue.open(path, config=CONFIG) as queue:
        lease = queue.claim(Owner.here(), in_order=True)
        assert lease is not None
        queue.finish(lease, outcome())
    change(path, sql)
    with RunQueue.open(path) as queue, pytest.raises(QueueError, match=reason):
        list(queue.results())


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM configs",
        "UPDATE configs SET config = '{}'",
        "UPDATE configs SET config = '[]', digest = 'sha256:4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945'",
        "UPDATE meta SET value = 'x' WHERE name = 'max_attempts'",
        "DELETE FROM meta WHERE name = 'lease_seconds'",
        "UPDATE meta SET value = '-1' WHERE name = 'lease_seconds'",
    ],
)
def test_damaged_settings_are_refused(path: Path, sql: str):
    """A queue without its rules would give items up too early or never."""
    change(path, sql)
    with pytest.raises(QueueError) as caught:
        RunQueue.open(path, config=CONFIG)
    assert str(path) in caught.value.message


def test_a_locked_file_is_told_and_intact(path: Path, monkeypatch: pytest.MonkeyPatch):
    """After waiting, with nothing changed; when the lock is gone it works on."""
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.01)
    blocker = sqlite3.connect(path, isolation_level=None)
    with RunQueue.open(path, config=CONFIG) as queue:
        blocker.execute("BEGIN IMMEDIATE")
        with pytest.raises(QueueError, match="locked") as caught:
            queue.claim(Owner.here())
        assert caught.value.fix
        blocker.execute("ROLLBACK")
        blocker.close()
        assert queue.counts()[State.PENDING] == 4
        assert queue.claim(Owner.here()) is not None


def test_a_full_disk_is_told_and_nothing_is_lost(path: Path):
    """The transaction that did not fit is undone; with space again the same lease finishes."""
    with RunQueue.open(path, config=CONFIG) as queue:
        lease = queue.claim(Owner.here())
        assert lease is not None
        connection = queue._file.connection()
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}")
        big = outcome("env_error", error="x" * 16000)
        with pytest.raises(QueueError, match=r"disk of .* is full") as caught:
            queue.finish(lease, big)
        assert caught.value.fix
        assert queue.counts()[State.LEASED] == 1
        connection.execute(f"PRAGMA max_page_count = {pages + 1000}")
        assert queue.finish(lease, big)


@pytest.fixture
def unprivileged() -> Iterator[Path]:
    """A folder of the superuser's, entered as somebody who may only read it."""
    if os.geteuid() != 0:
        pytest.skip("only the superuser can become somebody else")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)
        os.seteuid(0)


def test_a_folder_that_cannot_be_written_is_refused(unprivileged: Path):
    """At creation, with what to do."""
    os.seteuid(NOBODY)
    with pytest.raises(QueueError, match="cannot be opened for writing") as caught:
        RunQueue.create(unprivileged / "queue.db", config=CONFIG, items=items(1, 1), max_attempts=1)
    assert "--run-root" in caught.value.fix


def test_a_finished_run_of_somebody_else_can_be_read_but_not_continued(unprivileged: Path):
    """Status works where nothing may be written."""
    path = unprivileged / "queue.db"
    RunQueue.create(path, config=CONFIG, items=items(1, 3), max_attempts=1).close()
    os.seteuid(NOBODY)
    with RunQueue.open(path) as queue:
        assert queue.counts()[State.PENDING] == 3
    with pytest.raises(QueueError, match="cannot be opened for writing"):
        RunQueue.open(path, config=CONFIG)


def test_a_live_run_of_somebody_else_can_be_read(unprivileged: Path):
    """What the workers have just committed is seen, although it is not in the file itself yet."""
    path = unprivileged / "queue.db"
    with RunQueue.create(path, config=CONFIG, items=items(1, 3), max_attempts=1) as queue:
        assert queue.claim(Owner.here()) is not None
        os.seteuid(NOBODY)
        try:
            with RunQueue.open(path) as reader:
                assert reader.counts()[State.LEASED] == 1
        finally:
            os.seteuid(0)


def test_a_network_file_system_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """For creation and for continuing; reading is allowed."""
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"30 1 0:25 / {tmp_path} rw,relatime shared:1 - nfs4 server:/export rw\n")
    monkeypatch.setattr(file_system, "_MOUNTS", mounts)
    for use in (
        lambda: RunQueue.create(tmp_path / "new.db", config=CONFIG, items=(), max_attempts=1),
        lambda: RunQueue.open(path, config=CONFIG),
    ):
        with pytest.raises(QueueError, match=r"network file system \(nfs4\)"):
            use()
    RunQueue.open(path).close()


def test_a_newer_queue_is_refused_and_an_older_one_renewed(path: Path, monkeypatch: pytest.MonkeyPatch):
    """Migrations run once, when the run is continued; a reader of what it cannot read without says that it must be."""
    known = tables.MIGRATIONS
    newest = len(known) + 2

    def add_note(db: Any) -> None:
        db["items"].add_column("note", str)

    monkeypatch.setattr(tables, "MIGRATIONS", (*known, add_note))
    monkeypatch.setattr(run_queue, "OLDEST_READABLE", newest)
    with pytest.raises(QueueError, match="older Hylo"):
        RunQueue.open(path)
    for _ in range(2):
        with RunQueue.open(path, config=CONFIG) as queue:
            assert queue.counts()[State.PENDING] == 4
    monkeypatch.setattr(tables, "MIGRATIONS", known)
    with pytest.raises(QueueError, match=f"version {newest}; this Hylo knows up to {newest - 1}") as caught:
        RunQueue.open(path, config=CONFIG)
    assert caught.value.fix


def test_a_queue_from_before_leases_told_whether_they_were_begun(path: Path):
    """It is read as it is; continued, its leases count as begun, for nothing says that they were not."""
    machine = FakeMachine()
    with RunQueue.open(path, config=CONFIG, machine=machine) as queue:
        owner = machine.owner("a")
        assert queue.claim(owner) is not None
        (ahead, *_) = queue.claim_more(owner, "task-0", 1)
    with closing(sqlite3.connect(path)) as connection:  # what version 1 was like
        connection.execute("ALTER TABLE leases DROP COLUMN begun")
        connection.execute("PRAGMA user_version = 1")
    with RunQueue.open(path) as reader:
        assert len(reader.leases()) == 2
        assert reader.counts()[State.LEASED] == 2
    machine.ended.add("a")
    with RunQueue.open(path, config=CONFIG, machine=machine) as queue:
        assert queue.claim(machine.owner("b")) is not None
        endings = {attempt.key: attempt.ending for attempt in queue.attempts()}
    assert len(endings) == 2
    assert endings[ahead.key] is Ending.LOST
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (tables.newest_version(),)


@pytest.mark.parametrize(("fsync", "level"), [(False, 1), (True, 2)])
def test_commits_wait_for_the_disk_when_asked(path: Path, fsync: bool, level: int):
    """SQLite's synchronous NORMAL and FULL, over a write-ahead log."""
    with RunQueue.open(path, config=CONFIG, fsync=fsync) as queue:
        connection = queue._file.connection()
        assert connection.execute("PRAGMA synchronous").fetchone() == (level,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def finish(queue: RunQueue, count: int) -> None:
    """Claim and finish so many items."""
    for _ in range(count):
        lease = queue.claim(Owner.here())
        assert lease is not None
        assert queue.finish(lease, outcome())


def test_the_log_of_a_queue_is_emptied_when_it_is_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Two writers in turn never let it grow far beyond the limit; nothing of what was committed is lost."""
    monkeypatch.setattr(database, "_LONG_LOG_BYTES", 100_000)
    path, lengths = tmp_path / "queue.db", []
    RunQueue.create(path, config=CONFIG, items=items(4, 100), max_attempts=1).close()
    with RunQueue.open(path, config=CONFIG) as queue, RunQueue.open(path, config=CONFIG) as other:
        for number in range(400):
            finish(queue if number % 2 else other, 1)
            lengths.append(path.with_name("queue.db-wal").stat().st_size)
        assert 0 in lengths[100:]
        assert max(lengths) < 100_000 + 2 * 64 * 20_000
        assert queue.counts()[State.DONE] == 400
    assert sum(before > after == 0 for before, after in itertools.pairwise(lengths)) >= 2


def test_somebody_who_reads_keeps_the_log_as_long_as_he_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Writers go on meanwhile, without an error and without a wait at every commit; then it is emptied."""
    monkeypatch.setattr(database, "_LONG_LOG_BYTES", 100_000)
    path = tmp_path / "queue.db"
    RunQueue.create(path, config=CONFIG, items=items(4, 100), max_attempts=1).close()
    with RunQueue.open(path, config=CONFIG) as queue:
        with queue._file.reading() as connection:
            rows = connection.execute("SELECT state FROM items")
            assert rows.fetchone() == ("pending",)
            finish(queue, 200)
            assert path.with_name("queue.db-wal").stat().st_size > 500_000
            assert {state for (state,) in rows} == {"pending"}
        finish(queue, 70)
        assert path.with_name("queue.db-wal").stat().st_size < 500_000
        assert queue.counts()[State.DONE] == 270


def test_a_signal_in_a_transaction_undoes_it(path: Path):
    """Ctrl-C at any moment leaves the item as it was."""
    with RunQueue.open(path, config=CONFIG) as queue:

        def interrupted() -> None:
            with queue._file.writing() as connection:
                connection.execute("DELETE FROM items")
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            interrupted()
        assert queue.counts()[State.PENDING] == 4
        # One that comes before the guard is up leaves a transaction open, which the next one ends.
        queue._file.connection().execute("BEGIN IMMEDIATE")
        assert queue.claim(Owner.here()) is not None


def test_claims_use_their_indexes(tmp_path: Path):
    """No statement of a claim reads items one after the other, whatever their number."""
    machine = FakeMachine()
    with RunQueue.create(
        tmp_path / "q.db", config=CONFIG, items=items(20, 20), max_attempts=3, machine=machine
    ) as queue:
        connection = queue._file.connection()
        statements: list[str] = []
        connection.set_trace_callback(statements.append)
        owner = machine.owner("a")
        for in_order in (True, False):
            lease = queue.claim(owner, prefer="task-3", in_order=in_order)
            assert lease is not None
            queue.renew(owner)
            queue.retry(lease, outcome())
            lease = queue.claim(owner)
            assert lease is not None
            queue.finish(lease, outcome())
        connection.set_trace_callback(None)
        plans = [
            row[3]
            for statement in statements
            if statement.lstrip().upper().startswith(("SELECT", "UPDATE", "DELETE", "INSERT"))
            for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}")
        ]
        scans = {plan for plan in plans if plan.startswith("SCAN") and "USING" not in plan}
        assert len(plans) > 20
        assert {scan.split()[1] for scan in scans} <= {"leases", "tasks", "CONSTANT"}


def test_opening_imports_nothing_heavy(path: Path):
    """A worker starts in the time of its simulator, not of tools that only creation needs."""
    code = (
        "import sys\n"
        "from hylo_eval.queue import Owner, RunQueue\n"
        f"assert RunQueue.open({str(path)!r}, config={CONFIG!r}).claim(Owner.here())\n"
        "print(*sorted({'sqlite_utils', 'numpy', 'scipy', 'gymnasium', 'click'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == ""
