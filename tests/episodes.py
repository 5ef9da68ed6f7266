"""Small environments and agents that do exactly what a test says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from hylo_core import AgentInfo, AgentSpec, Benchmark, Predicate, SeedInit, TaskInstance, TaskSpec
from hylo_eval import Reply


def task(task_id: str = "unit/task", **changes: Any) -> TaskSpec:
    """A task of ten steps."""
    members: dict[str, Any] = {
        "version": "1",
        "instruction": "go",
        "init": SeedInit(),
        "success": Predicate("builtin", "env_success"),
        "max_steps": 10,
    }
    return TaskSpec(id=task_id, **{**members, **changes})


def instance(spec: TaskSpec | None = None, seed: int = 3) -> TaskInstance:
    """One instance."""
    return TaskInstance(spec=spec or task(), seed=seed, episode_index=0, split="heldout")


def benchmark(*specs: TaskSpec, seeds: tuple[int, ...] = (0, 1, 2, 3), **changes: Any) -> Benchmark:
    """A benchmark over a few seeds."""
    members: dict[str, Any] = {"id": "unit", "version": "1", "splits": {"train": (100,), "heldout": seeds}}
    return Benchmark(tasks=specs or (task(),), **{**members, **changes})


class ScriptedEnv(gymnasium.Env[Any, Any]):
    """A point whose position is the sum of its seed and its actions; succeeds at the steps it is told to.

    Args:
        spec: The task, as a factory gets it.
        success_at: Step indices after which success holds; -1 is the reset.
        terminate_at: The step index after which the env ends the episode.
        on_reset: Called at reset; what it raises is raised.
        on_step: Called with the step index; may raise, or return members for ``info``.
        action_size: Entries of the action.
    """

    versions: Mapping[str, str] = {"scripted": "1"}
    renderer = "none"

    def __init__(
        self,
        spec: TaskSpec | None = None,
        *,
        success_at: tuple[int, ...] = (),
        terminate_at: int | None = None,
        on_reset: Callable[[], Any] = lambda: None,
        on_step: Callable[[int], Any] = lambda index: None,
        action_size: int = 2,
    ) -> None:
        self.success_at = success_at
        self.terminate_at = terminate_at
        self.on_reset = on_reset
        self.on_step = on_step
        self.action_space = spaces.Box(-1, 1, (action_size,))
        self.observation_space = spaces.Dict({"position": spaces.Box(-np.inf, np.inf, (action_size,))})
        self.closed = 0
        self.position = np.zeros(action_size)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        assert seed is not None
        self.taken = 0
        self.position = np.full(self.action_space.shape, float(seed))
        info = {"instruction": "go", "success": -1 in self.success_at, **(self.on_reset() or {})}
        return {"position": self.position.copy()}, info

    def step(self, action: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        index, self.taken = self.taken, self.taken + 1
        extra = self.on_step(index) or {}
        self.position = self.position + np.asarray(action, dtype=np.float64)
        observation = extra.pop("observation", {"position": self.position.copy()})
        reward = extra.pop("reward", 0.5)
        info = {"success": index in self.success_at, **extra}
        return observation, reward, index == self.terminate_at, False, info

    def close(self) -> None:
        self.closed += 1


class FunctionAgent:
    """Acts by a function of the observation; counts what is opened and closed.

    Args:
        act: From observation and the number of replies before to a Reply or an action.
        chunk_length: Actions a reply.
        replan: Executed of each.
    """

    info = AgentInfo(name="function", version="1")

    def __init__(self, act: Callable[[Any, int], Any] | None = None, *, chunk_length: int = 1, replan: int = 1) -> None:
        self.spec = AgentSpec(chunk_length=chunk_length, replan=replan)
        self.function = act or (lambda observation, replies: np.full(2, 0.25))
        self.opened = 0
        self.sessions: list[FunctionSession] = []
        self.closed = 0

    def open_episode(self, instance: TaskInstance, instruction: str, seed: int) -> FunctionSession:
        self.opened += 1
        self.sessions.append(FunctionSession(self.function, seed))
        return self.sessions[-1]

    def close(self) -> None:
        self.closed += 1


class FunctionSession:
    """One episode of a :class:`FunctionAgent`."""

    def __init__(self, function: Callable[[Any, int], Any], seed: int) -> None:
        self.function = function
        self.seed = seed
        self.replies = 0
        self.closed = 0

    def act(self, observation: Mapping[str, Any]) -> Reply:
        answer = self.function(observation, self.replies)
        self.replies += 1
        return answer if isinstance(answer, Reply) else Reply(answer)

    def close(self) -> None:
        self.closed += 1
