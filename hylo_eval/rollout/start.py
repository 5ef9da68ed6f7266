"""The start event: who acts in what, on which machine."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from hylo_core.seeds import derive_seed
from hylo_core.trace import ArrayLayout, BenchmarkRef, EpisodeStart
from hylo_eval.envs.protocol import renderer_of, spec_of, versions_of
from hylo_eval.rollout.chunks import action_layout
from hylo_eval.traces.layout import episode_id

if TYPE_CHECKING:
    from hylo_core.task import TaskInstance
    from hylo_eval.agents.protocol import Agent


def describe_start(
    env: Any,
    agent: Agent,
    instance: TaskInstance,
    layouts: Mapping[str, ArrayLayout],
    *,
    benchmark: BenchmarkRef,
    attempt: int,
    agent_seed: int,
) -> EpisodeStart:
    """The start event of an episode; ``env`` is None where none could be made."""
    return EpisodeStart(
        instance=instance,
        benchmark=benchmark,
        agent=agent.info,
        env_spec=spec_of(env),
        agent_spec=agent.spec,
        observations=layouts,
        action=action_layout(getattr(env, "action_space", None)),
        versions=versions_of(env),
        renderer=renderer_of(env),
        seeds={"env": instance.seed, "agent": agent_seed},
        volatile={
            "episode_id": episode_id(instance.key, attempt),
            "attempt": attempt,
            "started_at": now(),
            "host": socket.gethostname(),
            "pid": os.getpid(),
        },
    )


def seed_of_agent(instance: TaskInstance, replicate: int = 1) -> int:
    """The seed for every random number of the agent in this episode.

    Args:
        instance: What is run.
        replicate: Which repetition it is, from 1: each draws from a stream of its own in the same scene. The first has
            the seed of a run that is not repeated.
    """
    return derive_seed(instance.key, "agent" if replicate == 1 else f"agent/{replicate}")


def now() -> str:
    """The time in UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
