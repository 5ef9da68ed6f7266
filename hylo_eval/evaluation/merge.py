"""Joining runs of parts into the run they are parts of, finished or not; the parts stay as they are."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

import attrs

from hylo_core.benchmark import Benchmark
from hylo_core.canonical import digest
from hylo_core.errors import HyloError, describe_error
from hylo_core.frozen import thaw
from hylo_core.score import Scorer
from hylo_core.spec import AgentSpec, EnvSpec
from hylo_core.trace import AgentInfo, EpisodeStatus
from hylo_eval.benchmarks import find_benchmark
from hylo_eval.errors import EvalError
from hylo_eval.evaluation.conclusion import EvalResult, conclude_run
from hylo_eval.evaluation.making import make_scorer
from hylo_eval.evaluation.manifest import write_manifest
from hylo_eval.evaluation.plan import Plan, plan_run
from hylo_eval.evaluation.recipe import RunSetup
from hylo_eval.evaluation.scores import checked_scorers
from hylo_eval.evaluation.shards import (
    Shard,
    describe_shard,
    part_of,
    read_shard,
    refuse_other_instances,
    refuse_strangers,
)
from hylo_eval.queue import Attempt, Ending, Item, Outcome, Result, RunQueue, State, max_losses
from hylo_eval.queue.configuration import describe_differences, differences
from hylo_eval.queue.trace_check import fault_of
from hylo_eval.queue.transfer import History, write_histories
from hylo_eval.traces.layout import RunFolder, episode_id, trace_name

_RESTORE: Final = "restore the part as its machine wrote it, or run it again"
_FINAL: Final = (Ending.DONE, Ending.ABSTAINED)


@attrs.frozen(kw_only=True)
class Missing:
    """What a part does not bring.

    Attributes:
        shard: Which part, ``2/8``.
        keys: Its instances without an outcome.
        reason: Why.
    """

    shard: str
    keys: tuple[str, ...]
    reason: str


@attrs.frozen(kw_only=True)
class Merged:
    """A run joined from parts.

    Attributes:
        result: What it came to, scored anew from its traces.
        missing: What is left to run, by part; empty when it is whole.
    """

    result: EvalResult
    missing: tuple[Missing, ...]


@attrs.frozen(kw_only=True)
class MergePlan:
    """Parts that belong together, and the run they make.

    Attributes:
        shards: The parts, by number.
        whole: The selection that they divide.
        setup: What they were run with.
        scorers: What scores them.
    """

    shards: Sequence[Shard]
    whole: Plan
    setup: RunSetup
    scorers: Sequence[Scorer]


def plan_merge(
    runs: Sequence[RunFolder], *, benchmark: str | None = None, allow_code_change: bool = False
) -> MergePlan:
    """Read the parts and refuse what is none of one run.

    Args:
        runs: Their folders.
        benchmark: Where the benchmark is, if it is not where the parts found it.
        allow_code_change: Accept parts that other states of Hylo's own source have run.

    Raises:
        EvalError: A part cannot be read, is of another run, or stands twice; the text names every difference.
    """
    shards = sorted(map(read_shard, runs), key=lambda shard: shard.number)
    refuse_strangers(shards, allow_code_change=allow_code_change)
    first = shards[0]
    whole = _plan_of(first, _benchmark_of(first, benchmark))
    for shard in shards:
        refuse_other_instances(shard, whole)
    return MergePlan(shards=shards, whole=whole, setup=_setup_of(first), scorers=_scorers_of(first))


def merge(plan: MergePlan, run: RunFolder, *, link: bool = False, fsync: bool = False) -> Merged:
    """Write the run that the parts make: traces, queue, manifest and log.

    The folder gets its name when everything but the log is in it. A trace that does not have its recorded digest is
    left out, and its episode is one to run again.

    Args:
        plan: The parts.
        run: Where to; it must not exist.
        link: Hard-link traces where the file system can; what is appended to one is then in both.
        fsync: Wait for the disk at every commit.

    Raises:
        EvalError: The folder exists, or cannot be written.
    """
    target = run.path.resolve()
    for shard in plan.shards:
        if target.is_relative_to(shard.run.path.resolve()):
            raise EvalError(f"{run.path} lies inside the part {shard.run.path}", fix="choose another folder with -o")
    if run.path.exists():
        raise EvalError(f"{run.path} exists already; nothing is written over", fix="choose another name with -o")
    building = RunFolder(run.path.with_name(f".{run.run_id}.{os.getpid()}.merging"))
    try:
        building.create()
        missing = _fill(plan, building, run.run_id, link=link, fsync=fsync)
        building.path.rename(run.path)
    except OSError as error:
        raise EvalError(f"cannot write {run.path}: {describe_error(error)}", fix="choose another folder") from error
    finally:
        shutil.rmtree(building.path, ignore_errors=True)
    with RunQueue.open(run.queue) as queue:
        result = conclude_run(queue, plan=plan.whole, setup=plan.setup, run=run, scorers=plan.scorers)
    return Merged(result=result, missing=missing)


def _fill(plan: MergePlan, run: RunFolder, run_id: str, *, link: bool, fsync: bool) -> tuple[Missing, ...]:
    histories: list[History] = []
    missing: list[Missing] = []
    for shard in plan.shards:
        unfinished: list[str] = []
        for result in shard.results:
            history, damage = _transfer(shard, result, run, plan.setup.max_attempts, link=link)
            histories.append(history)
            if damage:
                missing.append(Missing(shard=shard.name, keys=(result.key,), reason=damage))
            elif not any(attempt.ending in _FINAL for attempt in history.attempts):
                unfinished.append(result.key)
        _bring_videos(shard.run, run, link=link)
        if unfinished:
            missing.append(Missing(shard=shard.name, keys=tuple(unfinished), reason=f"not run yet in {shard.run.path}"))
    queue = RunQueue.create(
        run.queue,
        config=_config(plan),
        items=(Item(key=item.key, task=item.task, position=place) for place, item in enumerate(plan.whole.declared)),
        max_attempts=plan.setup.max_attempts,
        fsync=fsync,
    )
    queue.close()
    write_histories(run.queue, histories, fsync=fsync)
    write_manifest(_manifest(plan, run_id), run.manifest)
    return (*missing, *_absent(plan))


def _absent(plan: MergePlan) -> Iterator[Missing]:
    """Parts that nobody named and that hold something."""
    count, named = plan.shards[0].count, {shard.number for shard in plan.shards}
    for number in range(1, count + 1):
        if number not in named:
            part = part_of(plan.whole, number, count)
            if part.declared:
                keys = tuple(item.key for item in part.declared)
                yield Missing(shard=f"{number}/{count}", keys=keys, reason="this part was not named")


def _transfer(shard: Shard, result: Result, run: RunFolder, max_attempts: int, *, link: bool) -> tuple[History, str]:
    """What became of one item, its traces brought over; and what is wrong with the trace that counts."""
    damage = ""
    attempts: list[Attempt] = []
    for attempt in shard.attempts.get(result.key, ()):
        fault = _bring(attempt, shard.run, run, link=link)
        if not fault:
            attempts.append(attempt)
            continue
        counts = attempt.ending in _FINAL
        damage = fault if counts else damage
        attempts.append(
            attrs.evolve(
                attempt,
                ending=Ending.DEMOTED if counts else attempt.ending,
                outcome=attrs.evolve(
                    attempt.outcome,
                    trace="",
                    trace_sha256="",
                    behaviour_sha256="",
                    trace_bytes=0,
                    error=fault if counts else attempt.outcome.error,
                ),
            )
        )
    if result.state is State.LEASED:
        attempts.append(_lost(shard, result, attempts, max_attempts))
    elif (result.state in (State.DONE, State.ABSTAINED)) != any(
        attempt.ending in _FINAL for attempt in shard.attempts.get(result.key, ())
    ):
        raise EvalError(
            f"{shard.run.queue} contradicts itself: {result.key!r} is {result.state} by one of its tables", fix=_RESTORE
        )
    history = History(key=result.key, claimed=result.attempt, attempts=tuple(attempts), host=shard.host)
    return history, damage


def _lost(shard: Shard, result: Result, before: Sequence[Attempt], max_attempts: int) -> Attempt:
    """The attempt under a lease whose process is gone, as continuing the part would have recorded it."""
    losses = 1 + sum(attempt.ending is Ending.LOST for attempt in before)
    error = f"it was held under a lease when {shard.run.run_id}, part {shard.name}, was merged"
    return Attempt(
        key=result.key,
        task=result.task,
        position=result.position,
        attempt=result.attempt,
        owner=shard.holders.get(result.key, "unknown"),
        ending=Ending.ABSTAINED if losses >= max_losses(max_attempts) else Ending.LOST,
        outcome=Outcome.without_trace(str(EpisodeStatus.WORKER_LOST), error, started_at=0.0),
    )


def _bring(attempt: Attempt, shard: RunFolder, run: RunFolder, *, link: bool) -> str:
    """Bring a trace over and check the copy; returns what is wrong with it."""
    name = attempt.outcome.trace
    if not name:
        return ""
    source, target = shard.path / name, run.path / name
    if name != trace_name(episode_id(attempt.key, attempt.attempt)):
        return f"the trace {name} does not have the name of its attempt"
    if source.is_symlink() or not source.is_file():
        return f"the trace {name} is missing in {shard.path}"
    _copy(source, target, link=link)
    fault = fault_of(attempt.outcome, run.path)
    if fault:
        target.unlink()
    return fault


def _bring_videos(shard: RunFolder, run: RunFolder, *, link: bool) -> None:
    """Bring ``videos/<episode_id>.<camera>.mp4`` of every trace that came over; nothing rests on them."""
    for source in sorted(shard.videos.glob("*.mp4")):
        episode = source.name.removesuffix(".mp4").rpartition(".")[0]
        if source.is_file() and not source.is_symlink() and run.trace(episode).exists():
            target = run.videos / source.name
            target.parent.mkdir(exist_ok=True)
            _copy(source, target, link=link)


def _copy(source: Path, target: Path, *, link: bool) -> None:
    if link:
        try:
            target.hardlink_to(source)
        except OSError:
            pass  # another file system, or one that has no links
        else:
            return
    shutil.copyfile(source, target)


def _config(plan: MergePlan) -> dict[str, Any]:
    return plan.shards[0].whole_config


def _manifest(plan: MergePlan, run_id: str) -> dict[str, Any]:
    """The manifest of the whole: what the parts have in common, and where each of them comes from."""
    config, whole = _config(plan), plan.whole
    apart = ("continued", "execution")
    kept = {name: value for name, value in plan.shards[0].manifest.items() if name not in apart}
    invocation = kept.get("invocation")
    if isinstance(invocation, dict):
        members = cast("dict[str, Any]", invocation)
        kept["invocation"] = {name: value for name, value in members.items() if name != "shard"}
    begun = [text for shard in plan.shards if isinstance(text := shard.manifest.get("created_at"), str)]
    return {
        **kept,
        "run_id": run_id,
        "created_at": min(begun, default="unknown"),
        "config_digest": digest(config),
        "selection": {
            **config["selection"],
            "instances": len(whole.declared),
            "keys_digest": digest([item.key for item in whole.declared]),
        },
        "tasks_digest": whole.tasks_digest,
        "merged": [describe_shard(shard) for shard in plan.shards],
    }


def _benchmark_of(shard: Shard, name: str | None) -> Benchmark:
    if name is None:
        invocation = shard.manifest.get("invocation")
        members = cast("dict[str, Any]", invocation) if isinstance(invocation, dict) else {}
        name = members.get("benchmark")
        if not isinstance(name, str):
            raise EvalError(
                f"the manifest of {shard.run.path} does not say which benchmark it ran", fix="--benchmark BENCH"
            )
    try:
        return find_benchmark(name)
    except HyloError as error:
        reason = error.message if isinstance(error, EvalError) else str(error)
        raise EvalError(
            f"the benchmark of the parts, {name!r}, cannot be loaded here: {reason}",
            fix="say where it is: --benchmark BENCH",
        ) from error


def _plan_of(shard: Shard, benchmark: Benchmark) -> Plan:
    """The selection that a part is a part of, built again from its configuration."""
    config = shard.whole_config
    stored = {name: config.get(name) for name in ("benchmark", "selection", "overrides")}
    try:
        selection, overrides = config["selection"], config["overrides"]
        plan = plan_run(
            benchmark,
            config["benchmark"]["split"],
            tasks=tuple(selection.get("tasks", ())),
            key=selection.get("key"),
            episodes=selection.get("episodes"),
            max_episodes=selection.get("max_episodes"),
            max_steps=overrides.get("max_steps"),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise EvalError(
            f"{shard.run.queue} holds no configuration of a run: {describe_error(error)}", fix=_RESTORE
        ) from error
    found = {
        "benchmark": plan.benchmark_ref.to_dict(),
        "selection": thaw(plan.selection),
        "overrides": dict(plan.overrides),
    }
    different = list(differences(stored, found))
    if different:
        raise EvalError(
            f"the benchmark here is not the one of {shard.run.path}:\n{describe_differences(different)}",
            fix="name the one that the parts have run with --benchmark",
        )
    return plan


def _setup_of(shard: Shard) -> RunSetup:
    """What a part was run with, as its configuration says."""
    config, source = shard.config, str(shard.run.queue)
    try:
        agent, env, simulator = config["agent"], config["env"], config["simulator"]
        names = {field.name for field in attrs.fields(AgentInfo)}
        return RunSetup(
            agent=AgentInfo.from_dict({name: agent[name] for name in names & set(agent)}, source=source),
            agent_spec=AgentSpec.from_dict(agent["spec"], source=source),
            agent_ref={},
            env_spec=EnvSpec.from_dict(env["spec"], source=source),
            env_ref={},
            safety=config["safety"],
            versions=simulator["versions"],
            renderer=simulator["renderer"],
            max_attempts=config["max_attempts"],
            replicate=config.get("replicate", 1),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise EvalError(f"{source} holds no configuration of a run: {describe_error(error)}", fix=_RESTORE) from error


def _scorers_of(shard: Shard) -> Sequence[Scorer]:
    """The scorers of the part, by the references it was called with, or else by their names."""
    invocation = shard.manifest.get("invocation")
    called: Mapping[str, Any] = cast("dict[str, Any]", invocation) if isinstance(invocation, dict) else {}
    names = called.get("scorers", shard.manifest.get("scorers"))
    if not isinstance(names, list) or not all(isinstance(name, str) for name in cast("list[Any]", names)):
        raise EvalError(f"{shard.run.manifest}: scorers: must be a list of texts", fix=_RESTORE)
    return checked_scorers([make_scorer(name) for name in cast("list[str]", names)])
