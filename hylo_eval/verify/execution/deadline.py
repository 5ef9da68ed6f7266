"""One deadline for several commands."""

from __future__ import annotations

import math
import time
from typing import NamedTuple

from hylo_eval.verify.verdict import InvalidTask

MAX_TIMEOUT_SECONDS = 7 * 24 * 3600.0
"""Longest timeout that is accepted: the operating system cannot wait much longer in one call."""


def check_timeout(seconds: float, *, field: str) -> None:
    """Refuses a timeout that is not a positive finite number of seconds.

    Raises:
        InvalidTask: It is zero, negative, infinite, NaN, or longer than a week.
    """
    if not math.isfinite(seconds) or not 0 < seconds <= MAX_TIMEOUT_SECONDS:
        raise InvalidTask(f"{field} must be a positive number of seconds, at most a week, not {seconds!r:.40}")


class DeadlinePassed(Exception):
    """The time is over for something that no command does, such as reading what one left behind."""


class Deadline(NamedTuple):
    """A moment of the monotonic clock, in seconds."""

    moment: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """The deadline ``seconds`` from now."""
        return cls(time.monotonic() + seconds)

    @property
    def remaining_seconds(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self.moment - time.monotonic())

    @property
    def passed(self) -> bool:
        """Whether no time is left."""
        return self.remaining_seconds <= 0.0

    def check(self) -> None:
        """Goes on only while there is time.

        Raises:
            DeadlinePassed: None is left.
        """
        if self.passed:
            raise DeadlinePassed
