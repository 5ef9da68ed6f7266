"""Fixtures of the agent tests: instances, and what envs show."""

from __future__ import annotations

import numpy as np
import pytest

from hylo_core.task import TaskInstance


@pytest.fixture(scope="session")
def recorded():
    """``recorded(env_class, task, seed)`` -> instance, env spec, observations of an episode of small actions."""

    def record(env_class, task, seed=0, steps=12):
        instance = TaskInstance(spec=task, seed=seed, episode_index=0, split="test")
        env = env_class(task)
        observation, _ = env.reset(seed=seed, options={"instance": instance})
        observations = [observation]
        generator = np.random.default_rng(0)
        space = env.action_space
        for _ in range(steps):
            action = generator.uniform(space.low, space.high) if space.dtype.kind == "f" else space.low
            observations.append(env.step(action)[0])
        env.close()
        return instance, env.env_spec, observations

    return record
