"""Who is to blame for what was raised: the status it gives the episode, and how it stands in the trace."""

from __future__ import annotations

import re
import traceback
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from hylo_core.errors import clean_text, describe_error, message_of
from hylo_core.trace import AGENT_PHASES, EpisodeStatus, ErrorEvent
from hylo_eval.errors import AgentError, EnvError, SafetyAbort

if TYPE_CHECKING:
    from hylo_eval.rollout.observe import ObservationView

MAX_TRACEBACK_CHARACTERS: Final = 65536
"""What is kept of a traceback: the message in it can be of any length."""

_ADDRESS: Final = re.compile(r"\bat 0x[0-9a-fA-F]{6,}")
_PHASES_OF_STEPS: Final = ("act", "filter", "step")


def status_of(error: BaseException, phase: str) -> EpisodeStatus:
    """The status of an episode that ended with ``error``, raised in ``phase``."""
    if phase in AGENT_PHASES:
        # Whatever its type: an agent that raises EnvError must not leave the denominator as infrastructure.
        return EpisodeStatus.AGENT_ERROR
    if isinstance(error, SafetyAbort) and phase == "filter":
        return EpisodeStatus.SAFETY_ABORT
    return EpisodeStatus.AGENT_ERROR if isinstance(error, AgentError) else EpisodeStatus.ENV_ERROR


def lasts(error: BaseException, status: EpisodeStatus) -> bool:
    """Whether another try of an episode that ended so would end in the same way: something is missing here."""
    return status is EpisodeStatus.ENV_ERROR and isinstance(error, EnvError) and error.lasting


def blamed_phase(phase: str) -> str:
    """The phase that a trace names for a failure: what cannot be recorded came out of the step before."""
    return "step" if phase == "record" else phase


def error_event(error: BaseException, phase: str, steps: int) -> ErrorEvent:
    """The trace's event of what was raised.

    Args:
        error: What was raised.
        phase: Where (:data:`hylo_core.trace.PHASES`).
        steps: Actions that had reached the environment.
    """
    return ErrorEvent(
        phase=blamed_phase(phase),
        error_type=clean_text(type(error).__name__),
        # Where an object lay in memory differs between equal runs; the traceback has it.
        message=_ADDRESS.sub("at 0x...", message_of(error)),
        step=steps if phase in _PHASES_OF_STEPS else None,
        volatile={"traceback": clean_text("".join(traceback.format_exception(error)), MAX_TRACEBACK_CHARACTERS)},
    )


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
