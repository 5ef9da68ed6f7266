"""The numbers of a run while it goes on, from its attempts alone: no trace is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

import attrs

from hylo_core.trace import SCORED, EpisodeStatus
from hylo_eval.queue import Attempt, Ending, Outcome
from hylo_eval.scoring.intervals import wilson_interval
from hylo_eval.scoring.lengths import EpisodeLengths

RATE_SECONDS: Final = 300.0
"""How far back the rate looks."""

MAX_ERRORS: Final = 1000
"""Different error texts that are counted apart."""

COUNTS: Final = (Ending.DONE, Ending.ABSTAINED)
"""Endings with which an episode has its outcome."""


@attrs.frozen(kw_only=True)
class AttemptCount:
    """How many attempts of one number came to the same.

    Attributes:
        attempt: Which try of its episode it was, from 1.
        status: The status of the episode.
        ending: What that meant for the queue.
        count: How many there are.
        succeeded: How many of them succeeded.
    """

    attempt: int
    status: str
    ending: Ending
    count: int
    succeeded: int


@attrs.define
class Tally:
    """Running numbers; attempts may be added in any order.

    Attributes:
        outcomes: Episodes that have their outcome, by status.
        scored: How many of them tell success from failure.
        succeeded: How many of those succeeded.
        errors: What went wrong, and how often.
        lengths: Steps of the scored ones.
    """

    outcomes: Counter[str] = attrs.field(factory=Counter[str])
    scored: int = 0
    succeeded: int = 0
    errors: Counter[str] = attrs.field(factory=Counter[str])
    lengths: EpisodeLengths = attrs.field(factory=EpisodeLengths)
    _counted: Counter[tuple[int, str, Ending]] = attrs.field(factory=Counter[tuple[int, str, Ending]])
    _successes: Counter[tuple[int, str, Ending]] = attrs.field(factory=Counter[tuple[int, str, Ending]])
    _busy: list[tuple[float, float]] = attrs.field(factory=list[tuple[float, float]])
    _ends: list[float] = attrs.field(factory=list[float])

    @classmethod
    def of(cls, attempts: Iterable[Attempt]) -> Tally:
        """The numbers of these attempts."""
        tally = cls()
        for attempt in attempts:
            tally.add(attempt)
        return tally

    def add(self, attempt: Attempt) -> None:
        """Count one more attempt that has ended."""
        outcome, counts = attempt.outcome, attempt.ending in COUNTS
        kind = (attempt.attempt, outcome.status, attempt.ending)
        end = outcome.started_at + outcome.seconds
        self._counted[kind] += 1
        self._busy.append((outcome.started_at, end))
        if outcome.error and attempt.ending is not Ending.RELEASED:
            known = outcome.error in self.errors or len(self.errors) < MAX_ERRORS
            self.errors[outcome.error if known else "other errors"] += 1
        if not counts:
            return
        self.outcomes[outcome.status] += 1
        self._ends.append(end)
        succeeded = success(outcome)
        if succeeded is not None:
            self.scored += 1
            self.lengths.add(attempt.key.rpartition("#")[0], outcome.steps, succeeded=succeeded)
        if succeeded:
            self.succeeded += 1
            self._successes[kind] += 1

    @property
    def ended(self) -> int:
        """Episodes that have their outcome."""
        return len(self._ends)

    @property
    def rate(self) -> float | None:
        """Share of the scored episodes that succeeded; None before the first."""
        return self.succeeded / self.scored if self.scored else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Wilson's 95 % interval of :attr:`rate`."""
        return wilson_interval(self.succeeded, self.scored)

    def bounds(self, planned: int) -> tuple[float, float]:
        """Share of successes of all planned episodes if every one not scored failed, and if every one succeeded."""
        return self.succeeded / planned, (self.succeeded + planned - self.scored) / planned

    def by_attempt(self) -> list[AttemptCount]:
        """Every kind of ending an attempt of every number has come to, by status and number."""
        return [
            AttemptCount(attempt=kind[0], status=kind[1], ending=kind[2], count=count, succeeded=self._successes[kind])
            for kind, count in sorted(self._counted.items(), key=lambda item: (item[0][1], item[0][2], item[0][0]))
        ]

    def episodes_a_minute(self, *, now: float, working_since: float | None) -> float | None:
        """How many episodes get their outcome in a minute; None where nothing tells.

        While somebody works it is that of the last :data:`RATE_SECONDS`. Otherwise, and before anything has ended in
        that time, it is that of all time in which an attempt was running: pauses between sessions are not counted.

        Args:
            now: Seconds since 1970.
            working_since: When the process that works now began; None when nobody works.
        """
        if working_since is not None:
            start = max(working_since, now - RATE_SECONDS)
            recent = sum(start < end <= now for end in self._ends)
            if recent and now > start:
                return 60.0 * recent / (now - start)
        seconds = sum(end - start for start, end in _joined(self._busy))
        return 60.0 * self.ended / seconds if self.ended and seconds > 0.0 else None


def success(outcome: Outcome) -> bool | None:
    """Whether an episode counts as a success, as a failure, or as neither (None); the scorers have the last word."""
    if outcome.status not in SCORED:
        return None
    if outcome.status != EpisodeStatus.COMPLETED:
        return False
    return outcome.success if outcome.steps else None


def _joined(spans: Iterable[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """Spans of time, those that overlap made one."""
    current: tuple[float, float] | None = None
    for start, end in sorted(spans):
        if current is None or start > current[1]:
            if current is not None:
                yield current
            current = (start, end)
        elif end > current[1]:
            current = (current[0], end)
    if current is not None:
        yield current
