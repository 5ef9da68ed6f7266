"""The connections to a queue file: one a thread and process, every failure a sentence."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import weakref
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from hylo_core.errors import describe_error
from hylo_eval.errors import QueueError

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import TracebackType

BUSY_SECONDS = 30.0
"""How long a statement waits for another process's transaction; those take less than a millisecond."""

_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.0003, 0.005

_LONG_LOG_BYTES = 16 << 20
"""Length of the write-ahead log from which on it is copied into the file, which waits for the disk, and emptied."""

_LOOK_AT_LOG_EVERY = 64
"""Transactions between two looks at the length of the write-ahead log."""

_CHECKPOINT_PAGES = 64_000
"""Pages of the write-ahead log (64 MB) from which on SQLite copies what it can at every commit, whoever writes: only
where the log could not be emptied for long, since somebody reads."""

_CHECKPOINT_WAIT_SECONDS = 0.1
"""How long to wait for a moment in which nobody writes, to empty the log."""

_UNWRITABLE = frozenset({sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN})

_alive: weakref.WeakSet[QueueFile] = weakref.WeakSet()
"""Files of this process that may have connections."""

_inherited: list[sqlite3.Connection] = []
"""Connections from before a fork: closing them in the child would take the parent's locks away."""

_carried: set[Path] = set()
"""Files that were open in the parent when this process was forked.

SQLite in the child takes the parent's locks for its own, and a new connection of the child does not ask for them again:
what it writes could be lost. So nothing in the child opens them.
"""


