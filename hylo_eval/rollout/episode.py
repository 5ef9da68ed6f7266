"""One episode: reset, agent, safety filters, step, until it ends in a typed outcome and a trace."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from hylo_core.errors import clean_text, describe_error
from hylo_core.trace import (
    ArrayLayout,
    BenchmarkRef,
    EpisodeEnd,
    EpisodeStart,
    EpisodeStatus,
    ErrorEvent,
    ResetEvent,
    SafetyEvent,
    StepEvent,
)
from hylo_eval.agents.protocol import Agent, AgentSession, meet_env
from hylo_eval.envs import protocol as members
from hylo_eval.envs.protocol import spec_of
from hylo_eval.errors import EnvError
from hylo_eval.rollout.blame import error_event, fault_before, lasts, status_of
from hylo_eval.rollout.chunks import ChunkBuffer, action_shape, choice, takes_integers, volatile_of
from hylo_eval.rollout.filtering import filter_action
from hylo_eval.rollout.memory import resident_bytes
from hylo_eval.rollout.observe import ObservationView, check_cameras, read_only
from hylo_eval.rollout.result import EpisodeResult
from hylo_eval.rollout.signals import (
    end_reason,
    flag,
    goal_of,
    instruction_of,
    reward_of,
    settle_steps_of,
    snapshot_of,
    success_of,
    text_of,
)
from hylo_eval.rollout.start import describe_start, now, seed_of_agent
from hylo_eval.safety.protocol import begin_filters
from hylo_eval.traces.writer import VIDEOS, TraceWriter

if TYPE_CHECKING:
    import gymnasium

    from hylo_core.task import TaskInstance
    from hylo_eval.safety.protocol import SafetyFilter
    from hylo_eval.video.frames import FrameSink


def run_episode(
    env: gymnasium.Env[Any, Any],
    agent: Agent,
    instance: TaskInstance,
    *,
    trace_path: Path,
    benchmark: BenchmarkRef | None = None,
    safety: Sequence[SafetyFilter] = (),
    attempt: int = 1,
    replicate: int = 1,
    fsync: bool = False,
    clock: Callable[[], float] = time.perf_counter,
    stop: Callable[[], bool] | None = None,
    on_phase: Callable[[str], None] | None = None,
    frames: FrameSink | None = None,
) -> EpisodeResult:
    """Run one episode and write its trace.

    Every failure of agent, environment or filter becomes the typed status of a finished trace; nothing is raised for
    it. Everything the episode depends on is a function of ``instance`` and ``replicate``; ``attempt`` only names the
    file.

    Args:
        env: As :mod:`hylo_eval.envs.protocol` describes it, made for ``instance.spec``.
        agent: As :mod:`hylo_eval.agents.protocol` describes it.
        instance: What to run.
        trace_path: The trace to write; must not exist.
        benchmark: Which benchmark the instance is from; without one the trace says so.
        safety: Filters, applied in order. An action that is still not finite after them is an agent error.
        attempt: From 1.
        replicate: Which repetition, from 1; it decides the agent's seed and nothing else.
        fsync: Force the trace to disk before it gets its name.
        clock: Seconds, for durations; they are volatile and change no digest.
        stop: Asked before every step; when it says True the episode ends as ``cancelled``.
        on_phase: Told the name of every phase as it begins (:data:`hylo_core.trace.PHASES`), several times a step.
        frames: Shown every observation, for a video; changes nothing.

    Raises:
        EvalError: The trace cannot be written: a result nobody can read is no result.
        KeyboardInterrupt: ``stop`` said so, or the signal itself arrived; the trace was ended as ``cancelled``.
    """
    with TraceWriter(trace_path, fsync=fsync) as writer:
        episode = _Episode(
            env,
            agent,
            instance,
            writer,
            benchmark=benchmark,
            attempt=attempt,
            replicate=replicate,
            safety=safety,
            clock=clock,
            stop=stop,
            on_phase=on_phase,
            frames=frames,
        )
        return episode.run()


def record_failure(
    agent: Agent,
    instance: TaskInstance,
    error: BaseException,
    *,
    trace_path: Path,
    benchmark: BenchmarkRef | None = None,
    attempt: int = 1,
    replicate: int = 1,
    fsync: bool = False,
) -> EpisodeResult:
    """Write the trace of an episode whose environment could not be made because of ``error``.

    The other arguments, and what is raised, are those of :func:`run_episode`.
    """
    with TraceWriter(trace_path, fsync=fsync) as writer:
        episode = _Episode(None, agent, instance, writer, benchmark=benchmark, attempt=attempt, replicate=replicate)
        episode.phase = "make"
        writer.start(episode.describe())
        return episode.fail(error)


_NO_BENCHMARK = BenchmarkRef(id="none", version="none", digest="none", split="none")


class _Episode:
    """The state of one running episode. ``phase`` says who is to blame for what is raised now."""

    def __init__(
        self,
        env: gymnasium.Env[Any, Any] | None,
        agent: Agent,
        instance: TaskInstance,
        writer: TraceWriter,
        *,
        benchmark: BenchmarkRef | None,
        attempt: int,
        replicate: int,
        safety: Sequence[SafetyFilter] = (),
        clock: Callable[[], float] = time.perf_counter,
        stop: Callable[[], bool] | None = None,
        on_phase: Callable[[str], None] | None = None,
        frames: FrameSink | None = None,
    ) -> None:
        self._on_phase = on_phase
        self.env: Any = env
        self.agent = agent
        self.instance = instance
        self.writer = writer
        self.benchmark = benchmark or _NO_BENCHMARK
        self.attempt = attempt
        self.safety = tuple(safety)
        self.clock = clock
        self.stop = stop
        self.frames = frames
        self.agent_seed = seed_of_agent(instance, replicate)
        self.phase = "reset"
        self.steps = 0
        self.disagreements = 0
        self.success_once = False
        self.success = False
        self.session: AgentSession | None = None
        self.layouts: Mapping[str, ArrayLayout] = {}
        self.view: ObservationView | None = None
        self.seen: Mapping[str, Any] = {}
        self.started = clock()

    @property
    def phase(self) -> str:
        """What runs now, and so who is to blame for what is raised."""
        return self._phase

    @phase.setter
    def phase(self, name: str) -> None:
        self._phase = name
        if self._on_phase is not None:
            self._on_phase(name)

    def run(self) -> EpisodeResult:
        """From reset to the end event."""
        started = False
        try:
            observation, info, view = self._reset_env()
            env_spec = spec_of(self.env)
            check_cameras(view.layouts, env_spec.cameras)
            self.phase = "open"
            meet_env(self.agent, env_spec)
            self.phase = "reset"
            start, reset = self.describe(), self._reset_event(view, observation, info)
            self.phase = "record"
            self.writer.start(start)
            started = True
            self.writer.reset(reset)
            session = self._open(info[members.INSTRUCTION])
            status, reason, at_end = self._loop(session, observation, view)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) and (self.stop is None or self.stop()):
                if not started:
                    self._start_failed()
                self.fail(error, EpisodeStatus.CANCELLED)
                raise
            # The one place where what somebody's agent or simulator raises becomes an outcome.
            # Only a trace that cannot be written is none; what cannot be recorded is the environment's fault.
            if self.phase == "record" and not isinstance(error, EnvError):
                raise
            if not started:
                self._start_failed()
            return self.fail(error)
        return self._end(status, reason, success_at_end=at_end)

    def describe(self) -> EpisodeStart:
        """The start event."""
        return describe_start(
            self.env,
            self.agent,
            self.instance,
            self.layouts,
            benchmark=self.benchmark,
            attempt=self.attempt,
            agent_seed=self.agent_seed,
        )

    def _start_failed(self) -> None:
        """The start event of an episode that failed before it; an env that cannot describe itself is left out."""
        try:
            start = self.describe()
        except (Exception, SystemExit):  # noqa: BLE001 - the failure on its way to the trace is the one that counts
            self.env, self.layouts = None, {}
            start = self.describe()
        self.writer.start(start)

    def fail(self, error: BaseException, status: EpisodeStatus | None = None) -> EpisodeResult:
        """Record what was raised and end the episode with the status it deserves, or with the one given."""
        phase = self.phase
        status = status or status_of(error, phase)
        if status is EpisodeStatus.AGENT_ERROR and (fault := fault_before(error, self.view, self.seen)) is not None:
            error, phase, status = fault, "step", EpisodeStatus.ENV_ERROR
        event = error_event(error, phase, self.steps)
        self.writer.error(event)
        return attrs.evolve(self._end(status, phase, error=event), lasting=lasts(error, status))

    def _reset_env(self) -> tuple[Mapping[str, Any], dict[str, Any], ObservationView]:
        before = self.clock()
        observation, info = self.env.reset(seed=self.instance.seed, options={"instance": self.instance})
        self.reset_seconds = self.clock() - before
        self.view = view = ObservationView(observation, self.frames)
        self.layouts = view.layouts
        instruction_of(info, self.instance.spec.instruction)
        success_of(info)
        return observation, info, view

    def _reset_event(
        self, view: ObservationView, observation: Mapping[str, Any], info: Mapping[str, Any]
    ) -> ResetEvent:
        numbers, pictures = view.split(observation)
        return ResetEvent(
            instruction=info[members.INSTRUCTION],
            observation=numbers,
            images=pictures or {},
            success=info[members.SUCCESS],
            settle_steps=settle_steps_of(info),
            state_digest=text_of(info, members.STATE_DIGEST),
            model_digest=text_of(info, members.MODEL_DIGEST),
            snapshot=snapshot_of(info),
            volatile={"reset_seconds": self.reset_seconds},
        )

    def _open(self, instruction: str) -> AgentSession:
        self.phase = "filter"
        env_spec = spec_of(self.env)
        begin_filters(self.safety, env_spec, self.env.action_space)
        self.phase = "open"
        self.session = self.agent.open_episode(self.instance, instruction, self.agent_seed)
        return self.session

    def _loop(
        self, session: AgentSession, observation: Mapping[str, Any], view: ObservationView
    ) -> tuple[EpisodeStatus, str, bool | None]:
        """Step until the episode ends; returns status, reason and ``success_at_end``."""
        spec = self.instance.spec
        clock, env, writer = self.clock, self.env, self.writer
        shape = action_shape(env.action_space)
        choices = None if shape is None or hasattr(env.action_space, "low") else env.action_space
        buffer = ChunkBuffer(shape, self.agent.spec, integers=takes_integers(env.action_space))
        for index in range(spec.max_steps):
            if self.stop is not None and self.stop():
                raise KeyboardInterrupt("the run was stopped")
            volatile: dict[str, Any] = {}
            inference = not buffer
            if inference:
                self.phase = "act"
                self.seen = observation
                before = clock()
                reply = session.act(read_only(observation))
                volatile["act_seconds"] = clock() - before
                buffer.fill(reply)
                if reply.transport_seconds or reply.metadata:
                    volatile |= volatile_of(reply)
            proposed = buffer.pop()
            applied = proposed if shape is None else self._filter(index, proposed, observation)
            command = applied if choices is None else choice(choices, applied)
            self.phase = "step"
            before = clock()
            observation, reward, terminated, truncated, info = env.step(command)
            volatile["step_seconds"] = clock() - before
            success = success_of(info)
            numbers, pictures = view.split(observation)
            event = StepEvent(
                index,
                proposed,
                applied,
                inference,
                reward_of(reward, info),
                flag(terminated, "terminated"),
                flag(truncated, "truncated"),
                success,
                numbers,
                pictures,
                goal_of(info) if members.GOAL in info else None,
                members.DISAGREEMENT in info and flag(info[members.DISAGREEMENT], "info['disagreement']"),
                volatile,
            )
            self.phase = "record"
            writer.step(event)
            self.steps = index + 1
            self.disagreements += event.disagreement
            first_success = success and not self.success_once
            self.success_once = self.success_once or success
            if members.UNSTABLE in info:
                self.phase = "step"
                return EpisodeStatus.SIM_UNSTABLE, text_of(info, members.UNSTABLE), None
            ended = end_reason(spec, index, event, first_success=first_success)
            if ended is not None:
                return EpisodeStatus.COMPLETED, *ended
        raise AssertionError("unreachable: the last step ends at the horizon")

    def _filter(self, index: int, proposed: Any, observation: Mapping[str, Any]) -> Any:
        self.phase = "filter"
        return filter_action(self.safety, index, proposed, observation, self._record_intervention)

    def _record_intervention(self, event: SafetyEvent) -> None:
        self.phase = "record"
        self.writer.safety(event)
        self.phase = "filter"

    def _end(
        self,
        status: EpisodeStatus,
        reason: str,
        *,
        success_at_end: bool | None = None,
        error: ErrorEvent | None = None,
    ) -> EpisodeResult:
        close_error = self._close_session()
        volatile: dict[str, Any] = {"finished_at": now(), "seconds": self.clock() - self.started}
        if (memory := resident_bytes()) is not None:
            volatile["resident_bytes"] = memory
        if close_error:
            volatile["close_error"] = close_error
        event = EpisodeEnd(
            status=status,
            steps=self.steps,
            success_once=self.success_once if self.steps else None,
            success_at_end=success_at_end,
            reason=clean_text(reason),
            volatile=volatile,
        )
        if self.frames is not None:
            self.phase = "record"
            event = attrs.evolve(event, volatile={**volatile, VIDEOS: self.frames.finish(event)})
        digests = self.writer.end(event)
        path, disagreements = self.writer.path, self.disagreements
        return EpisodeResult(end=event, path=path, digests=digests, error=error, disagreements=disagreements)

    def _close_session(self) -> str:
        """Close the agent's session; what it raises now changes no outcome, and is kept."""
        if self.session is None:
            return ""
        try:
            self.session.close()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - somebody's code; it is kept in the end event
            return describe_error(error)
        return ""
