"""Run folders in which exactly the episodes succeed that a test says."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from hylo_core import Benchmark
from hylo_eval import evaluate, plan_run, read_evallog, write_evallog
from hylo_eval.evallog.building import LogBuilder
from hylo_eval.evallog.facts import EpisodeFacts
from hylo_eval.evallog.v02 import EvalLog
from hylo_eval.evaluation.conclusion import EvalResult
from tests.episodes import FunctionAgent, ScriptedEnv, benchmark, task


class WonEnv(ScriptedEnv):
    """Succeeds at step 1 in the episodes it is told to; the start, versions and renderer are what a test says."""

    def __init__(
        self,
        spec: Any,
        *,
        won: Collection[str],
        broken: Collection[str],
        starts: Mapping[str, Mapping[str, str]],
        versions: Mapping[str, str],
        renderer: str,
    ) -> None:
        super().__init__(spec)
        self.task_id, self.won, self.broken, self.starts = spec.id, won, broken, starts
        self.versions, self.renderer = versions, renderer

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        key = f"{self.task_id}#{seed}"
        if key in self.broken:
            raise RuntimeError("no display")
        observation, info = super().reset(seed=seed, options=options)
        self.success_at = (1,) if key in self.won else ()
        return observation, {**info, "state_digest": f"sha256:{seed}", **self.starts.get(key, {})}


def keys(*seeds: int, task_id: str = "unit/task") -> set[str]:
    """Instance keys of a task's seeds."""
    return {f"{task_id}#{seed}" for seed in seeds}


def unit(count: int = 10, *tasks: str) -> Benchmark:
    """A benchmark of so many seeds a task."""
    specs = [task(name, tags=("unit", name.rpartition("/")[2])) for name in tasks or ("unit/task",)]
    return benchmark(*specs, seeds=tuple(range(count)))


def write_run(
    root: Path,
    run_id: str,
    won: Collection[str] = (),
    *,
    bench: Benchmark | None = None,
    agent_errors: Collection[int] = (),
    broken: Collection[str] = (),
    starts: Mapping[str, Mapping[str, str]] | None = None,
    versions: Mapping[str, str] | None = None,
    renderer: str = "none",
    manifest: Mapping[str, Any] | None = None,
    plan: Mapping[str, Any] | None = None,
    push: float = 0.25,
    split: str = "heldout",
    **options: Any,
) -> EvalResult:
    """Run a scripted agent.

    Args:
        root: The run root.
        run_id: The run's name.
        won: Keys of the episodes that succeed.
        bench: What to run; ten seeds of one task unless given.
        agent_errors: Seeds at which the agent raises.
        broken: Keys of the episodes whose environment cannot be reset.
        starts: Key -> members of ``info`` at reset, such as another ``state_digest``.
        versions: Of the simulator.
        renderer: Of the simulator.
        manifest: The agent manifest.
        plan: Options of the selection.
        split: The split.
        push: The agent's action; above 1 the safety filter intervenes at every step.
        options: For ``evaluate``.
    """

    def act(observation: Any, replies: int) -> Any:
        if replies == 0 and round(float(observation["position"][0])) in agent_errors:
            raise ValueError("no such instruction")
        return np.full(2, push)

    bench = bench or unit()
    return evaluate(
        bench,
        split,
        env_factory=lambda spec: WonEnv(
            spec, won=won, broken=broken, starts=starts or {}, versions=versions or {"scripted": "1"}, renderer=renderer
        ),
        agent=FunctionAgent(act),
        run_root=root,
        run_id=run_id,
        manifest=manifest or {"name": run_id, "version": "1"},
        plan=plan_run(bench, split, **plan) if plan else None,
        max_attempts=1,
        **options,
    )


def edit_json(path: Path, change: Callable[[Any], Any]) -> None:
    """Change a JSON file in place."""
    document = json.loads(path.read_text(encoding="utf-8"))
    change(document)
    path.write_text(json.dumps(document), encoding="utf-8")


def edit_manifest(run: Path, change: Callable[[Any], Any]) -> None:
    """Change the manifest of a run and the copy of it in its log, so that the run still agrees with itself."""
    edit_json(run / "manifest.json", change)
    edit_json(run / "evallog.json", lambda log: change(log["eval"]["manifest"]))


def edit_samples(path: Path, change: Callable[[Any], Any]) -> None:
    """Change the samples of a log in place, and its header with them."""
    edit_json(path, lambda log: [change(sample) for sample in log["samples"]])
    write_samples(read_evallog(path, check=False), path)


def write_samples(log: EvalLog, path: Path) -> None:
    """Write a log whose header says what its samples say."""
    builder = LogBuilder()
    for sample in log.samples:
        builder.add(sample, EpisodeFacts())
    write_evallog(builder.finish(status=log.status, spec=log.eval), path)


def edit_trace(run: Path, key: str, change: Callable[[str], str]) -> Path:
    """Change the text of one episode's trace in place."""
    log = json.loads((run / "evallog.json").read_text(encoding="utf-8"))
    path = run / next(sample["trace"] for sample in log["samples"] if sample["key"] == key)
    before = path.read_text(encoding="utf-8")
    after = change(before)
    assert after != before
    path.write_text(after, encoding="utf-8")
    return path


def unfinish(run: Path, kept: int) -> None:
    """Make a whole run look like one that was stopped after some episodes."""
    log = read_evallog(run / "evallog.json")
    write_samples(attrs.evolve(log, status="partial", samples=log.samples[:kept]), run / "evallog.partial.json")
    (run / "evallog.json").unlink()
