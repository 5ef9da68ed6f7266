"""Who is to blame for what was raised: the status it gives the episode."""

from __future__ import annotations

from hylo_core.trace import EpisodeStatus
from hylo_eval.errors import AgentError, SafetyAbort


def status_of(error: BaseException, phase: str) -> EpisodeStatus:
    """The status of an episode that ended with ``error``, raised in ``phase``."""
    if phase in ("open", "act"):
        # Whatever its type: an agent that raises EnvError must not leave the denominator as infrastructure.
        return EpisodeStatus.AGENT_ERROR
    if isinstance(error, SafetyAbort) and phase == "filter":
        return EpisodeStatus.SAFETY_ABORT
    return EpisodeStatus.AGENT_ERROR if isinstance(error, AgentError) else EpisodeStatus.ENV_ERROR
