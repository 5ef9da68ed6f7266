"""Runs episodes in this process, one env at a time."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from hylo_core.errors import describe_error
from hylo_core.task import TaskInstance, TaskSpec
from hylo_core.trace import INFRASTRUCTURE, BenchmarkRef, EpisodeEnd, EpisodeStatus
from hylo_eval.agents.protocol import Agent
from hylo_eval.envs.protocol import EnvFactory, spec_of
from hylo_eval.errors import EvalError, MissingSimulator
from hylo_eval.evaluation.making import make_agent, make_env_factory, make_safety
from hylo_eval.evaluation.recipe import Recipe
from hylo_eval.queue import Outcome
from hylo_eval.rollout.episode import record_failure, run_episode
from hylo_eval.rollout.result import EpisodeResult
from hylo_eval.safety.defaults import default_filters
from hylo_eval.traces.layout import RunFolder, episode_id
from hylo_eval.traces.writer import TraceDigests

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

    @classmethod
    def recorded(cls, run: RunFolder, instance: TaskInstance, attempt: int, outcome: Outcome) -> Episode:
        """An episode as the queue has it on record."""
        try:
            status = EpisodeStatus(outcome.status)
        except ValueError:
            raise EvalError(f"{run.queue}: {instance.key} has the unknown status {outcome.status!r}") from None
        end = EpisodeEnd(status=status, steps=outcome.steps, success_once=outcome.success, reason="recorded")
        digests = TraceDigests(outcome.trace_sha256, outcome.behaviour_sha256, outcome.trace_bytes)
        result = EpisodeResult(
            end=end, path=run.path / outcome.trace, digests=digests, disagreements=outcome.disagreements
        )
        return cls(instance=instance, attempt=attempt, result=result)

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
        on_phase: Told what begins (:data:`hylo_core.trace.PHASES`).
        video: Records the episodes; None records none.
        replicate: Which repetition of the same instances this is, from 1; it decides the agent's seeds.
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
    on_phase: Callable[[str], None] | None = None
    video: VideoRecorder | None = None
    replicate: int = 1
    _env: gymnasium.Env[Any, Any] | None = attrs.field(default=None, init=False)
    _task: TaskSpec | None = attrs.field(default=None, init=False)

    def open(self, task: TaskSpec) -> gymnasium.Env[Any, Any]:
        """The env of a task: the one that is open, or a new one in its place."""
        if self._env is None or not _are_one_task(self._task, task):
            self.close()
            self._enter("make")
            self._env = self.env_factory(task, **self.env_options)
        self._task = task
        return self._env

    def close(self) -> None:
        """Close the env that is open; what a simulator raises while it closes changes no outcome, and is said."""
        env, self._env, self._task = self._env, None, None
        if env is not None:
            self._enter("close")
            try:
                env.close()
            except (Exception, SystemExit) as error:  # noqa: BLE001 - outcomes are on disk; EGL raises here for no reason
                logging.getLogger(__name__).warning("closing the environment raised %s", describe_error(error))

    def filters(self, env: gymnasium.Env[Any, Any]) -> Sequence[SafetyFilter]:
        """The filters of an episode in this env."""
        return default_filters(env.action_space) if self.safety is None else self.safety

    def attempt(self, instance: TaskInstance, attempt: int) -> EpisodeResult:
        """Run an instance once.

        An env whose episode failed for infrastructure is closed: a simulator that failed once is not trusted with the
        next episode.

        Raises:
            MissingSimulator: The packages of the environment are not installed.
            EvalError: The trace cannot be written.
            KeyboardInterrupt: The run was stopped; the trace was ended as ``cancelled``.
        """
        result = self._run(instance, attempt)
        if result.end.status in INFRASTRUCTURE:
            self.close()
        return result

    def _run(self, instance: TaskInstance, attempt: int) -> EpisodeResult:
        path = self.run.trace(episode_id(instance.key, attempt))
        try:
            self._enter("make")
            env = self.open(instance.spec)
            safety = self.filters(env)
        except MissingSimulator:
            # The configuration's fault, not this episode's: trying again would not help.
            raise
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) and (self.stop is None or self.stop()):
                raise
            # Making the env is part of the attempt: what a simulator raises here is infrastructure.
            return record_failure(
                self.agent,
                instance,
                error,
                trace_path=path,
                benchmark=self.benchmark,
                attempt=attempt,
                replicate=self.replicate,
                fsync=self.fsync,
            )
        if self.stop is not None and self.stop():
            # Before the reset, which may take as long as making the env has.
            raise KeyboardInterrupt("the run was stopped")
        run = partial(
            run_episode,
            env,
            self.agent,
            instance,
            trace_path=path,
            benchmark=self.benchmark,
            safety=safety,
            attempt=attempt,
            replicate=self.replicate,
            fsync=self.fsync,
            stop=self.stop,
            on_phase=self.on_phase,
        )
        if self.video is None:
            return run()
        name = episode_id(instance.key, attempt)
        return self.video.record(lambda frames: run(frames=frames), name, instance.spec, spec_of(env))

    def _enter(self, phase: str) -> None:
        if self.on_phase is not None:
            self.on_phase(phase)


def _are_one_task(before: TaskSpec | None, now: TaskSpec) -> bool:
    """Whether the digests are equal; they are not computed where both are one object, which is nearly always so."""
    return before is now or (before is not None and before.digest() == now.digest())


@attrs.frozen(kw_only=True)
class MadeWorker:
    """A worker, its agent, and what the manifest says they were made from."""

    worker: Worker
    agent: Agent
    env_ref: Mapping[str, Any]
    agent_ref: Mapping[str, Any]


def make_worker(
    recipe: Recipe, *, stop: Callable[[], bool] | None = None, on_phase: Callable[[str], None] | None = None
) -> MadeWorker:
    """Make what a recipe says.

    Raises:
        EvalError: A name that names nothing, an option that does not exist, an agent that cannot be made.
    """
    folder = None if recipe.folder is None else Path(recipe.folder)
    env = make_env_factory(recipe.env, recipe.env_defaults, recipe.env_options, folder=folder)
    agent = make_agent(recipe.agent, recipe.agent_options)
    worker = Worker(
        env_factory=env.value,
        env_options=env.options,
        agent=agent.value,
        safety=make_safety(recipe.safety),
        run=RunFolder(Path(recipe.run)),
        benchmark=recipe.benchmark,
        max_attempts=recipe.max_attempts,
        fsync=recipe.fsync,
        replicate=recipe.replicate,
        stop=stop,
        on_phase=on_phase,
    )
    return MadeWorker(worker=worker, agent=agent.value, env_ref=env.ref, agent_ref=agent.ref)
