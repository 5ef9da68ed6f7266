"""An env that ends after one step and a policy that answers nothing: what is left of an episode is the harness."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from hylo_core import AgentInfo, AgentSpec
from hylo_eval import Reply
from hylo_eval.agents.protocol import StatelessSession

STATE_SIZE, ACTION_SIZE = 8, 7


class OneStepEnv(gymnasium.Env[Any, Any]):
    """Succeeds at its first step."""

    versions = {"one_step": "1"}  # noqa: RUF012
    renderer = "none"

    def __init__(self, task: Any) -> None:
        self.action_space = spaces.Box(-1, 1, (ACTION_SIZE,), np.float32)
        self.observation_space = spaces.Dict({"states": spaces.Box(-1, 1, (STATE_SIZE,), np.float32)})

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        return {"states": np.zeros(STATE_SIZE, np.float32)}, {"instruction": "go", "success": False}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return {"states": np.zeros(STATE_SIZE, np.float32)}, 0.0, True, False, {"success": True}


class StillAgent:
    """Answers zeros."""

    info, spec = AgentInfo(name="still", version="1"), AgentSpec()

    def open_episode(self, instance: Any, instruction: str, seed: int) -> StatelessSession:
        """Nothing is remembered."""
        return StatelessSession(lambda _: Reply(np.zeros(ACTION_SIZE, np.float32)))

    def close(self) -> None:
        """Nothing is held."""
