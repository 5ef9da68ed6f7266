"""Makes the environment of a LIBERO task from the task alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hylo_core.canonical import digest_bytes
from hylo_core.task import InitStateRef, TaskSpec
from hylo_eval.envs.libero.specs import Orientation
from hylo_eval.errors import EnvError

DEFAULT_PIXELS = 256


class LiberoFactory:
    """Makes LIBERO environments; see :meth:`__call__` for the options."""

    def __call__(
        self,
        task: TaskSpec,
        *,
        cameras: bool = False,
        camera_height: int | None = None,
        camera_width: int | None = None,
        orientation: Orientation | None = None,
        privileged: bool = True,
        assets: str = "",
    ) -> Any:
        """Make the environment of one task.

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
        from hylo_eval.envs.libero.bddl import read_problem
        from hylo_eval.envs.libero.env import LiberoEnv
        from hylo_eval.envs.libero.init_states import read_states, resolve, states_digest
        from hylo_eval.envs.libero.installation import find_installation
        from hylo_eval.envs.libero.simulation import PictureSize, Simulation

        sizes = {"camera_height": camera_height, "camera_width": camera_width}
        _check_picture_options({**sizes, "orientation": orientation}, cameras=cameras)
        if not isinstance(task.init, InitStateRef):
            raise EnvError(f"{task.id}: LIBERO tasks begin from recorded states, not from {task.init}")
        installation = find_installation(assets)
        suite, bddl_name = _text_param(task, "suite"), _text_param(task, "bddl_file")
        bddl_file = _inside(installation.bddl_folder, suite, bddl_name)
        _check_digest(task, "bddl_sha256", digest_bytes(_content(bddl_file)), bddl_file)
        problem = read_problem(bddl_file)
        init_file = resolve(task.init.uri, installation.init_folder)
        states = read_states(init_file, count=task.init.count)
        _check_digest(task, "init_sha256", states_digest(states), init_file)
        pictures = (
            PictureSize(camera_height or DEFAULT_PIXELS, camera_width or DEFAULT_PIXELS) if cameras else None
        )
        simulation = Simulation(installation, bddl_file, problem.name, pictures)
        try:
            return LiberoEnv(
                task, simulation, states, orientation=orientation or "rotated_180", privileged=privileged
            )
        except EnvError:
            simulation.close()
            raise


def _check_picture_options(options: dict[str, Any], *, cameras: bool) -> None:
    for name, value in options.items():
        if value is not None and not cameras:
            raise EnvError(
                f"{name} changes nothing without pictures", fix=f"--env-arg cameras=true, or leave {name} out"
            )
        if isinstance(value, int) and not 16 <= value <= 1024:
            raise EnvError(f"{name} must lie between 16 and 1024 pixels, not {value}")


def _text_param(task: TaskSpec, name: str) -> str:
    value = task.params.get(name)
    if not isinstance(value, str):
        raise EnvError(f"{task.id}: params.{name} must be text; LIBERO tasks are frozen with it")
    return value


def _inside(folder: Path, suite: str, name: str) -> Path:
    """A file of a suite; a name cannot lead out of the folder, where other code's files lie."""
    for part in (suite, name.removesuffix(".bddl")):
        if not part or not part.replace("_", "").isalnum() or not part.isascii():
            raise EnvError(f"{part!r} is no name of a LIBERO suite or task")
    return folder / suite / name


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise EnvError(f"the installed LIBERO lacks {path}: {error.strerror}") from error


def _check_digest(task: TaskSpec, name: str, actual: str, path: Path) -> None:
    expected = task.params.get(name)
    if expected is not None and expected != actual:
        raise EnvError(
            f"{task.id} was frozen with another file: {path} has digest {actual}, params.{name} is {expected}",
            fix="install the LIBERO package that the benchmark's metadata names",
        )
