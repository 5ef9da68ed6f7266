"""``evaluate``: the whole path from benchmark and agent to an EvalLog."""

from __future__ import annotations

import contextlib
import logging
import re
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from hylo_core.benchmark import Benchmark
from hylo_core.score import Scorer
from hylo_core.task import TaskInstance
from hylo_core.trace import AgentInfo
from hylo_eval.agents.protocol import Agent
from hylo_eval.envs.protocol import EnvFactory
from hylo_eval.errors import EvalError
from hylo_eval.evaluation.arguments import check_arguments, refuse_broken_truths
from hylo_eval.evaluation.conclusion import EvalResult, Interrupted, conclude_run
from hylo_eval.evaluation.executor import Executor, InProcess, RunWatcher, Work
from hylo_eval.evaluation.making import ref_of_factory
from hylo_eval.evaluation.plan import Plan, plan_run
from hylo_eval.evaluation.repeating import require_replicate
from hylo_eval.evaluation.run_beginning import RunBeginning
from hylo_eval.evaluation.scores import checked_scorers
from hylo_eval.evaluation.source_files import source_of_env
from hylo_eval.evaluation.worker import Episode, Worker
from hylo_eval.scoring.counts import SafetyInterventions, Steps
from hylo_eval.scoring.latency import LatencyP95
from hylo_eval.scoring.success import Success
from hylo_eval.traces.layout import RunFolder
from hylo_eval.video.recorder import VideoTally

if TYPE_CHECKING:
    from hylo_eval.safety.protocol import SafetyFilter
    from hylo_eval.video.recorder import VideoChoice

DEFAULT_SCORERS: tuple[Scorer, ...] = (Success(), Steps(), SafetyInterventions(), LatencyP95())


def evaluate(
    benchmark: Benchmark,
    split: str | None,
    *,
    env_factory: EnvFactory,
    agent: Agent,
    run_root: Path | str,
    safety: Sequence[SafetyFilter] | None = None,
    scorers: Sequence[Scorer] | None = None,
    manifest: AgentInfo | Mapping[str, Any] | None = None,
    plan: Plan | None = None,
    run_id: str | None = None,
    env_options: Mapping[str, Any] | None = None,
    env_ref: Mapping[str, Any] | None = None,
    agent_ref: Mapping[str, Any] | None = None,
    max_attempts: int = 3,
    fsync: bool = False,
    in_order: bool = False,
    video: VideoChoice = "none",
    replicate: int = 1,
    stop: Callable[[], bool] | None = None,
    started: Callable[[TaskInstance, int], None] | None = None,
    finished: Callable[[Episode], None] | None = None,
) -> EvalResult:
    """Evaluate an agent on a split of a benchmark, in this process, and write a run folder.

    Everything that can be refused is refused before the run folder exists: bad options, a missing simulator, a run root
    that cannot be written, an agent whose action layout differs from the environment's.

    Args:
        benchmark: What to run.
        split: Which split; None is ``heldout``, or the only one.
        env_factory: Makes the env of a task (:mod:`hylo_eval.envs.protocol`).
        agent: Who acts (:mod:`hylo_eval.agents.protocol`).
        run_root: The folder run folders are made in.
        safety: Filters; None is ``finite`` and, for bounded actions, ``bounds``.
        scorers: Pure scorers; the first is the one that decides ``n_scored``. None is success, steps, safety
            interventions and latency.
        manifest: The agent manifest in place of ``agent.info``: name, version, components, trained_on.
        plan: A narrower selection of the split (:func:`hylo_eval.evaluation.plan.plan_run`).
        run_id: The run folder's name; None makes one of time, benchmark and agent. A run of that name is continued
            if its configuration is the same.
        env_options: Passed to the factory.
        env_ref: What the factory was made from, for the manifest: ``{"ref": "package.module:Attr", "options": {…}}``.
            Only runs that say the same can be compared. None finds it out for Hylo's own factories.
        agent_ref: What the agent was made from, for the manifest.
        max_attempts: Tries of an episode whose infrastructure fails.
        fsync: Force each trace to disk.
        in_order: Run the instances in declared order, not task by task: what is finished is then a prefix of it.
        video: Which episodes are kept as video, for each camera: ``none``, ``failures`` or ``all``.
        replicate: Which repetition of the same instances this is, from 1: in each the agent draws other numbers.
        stop: Asked before every step; when it says True the run ends as if it had been interrupted.
        started: Told of every attempt.
        finished: Told of every episode that has its outcome.

    Raises:
        ContractError: A question's truth breaks its contract; nothing was written.
        EvalError: Something is refused; nothing was written.
        Interrupted: The operator stopped the run; ``evallog.partial.json`` holds what is finished.
    """
    check_arguments(benchmark, env_factory, agent)
    plan = _plan(benchmark, split, plan)
    agent = cast("Agent", _Manifested(agent, manifest)) if manifest is not None else agent
    run = RunFolder.at(Path(run_root), run_id or make_run_id(benchmark.id, agent.info.name))
    worker = Worker(
        env_factory=env_factory,
        env_options=dict(env_options or {}),
        agent=agent,
        safety=safety,
        run=run,
        benchmark=plan.benchmark_ref,
        max_attempts=max_attempts,
        fsync=fsync,
        stop=stop,
        replicate=require_replicate(replicate),
    )
    made_from = ref_of_factory(env_factory, worker.env_options) if env_ref is None else env_ref
    made_from = {**made_from, **source_of_env(env_factory, made_from)}
    executor = InProcess(worker, agent, made_from, agent_ref or {}, video=video)
    return run_plan(
        plan,
        executor,
        run=run,
        scorers=scorers,
        max_attempts=max_attempts,
        fsync=fsync,
        in_order=in_order,
        video=video != "none",
        stop=stop,
        started=None if started is None else lambda instance, attempt, _: started(instance, attempt),
        finished=finished,
    )


