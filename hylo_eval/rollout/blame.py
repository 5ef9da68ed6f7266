"""Who is to blame for what was raised: the status it gives the episode."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hylo_core.errors import describe_error
from hylo_core.trace import EpisodeStatus
from hylo_eval.errors import AgentError, EnvError, SafetyAbort

if TYPE_CHECKING:
    from hylo_eval.rollout.observe import ObservationView


def status_of(error: BaseException, phase: str) -> EpisodeStatus:
    """The status of an episode that ended with ``error``, raised in ``phase``."""
    if phase in ("open", "act"):
        # Whatever its type: an agent that raises EnvError must not leave the denominator as infrastructure.
        return EpisodeStatus.AGENT_ERROR
    if isinstance(error, SafetyAbort) and phase == "filter":
        return EpisodeStatus.SAFETY_ABORT
    return EpisodeStatus.AGENT_ERROR if isinstance(error, AgentError) else EpisodeStatus.ENV_ERROR


def lasts(error: BaseException, status: EpisodeStatus) -> bool:
    """Whether another try of an episode that ended so would end in the same way: something is missing here."""
    return status is EpisodeStatus.ENV_ERROR and isinstance(error, EnvError) and error.lasting


def fault_before(error: BaseException, view: ObservationView | None, seen: Mapping[str, Any]) -> EnvError | None:
    """The environment's fault that led to an agent's error, if there is one: it showed what is not finite.

    An agent cannot answer that with a good action, and its failure would count against it.

    Args:
        error: The agent's, which becomes the cause.
        view: Knows what was finite at the reset; None before it.
        seen: The observation that the agent acted on.
    """
    diverged = view.diverged(seen) if view is not None and seen else []
    if not diverged:
        return None
    named = ", ".join(map(repr, diverged[:3]))
    fault = EnvError(f"the observation {named} was finite at the reset and is no longer; then {describe_error(error)}")
    fault.__cause__ = error
    return fault
