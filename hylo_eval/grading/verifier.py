"""A verifier (rubric, plugin, endpoint) as a grader: rewards become grades, failures become grades without a value."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from hylo_core.canonical import digest_bytes
from hylo_core.trace import EpisodeTrace, GradeEvent
from hylo_eval.errors import VerificationError
from hylo_eval.grading.material import task_of, trajectory_of
from hylo_eval.verify.bounded_detail import bounded_detail, bounded_text

if TYPE_CHECKING:
    from hylo_core.task import TaskInstance
    from hylo_eval.verify.verifiers.contract import Verifier

NAME: Final = "verifier"


class VerifierGrader:
    """Gives each episode a verifier's reward.

    A :class:`VerificationError` becomes an event without a value that names the verifier and why it stopped; the
    library call ``verifier(task, trajectory)`` raises it. What is not the verifier's failure passes through.

    Args:
        verifier: Who judges.
        name: The grader's name in the events.
        now: The time of grading.
    """

    def __init__(
        self, verifier: Verifier, *, name: str = NAME, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self.name = name
        self.digest = verifier.digest
        self.parallel = verifier.parallel
        self._verifier = verifier
        self._now = now

    def close(self) -> None:
        """End what the verifier runs."""
        close: Any = getattr(self._verifier, "close", None)
        if callable(close):
            close()

    def grade(self, trace: EpisodeTrace, task: TaskInstance) -> GradeEvent:
        """Ask the verifier."""
        given = task_of(trace)
        trajectory = trajectory_of(trace, events=self._verifier.takes_events)
        metadata: dict[str, Any] = {"kind": self._verifier.ref.kind}
        value, explanation, failed = None, "", ""
        try:
            found = self._verifier.verify(given, trajectory)
        except VerificationError as error:
            failed = bounded_text(str(error))
        else:
            value, explanation = found.reward, bounded_text(found.explanation)
            metadata |= bounded_detail(found.metadata)
        if isinstance(trajectory, str):
            metadata["trajectory_digest"] = digest_bytes(trajectory.encode())
        return GradeEvent(
            grader=self.name,
            value=value,
            ref=self._verifier.ref.ref,
            digest=self.digest,
            explanation=explanation,
            error=failed,
            metadata=metadata,
            volatile={"graded_at": self._now().isoformat(timespec="milliseconds")},
        )
