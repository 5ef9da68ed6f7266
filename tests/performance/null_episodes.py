"""CPU a step of the control loop on an env that does nothing: ``python null_episodes.py EPISODES STEPS``.

A full trace: 7-D action, 40 numbers of state, typed events, both digests, the default filters. Prints one JSON line.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

import hylo_core.codec  # noqa: F401 - what is imported at the first use is imported here: no import is measured
from hylo_core import AgentInfo, AgentSpec, Predicate, SeedInit, TaskInstance, TaskSpec
from hylo_eval import Reply
from hylo_eval.agents.protocol import StatelessSession
from hylo_eval.rollout.episode import run_episode
from hylo_eval.safety.defaults import default_filters


class NullEnv(gymnasium.Env[Any, Any]):
    """Returns the same observation for ever."""

    action_space = spaces.Box(-1, 1, (7,))
    observation_space = spaces.Dict({"state": spaces.Box(-1, 1, (40,))})

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self.taken = 0
        self.observation = {"state": np.linspace(0, 1, 40)}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self.taken = 0
        return self.observation, {"instruction": "go", "success": False}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.taken += 1
        done = self.taken >= self.steps
        return self.observation, 0.0, done, False, {"success": done}


class NullAgent:
    """Answers the zero action."""

    info = AgentInfo(name="null")
    spec = AgentSpec()

    def open_episode(self, instance: TaskInstance, instruction: str, seed: int) -> StatelessSession:
        reply = Reply(np.zeros(7))
        return StatelessSession(lambda _: reply)

    def close(self) -> None:
        pass


def main(episodes: int, steps: int) -> None:
    """Run and print."""
    task = TaskSpec(
        id="null",
        version="1",
        instruction="go",
        init=SeedInit(),
        success=Predicate("builtin", "env_success"),
        max_steps=steps + 1,
    )
    env, agent = NullEnv(steps), NullAgent()
    filters = default_filters(env.action_space)
    with tempfile.TemporaryDirectory() as folder:
        started = time.process_time()
        for seed in range(episodes):
            instance = TaskInstance(spec=task, seed=seed, episode_index=seed, split="heldout")
            result = run_episode(env, agent, instance, trace_path=Path(folder) / f"{seed}.jsonl", safety=filters)
            assert result.end.steps == steps
        cpu = time.process_time() - started
        size = sum(path.stat().st_size for path in Path(folder).iterdir())
    print(
        json.dumps(
            {"cpu_s": cpu, "us_per_step": 1e6 * cpu / episodes / steps, "bytes_per_step": size / episodes / steps}
        )
    )


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
