"""Making a queue file: whole under its name, or not at all."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

from hylo_core.canonical import describe
from hylo_eval.errors import QueueError
from hylo_eval.queue.database import explain
from hylo_eval.queue.settings import encode_config
from hylo_eval.queue.tables import create_indexes, create_tables
from hylo_eval.queue.values import Item
from hylo_eval.traces.files import name_once, neighbour_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from hylo_eval.queue.settings import Rules

_PAGE_BYTES = 1024
"""A change of state touches four or five pages, which are written whole: smaller ones than SQLite's 4096 are faster."""

_ADD_CONFIG = "INSERT INTO configs (stored_at, config, digest) VALUES (?, ?, ?)"


def write_queue(path: Path, *, config: Mapping[str, Any], items: Iterable[Item], rules: Rules, now: float) -> None:
    """Write a queue file beside its final name, then name it; an existing file stays as it is.

    Raises:
        QueueError: There is a file already, an item stands twice, or the folder cannot be written.
    """
    neighbour = neighbour_of(path)
    if path.exists():
        raise _exists(path)
    try:
        neighbour.unlink(missing_ok=True)
        with closing(sqlite3.connect(neighbour, isolation_level=None)) as connection:
            _fill(connection, config, items, rules, now)
        _to_disk(neighbour)
        name_once(neighbour, path)
    except FileExistsError as error:
        raise _exists(path) from error
    except sqlite3.Error as error:
        raise explain(error, path) from error
    except OSError as error:
        raise QueueError(
            f"cannot write {path}: {error.strerror}", fix="choose a folder you may write with --run-root"
        ) from error
    finally:
        neighbour.unlink(missing_ok=True)


def add_config(connection: sqlite3.Connection, config: Mapping[str, Any], now: float) -> None:
    """Store a configuration as the current one; the earlier ones stay on record."""
    connection.execute(_ADD_CONFIG, (now, *encode_config(config)))


def _exists(path: Path) -> QueueError:
    return QueueError(f"there is a queue {path} already", fix="continue it, or choose another --run-id")


def _fill(
    connection: sqlite3.Connection, config: Mapping[str, Any], items: Iterable[Item], rules: Rules, now: float
) -> None:
    # Nobody else sees the file yet: it needs neither a journal nor the disk's word.
    connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
    connection.execute("PRAGMA journal_mode = OFF")
    connection.execute("PRAGMA synchronous = OFF")
    create_tables(connection)
    connection.execute("BEGIN")
    add_config(connection, config, now)
    admission = _Admission()
    connection.executemany("INSERT INTO items (position, key, task, place) VALUES (?, ?, ?, ?)", admission.rows(items))
    connection.executemany(
        "INSERT INTO tasks (id, name, pending) VALUES (?, ?, ?)",
        ((number, name, admission.pending[number]) for name, number in admission.tasks.items()),
    )
    settings = {
        "created_at": now,
        "max_attempts": rules.max_attempts,
        "lease_seconds": rules.lease_seconds,
        # Places from here on are behind every item's first one.
        "back": max(admission.positions, default=0) + 1,
    }
    connection.executemany(
        "INSERT INTO meta (name, value) VALUES (?, ?)", ((name, json.dumps(value)) for name, value in settings.items())
    )
    connection.execute("COMMIT")
    create_indexes(connection)
    connection.execute("PRAGMA journal_mode = WAL")


class _Admission:
    """Items as rows, each key and each position once."""

    def __init__(self) -> None:
        self.tasks: dict[str, int] = {}
        self.pending: list[int] = []
        self.positions: set[int] = set()
        self._keys: set[str] = set()

    def rows(self, items: Iterable[Item]) -> Iterator[tuple[int, str, int, int]]:
        """``(position, key, task, place)`` of each item."""
        for item in items:
            if not isinstance(item, Item):
                raise QueueError(f"a queue is made of items, not of {describe(item)}")
            if item.key in self._keys:
                raise QueueError(f"the key {describe(item.key)} stands twice")
            if item.position in self.positions:
                raise QueueError(f"the position {item.position} of {describe(item.key)} is another item's too")
            self._keys.add(item.key)
            self.positions.add(item.position)
            task = self.tasks.setdefault(item.task, len(self.tasks))
            if task == len(self.pending):
                self.pending.append(0)
            self.pending[task] += 1
            yield item.position, item.key, task, item.position


def _to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
