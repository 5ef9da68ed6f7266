"""Scores and who gives them: a scorer is pure, a grader captures an outside judgement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import attrs

from hylo_core.contract import Contract, number, text
from hylo_core.frozen import FrozenMapping, freeze_mapping

if TYPE_CHECKING:
    from hylo_core.task import TaskInstance
    from hylo_core.trace import EpisodeTrace, GradeEvent


@attrs.frozen
class Score(Contract):
    """What a scorer says about one episode.

    Attributes:
        value: The number, or None: an abstention, excluded from the mean and counted by reason. A failure of the
            infrastructure or the agent is never a number.
        explanation: Why, for people; with an abstention its reason in one word or sentence.
        metadata: Details as JSON. ``metadata["reason"]`` groups abstentions.
    """

    value: float | None = attrs.field(validator=number(optional=True))
    explanation: str = attrs.field(default="", validator=text())
    metadata: Mapping[str, Any] = attrs.field(default=FrozenMapping[Any](), converter=freeze_mapping("metadata"))

    @classmethod
    def abstain(cls, reason: str, explanation: str = "") -> Score:
        """An abstention; ``reason`` is what it is counted under."""
        return cls(None, explanation or reason, {"reason": reason})


@runtime_checkable
class Scorer(Protocol):
    """A pure function of a trace: no clock, no randomness, no network, no file.

    So a trace recorded last month can be scored again today, with the same result on any machine. A scorer that only
    ever says 0 or 1 declares ``binary = True`` and gets a binomial interval and worst-case bounds; one that measures
    something may declare its ``unit``.
    """

    name: str

    def score(self, trace: EpisodeTrace, task: TaskInstance) -> Score:
        """Score an episode, from the trace alone."""
        ...


@runtime_checkable
class Grader(Protocol):
    """Captures a judgement from outside (a person, a VLM, an oracle); may have side effects.

    What it returns is written into the trace as a ``grade`` event, which pure scorers read.
    """

    name: str

    def grade(self, trace: EpisodeTrace, task: TaskInstance) -> GradeEvent:
        """Judge an episode."""
        ...
