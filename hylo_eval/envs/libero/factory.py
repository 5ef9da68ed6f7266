"""Makes the environment of a LIBERO task from the task alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import attrs

from hylo_core.canonical import digest_bytes
from hylo_core.task import InitStateRef, TaskSpec
from hylo_eval.envs.libero.bddl import read_problem
from hylo_eval.envs.libero.init_states import parse_uri, read_states, resolve, states_digest
from hylo_eval.envs.libero.installation import Installation, find_installation
from hylo_eval.envs.libero.specs import Orientation
from hylo_eval.envs.picture_options import check_picture_options
from hylo_eval.envs.task_support import read_params, require_init
from hylo_eval.errors import EnvError

DEFAULT_PIXELS: Final = 256

_REQUIRED: Final = {"suite": str, "bddl_file": str, "bddl_sha256": str, "init_sha256": str}
_OPTIONAL: Final = {"task": str, "task_index": int, "bddl_language": str}


def make_libero_env(
    task: TaskSpec,
    *,
    cameras: bool = False,
    camera_height: int | None = None,
    camera_width: int | None = None,
    orientation: Orientation | None = None,
    privileged: bool = True,
    assets: str = "",
) -> Any:
    """Make the environment of one task, a :class:`hylo_eval.envs.libero.env.LiberoEnv`.

    Args:
        task: A task of a benchmark frozen from LIBERO. Its files must have the digests it names.
        cameras: Whether observations hold pictures of both cameras.
        camera_height: Rows of a picture; 256 unless said otherwise. Only with cameras.
        camera_width: Columns of a picture; 256 unless said otherwise. Only with cameras.
        orientation: How pictures are turned; ``rotated_180``, as most published policies want them, unless said
            otherwise. Only with cameras.
        privileged: Whether observations hold the true poses of objects.
        assets: A folder of assets, for LIBERO packages that carry none.

    Raises:
        MissingSimulator: LIBERO is not installed.
        EnvError: An option that would change nothing, files other than the task's, or a task of another family.
    """
    from hylo_eval.envs.libero.env import LiberoEnv
    from hylo_eval.envs.libero.simulation import PictureSize, Simulation

    sizes = {"camera_height": camera_height, "camera_width": camera_width}
    check_picture_options({**sizes, "orientation": orientation}, cameras=cameras)
    installation = find_installation(assets)
    files = read_files(task, installation)
    pictures = PictureSize(camera_height or DEFAULT_PIXELS, camera_width or DEFAULT_PIXELS) if cameras else None
    simulation = Simulation(installation, files.bddl_file, files.problem, pictures)
    try:
        return LiberoEnv(
            task, simulation, files.states, orientation=orientation or "rotated_180", privileged=privileged
        )
    except EnvError:
        simulation.close()
        raise


@attrs.frozen
class TaskFiles:
    """What a task is made of, read and checked against the digests it was frozen with.

    Attributes:
        bddl_file: The task definition.
        problem: The problem class it names, lower case.
        states: Recorded initial states, shape (count, 1 + nq + nv), float64.
    """

    bddl_file: Path
    problem: str
    states: Any


def check_task(task: TaskSpec, _: str = "") -> None:
    """Refuse a task that cannot be one of this family, without the simulator.

    Args:
        task: The task.

    Raises:
        EnvError: It has other params, or its init is no recorded list of states.
    """
    require_init(task, InitStateRef)
    read_params(task, required=_REQUIRED, optional=_OPTIONAL)
    init: Any = task.init
    parse_uri(init.uri)


def read_files(task: TaskSpec, installation: Installation) -> TaskFiles:
    """Read a task's files before anything runs that trusts them: LIBERO's own reader evaluates text in BDDL files.

    Raises:
        EnvError: A file is missing, damaged, or another one than the task was frozen with; a task of another family.
    """
    check_task(task)
    bddl_file = _inside(installation.bddl_folder, task.params["suite"], task.params["bddl_file"])
    problem = read_problem(bddl_file)
    _check_digest(task, "bddl_sha256", digest_bytes(bddl_file.read_bytes()), bddl_file)
    init: Any = task.init
    init_file = resolve(init.uri, installation.init_folder)
    states = read_states(init_file, count=init.count)
    _check_digest(task, "init_sha256", states_digest(states), init_file)
    return TaskFiles(bddl_file=bddl_file, problem=problem.name, states=states)


def _inside(folder: Path, suite: str, name: str) -> Path:
    """A file of a suite; a name cannot lead out of the folder, where other code's files lie."""
    for part in (suite, name.removesuffix(".bddl")):
        if not part or not part.replace("_", "").isalnum() or not part.isascii():
            raise EnvError(f"{part!r} is no name of a LIBERO suite or task")
    return folder / suite / name


def _check_digest(task: TaskSpec, name: str, actual: str, path: Path) -> None:
    expected = task.params[name]
    if expected != actual:
        raise EnvError(
            f"{task.id} was frozen with another file: {path} has digest {actual}, params.{name} is {expected}",
            fix="install the LIBERO package that the benchmark's metadata names",
            lasting=True,
        )
