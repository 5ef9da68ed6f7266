"""Who gets which item: lost leases first go back to the queue, then the best pending item is taken.

A lease is of an episode that runs, or of one that is to run soon: a worker whose episodes are short holds some ahead.
The loss of one that runs is counted, so that what ends its machine may do so only so often; one that was not begun has
lost nothing. That it is begun is put on record along with the outcome of the episode before it, so for a moment the
record is behind. A trace file of the attempt, which is there before the first reset, then says that it did begin.

What is left is an episode that ends everything before it has a trace and before its beginning is on record. It cannot
do so for ever: whoever holds something ahead also holds something begun, whose loss is counted and which goes to the
back, and what stands first is begun with its claim.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hylo_eval.queue.rows import owner_of
from hylo_eval.queue.values import Ending, Outcome, State

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

    from hylo_eval.queue.owner import Machine, Owner
    from hylo_eval.queue.settings import Rules

OTHER_HOST_SLACK_SECONDS = 600.0
"""How far the wall clocks of two machines may lie apart before one takes the other's live lease for an expired one."""

LOST_STATUS = "worker_lost"
"""The status of an attempt whose lease was lost."""

RELEASED_STATUS = "cancelled"
"""The status of an attempt that was given back before it had an outcome."""

_LEASED = """
SELECT leases.position, key, leases.attempt, begun, leases.claimed_at, leases.expires, leases.expires_wall, owners.*
FROM leases JOIN items ON items.position = leases.position LEFT JOIN owners ON owners.number = leases.owner
ORDER BY leases.position
"""
_CHOSEN = "SELECT items.position, key, name, attempt FROM items JOIN tasks ON tasks.id = items.task "
_LOWEST = _CHOSEN + "WHERE state = 'pending' ORDER BY items.position LIMIT 1"
_FIRST_OF_TASK = _CHOSEN + "WHERE state = 'pending' AND task = ? ORDER BY place LIMIT 1"
_MORE_OF_TASK = _CHOSEN + "WHERE state = 'pending' AND task = ? ORDER BY place LIMIT ?"
_FULLEST = "SELECT id FROM tasks WHERE pending > 0 ORDER BY pending DESC LIMIT 1"
_ADD_OWNER = """
INSERT OR IGNORE INTO owners (id, host, pid, boot_id, started, pid_namespace) VALUES (?, ?, ?, ?, ?, ?)
"""
_TAKE = "UPDATE items SET state = 'leased', attempt = ? WHERE position = ?"
_ADD_LEASE = """
INSERT INTO leases (position, attempt, owner, claimed_at, expires, expires_wall, begun) VALUES (?, ?, ?, ?, ?, ?, ?)
"""
_BEGIN = """
UPDATE leases SET begun = 1 WHERE position = ? AND attempt = ? AND owner = (SELECT number FROM owners WHERE id = ?)
"""
_ADD_ATTEMPT = """
INSERT INTO attempts (position, attempt, owner, ending, ended_at, status, trace, trace_sha256, behaviour_sha256,
    trace_bytes, steps, success, disagreements, error, worker, started_at, seconds)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_END_LEASE = "DELETE FROM leases WHERE position = ?"
_RELEASE = "UPDATE items SET state = 'pending' WHERE position = ?"
_SEND_BACK = """
UPDATE items SET state = 'pending', failures = failures + ?,
    place = (SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'back') + ?
