"""What the harness asks of an agent.

An agent is made once a run and opens one session an episode. A session holds the state and history of that episode, is
never shared and never reused, so nothing can leak from one episode into the next. The harness alone buffers action
chunks and executes ``agent.spec.replan`` actions of each.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import attrs

from hylo_core.spec import AgentSpec, EnvSpec
from hylo_core.trace import AgentInfo

if TYPE_CHECKING:
    from hylo_core.task import TaskInstance


@attrs.frozen
class Reply:
    """What an agent answers to one observation.

    Attributes:
        actions: One action, shape (action_size,), where ``spec.replan`` is 1; a chunk, shape (horizon, action_size),
            row 0 first, with at least ``spec.replan`` rows; or text. Copied: the array may be filled again.
        transport_seconds: Seconds spent on the wire, where the agent lives elsewhere.
        metadata: JSON kept in the trace beside the step (raw model reply, token counts).
    """

    actions: Any
    transport_seconds: float = 0.0
    metadata: Mapping[str, Any] | None = None


@runtime_checkable
class AgentSession(Protocol):
    """One episode of an agent."""

    def act(self, observation: Mapping[str, Any]) -> Reply:
        """Answer an observation. Arrays are read-only; copy what you keep and change."""
        ...

    def close(self) -> None:
        """End the episode; called exactly once."""
        ...


@runtime_checkable
class Agent(Protocol):
    """What is evaluated.

    An agent that cannot know its action space beforehand, such as a random one, may also have ``meet(env_spec)``; the
    harness calls it before each episode.

    Attributes:
        info: The agent manifest.
        spec: What it expects of the environment, chunk length and replan count.
    """

    info: AgentInfo
    spec: AgentSpec

    def open_episode(self, instance: TaskInstance, instruction: str, seed: int) -> AgentSession:
        """Begin an episode.

        Args:
            instance: What is run. A fair policy uses nothing of it but what the benchmark allows.
            instruction: The text the environment gave.
            seed: For every random number of the episode; a pure function of the instance key.
        """
        ...

    def close(self) -> None:
        """Release what the agent holds; called once, at the end of the run."""
        ...


class StatelessSession:
    """A session around a plain function, for agents without memory."""

    def __init__(self, act: Any) -> None:
        self._act = act

    def act(self, observation: Mapping[str, Any]) -> Reply:
        """Ask the function."""
        return self._act(observation)

    def close(self) -> None:
        """Nothing is held."""


@runtime_checkable
class MeetsEnv(Protocol):
    """An agent that adapts to the environment's action, such as a random baseline.

    The harness calls ``meet`` whenever it has made an env, before the first episode on it.
    """

    def meet(self, env_spec: EnvSpec) -> None:
        """Take what is needed from the env's spec.

        Raises:
            AgentError: The agent cannot act in such an env.
        """
        ...


def meet_env(agent: object, env_spec: EnvSpec) -> None:
    """Introduce an agent to an env just made; agents that adapt to nothing have no ``meet``, and nothing happens."""
    # Not isinstance(agent, MeetsEnv): from Python 3.12 on that does not see what an agent passes on from another.
    meet = getattr(agent, "meet", None)
    if meet is not None:
        meet(env_spec)