def run_plan(
    plan: Plan,
    executor: Executor,
    *,
    run: RunFolder,
    scorers: Sequence[Scorer] | None = None,
    max_attempts: int = 3,
    fsync: bool = False,
    in_order: bool = False,
    budget_seconds: float | None = None,
    allow_code_change: bool = False,
    details: Mapping[str, Any] | None = None,
    video: bool = False,
    stop: Callable[[], bool] | None = None,
    started: Callable[[TaskInstance, int, str], None] | None = None,
    finished: Callable[[Episode], None] | None = None,
    watcher: RunWatcher | None = None,
) -> EvalResult:
    """Run a plan with whatever executes it, or continue a run of that plan, and write its log.

    Args:
        plan: What to run.
        executor: Who runs it; it is closed at the end.
        run: Where to. What is there must be of the same configuration.
        scorers: As for :func:`evaluate`.
        max_attempts: Tries of an episode whose infrastructure fails.
        fsync: Survive power loss, not only the death of every process.
        in_order: Run the instances in declared order, not task by task.
        budget_seconds: Take nothing new after so long: a balanced prefix of the declared order is run.
        allow_code_change: Continue a run that another state of Hylo's own source began.
        details: For the manifest: how the run was called and how it is executed.
        video: Whether the executor keeps episodes as video, so that the result counts them.
        stop: Whether the operator wants it to stop.
        started: Told of every attempt: instance, attempt, name of the worker.
        finished: Told of every episode that has its outcome.
        watcher: Who shows how far the run is.

    Raises:
        ContractError: A question's truth breaks its contract; nothing was written.
        EvalError: Something is refused; nothing was written.
        Interrupted: The operator stopped the run; ``evallog.partial.json`` holds what is finished.
    """
    scorers = DEFAULT_SCORERS if scorers is None else checked_scorers(scorers)
    if max_attempts < 1:
        raise EvalError(f"max_attempts must be at least 1, not {max_attempts}", fix="--max-attempts 3")
    until = None if budget_seconds is None else time.monotonic() + budget_seconds
    try:
        refuse_broken_truths(plan)
        setup, differences = executor.prepare(plan.tasks[0])
        names = [scorer.name for scorer in scorers]
        record = RunBeginning(plan=plan, setup=setup, run=run, scorers=names, details=details or {})
        with contextlib.closing(record.open_queue(fsync=fsync, allow_code_change=allow_code_change)) as queue:
            videos = VideoTally()
            conclude = partial(
                conclude_run,
                queue,
                plan=plan,
                setup=setup,
                run=run,
                scorers=scorers,
                differences=differences,
                videos=videos if video else None,
            )
            work = Work(
                queue=queue,
                run=run,
                instance=plan.instance,
                until=until,
                in_order=in_order or until is not None,
                stop=stop,
                started=started,
                finished=finished,
                videos=videos,
                watcher=watcher,
            )
            if watcher is not None:
                watcher.opened(run, queue)
            try:
                executor.execute(work)
                executor.close()
            except KeyboardInterrupt as interrupt:
                raise Interrupted(_undisturbed(conclude)) from interrupt
            except Exception:
                # A full disk, a simulator that went missing: what is finished is kept, the error stays what it is.
                try:
                    conclude()
                except EvalError as error:
                    logging.getLogger(__name__).warning("what is finished has no log: %s", error)
                raise
            return conclude()
    finally:
        executor.close()


def _undisturbed(conclude: Callable[[], EvalResult]) -> EvalResult:
    """Write the log of a run that was stopped, also when the second signal, meant for a step, comes this late."""
    try:
        return conclude()
    except KeyboardInterrupt:
        return conclude()


def make_run_id(benchmark_id: str, agent_name: str) -> str:
    """``<time>-<benchmark>-<agent>-<random>``: sorts by time, says what it is, meets no other."""
    moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    slugs = [re.sub(r"[^A-Za-z0-9._]+", "-", text).strip("-.")[:40] or "x" for text in (benchmark_id, agent_name)]
    return f"{moment}-{slugs[0]}-{slugs[1]}-{secrets.token_hex(2)}"


def _plan(benchmark: Benchmark, split: str | None, plan: Plan | None) -> Plan:
    if plan is None:
        return plan_run(benchmark, split)
    if split not in (None, plan.split) or plan.benchmark.digest() != benchmark.digest():
        raise EvalError(
            "the plan is of another benchmark or split than the ones to evaluate",
            fix="make the plan with plan_run of the same benchmark and split",
        )
    return plan


class _Manifested:
    """An agent under the manifest the caller gives; the rest is the agent's own."""

    def __init__(self, agent: Agent, manifest: AgentInfo | Mapping[str, Any]) -> None:
        self._agent = agent
        self.info = manifest if isinstance(manifest, AgentInfo) else AgentInfo.from_dict(manifest, source="manifest")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._agent, name)