WHERE position = ?
"""
_END = "UPDATE items SET state = ?, result = ?, failures = failures + ? WHERE position = ?"
_FAILURES = "SELECT failures FROM items WHERE position = ?"
_LOSSES = f"SELECT position, COUNT(*) FROM attempts WHERE ending = '{Ending.LOST}' GROUP BY position"  # noqa: S608 - ours


class Claim(NamedTuple):
    """An attempt at an item, as the tables know it.

    Attributes:
        position: The item's.
        attempt: Its number.
        owner: The number of its owner among all of them; None where the owner of a lease is not on record.
    """

    position: int
    attempt: int
    owner: int | None


def recover(
    connection: sqlite3.Connection, machine: Machine, rules: Rules, left_a_trace: Callable[[str, int], bool]
) -> None:
    """Take the items of lost leases back; losses are counted apart from failures that somebody saw.

    Args:
        connection: In a transaction that may write.
        machine: What is known of time and processes.
        rules: When a lease ends and when an item is given up.
        left_a_trace: Whether an attempt, by key and number, has begun to write its trace.
    """
    losses: dict[int, int] | None = None
    leased = connection.execute(_LEASED).fetchall()
    for position, key, attempt, begun, claimed_at, expires, expires_wall, *columns in leased:
        reason = lost_because(owner_of(columns), expires, expires_wall, machine, rules)
        if not reason:
            continue
        claim, now = Claim(position, attempt, columns[0]), machine.wall_seconds()
        started = claimed_at if isinstance(claimed_at, float) else 0.0
        seconds = max(0.0, now - started) if started else 0.0
        if begun == 0 and not left_a_trace(key, attempt):
            what = f"taken ahead and never begun: {reason}"
            outcome = Outcome.without_trace(RELEASED_STATUS, what, started_at=started, seconds=seconds)
            record(connection, claim, Ending.RELEASED, outcome, now)
            give_back(connection, position)
            continue
        outcome = Outcome.without_trace(LOST_STATUS, reason, started_at=started, seconds=seconds)
        if losses is None:
            losses = dict(connection.execute(_LOSSES).fetchall())
        abstains = losses.get(position, 0) + 1 >= rules.max_losses
        _fail(connection, claim, Ending.LOST, outcome, now, abstains=abstains)


def lost_because(owner: Owner | None, expires: object, expires_wall: object, machine: Machine, rules: Rules) -> str:
    """Why a lease is over; empty while it holds.

    Leases of this run of this machine are judged by the clock that started with it and by whether their process still
    lives; those of an earlier run of it are over. Another machine has another clock, and its processes cannot be seen:
    its lease ends when the wall clock is :data:`OTHER_HOST_SLACK_SECONDS` past its end. A lease that would last longer
    than any lease does comes from a clock that is wrong and is over too.
    """
    if owner is None or not isinstance(expires, float) or not isinstance(expires_wall, float):
        return "the lease is on record without an owner or an end"
    who = f"process {owner.pid} on {owner.host}"
    # A boot id names one run of one machine, whatever its containers are called; without one, the name must do.
    same_boot = owner.boot_id == machine.boot_id and (bool(owner.boot_id) or owner.host == machine.host)
    if not same_boot and owner.host != machine.host:
        remaining = expires_wall + OTHER_HOST_SLACK_SECONDS - machine.wall_seconds()
        if 0 < remaining <= rules.lease_seconds + 2 * OTHER_HOST_SLACK_SECONDS:
            return ""
        return f"{who}, another machine, did not renew its lease for {OTHER_HOST_SLACK_SECONDS:.0f} s"
    if machine.is_dead(owner):
        return f"{who} ended without a result"
    if same_boot and 0 < expires - machine.seconds() <= rules.lease_seconds + 1.0:
        return ""
    return f"{who} did not renew its lease for {rules.lease_seconds:g} s"


def choose(connection: sqlite3.Connection, prefer: int | None, *, in_order: bool) -> tuple[int, str, str, int] | None:
    """The pending item to take: ``(position, key, task, attempts so far)``.

    Args:
        connection: In a transaction that may write.
        prefer: The number of the task to take from, as long as it has pending items.
        in_order: Take the lowest position of all instead.
    """
    if in_order:
        return connection.execute(_LOWEST).fetchone()
    if prefer is not None:
        row = connection.execute(_FIRST_OF_TASK, (prefer,)).fetchone()
        if row is not None:
            return row
    fullest = connection.execute(_FULLEST).fetchone()
    return None if fullest is None else connection.execute(_FIRST_OF_TASK, fullest).fetchone()


def more_of_task(connection: sqlite3.Connection, task: int, count: int) -> list[tuple[int, str, str, int]]:
    """Up to so many pending items of a task, as :func:`choose` gives them."""
    return connection.execute(_MORE_OF_TASK, (task, count)).fetchall()


def add_owner(connection: sqlite3.Connection, owner: Owner) -> int:
    """Put an owner on record; returns its number."""
    values = (owner.id, owner.host, owner.pid, owner.boot_id, owner.started, owner.pid_namespace)
    connection.execute(_ADD_OWNER, values)
    (number,) = connection.execute("SELECT number FROM owners WHERE id = ?", (owner.id,)).fetchone()
    return number


def take(connection: sqlite3.Connection, claim: Claim, machine: Machine, rules: Rules, *, begun: bool) -> float:
    """Lease a pending item, to begin it now or later; returns when the lease ends."""
    wall, expires = machine.wall_seconds(), machine.seconds() + rules.lease_seconds
    connection.execute(_TAKE, (claim.attempt, claim.position))
    connection.execute(_ADD_LEASE, (*claim, wall, expires, wall + rules.lease_seconds, int(begun)))
    return expires


def mark_begun(connection: sqlite3.Connection, position: int, attempt: int, owner: str) -> None:
    """Put on record that what was taken ahead is begun now; nothing happens where the lease is over."""
    connection.execute(_BEGIN, (position, attempt, owner))


def record(connection: sqlite3.Connection, claim: Claim, ending: Ending, outcome: Outcome, now: float) -> int:
    """Put an ended attempt on record; returns its number among all of them.

    Args:
        connection: In a transaction that may write.
        claim: The attempt.
        ending: How it ended.
        outcome: What it came to.
        now: When it ended, in seconds since 1970.
    """
    success = None if outcome.success is None else int(outcome.success)
    cursor = connection.execute(
        _ADD_ATTEMPT,
        (
            *claim,
            ending.value,
            now,
            outcome.status,
            outcome.trace,
            outcome.trace_sha256,
            outcome.behaviour_sha256,
            outcome.trace_bytes,
            outcome.steps,
            success,
            outcome.disagreements,
            outcome.error,
            outcome.worker,
            outcome.started_at,
            outcome.seconds,
        ),
    )
    return cursor.lastrowid or 0


def end(connection: sqlite3.Connection, position: int, state: State, result: int, *, failed: bool = False) -> None:
    """Give an item its last state and the attempt that counts."""
    connection.execute(_END_LEASE, (position,))
    connection.execute(_END, (state.value, result, int(failed), position))


def give_back(connection: sqlite3.Connection, position: int) -> None:
    """Make an item pending again at its old place."""
    connection.execute(_END_LEASE, (position,))
    connection.execute(_RELEASE, (position,))


def fail(connection: sqlite3.Connection, claim: Claim, outcome: Outcome, rules: Rules, machine: Machine) -> State:
    """Count a failure of the infrastructure: the item goes to the back, or is abstained, at once where it lasts."""
    (failures,) = connection.execute(_FAILURES, (claim.position,)).fetchone()
    abstains = outcome.lasting or failures + 1 >= rules.max_attempts
    return _fail(connection, claim, Ending.RETRIED, outcome, machine.wall_seconds(), abstains=abstains)


def _fail(
    connection: sqlite3.Connection, claim: Claim, ending: Ending, outcome: Outcome, now: float, *, abstains: bool
) -> State:
    was_seen = ending is Ending.RETRIED
    if abstains:
        number = record(connection, claim, Ending.ABSTAINED, outcome, now)
        end(connection, claim.position, State.ABSTAINED, number, failed=was_seen)
        return State.ABSTAINED
    number = record(connection, claim, ending, outcome, now)
    connection.execute(_END_LEASE, (claim.position,))
    connection.execute(_SEND_BACK, (int(was_seen), number, claim.position))
    return State.PENDING
