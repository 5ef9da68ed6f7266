"""The places that worker processes sit at."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from hylo_eval.errors import QueueError
from hylo_eval.evaluation.workers.events import GarbledEvent, garbled_by, videos_of
from hylo_eval.evaluation.workers.supervisor import WorkerProcess
from hylo_eval.queue import Lease, Outcome
from hylo_eval.traces.layout import episode_id, trace_name
from hylo_eval.video.recorder import VideoTally


@attrs.frozen
class EndedEpisode:
    """What a worker has said of an episode that it ended.

    Attributes:
        lease: What it worked on.
        outcome: What it came to.
        videos: What was recorded.
        resident_bytes: How much memory its process holds; anything, if it is not to be believed.
    """

    lease: Lease
    outcome: Outcome
    videos: VideoTally
    resident_bytes: object


@attrs.define
class Seat:
    """A place for one worker: the process that sits there now, and what it does.

    Attributes:
        name: For logs and messages.
        environment: Variables of its processes, such as the GPU.
        process: Who sits there; None where nobody does.
        ready: Whether that process has made its agent.
        leaving: Whether it was told to end, or ends by itself.
        lease: What it works on, or is to begin with.
        leased_at: Since when, in seconds since 1970.
        begun: The same on the monotonic clock.
        number: The number that the process knows it by.
        ahead: What it is to work on next, in this order.
        withdrawn: Up to which number it was told to begin nothing more.
        pace: How long its last episode took, in seconds; None before the first.
        cancelled: When it said that it was told to stop, on the monotonic clock; None while nobody told it.
        task: The task whose env is open.
        episodes: How many it has run.
        failed_starts: Processes in a row that died here before they were ready.
    """

    name: str
    environment: Mapping[str, str]
    process: WorkerProcess | None = None
    ready: bool = False
    leaving: bool = False
    lease: Lease | None = None
    leased_at: float = 0.0
    begun: float = 0.0
    number: int = 0
    ahead: deque[Lease] = attrs.field(factory=deque[Lease])
    withdrawn: int = 0
    pace: float | None = None
    cancelled: float | None = None
    task: str | None = None
    episodes: int = 0
    failed_starts: int = 0

    def hold(self, lease: Lease | None) -> None:
        """Have a lease to work on from now on, or none."""
        self.lease, self.leased_at, self.begun = lease, time.time(), time.monotonic()

    def advance(self) -> None:
        """The episode that was worked on has its outcome: the next one is."""
        self.hold(self.ahead.popleft() if self.ahead else None)
        self.number += 1

    def take_all(self) -> list[Lease]:
        """Everything it holds; it holds nothing after that."""
        held = [*([self.lease] if self.lease is not None else []), *self.ahead]
        self.lease = None
        self.ahead.clear()
        return held

    def take_outcomes(self, events: Sequence[Mapping[str, Any]]) -> tuple[list[EndedEpisode], GarbledEvent | None]:
        """The episodes that events tell the outcomes of, up to one that tells of none; and what is wrong there."""
        ended: list[EndedEpisode] = []
        try:
            for event in events:
                if self.is_of_withdrawn(event):
                    continue
                if self.lease is None or not self.expects(event):
                    return ended, garbled_by(event)
                outcome, videos = self.outcome_of(event, self.lease), videos_of(event)
                ended.append(EndedEpisode(self.lease, outcome, videos, event.get("resident_bytes")))
                self.advance()
        except GarbledEvent as error:
            return ended, error
        return ended, None

    def expects(self, event: Mapping[str, Any]) -> bool:
        """Whether an outcome can be of what it works on."""
        if self.lease is None or event.get("attempt") != self.lease.attempt:
            return False
        return event["number"] == self.number

    def is_of_withdrawn(self, event: Mapping[str, Any]) -> bool:
        """Whether an event is of an episode that was given back while the worker was about to begin it."""
        number = event.get("number")
        working_on = self.number if self.lease is not None else None
        return isinstance(number, int) and number <= self.withdrawn and number != working_on

    def outcome_of(self, event: Mapping[str, Any], lease: Lease) -> Outcome:
        """The outcome that an event tells of.

        Raises:
            GarbledEvent: It is none, or that of another episode.
        """
        try:
            outcome = Outcome(**event["outcome"], worker=self.name)
        except (TypeError, QueueError) as error:
            raise GarbledEvent("sent an outcome that is none") from error
        if outcome.trace not in ("", trace_name(episode_id(lease.key, lease.attempt))):
            raise GarbledEvent("sent the outcome of another episode")
        return outcome
