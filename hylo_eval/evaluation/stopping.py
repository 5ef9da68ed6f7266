"""Stopping a run from outside: the first signal after the present step, the second at once."""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopRequest:
    """While it is entered, the first SIGINT or SIGTERM makes it true; the second raises ``KeyboardInterrupt``.

    A signal that raises wherever it happens to arrive can tear a file in two; one that is asked for between steps
    cannot. The second is for a simulator that does not come back from its step.

    Args:
        announce: Called once, at the first signal.
        insist: Whether a second signal raises. Not in a worker: a scheduler signals every process of a job, and so does
            the supervisor, who ends workers that are not to be waited for.
    """

    def __init__(self, announce: Callable[[], None] | None = None, *, insist: bool = True) -> None:
        self._announce = announce
        self._insist = insist
        self._requested = False
        self._previous: dict[signal.Signals, Any] = {}

    def __call__(self) -> bool:
        """Whether a stop was asked for."""
        return self._requested

    def __enter__(self) -> Self:
        self._previous = {number: signal.signal(number, self._receive) for number in _SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if self._requested and self._insist:
            raise KeyboardInterrupt
        if self._requested:
            return
        self._requested = True
        if self._announce is not None:
            self._announce()
