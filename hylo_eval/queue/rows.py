"""Rows of a queue file as values; what breaks their rules is named, never coerced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from hylo_core.canonical import describe
from hylo_eval.errors import QueueError
from hylo_eval.queue.owner import Owner
from hylo_eval.queue.values import Attempt, Ending, Lease, Outcome, Result, State

if TYPE_CHECKING:
    from collections.abc import Sequence

Member = TypeVar("Member", State, Ending)

_OUTCOME = """attempts.status, attempts.trace, attempts.trace_sha256, attempts.behaviour_sha256, attempts.trace_bytes,
attempts.steps, attempts.success, attempts.disagreements, attempts.error, attempts.worker, attempts.started_at,
attempts.seconds"""

_RESULT = f"""
SELECT items.position, items.key, tasks.name, items.state, items.attempt, attempts.id, {_OUTCOME}
FROM items JOIN tasks ON tasks.id = items.task LEFT JOIN attempts ON attempts.id = items.result
"""  # noqa: S608 - constants
RESULTS = f"{_RESULT} ORDER BY items.position"
"""Selects what :func:`result_of` takes."""

RECENT = f"{_RESULT} WHERE attempts.id >= ? ORDER BY items.position"
"""The same of what ended from an attempt on."""

ATTEMPTS = f"""
SELECT items.position, items.key, tasks.name, attempts.attempt, owners.id, attempts.ending, {_OUTCOME}
FROM attempts JOIN items ON items.position = attempts.position JOIN tasks ON tasks.id = items.task
JOIN owners ON owners.number = attempts.owner ORDER BY items.position, attempts.attempt
"""  # noqa: S608 - constants
"""Selects what :func:`attempt_of` takes."""

LEASES = """
SELECT items.position, items.key, tasks.name, leases.attempt, owners.id, leases.expires FROM leases
JOIN items ON items.position = leases.position JOIN tasks ON tasks.id = items.task
JOIN owners ON owners.number = leases.owner ORDER BY leases.position
"""
"""Selects what :func:`lease_of` takes."""

_FLAGS = {0: False, 1: True, None: None}


def outcome_of(columns: Sequence[Any]) -> Outcome:
    """An outcome from its columns."""
    (
        status,
        trace,
        trace_sha256,
        behaviour_sha256,
        trace_bytes,
        steps,
        success,
        disagreements,
        error,
        worker,
        started_at,
        seconds,
    ) = columns
    return Outcome(
        status=status,
        trace=trace,
        trace_sha256=trace_sha256,
        behaviour_sha256=behaviour_sha256,
        trace_bytes=trace_bytes,
        steps=steps,
        # What is neither 0 nor 1 stays what it is and is refused.
        success=_FLAGS.get(success, success) if type(success) in {int, type(None)} else success,
        disagreements=disagreements,
        error=error,
        worker=worker,
        started_at=started_at,
        seconds=seconds,
    )


def owner_of(columns: Sequence[Any]) -> Owner | None:
    """An owner from the columns of its row; None when there is no such row."""
    number, name, host, pid, boot_id, started, pid_namespace = columns
    if number is None:
        return None
    return Owner(id=name, host=host, pid=pid, boot_id=boot_id, started=started, pid_namespace=pid_namespace)


def result_of(row: Sequence[Any]) -> Result:
    """A result from ``position, key, task, state, attempt, attempts.id`` and the outcome's columns."""
    position, key, task, state, attempt, number, *columns = row
    ended = state in {State.DONE, State.ABSTAINED}
    if ended and number is None:
        raise QueueError("is ended without an outcome")
    return Result(
        key=key,
        task=task,
        position=position,
        state=_member(State, state),
        attempt=attempt,
        outcome=outcome_of(columns) if ended else None,
    )


def attempt_of(row: Sequence[Any]) -> Attempt:
    """An attempt from ``position, key, task, attempt, owner, ending`` and the outcome's columns."""
    position, key, task, attempt, owner, ending, *columns = row
    return Attempt(
        key=key,
        task=task,
        position=position,
        attempt=attempt,
        owner=owner,
        ending=_member(Ending, ending),
        outcome=outcome_of(columns),
    )


def lease_of(row: Sequence[Any]) -> Lease:
    """A lease from ``position, key, task, attempt, owner, expires``."""
    position, key, task, attempt, owner, expires = row
    return Lease(key=key, task=task, position=position, attempt=attempt, owner=owner, expires=expires)


def _member(kind: type[Member], value: object) -> Member:
    try:
        return kind(value)
    except ValueError as error:
        known = ", ".join(member.value for member in kind)
        raise QueueError(f"has the {kind.__name__.lower()} {describe(value)}; there are {known}") from error