class QueueFile:
    """One SQLite file, opened anew by each thread. Where it is open while the process forks, the child cannot use it.

    Args:
        path: The file, which exists.
        writable: False refuses to write.
        fsync: Wait for the disk at every commit, so that a power cut loses nothing. Without it, a commit survives the
            end of any process; a power cut may undo the last ones, and never damages the file.
    """

    def __init__(self, path: Path, *, writable: bool, fsync: bool) -> None:
        self.path = path
        self.writable = writable
        self.fsync = fsync
        self._pid = os.getpid()
        self._own = threading.local()
        self._opened: dict[int, sqlite3.Connection] = {}
        self._commits = 0
        self._long_log_bytes = _LONG_LOG_BYTES
        _alive.add(self)

    def connection(self) -> sqlite3.Connection:
        """This thread's connection."""
        if self._pid != os.getpid():
            self._forget_inherited()
        connection: sqlite3.Connection | None = getattr(self._own, "connection", None)
        if connection is None:
            connection = self._connect()
            if self.writable:
                connection.execute("PRAGMA busy_timeout = 0")  # _begin waits instead
            self._own.connection = connection
            self._opened[threading.get_ident()] = connection
        return connection

    @contextmanager
    def reading(self) -> Generator[sqlite3.Connection]:
        """A connection to read from, apart from the one that writes.

        Rows may be taken one by one while this thread writes: they are those of the moment at which reading began.
        """
        with self.explained():
            if not self.writable:
                yield self.connection()
                return
            with closing(self._connect()) as connection:
                yield connection

    def writing(self) -> Transaction | nullcontext[sqlite3.Connection]:
        """One transaction: all of it is kept, or nothing. Inside :meth:`together` it is a part of that one.

        Raises:
            QueueError: The file was opened for reading only.
        """
        if not self.writable:
            raise QueueError(f"{self.path} was opened for reading only", fix="open it with its configuration")
        shared: sqlite3.Connection | None = getattr(self._own, "shared", None)
        return Transaction(self) if shared is None else nullcontext(shared)

    @contextmanager
    def together(self) -> Generator[None]:
        """Have this thread's transactions be one, until the context is left."""
        with self.writing() as connection:
            self._own.shared = connection
            try:
                yield
            finally:
                self._own.shared = None

    def committed(self, connection: sqlite3.Connection) -> None:
        """Empty the write-ahead log if it is long, while nobody writes.

        SQLite's own checkpoints let others write meanwhile. With several busy writers, the log then is never wholly
        copied: it grows on, and every commit copies some more and waits for the disk.
        """
        self._commits += 1
        if self._commits % _LOOK_AT_LOG_EVERY:
            return
        try:
            length = self.path.with_name(f"{self.path.name}-wal").stat().st_size
        except OSError:  # the next look tells more
            return
        if length < self._long_log_bytes:
            return
        # What is committed stays committed. A log that cannot be emptied now, since somebody reads, is emptied later:
        # the next try waits for it to double, as a try costs a wait.
        self._long_log_bytes = 2 * length
        with suppress(sqlite3.Error):
            connection.execute(f"PRAGMA busy_timeout = {1000 * _CHECKPOINT_WAIT_SECONDS:.0f}")
            try:
                (is_busy, *_) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            finally:
                connection.execute("PRAGMA busy_timeout = 0")
            if not is_busy:
                self._long_log_bytes = _LONG_LOG_BYTES

    @contextmanager
    def explained(self) -> Generator[None]:
        """SQLite's errors as a sentence and a way out."""
        try:
            yield
        except sqlite3.Error as error:
            raise explain(error, self.path) from error

    def release(self) -> None:
        """Close this thread's connection, before the thread ends."""
        connection = self._opened.pop(threading.get_ident(), None)
        self._own.connection = None
        if connection is not None:
            connection.close()

    def close(self) -> None:
        """Close the connections of all threads of this process."""
        if self._pid != os.getpid():
            self._forget_inherited()
        opened, self._opened = self._opened, {}
        self._own = threading.local()
        for connection in opened.values():
            connection.close()

    def carry(self) -> None:
        """Keep, in a forked child, the parent's connections as they are."""
        if self._opened:
            _inherited.extend(self._opened.values())
            _carried.add(self.path.absolute())

    def _forget_inherited(self) -> None:
        self.carry()
        self._opened = {}
        self._own = threading.local()
        self._pid = os.getpid()

    def _connect(self) -> sqlite3.Connection:
        if self.path.absolute() in _carried:
            raise QueueError(
                f"{self.path} was open when this process was forked, and cannot be used in the child",
                fix="close the queue before the fork, or start the process anew (multiprocessing's spawn)",
            )
        try:
            return self._prepared("mode=rw")
        except sqlite3.OperationalError as error:
            log = self.path.with_name(f"{self.path.name}-wal")
            if self.writable or _code(error) not in _UNWRITABLE or log.exists():
                raise
        # A run that ended, in a folder that may only be read: nobody writes to it.
        return self._prepared("mode=ro&immutable=1")

    def _prepared(self, options: str) -> sqlite3.Connection:
        # Connections are closed from other threads only when those are through with them.
        connection = sqlite3.connect(
            f"{self.path.absolute().as_uri()}?{options}",
            uri=True,
            timeout=BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            # SQLite opens the file here, with its first statement.
            connection.execute(f"PRAGMA synchronous = {'FULL' if self.fsync else 'NORMAL'}")
            connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
            # The file may come from somebody else: its triggers and views get no functions with effects.
            connection.execute("PRAGMA trusted_schema = OFF")
            if not self.writable:
                connection.execute("PRAGMA query_only = ON")
        except BaseException:
            connection.close()
            raise
        return connection


class Transaction:
    """A context in which everything written is kept together, or undone together when it is left by an exception.

    A class and no generator: it is entered twice an episode, and a generator takes a tenth of the time of both.
    """

    __slots__ = ("_connection", "_file")
    _connection: sqlite3.Connection

    def __init__(self, file: QueueFile) -> None:
        self._file = file

    def __enter__(self) -> sqlite3.Connection:
        try:
            self._connection = connection = self._file.connection()
            if connection.in_transaction:  # a signal's exception came before the last one was under this guard
                connection.execute("ROLLBACK")
            _begin(connection)
        except sqlite3.Error as error:
            raise explain(error, self._file.path) from error
        return connection

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        connection = self._connection
        try:
            if kind is None:
                connection.execute("COMMIT")
                self._file.committed(connection)
                return
        except sqlite3.Error as failure:
            _undo(connection)
            raise explain(failure, self._file.path) from failure
        _undo(connection)
        if isinstance(error, sqlite3.Error):
            raise explain(error, self._file.path) from error


def _begin(connection: sqlite3.Connection) -> None:
    """Wait for the lock of the file, looking often at first: SQLite's own wait soon looks ten times a second only."""
    pause, deadline = _FIRST_PAUSE_SECONDS, 0.0
    while True:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            now = time.monotonic()
            deadline = deadline or now + BUSY_SECONDS
            if _code(error) != sqlite3.SQLITE_BUSY or now >= deadline:
                raise
        else:
            return
        time.sleep(pause)
        pause = min(_LONGEST_PAUSE_SECONDS, 1.1 * pause)


def _undo(connection: sqlite3.Connection) -> None:
    # Some failures, a full disk among them, undo the transaction by themselves.
    if connection.in_transaction:
        with suppress(sqlite3.Error):  # what made it fail is told already
            connection.execute("ROLLBACK")


def _code(error: sqlite3.Error) -> int:
    # Extended codes carry the primary one in their lowest byte.
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF


def explain(error: sqlite3.Error, path: Path) -> QueueError:
    """What a SQLite error means for the person who runs the evaluation."""
    code = _code(error)
    if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return QueueError(
            f"{path} was locked by another program for more than {BUSY_SECONDS:.0f} s; nothing was changed",
            fix="close programs that hold it open for writing (lsof shows them) and continue the run",
        )
    if code == sqlite3.SQLITE_FULL:
        return QueueError(
            f"the disk of {path} is full; nothing was changed",
            fix="free some space and continue the run: what is finished is kept",
        )
    if code in _UNWRITABLE:
        return QueueError(
            f"{path} cannot be opened for writing ({describe_error(error)})",
            fix="make the file and its folder writable, or choose another folder with --run-root",
        )
    if code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
        return QueueError(
            f"{path} is damaged or no work queue ({describe_error(error)})",
            fix="run again under a new --run-id; the traces in episodes/ are not affected",
        )
    if code == sqlite3.SQLITE_IOERR:
        return QueueError(
            f"{path} cannot be read or written ({describe_error(error)})", fix="check the disk and continue the run"
        )
    return QueueError(f"{path} does not work as a queue ({describe_error(error)})")


def _carry_all() -> None:
    for file in list(_alive):
        file.carry()


os.register_at_fork(after_in_child=_carry_all)
