"""Giving the items of a new queue what became of them elsewhere: how queues of parts become one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from hylo_core.canonical import describe
from hylo_eval.errors import QueueError
from hylo_eval.queue import checks, claiming
from hylo_eval.queue.database import QueueFile
from hylo_eval.queue.values import Attempt, Ending, State

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping
    from pathlib import Path

_FINAL = {Ending.DONE: State.DONE, Ending.ABSTAINED: State.ABSTAINED}
_FAILURES = (Ending.RETRIED, Ending.ABSTAINED)
_SENT_BACK = (Ending.RETRIED, Ending.LOST)
_UNTOUCHED = "SELECT position, key FROM items WHERE state = 'pending' AND attempt = 0"
# The same sequence of places as for items that fail here: behind every item's first one.
_CONTINUE = """
UPDATE items SET attempt = ?, failures = ?, place = place + CASE
    WHEN ? AND state = 'pending' THEN (SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'back')
    ELSE 0
    END
WHERE position = ?
"""
_ADD_OWNER = """
INSERT OR IGNORE INTO owners (id, host, pid, boot_id, started, pid_namespace) VALUES (?, ?, 1, '', 0, '')
"""


@attrs.frozen(kw_only=True)
class History:
    """What became of one item in another queue.

    Attributes:
        key: The instance key.
        claimed: How often it was claimed: the next attempt has the next number, and no number is given twice.
        attempts: Those that have ended; at most one of them with the outcome that counts.
        host: The machine the queue was on.
    """

    key: str = attrs.field(validator=checks.text())
    claimed: int = attrs.field(validator=checks.whole_number())
    attempts: tuple[Attempt, ...] = attrs.field(converter=tuple)
    host: str = attrs.field(default="", validator=checks.text(empty=True, limit=255))

    def __attrs_post_init__(self) -> None:
        numbers = [attempt.attempt for attempt in self.attempts]
        if any(attempt.key != self.key for attempt in self.attempts):
            raise QueueError(f"the history of {describe(self.key)} holds attempts at another item")
        if len(set(numbers)) < len(numbers) or max(numbers, default=0) > self.claimed:
            raise QueueError(f"the attempts at {describe(self.key)} contradict the number of its claims")
        if sum(attempt.ending in _FINAL for attempt in self.attempts) > 1:
            raise QueueError(f"{describe(self.key)} has more than one outcome that counts")


def write_histories(path: Path, histories: Iterable[History], *, fsync: bool = False) -> None:
    """Enter histories into a queue, in one transaction.

    Args:
        path: The queue's file.
        histories: At most one an item; items without one stay as they are.
        fsync: Wait for the disk.

    Raises:
        QueueError: The queue has no such item, or somebody has claimed it already.
    """
    file = QueueFile(path, writable=True, fsync=fsync)
    try:
        with file.writing() as connection:
            untouched = {key: position for position, key in connection.execute(_UNTOUCHED)}
            for history in histories:
                position = untouched.pop(history.key, None)
                if position is None:
                    raise QueueError(f"{path}: {describe(history.key)} is no item that nobody has claimed")
                _enter(connection, position, history)
    finally:
        file.close()


def _enter(connection: sqlite3.Connection, position: int, history: History) -> None:
    for attempt in sorted(history.attempts, key=lambda item: item.attempt):
        outcome = attempt.outcome
        connection.execute(_ADD_OWNER, (attempt.owner, history.host))
        (owner,) = connection.execute("SELECT number FROM owners WHERE id = ?", (attempt.owner,)).fetchone()
        ended_at = outcome.started_at + outcome.seconds
        claim = claiming.Claim(position, attempt.attempt, owner)
        number = claiming.record(connection, claim, attempt.ending, outcome, ended_at)
        if attempt.ending in _FINAL:
            claiming.end(connection, position, _FINAL[attempt.ending], number)
    failures = sum(attempt.ending in _FAILURES for attempt in history.attempts)
    went_back = any(attempt.ending in _SENT_BACK for attempt in history.attempts)
    connection.execute(_CONTINUE, (history.claimed, failures, went_back, position))


def by_key(attempts: Iterable[Attempt]) -> Mapping[str, tuple[Attempt, ...]]:
    """Attempts of each item."""
    found: dict[str, list[Attempt]] = {}
    for attempt in attempts:
        found.setdefault(attempt.key, []).append(attempt)
    return {key: tuple(items) for key, items in found.items()}
