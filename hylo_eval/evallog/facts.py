"""What a log says of an episode beside its scores, read from the trace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import attrs

from hylo_core.trace import EpisodeTrace
from hylo_eval.evallog.v02 import LoggedState
from hylo_eval.scoring.duration_histogram import reply_histogram
from hylo_eval.scoring.initial_states import initial_state


@attrs.frozen(kw_only=True)
class EpisodeFacts:
    """An episode's own part of a log.

    Attributes:
        behaviour_sha256: Of its trace.
        tags: Of its task.
        steps: Actions that reached the environment.
        initial_state: What it began in; None where it never began.
        started_at: ISO 8601, empty where not on record.
        finished_at: Likewise.
        replies: Durations of the agent's replies by bucket (:mod:`hylo_eval.scoring.duration_histogram`).
        disagreement: Whether our evaluation of the goal and the simulator's own check differ at some step.
    """

    behaviour_sha256: str = ""
    tags: tuple[str, ...] = ()
    steps: int | None = None
    initial_state: LoggedState | None = None
    started_at: str = ""
    finished_at: str = ""
    replies: Mapping[int, int] = attrs.field(factory=Counter[int])
    disagreement: bool = False


def episode_facts(trace: EpisodeTrace) -> EpisodeFacts:
    """The facts of a trace."""
    state = initial_state(trace)
    return EpisodeFacts(
        behaviour_sha256=trace.behaviour_sha256,
        tags=trace.instance.spec.tags,
        steps=len(trace.steps),
        initial_state=None if state is None else LoggedState(task=state[0], state=state[1], model=state[2]),
        started_at=_text(trace.start.volatile.get("started_at")),
        finished_at=_text(trace.end.volatile.get("finished_at")) if trace.end else "",
        replies=reply_histogram(trace),
        disagreement=True in trace.column("disagreement"),
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
