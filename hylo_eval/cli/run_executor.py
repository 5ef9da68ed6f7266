"""From the options of ``run`` to what runs the episodes: this process, processes of this machine, a Ray cluster."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from hylo_eval.errors import EvalError

if TYPE_CHECKING:
    from hylo_eval.evaluation.executor import Executor
    from hylo_eval.evaluation.recipe import Recipe
    from hylo_eval.evaluation.stopping import StopRequest

_FLAGS: Final = {
    "python": "--python",
    "devices": "--devices",
    "deadlines": "--deadline",
    "recycle_after": "--recycle-after",
    "max_rss_mb": "--max-rss-mb",
    "ray_address": "--ray-address",
    "gpus_per_worker": "--gpus-per-worker",
}
_OF_RAY: Final = ("ray_address", "gpus_per_worker")


def make_executor(recipe: Recipe, options: Mapping[str, Any], stop: StopRequest) -> Executor:
    """The executor that the options ask for.

    Raises:
        EvalError: An option that would change nothing, or a value that cannot be.
    """
    from hylo_eval.interpreters.choosing import refuse_elsewhere, refuse_forgotten, workers_interpreter

    if options["python"] is None:
        refuse_forgotten(recipe.env, _recorded_interpreter(Path(recipe.run, "manifest.json")))
    if options["executor"] == "ray":
        return _ray(recipe, options)
    _refuse(options, _OF_RAY, "--executor ray")
    if options["workers"] == 0:
        _refuse(options, _FLAGS, "a worker process; --workers 0 has none")
        refuse_elsewhere(recipe.env, "--workers 0 runs everything in this process")
        return _in_process(recipe, options, stop)
    from hylo_eval.evaluation.invocation import read_devices
    from hylo_eval.evaluation.workers.local_processes import LocalProcesses

    return LocalProcesses(
        recipe,
        workers=options["workers"],
        python=workers_interpreter(recipe.env, options["python"]) or sys.executable,
        devices=read_devices(options["devices"]),
        limits=_limits(options),
        stop=stop,
    )


def _recorded_interpreter(manifest: Path) -> str:
    """The interpreter that a run began in; empty for one that begins now."""
    from hylo_eval.traces.manifest import read_manifest

    if not manifest.is_file():
        return ""
    found = read_manifest(manifest).get("interpreter")
    executable = cast("dict[str, Any]", found).get("executable") if isinstance(found, dict) else None
    return executable if isinstance(executable, str) else ""


def _in_process(recipe: Recipe, options: Mapping[str, Any], stop: StopRequest) -> Executor:
    from hylo_eval.evaluation.executor import InProcess
    from hylo_eval.evaluation.file_size import FileSizeLimit
    from hylo_eval.evaluation.worker import make_worker

    limit = FileSizeLimit.now()
    made = make_worker(recipe, stop=stop)
    return InProcess(
        made.worker,
        made.agent,
        made.env_ref,
        made.agent_ref,
        closes_agent=True,
        video=options["video"],
        file_size_limit=limit,
    )


def _ray(recipe: Recipe, options: Mapping[str, Any]) -> Executor:
    from hylo_eval.evaluation.workers.ray_actors import RayActors, RayOptions
    from hylo_eval.interpreters.choosing import registered_for

    if options["workers"] < 1:
        raise EvalError("--executor ray needs at least one worker", fix="--workers N")
    if options["devices"] is not None:
        raise EvalError("--devices is for workers of this machine", fix="--gpus-per-worker F")
    entry = registered_for(recipe.env) if options["python"] is None else None
    python = options["python"] if entry is None else entry.python
    placement = RayOptions(address=options["ray_address"], gpus=options["gpus_per_worker"] or 0.0)
    return RayActors(recipe, workers=options["workers"], python=python, limits=_limits(options), options=placement)


def _limits(options: Mapping[str, Any]) -> Any:
    from hylo_eval.evaluation.invocation import read_deadlines
    from hylo_eval.evaluation.workers.limits import WorkerLimits

    return WorkerLimits(
        deadlines=read_deadlines(options["deadlines"]),
        recycle_after=options["recycle_after"],
        max_rss_mb=options["max_rss_mb"],
    )


def _refuse(options: Mapping[str, Any], names: Mapping[str, str] | tuple[str, ...], what: str) -> None:
    for name in names:
        if options[name] not in (None, ()):
            raise EvalError(f"{_FLAGS[name]} needs {what}", fix=f"leave {_FLAGS[name]} out")
