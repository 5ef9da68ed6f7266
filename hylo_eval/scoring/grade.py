"""What a grader recorded in the trace, as a score."""

from __future__ import annotations

from typing import Any, Final

from hylo_core.score import Score
from hylo_core.task import TaskInstance
from hylo_core.trace import EpisodeTrace, GradeEvent
from hylo_eval.scoring.outcome import INFRA, INVALID_TASK, NOT_GRADED, abstention

NO_JUDGEMENT: Final = "no_judgement"
"""The grader looked at the episode and gave no value, without an error: it could not tell."""


class GradeScorer:
    """The value of the latest ``grade`` event of one grader.

    The latest counts whatever it says: a grade without a value is an abstention, and no earlier value stands in for
    it, for that one may have been given by another rubric. Superseded events stay in the trace, and their number is
    in the metadata, so judging again until the result pleases does not go unseen. Whether the events are what the
    grader wrote is no question for a scorer: who reads the file follows the chain
    (:func:`hylo_eval.traces.reader.read_trace`).

    Args:
        grader: The grader's name.
        digest: Only events of what has this digest (a specification, a rubric) count; empty for any.
    """

    def __init__(self, grader: str = "verdict", *, digest: str = "") -> None:
        self.name = f"grade:{grader}"
        self._grader = grader
        self._digest = digest

    def score(self, trace: EpisodeTrace, task: TaskInstance) -> Score:
        """Read the grade; abstains as every scorer of behaviour does when the episode has no outcome."""
        abstained = abstention(trace)
        if abstained is not None:
            return abstained
        events = [event for event in trace.grades if self._counts(event)]
        if not events:
            digest = f" with digest {self._digest}" if self._digest else ""
            return Score.abstain(NOT_GRADED, f"no grade event of {self._grader!r}{digest}")
        return _score_of(events[-1], superseded=len(events) - 1)

    def _counts(self, event: GradeEvent) -> bool:
        return event.grader == self._grader and self._digest in ("", event.digest)


def _score_of(event: GradeEvent, *, superseded: int) -> Score:
    metadata: dict[str, Any] = {"grader": event.grader, "ref": event.ref, "digest": event.digest}
    metadata = {name: text for name, text in metadata.items() if text}
    if superseded:
        metadata["superseded"] = superseded
    status = event.metadata.get("status")
    if isinstance(status, str):
        metadata["status"] = status
    # An error beside a value says that the value cannot be trusted.
    if event.value is not None and not event.error:
        return Score(event.value, event.explanation, metadata)
    failure = INVALID_TASK if status == INVALID_TASK else INFRA
    reason = failure if event.error else NO_JUDGEMENT
    return Score(None, event.error or event.explanation or reason, {**metadata, "reason": reason})
