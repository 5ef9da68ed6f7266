"""Runs the episodes of a plan in this process: one env at a time, retried where the infrastructure fails."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs

from hylo_core.task import TaskInstance, TaskSpec
from hylo_core.trace import INFRASTRUCTURE, BenchmarkRef
from hylo_eval.agents.protocol import Agent
from hylo_eval.envs.protocol import EnvFactory, spec_of
from hylo_eval.errors import MissingSimulator
from hylo_eval.rollout.episode import EpisodeResult, record_failure, run_episode
from hylo_eval.safety.defaults import default_filters
from hylo_eval.traces.layout import RunFolder, episode_id

if TYPE_CHECKING:
    import gymnasium

    from hylo_eval.safety.protocol import SafetyFilter
    from hylo_eval.video.recorder import VideoRecorder


@attrs.frozen(kw_only=True)
class Episode:
    """An episode that has its outcome.

    Attributes:
        instance: What was run.
        attempt: The attempt that counts, from 1.
        result: What it came to.
    """

    instance: TaskInstance
    attempt: int
    result: EpisodeResult

    @property
    def episode_id(self) -> str:
        """The id of the attempt that counts."""
        return episode_id(self.instance.key, self.attempt)


@attrs.define
class Worker:
    """Owns the env and runs episodes one after the other.

    Attributes:
        env_factory: Makes the env of a task.
        env_options: Passed to the factory.
        agent: Who acts.
        safety: Filters, or None for the defaults of each env's action space.
        run: Where the traces go.
        benchmark: What the traces say they are from.
        max_attempts: Tries of an episode whose infrastructure fails.
        fsync: Force each trace to disk.
        stop: Asked before every step; ends the run with ``KeyboardInterrupt`` when it says True.
        video: Records the episodes; None records none.
    """

    env_factory: EnvFactory
    env_options: Mapping[str, Any]
    agent: Agent
    safety: Sequence[SafetyFilter] | None
    run: RunFolder
    benchmark: BenchmarkRef
    max_attempts: int = 3
    fsync: bool = False
    stop: Callable[[], bool] | None = None
    video: VideoRecorder | None = None
    _env: gymnasium.Env[Any, Any] | None = attrs.field(default=None, init=False)
    _task: str = attrs.field(default="", init=False)

    def open(self, task: TaskSpec) -> gymnasium.Env[Any, Any]:
        """The env of a task: the one that is open, or a new one in its place."""
        wanted = task.digest()
        if self._env is None or self._task != wanted:
            self.close()
            self._env = self.env_factory(task, **self.env_options)
            self._task = wanted
        return self._env

    def close(self) -> None:
        """Close the env that is open; what a simulator raises while it closes changes no outcome."""
        env, self._env, self._task = self._env, None, ""
        if env is not None:
            # Outcomes are on disk already; EGL contexts are known to raise here for no reason.
            with contextlib.suppress(Exception, SystemExit):
                env.close()

    def filters(self, env: gymnasium.Env[Any, Any]) -> Sequence[SafetyFilter]:
        """The filters of an episode in this env."""
        return default_filters(env.action_space) if self.safety is None else self.safety

    def episodes(
        self, instances: Sequence[TaskInstance], started: Callable[[TaskInstance, int], None] | None = None
    ) -> Iterator[Episode]:
        """Run the instances in order; ``started`` is told of every attempt."""
        for instance in instances:
            for attempt in range(1, self.max_attempts + 1):
                if self.stop is not None and self.stop():
                    raise KeyboardInterrupt("the run was stopped")
                if started is not None:
                    started(instance, attempt)
                result = self._attempt(instance, attempt)
                if result.end.status not in INFRASTRUCTURE or attempt == self.max_attempts:
                    yield Episode(instance=instance, attempt=attempt, result=result)
                    break
                # A simulator that failed once is not trusted with the next try.
                self.close()

    def _attempt(self, instance: TaskInstance, attempt: int) -> EpisodeResult:
        path = self.run.trace(episode_id(instance.key, attempt))
        try:
            env = self.open(instance.spec)
            safety = self.filters(env)
        except MissingSimulator:
            # The configuration's fault, not this episode's: trying again would not help.
            raise
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001
            # Making the env is part of the attempt: what a simulator raises here is infrastructure.
            return record_failure(
                self.agent, instance, error, trace_path=path, benchmark=self.benchmark, attempt=attempt
            )
        run = partial(
            run_episode,
            env,
            self.agent,
            instance,
            trace_path=path,
            benchmark=self.benchmark,
            safety=safety,
            attempt=attempt,
            fsync=self.fsync,
            stop=self.stop,
        )
        if self.video is None:
            return run()
        name = episode_id(instance.key, attempt)
        return self.video.record(lambda frames: run(frames=frames), name, instance.spec, spec_of(env))
