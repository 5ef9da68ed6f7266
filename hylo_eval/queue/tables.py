"""The tables of a queue file, and how older files become newer ones.

::

    meta       name -> value: what never changes after creation
    configs    the configuration; more than one row when a run was continued with other code
    tasks      a row a task, with the number of its pending items
    owners     a row a process that claimed
    items      a row an item: its state and the attempt that counts
    leases     a row a leased item
    attempts   a row an ended attempt, in the order in which they ended
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from hylo_eval.errors import QueueError

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

APPLICATION_ID = 0x48594C4F
"""``HYLO`` in SQLite's header: tells a queue from any other database."""

_COUNT_PENDING = """
CREATE TRIGGER items_pending_count AFTER UPDATE OF state ON items
WHEN (old.state = 'pending') <> (new.state = 'pending')
BEGIN
    UPDATE tasks SET pending = pending + (new.state = 'pending') - (old.state = 'pending') WHERE id = new.task;
END
"""
FEW_TASKS = 4096
"""Up to so many tasks, reading all counts to find the fullest costs less than keeping an index of them at every claim:
a worker looks for the fullest task only when its own has no items left."""

# sqlite-utils knows neither partial indexes nor triggers.
_INDEXES = (
    "CREATE INDEX items_pending ON items (position) WHERE state = 'pending'",
    "CREATE INDEX items_pending_by_task ON items (task, place) WHERE state = 'pending'",
    _COUNT_PENDING,
)


def create_tables(connection: sqlite3.Connection) -> None:
    """Make the tables of an empty file; :func:`create_indexes` follows once they are filled."""
    database = _sqlite_utils(connection)
    database["meta"].create({"name": str, "value": str}, pk="name", not_null={"value"})
    database["configs"].create(
        {"id": int, "stored_at": float, "config": str, "digest": str},
        pk="id",
        not_null={"stored_at", "config", "digest"},
    )
    database["tasks"].create({"id": int, "name": str, "pending": int}, pk="id", not_null={"name", "pending"})
    database["owners"].create(
        {"number": int, "id": str, "host": str, "pid": int, "boot_id": str, "started": int, "pid_namespace": str},
        pk="number",
        not_null={"id", "host", "pid", "boot_id", "started", "pid_namespace"},
    )
    database["items"].create(
        {
            "position": int,
            "key": str,
            "task": int,
            "place": int,
            "state": str,
            "attempt": int,
            "failures": int,
            "result": int,
        },
        pk="position",
        not_null={"key", "task", "place", "state", "attempt", "failures"},
        defaults={"state": "pending", "attempt": 0, "failures": 0},
    )
    _create_leases_and_attempts(database)


def _create_leases_and_attempts(database: Any) -> None:
    # Leases stand apart from the items: their table stays one page, whatever the number of items.
    database["leases"].create(
        {
            "position": int,
            "attempt": int,
            "owner": int,
            "claimed_at": float,
            "expires": float,
            "expires_wall": float,
            "begun": int,
        },
        pk="position",
        not_null={"attempt", "owner", "claimed_at", "expires", "expires_wall", "begun"},
        # Also of what is written by an older Hylo that has the file open: what is not known counts as begun.
        defaults={"begun": 1},
    )
    database["attempts"].create(
        {
            "id": int,
            "position": int,
            "attempt": int,
            "owner": int,
            "ending": str,
            "ended_at": float,
            "status": str,
            "trace": str,
            "trace_sha256": str,
            "behaviour_sha256": str,
            "trace_bytes": int,
            "steps": int,
            "success": int,
            "disagreements": int,
            "error": str,
            "worker": str,
            "started_at": float,
            "seconds": float,
        },
        pk="id",
    )


def create_indexes(connection: sqlite3.Connection) -> None:
    """Make the indexes and the trigger: faster after the rows than before them."""
    database = _sqlite_utils(connection)
    database["items"].create_index(["key"], unique=True, index_name="items_key")
    database["tasks"].create_index(["name"], unique=True, index_name="tasks_name")
    database["owners"].create_index(["id"], unique=True, index_name="owners_id")
    for statement in _INDEXES:
        connection.execute(statement)
    if database["tasks"].count > FEW_TASKS:
        connection.execute("CREATE INDEX tasks_fullest ON tasks (pending)")
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {newest_version()}")


def _tell_begun_leases(database: Any) -> None:
    """Version 2 knows which leases are of episodes that were begun; before it, every lost one was counted."""
    database["leases"].add_column("begun", int, not_null_default=1)


MIGRATIONS: tuple[Callable[[Any], None], ...] = (_tell_begun_leases,)
"""Each takes the sqlite-utils database of version 1, 2, ... to the next one."""

OLDEST_READABLE = 1
"""Readers take files from this version on as they are: what is newer in them is for whoever claims."""


def newest_version() -> int:
    """The version of the tables that this code writes."""
    return 1 + len(MIGRATIONS)


def version_of(connection: sqlite3.Connection) -> int:
    """The version of the tables in a file.

    Raises:
        QueueError: The file is another application's, or of a newer Hylo.
    """
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID or version < 1:
        raise QueueError("it is a database, but no work queue of Hylo")
    if version > newest_version():
        raise QueueError(
            f"its tables have version {version}; this Hylo knows up to {newest_version()}",
            fix="continue the run with the version of Hylo that began it",
        )
    return version


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the tables of an older file to the newest version, inside the caller's transaction."""
    version = version_of(connection)
    if version == newest_version():
        return
    database = _sqlite_utils(connection)
    for step in MIGRATIONS[version - 1 :]:
        step(database)
    connection.execute(f"PRAGMA user_version = {newest_version()}")


def _sqlite_utils(connection: sqlite3.Connection) -> Any:
    # Imported here: it costs more than opening a queue does.
    import sqlite_utils

    return cast("Any", sqlite_utils).Database(connection, recursive_triggers=False, execute_plugins=False)
