"""The experts that Meta-World ships, one a task, with seeded action noise.

They read the true poses of objects: privileged.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from hylo_core.spec import ActionSlice, AgentSpec, StateSpec
from hylo_core.task import InitStateRef, TaskInstance
from hylo_core.trace import AgentInfo
from hylo_eval.agents.protocol import AgentSession, Reply
from hylo_eval.errors import AgentError
from hylo_eval.installing import install_command

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np


class MetaworldExpert:
    """Answers with the packaged expert of the instance's task.

    Args:
        noise: Standard deviation of the normal noise added to every action entry before clipping to [-1, 1];
            the noise is drawn from the episode's agent seed. 0 adds none.

    Raises:
        AgentError: ``noise`` is negative, or Meta-World is not installed.
    """

    def __init__(self, noise: float = 0.0) -> None:
        if noise < 0:
            raise AgentError(f"option 'noise' must be at least 0, not {noise:g}", fix="--agent-arg noise=0.5")
        try:
            from importlib.metadata import version

            from metaworld.policies import ENV_POLICY_MAP
        except ImportError as error:
            raise AgentError(
                f"the Meta-World experts are not installed here ({error})",
                fix=install_command("hylo-eval[metaworld]"),
            ) from error
        self._experts: Mapping[str, Any] = ENV_POLICY_MAP
        self._noise = noise
        components = {"metaworld": version("metaworld"), "noise": noise}
        self.info = AgentInfo(name="metaworld-expert", version="1", components=components)
        self.spec = AgentSpec(
            action=(
                ActionSlice(name="eef_position", start=0, stop=3, mode="delta", unit="normalised", frame="world"),
                ActionSlice(
                    name="gripper",
                    start=3,
                    stop=4,
                    mode="absolute",
                    unit="normalised",
                    frame="eef",
                    gripper="positive_closes",
                ),
            ),
            control_hz=80.0,
            state=(StateSpec(name="observation", shape=(39,), unit="mixed", frame="world", privileged=True),),
        )

    def open_episode(self, instance: TaskInstance, instruction: str, seed: int) -> AgentSession:
        """Begin an episode with a new expert of the instance's task.

        Raises:
            AgentError: The instance is of no Meta-World task.
        """
        del instruction
        init = instance.spec.init
        name = init.uri.rpartition("/")[2] if isinstance(init, InitStateRef) else ""
        if name not in self._experts:
            raise AgentError(f"Meta-World has no expert for task {instance.spec.id!r}")
        import numpy as np

        return _Session(self._experts[name](), self._noise, np.random.default_rng(seed))

    def close(self) -> None:
        """Nothing is held."""


class _Session:
    """One episode of one expert."""

    def __init__(self, expert: Any, noise: float, generator: np.random.Generator) -> None:
        self._expert = expert
        self._noise = noise
        self._generator = generator

    def act(self, observation: Mapping[str, Any]) -> Reply:
        """One action, shape (4,), in [-1, 1]."""
        import numpy as np

        with warnings.catch_warnings():
            # The experts warn at almost every step that their gain exceeds the bound; they are clipped by
            # design.
            warnings.filterwarnings("ignore", message="Constant", category=UserWarning)
            # A copy: some experts write into the observation they are given.
            seen = np.array(observation["observation"])
            action = np.asarray(self._expert.get_action(seen), dtype=np.float64)
        if self._noise:
            action = action + self._noise * self._generator.standard_normal(4)
        return Reply(np.clip(action, -1.0, 1.0))

    def close(self) -> None:
        """Nothing is held."""
