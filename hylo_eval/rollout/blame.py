"""Who is to blame for what was raised: the status it gives the episode."""

from __future__ import annotations

from hylo_core.trace import EpisodeStatus
from hylo_eval.errors import AgentError, EnvError, SafetyAbort


def status_of(error: BaseException, phase: str) -> EpisodeStatus:
    """The status of an episode that ended with ``error``, raised in ``phase``."""
    if isinstance(error, KeyboardInterrupt):
        return EpisodeStatus.CANCELLED
    if isinstance(error, SafetyAbort):
        return EpisodeStatus.SAFETY_ABORT
    if isinstance(error, AgentError):
        return EpisodeStatus.AGENT_ERROR
    if isinstance(error, EnvError):
        return EpisodeStatus.ENV_ERROR
    return EpisodeStatus.AGENT_ERROR if phase in ("open", "act") else EpisodeStatus.ENV_ERROR
