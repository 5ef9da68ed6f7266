"""Writes the LIBERO benchmarks from an installed package; runs no simulator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hylo_core.benchmark import Benchmark
from hylo_core.canonical import digest_bytes
from hylo_core.frozen import FrozenMapping
from hylo_core.task import InitStateRef, Predicate, TaskSpec
from hylo_eval.envs.libero.bddl import read_problem
from hylo_eval.envs.libero.init_states import read_states, resolve, states_digest
from hylo_eval.envs.libero.installation import Installation, find_installation, installed_versions
from hylo_eval.envs.libero.suites import (
    HORIZONS,
    INIT_STATES,
    TASK_COUNTS,
    UPSTREAM_COMMIT,
    UPSTREAM_REPOSITORY,
    horizon,
    instruction_from_name,
)
from hylo_eval.errors import EnvError

if TYPE_CHECKING:
    from pathlib import Path

VERSION: Final = "1.0.0"
INSTRUCTION_SOURCE: Final = "bddl_file_name"
"""The text public runners send: LIBERO's ``task.language``, made from the file name."""

_PUBLISHED: Final = FrozenMapping({"heldout": tuple(range(INIT_STATES))})
_DEVELOPMENT: Final = FrozenMapping(
    {"train": tuple(range(30)), "validation": tuple(range(30, 40)), "heldout": tuple(range(40, 50))}
)
PROTOCOLS: Final = FrozenMapping(
    {
        **{suite: (suite, _PUBLISHED) for suite in HORIZONS},
        "libero_object_dev": ("libero_object", _DEVELOPMENT),
    }
)
"""Benchmark id to suite and splits. The published protocol is one split of all fifty initial states."""


def freeze(benchmark_id: str, *, assets: str = "") -> Benchmark:
    """The benchmark of a suite, from the installed LIBERO.

    Args:
        benchmark_id: A key of :data:`PROTOCOLS`.
        assets: A folder of assets, for LIBERO packages that carry none.

    Raises:
        EnvError: No such benchmark, or the package lacks or contradicts something.
        MissingSimulator: LIBERO is not installed.
    """
    if benchmark_id not in PROTOCOLS:
        raise EnvError(f"there is no LIBERO benchmark {benchmark_id!r}; there are {', '.join(PROTOCOLS)}")
    suite, splits = PROTOCOLS[benchmark_id]
    installation = find_installation(assets)
    names = task_names(installation, suite)
    tasks = tuple(_freeze_task(installation, suite, index, name) for index, name in enumerate(names))
    versions = installed_versions()
    metadata = {
        "env": "libero",
        "upstream.repository": UPSTREAM_REPOSITORY,
        "upstream.commit": UPSTREAM_COMMIT,
        "frozen_from": ", ".join(f"{name} {version}" for name, version in versions.items() if "libero" in name),
        "protocol": "settle 10 steps, then one episode from each recorded initial state; the seed is its row",
    }
    for task in tasks:
        metadata[f"asset.{task.params['suite']}/{task.params['bddl_file']}"] = str(task.params["bddl_sha256"])
        metadata[f"asset.{task.params['suite']}/{task.params['task']}.pruned_init"] = str(task.params["init_sha256"])
    return Benchmark(id=benchmark_id, version=VERSION, tasks=tasks, splits=splits, metadata=metadata)


def task_names(installation: Installation, suite: str) -> tuple[str, ...]:
    """The names of a suite's tasks in LIBERO's own order, which numbers them.

    Raises:
        EnvError: The package has no such suite, or another number of tasks.
    """
    path = installation.root / "benchmark" / "libero_suite_task_map.py"
    names = _names_from_map(path, suite)
    if len(names) != TASK_COUNTS[suite]:
        raise EnvError(f"{path} lists {len(names)} tasks of {suite}; the published suite has {TASK_COUNTS[suite]}")
    return names


def _names_from_map(path: Path, suite: str) -> tuple[str, ...]:
    """Read the literal in LIBERO's task map; importing it would import its benchmark package with it."""
    import ast

    try:
        module = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError) as error:
        raise EnvError(f"cannot read LIBERO's task list {path}: {error}") from error
    for statement in module.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Dict):
            table: dict[str, list[str]] = ast.literal_eval(statement.value)
            return tuple(table.get(suite, ()))
    raise EnvError(f"{path} holds no table of tasks")


def _freeze_task(installation: Installation, suite: str, index: int, name: str) -> TaskSpec:
    bddl_file = installation.bddl_folder / suite / f"{name}.bddl"
    problem = read_problem(bddl_file)
    uri = f"libero://{suite}/{name}.pruned_init"
    states = read_states(resolve(uri, installation.init_folder), count=INIT_STATES)
    return TaskSpec(
        id=f"{suite}/{name}",
        version=VERSION,
        instruction=instruction_from_name(name),
        instruction_source=INSTRUCTION_SOURCE,
        init=InitStateRef(uri, INIT_STATES),
        success=Predicate("expr", expr=problem.goal),
        max_steps=horizon(suite),
        params={
            "suite": suite,
            "task": name,
            "task_index": index,
            "bddl_file": bddl_file.name,
            "bddl_language": problem.language,
            "bddl_sha256": digest_bytes(bddl_file.read_bytes()),
            "init_sha256": states_digest(states),
        },
        tags=(suite,),
    )
