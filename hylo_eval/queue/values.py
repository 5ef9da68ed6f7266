"""The values that go into the queue and come out of it."""

from __future__ import annotations

from enum import StrEnum

import attrs

from hylo_core.errors import clean_text
from hylo_eval.errors import QueueError
from hylo_eval.queue import checks


class State(StrEnum):
    """Where an item stands."""

    PENDING = "pending"
    """Nobody works on it."""
    LEASED = "leased"
    """A worker holds it under a lease."""
    DONE = "done"
    """It has its one outcome."""
    ABSTAINED = "abstained"
    """The infrastructure failed, or its lease was lost, as often as is allowed, or failed for good; its outcome is the
    last of them."""


class Ending(StrEnum):
    """How an attempt ended."""

    DONE = "done"
    """With the outcome that counts."""
    ABSTAINED = "abstained"
    """With a failure of the infrastructure, or the loss of a lease: the last one allowed, or one that lasts."""
    RETRIED = "retried"
    """With a failure of the infrastructure; the item went back to the queue."""
    LOST = "lost"
    """The lease expired or its process is gone; counted, apart from the failures that somebody saw."""
    RELEASED = "released"
    """Given back before it had an outcome, because the operator stopped it or it was not begun; not counted."""
    DEMOTED = "demoted"
    """It had ended with an outcome, whose trace was found missing or damaged later."""


def _bounded(error: str) -> str:
    """An error text as a row can hold it: what is too long is cut, with a note, and never loses an outcome."""
    if not isinstance(error, str):
        return error  # refused by the check that follows
    text = clean_text(error, limit=len(error))
    return text if len(text) <= checks.MAX_ERROR_TEXT else clean_text(text)


@attrs.frozen(kw_only=True)
class Item:
    """One episode to run.

    Attributes:
        key: The instance key, unique in a queue.
        task: The id of its task: workers prefer the task whose environment is open.
        position: Its place in the declared order, from 0; unique in a queue, gaps are allowed.
    """

    key: str = attrs.field(validator=checks.text())
    task: str = attrs.field(validator=checks.text())
    position: int = attrs.field(validator=checks.whole_number())


@attrs.frozen(kw_only=True)
class Lease:
    """The right to give an item its outcome, until it expires.

    Attributes:
        key: The instance key.
        task: The id of its task.
        position: Its place in the declared order.
        attempt: The fencing token: it grows with every claim of a key and is never given again.
        owner: The id of the owner.
        expires: When it ends unless it is renewed: seconds on the owner's clock, which starts with the machine.
    """

    key: str = attrs.field(validator=checks.text())
    task: str = attrs.field(validator=checks.text())
    position: int = attrs.field(validator=checks.whole_number())
    attempt: int = attrs.field(validator=checks.whole_number(1))
    owner: str = attrs.field(validator=checks.text())
    expires: float = attrs.field(validator=checks.finite)


@attrs.frozen(kw_only=True)
class Outcome:
    """What an attempt came to.

    Attributes:
        status: The status of the episode, ``completed``.
        trace: The trace's path below the folder of the run, with ``/``; empty when there is none.
        trace_sha256: Digest of the first ``trace_bytes`` bytes of the trace; empty when there is none.
        behaviour_sha256: Digest of what equal runs have in common; empty when there is no whole trace.
        trace_bytes: Size of the trace up to and including its end event.
        steps: Control steps taken.
        success: Whether the task succeeded; None where that is undefined.
        disagreements: Steps at which Hylo's own evaluation of the predicate and the simulator's differ.
        error: Why it failed; cut to a bounded length.
        lasting: Whether another try would fail in the same way; it is not kept on record.
        worker: Who ran it.
        started_at: When it began, in seconds since 1970.
        seconds: How long it took on the wall clock.
    """

    status: str = attrs.field(validator=checks.text(limit=64))
    trace: str = attrs.field(validator=checks.relative_path_or_empty)
    trace_sha256: str = attrs.field(validator=checks.digest_or_empty)
    behaviour_sha256: str = attrs.field(validator=checks.digest_or_empty)
    trace_bytes: int = attrs.field(validator=checks.whole_number())
    steps: int = attrs.field(validator=checks.whole_number())
    success: bool | None = attrs.field(validator=checks.flag_or_none)
    disagreements: int = attrs.field(default=0, validator=checks.whole_number())
    error: str = attrs.field(
        default="", converter=_bounded, validator=checks.text(empty=True, limit=checks.MAX_ERROR_TEXT)
    )
    lasting: bool = attrs.field(default=False, validator=checks.flag)
    worker: str = attrs.field(default="", validator=checks.text(empty=True))
    started_at: float = attrs.field(validator=checks.finite)
    seconds: float = attrs.field(validator=checks.finite)

    def __attrs_post_init__(self) -> None:
        if bool(self.trace) != bool(self.trace_sha256):
            raise QueueError("trace and trace_sha256 belong together: an outcome has both or neither")

    @classmethod
    def without_trace(
        cls, status: str, error: str, *, worker: str = "", started_at: float, seconds: float = 0.0
    ) -> Outcome:
        """The outcome of an attempt that left no whole trace."""
        return cls(
            status=status,
            trace="",
            trace_sha256="",
            behaviour_sha256="",
            trace_bytes=0,
            steps=0,
            success=None,
            error=error,
            worker=worker,
            started_at=started_at,
            seconds=seconds,
        )


@attrs.frozen(kw_only=True)
class Result:
    """An item with what has become of it.

    Attributes:
        key: The instance key.
        task: The id of its task.
        position: Its place in the declared order.
        state: Where it stands.
        attempt: The last attempt; 0 before the first claim.
        outcome: The outcome of a done or abstained item, else None.
    """

    key: str = attrs.field(validator=checks.text())
    task: str = attrs.field(validator=checks.text())
    position: int = attrs.field(validator=checks.whole_number())
    state: State = attrs.field(validator=attrs.validators.instance_of(State))
    attempt: int = attrs.field(validator=checks.whole_number())
    outcome: Outcome | None


@attrs.frozen(kw_only=True)
class Attempt:
    """One ended attempt at an item.

    Attributes:
        key: The instance key.
        task: The id of its task.
        position: Its place in the declared order.
        attempt: Its number, the fencing token of its lease.
        owner: The id of the owner of its lease.
        ending: How it ended.
        outcome: What it came to.
    """

    key: str = attrs.field(validator=checks.text())
    task: str = attrs.field(validator=checks.text())
    position: int = attrs.field(validator=checks.whole_number())
    attempt: int = attrs.field(validator=checks.whole_number(1))
    owner: str = attrs.field(validator=checks.text())
    ending: Ending = attrs.field(validator=attrs.validators.instance_of(Ending))
    outcome: Outcome
