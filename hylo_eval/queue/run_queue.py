"""The work queue of a run: one SQLite file that any number of processes of one machine share."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from hylo_core.canonical import describe
from hylo_core.errors import clean_text
from hylo_eval.errors import QueueError
from hylo_eval.queue import claiming
from hylo_eval.queue.claiming import Claim
from hylo_eval.queue.creation import add_config, write_queue
from hylo_eval.queue.database import QueueFile
from hylo_eval.queue.file_system import refuse_network_file_system
from hylo_eval.queue.owner import Machine, Owner
from hylo_eval.queue.rows import ATTEMPTS, LEASES, RECENT, RESULTS, attempt_of, lease_of, result_of
from hylo_eval.queue.settings import AnotherConfiguration, CodeChange, Rules, Settings, differs_in_code, read_settings
from hylo_eval.queue.tables import OLDEST_READABLE, migrate, newest_version, version_of
from hylo_eval.queue.trace_check import RECENT_SECONDS, Demotion, fault_of, first_recent, left_a_trace
from hylo_eval.queue.values import Attempt, Ending, Item, Lease, Outcome, Result, State

if TYPE_CHECKING:
    import sqlite3

Row = TypeVar("Row")

LIVENESS_SECONDS = 1.0
"""How often a queue with pending items looks for lost leases; without pending items, every claim does."""

_HOLDER = """
SELECT number FROM leases JOIN owners ON number = owner JOIN items ON items.position = leases.position
WHERE leases.position = ? AND key = ? AND leases.attempt = ? AND id = ? AND expires > ?
"""
_RENEW = """
UPDATE leases SET expires = ?, expires_wall = ?
WHERE owner = (SELECT number FROM owners WHERE id = ?) AND expires > ?
"""
_DEMOTE_ATTEMPT = "UPDATE attempts SET ending = ?, error = ? WHERE id = ?"
_DEMOTE_ITEM = "UPDATE items SET state = 'pending', result = NULL WHERE position = ?"


class RunQueue:
    """Items, each pending, leased, done or abstained; whatever happens, each gets one outcome.

    Make one with :meth:`create` or :meth:`open`. An object may be used by several threads: each has its own
    connection to the file. A child that was forked while it was open is refused. Every change is one transaction.
    """

    def __init__(self, file: QueueFile, settings: Settings, machine: Machine) -> None:
        self._file = file
        self._settings = settings
        self._machine = machine
        self._owners: dict[str, int] = {}
        self._tasks: dict[str, int] = {}
        self._looked_at = -math.inf

    @classmethod
    def create(
        cls,
        path: Path | str,
        *,
        config: Mapping[str, Any],
        items: Iterable[Item],
        max_attempts: int,
        lease_seconds: float = 60.0,
        fsync: bool = False,
        machine: Machine | None = None,
    ) -> Self:
        """A new queue.

        Args:
            path: The file to make, on a disk of this machine.
            config: What the run is, as JSON: only the same one opens the queue again.
            items: The episodes; their positions are the declared order.
            max_attempts: Failures of the infrastructure after which an item is abstained.
            lease_seconds: How long a lease lasts unless it is renewed.
            fsync: Commits wait for the disk, so that a power cut undoes none.
            machine: What is known of time and processes; tests pass their own.

        Raises:
            QueueError: There is a file already, the folder cannot be written or is on a network file system, or a key
                or a position stands twice.
        """
        path = Path(path)
        machine = machine or Machine()
        rules = Rules(max_attempts=max_attempts, lease_seconds=lease_seconds)
        refuse_network_file_system(path.parent)
        write_queue(path, config=config, items=items, rules=rules, now=machine.wall_seconds())
        return cls.open(path, config=config, fsync=fsync, machine=machine)

    @classmethod
    def open(
        cls,
        path: Path | str,
        *,
        config: Mapping[str, Any] | None = None,
        allow_code_change: bool = False,
        fsync: bool = False,
        machine: Machine | None = None,
    ) -> Self:
        """An existing queue.

        Args:
            path: The file.
            config: What the run is; without it the queue is only read.
            allow_code_change: Accept another version or other sources of Hylo, and put the change on record.
            fsync: Commits wait for the disk.
            machine: What is known of time and processes; tests pass their own.

        Raises:
            QueueError: There is no such file, it is damaged or of a newer Hylo, or the configuration is another one;
                the text then has a line a difference.
        """
        path = Path(path)
        machine = machine or Machine()
        if not path.is_file():
            raise QueueError(f"there is no queue {path}", fix="check the run id and --run-root")
        if config is not None:
            refuse_network_file_system(path.parent)
        file = QueueFile(path, writable=config is not None, fsync=fsync)
        try:
            settings = _open_tables(file)
            if config is not None and differs_in_code(settings, config, allow_code_change=allow_code_change):
                with file.writing() as connection:
                    add_config(connection, config, machine.wall_seconds())
                    settings = read_settings(connection)
        except AnotherConfiguration as error:
            file.close()
            raise AnotherConfiguration(f"{path}: {error.message}", fix=error.fix, found=error.found) from error
        except QueueError as error:
            file.close()
            where = "" if error.message.startswith(str(path)) else f"{path}: "
            raise QueueError(where + error.message, fix=error.fix) from error
        return cls(file, settings, machine)

    @property
    def path(self) -> Path:
        """The file."""
        return self._file.path

    @property
    def config(self) -> Mapping[str, Any]:
        """The configuration in force."""
        return self._settings.config

    @property
    def config_digest(self) -> str:
        """The digest of the configuration in force."""
        return self._settings.config_digest

    @property
    def code_changes(self) -> tuple[CodeChange, ...]:
        """Changes of Hylo's code since creation that were allowed, in order."""
        return self._settings.code_changes

    @property
    def max_attempts(self) -> int:
        """Failures of the infrastructure after which an item is abstained."""
        return self._settings.rules.max_attempts

    @property
    def lease_seconds(self) -> float:
        """How long a lease lasts unless it is renewed."""
        return self._settings.rules.lease_seconds

    def claim(self, owner: Owner, *, prefer: str | None = None, in_order: bool = False) -> Lease | None:
        """Lease a pending item; None when nothing is pending (others may still hold leases).

        Items whose lease has expired, or whose owner's process is gone, come back first: within a second, and at once
        when nothing else is pending.

        Args:
            owner: Who claims, on this machine.
            prefer: The task to take the next item of; when it has none, or none is named, the task with most pending
                items gives one.
            in_order: Take the lowest position of all instead.

        Raises:
            QueueError: The owner is of another machine, or the queue cannot be written.
        """
        if owner.boot_id != self._machine.boot_id:
            raise QueueError(f"process {owner.pid} on {owner.host} cannot claim from {self._machine.host}")
        rules, machine = self._settings.rules, self._machine
        with self._file.writing() as connection:
            looked = self._look_after_leases(connection)
            task = self._task(connection, prefer)
            chosen = claiming.choose(connection, task, in_order=in_order)
            if chosen is None and not looked:
                self._recover(connection)
                chosen = claiming.choose(connection, task, in_order=in_order)
            if chosen is None:
                return None
            position, key, name, attempts = chosen
            number = self._owners.get(owner.id) or claiming.add_owner(connection, owner)
            expires = claiming.take(connection, Claim(position, attempts + 1, number), machine, rules, begun=True)
            lease = Lease(key=key, task=name, position=position, attempt=attempts + 1, owner=owner.id, expires=expires)
        self._owners[owner.id] = number
        return lease

    def claim_more(self, owner: Owner, task: str, count: int) -> list[Lease]:
        """Lease up to so many further items of a task, in one transaction: for whoever runs one of them already.

        They are to be begun later, each with :meth:`begin`: until then their loss is nobody's, and not counted.
        """
        rules, machine = self._settings.rules, self._machine
        leases: list[Lease] = []
        with self._file.writing() as connection:
            number = self._owners.get(owner.id) or claiming.add_owner(connection, owner)
            known = self._task(connection, task)
            found = [] if known is None else claiming.more_of_task(connection, known, count)
            for position, key, name, attempts in found:
                expires = claiming.take(connection, Claim(position, attempts + 1, number), machine, rules, begun=False)
                leases.append(
                    Lease(key=key, task=name, position=position, attempt=attempts + 1, owner=owner.id, expires=expires)
                )
        return leases

    def begin(self, lease: Lease) -> None:
        """Put on record that what was claimed ahead is begun, best along with the outcome of the one before it."""
        with self._file.writing() as connection:
            claiming.mark_begun(connection, lease.position, lease.attempt, lease.owner)

    @contextmanager
    def together(self) -> Generator[None]:
        """Have what this thread writes until the context is left be one transaction: all of it is kept, or nothing.

        For many short episodes at a time; nothing that takes long belongs inside, since others wait.
        """
        try:
            with self._file.together():
                yield
        except BaseException:
            self._owners.clear()  # their rows may be among what was undone
            raise

    def renew(self, owner: Owner) -> int:
        """Prolong the leases of an owner that have not expired; returns how many those are."""
        now = self._machine.seconds()
        until, wall = now + self.lease_seconds, self._machine.wall_seconds() + self.lease_seconds
        with self._file.writing() as connection:
            return connection.execute(_RENEW, (until, wall, owner.id, now)).rowcount

    def finish(self, lease: Lease, outcome: Outcome) -> bool:
        """Give an item its outcome; False, with nothing changed, when the lease is over."""
        with self._file.writing() as connection:
            claim = self._claim_of(connection, lease)
            if claim is None:
                return False
            now = self._machine.wall_seconds()
            number = claiming.record(connection, claim, Ending.DONE, outcome, now)
            claiming.end(connection, lease.position, State.DONE, number)
        return True

    def retry(self, lease: Lease, outcome: Outcome) -> State | None:
        """The infrastructure failed: the item goes to the back of its task, or is abstained.

        Returns:
            ``PENDING``; ``ABSTAINED`` for the last failure allowed, or one that lasts: the outcome is the item's then;
            None, with nothing changed, when the lease is over.
        """
        with self._file.writing() as connection:
            claim = self._claim_of(connection, lease)
            if claim is None:
                return None
            return claiming.fail(connection, claim, outcome, self._settings.rules, self._machine)

    def release(self, lease: Lease) -> bool:
        """The operator stopped it: pending again at its old place, and no failure; False when the lease is over."""
        now = self._machine.wall_seconds()
        outcome = Outcome.without_trace(claiming.RELEASED_STATUS, "released before it ended", started_at=now)
        with self._file.writing() as connection:
            claim = self._claim_of(connection, lease)
            if claim is None:
                return False
            claiming.record(connection, claim, Ending.RELEASED, outcome, now)
            claiming.give_back(connection, lease.position)
        return True

    def demote(self, key: str, reason: str) -> bool:
        """Make an ended item pending again, because what it came to is gone; False when it has not ended.

        The attempt stays on record with the reason, and no failure of the infrastructure is counted for it. An
        abstained item has one more try.
        """
        with self._file.writing() as connection:
            return _demote(connection, key, reason)

    def verify_recent(self, folder: Path, *, seconds: float = RECENT_SECONDS) -> tuple[Demotion, ...]:
        """After an unclean end: check the traces of the last ended items, and demote those whose trace is damaged.

        Args:
            folder: The folder of the run, which the traces' paths start from.
            seconds: How long before the last recorded end an end counts as recent.

        Returns:
            What was demoted, in declared order.
        """
        with self._file.reading() as connection:
            first = first_recent(connection, seconds)
        results = self._rows(result_of, RECENT, (first,))
        faults = [(result.key, fault_of(result.outcome, Path(folder))) for result in results if result.outcome]
        found = tuple(Demotion(key=key, reason=fault) for key, fault in faults if fault)
        for demotion in found:
            self.demote(demotion.key, demotion.reason)
        return found

    def counts(self) -> Mapping[State, int]:
        """Items by state; every state is there."""
        with self._file.reading() as connection:
            found = dict(connection.execute("SELECT state, COUNT(*) FROM items GROUP BY state").fetchall())
        return {state: found.get(state.value, 0) for state in State}

    def results(self) -> Iterator[Result]:
        """Every item, in declared order."""
        return self._rows(result_of, RESULTS)

    def attempts(self) -> Iterator[Attempt]:
        """Every ended attempt, by declared order and then by attempt."""
        return self._rows(attempt_of, ATTEMPTS)

    def leases(self) -> tuple[Lease, ...]:
        """The leases on record, in declared order; the expired ones nobody has taken over yet are among them."""
        return tuple(self._rows(lease_of, LEASES))

    def release_thread(self) -> None:
        """Close this thread's connection, before the thread ends."""
        self._file.release()

    def close(self) -> None:
        """Close the file; the object may be used again and opens it anew."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _look_after_leases(self, connection: sqlite3.Connection) -> bool:
        now = self._machine.seconds()
        if 0 <= now - self._looked_at < LIVENESS_SECONDS:
            return False
        self._looked_at = now
        self._recover(connection)
        return True

    def _recover(self, connection: sqlite3.Connection) -> None:
        began = partial(left_a_trace, self.path.parent)
        claiming.recover(connection, self._machine, self._settings.rules, began)

    def _task(self, connection: sqlite3.Connection, name: str | None) -> int | None:
        """The number of a task; None when there is no such task. Tasks never change."""
        if not self._tasks:
            self._tasks = dict(connection.execute("SELECT name, id FROM tasks"))
        return None if name is None else self._tasks.get(name)

    def _claim_of(self, connection: sqlite3.Connection, lease: Lease) -> Claim | None:
        """What a lease is of; None when it is over."""
        key = (lease.position, lease.key, lease.attempt, lease.owner, self._machine.seconds())
        row = connection.execute(_HOLDER, key).fetchone()
        return None if row is None else Claim(lease.position, lease.attempt, row[0])

    def _rows(self, build: Callable[[Sequence[Any]], Row], sql: str, values: Sequence[Any] = ()) -> Iterator[Row]:
        with self._file.reading() as connection:
            for row in connection.execute(sql, values):
                try:
                    value = build(row)
                except QueueError as error:
                    raise QueueError(f"{self.path}: item {describe(row[0])} {error.message}") from error
                yield value


def _open_tables(file: QueueFile) -> Settings:
    with file.explained():
        connection = file.connection()
        if version_of(connection) < newest_version():
            if not file.writable and version_of(connection) < OLDEST_READABLE:
                raise QueueError("its tables are of an older Hylo", fix="continue the run once, which renews them")
            if file.writable:
                with file.writing() as writer:
                    migrate(writer)
        return read_settings(connection)


def _demote(connection: sqlite3.Connection, key: str, reason: str) -> bool:
    row = connection.execute("SELECT position, state, result FROM items WHERE key = ?", (key,)).fetchone()
    if row is None or row[1] not in {State.DONE, State.ABSTAINED}:
        return False
    position, _, result = row
    connection.execute(_DEMOTE_ATTEMPT, (Ending.DEMOTED.value, clean_text(reason), result))
    connection.execute(_DEMOTE_ITEM, (position,))
    return True
