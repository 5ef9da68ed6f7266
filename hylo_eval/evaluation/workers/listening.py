"""What arrives from the workers at their seats: events, what they print, their end."""

from __future__ import annotations

import selectors
import time
from collections.abc import Sequence
from typing import Any, Final

from hylo_eval.evaluation.workers.events import GARBLED, GONE, GarbledEvent
from hylo_eval.evaluation.workers.seat import Seat
from hylo_eval.evaluation.workers.supervisor import WorkerProcess

STOPPED_SECONDS: Final = 5.0
"""A gap between two looks from which on this process must have been stopped itself."""


class Listening:
    """Waits for all workers at once.

    Args:
        seats: Where they sit.
    """

    def __init__(self, seats: Sequence[Seat]) -> None:
        self._seats = seats
        self._selector = selectors.DefaultSelector()
        self._looked = time.monotonic()

    def begin(self, seat: Seat, process: WorkerProcess) -> None:
        """Listen to who sits down."""
        self._selector.register(process.events, selectors.EVENT_READ, (seat, True))
        self._selector.register(process.output, selectors.EVENT_READ, (seat, False))

    def end(self, process: WorkerProcess) -> None:
        """Listen no more to somebody."""
        for descriptor in (process.events, process.output):
            if descriptor in self._selector.get_map():
                self._selector.unregister(descriptor)

    def wait(self, seconds: float) -> list[tuple[Seat, list[dict[str, Any]]]]:
        """The events of each worker that has any.

        The last one is of type ``gone`` where it is gone, and of type ``garbled`` where what it says is no event.
        """
        found: dict[str, list[dict[str, Any]]] = {}
        for key, _ in self._selector.select(seconds):
            seat, is_event = key.data
            process = seat.process
            if process is None or key.fd not in (process.events, process.output):
                continue
            if not is_event:
                if not process.read_output():
                    self._selector.unregister(process.output)
                continue
            if not _extend(found.setdefault(seat.name, []), process):
                self._selector.unregister(process.events)
        self._find_ended(found)
        now = time.monotonic()
        if now - self._looked > max(STOPPED_SECONDS, 10 * seconds):
            for seat in self._seats:
                if seat.process is not None:
                    seat.process.give_time(now)
        self._looked = now
        return [(seat, found[seat.name]) for seat in self._seats if seat.name in found]

    def close(self) -> None:
        """Give back what it took."""
        self._selector.close()

    def _find_ended(self, found: dict[str, list[dict[str, Any]]]) -> None:
        """See who has ended without an end of its events: a child it left behind may hold its pipes open."""
        for seat in self._seats:
            process = seat.process
            if process is None or process.events not in self._selector.get_map() or not process.exited():
                continue
            self._selector.unregister(process.events)
            events = found.setdefault(seat.name, [])
            if _extend(events, process):
                events.append({"type": GONE})


def _extend(events: list[dict[str, Any]], process: WorkerProcess) -> bool:
    """Take what has arrived from a worker; False when nothing more is to be taken from it."""
    try:
        events.extend(process.receive())
    except EOFError:
        events.append({"type": GONE})
        return False
    except GarbledEvent as error:
        events.append({"type": GARBLED, "what": error.message})
        return False
    return True
