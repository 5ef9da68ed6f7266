"""Makes the environment of a RoboCasa task from the task alone."""

from __future__ import annotations

from typing import Any, Final

from hylo_core.canonical import is_digest
from hylo_core.errors import DigestMismatch
from hylo_core.task import SnapshotInit, TaskSpec
from hylo_eval.envs.picture_options import check_picture_options
from hylo_eval.envs.robocasa.assets import ASSETS, assets_digest, assets_version
from hylo_eval.envs.robocasa.installation import (
    Installation,
    check_objects,
    find_installation,
    installed_versions,
)
from hylo_eval.envs.robocasa.settings import check_instruction, read_settings
from hylo_eval.envs.robocasa.snapshots import read_document, read_snapshot
from hylo_eval.envs.robocasa.specs import ActionLayout, Orientation, env_spec
from hylo_eval.errors import EnvError, EnvUnready

DEFAULT_PIXELS: Final = 256


def check_task(task: TaskSpec, folder: str) -> None:
    """Refuse a task that cannot be one of this family, by the catalogue alone: no simulator, no assets.

    Args:
        task: The task.
        folder: Where its benchmark file lies.

    Raises:
        EnvError: A param, the check, the init or the instruction is not this family's; a snapshot is missing or another
            one.
    """
    settings = read_settings(task)
    check_instruction(task, settings)
    if isinstance(task.init, SnapshotInit):
        read_document(task, folder, settings)


def make_robocasa_env(
    task: TaskSpec,
    *,
    cameras: bool = False,
    camera_height: int | None = None,
    camera_width: int | None = None,
    orientation: Orientation | None = None,
    action: ActionLayout = "mobile",
    privileged: bool = False,
    assets: str | None = None,
    assets_sha256: str | None = None,
    benchmark_folder: str = "",
) -> Any:
    """Make the environment of one task, a :class:`hylo_eval.envs.robocasa.env.RobocasaEnv`.

    Where RoboCasa lacks its assets, the objects of the task or the robosuite it needs, the environment is one that says
    so at every reset (:class:`hylo_eval.envs.robocasa.unready.UnreadyEnv`): a run on it abstains.

    Args:
        task: A task of this family (:mod:`hylo_eval.envs.robocasa.settings`).
        cameras: Whether observations hold pictures of the three cameras.
        camera_height: Rows of a picture; 256 unless said otherwise. Only with cameras.
        camera_width: Columns of a picture; 256 unless said otherwise. Only with cameras.
        orientation: How pictures are turned; ``upright`` unless said otherwise. Only with cameras.
        action: ``mobile`` for the robot's twelve entries, ``arm`` for the first seven.
        privileged: Whether observations hold the pose of the target, for the tasks that have one.
        assets: A folder of assets, where the package has none; ``HYLO_ROBOCASA_ASSETS`` says the same.
        assets_sha256: The digest the assets must have; None where any will do.
        benchmark_folder: Where the benchmark file lies, for tasks that begin in a snapshot beside it.

    Raises:
        MissingSimulator: RoboCasa is not installed.
        DigestMismatch: The assets are others than were asked for.
        EnvError: An option would change nothing or names no folder, or a task of another family.
    """
    from hylo_eval.envs.mujoco_picture import renderer_name
    from hylo_eval.envs.robocasa.env import RobocasaEnv
    from hylo_eval.envs.robocasa.simulation import KitchenSimulation, PictureSize
    from hylo_eval.envs.robocasa.targets import target_reader
    from hylo_eval.envs.robocasa.unready import UnreadyEnv

    sizes = {"camera_height": camera_height, "camera_width": camera_width}
    check_picture_options({**sizes, "orientation": orientation}, cameras=cameras)
    if assets == "":
        raise EnvError("option 'assets' must name a folder, and is empty", fix="leave assets out, or assets=FOLDER")
    if assets_sha256 is not None and not is_digest(assets_sha256):
        raise EnvError(
            f"option 'assets_sha256' must be sha256: and 64 hex digits in lower case, not {assets_sha256!r}",
            fix="copy it from robocasa-assets among the versions of a manifest, or leave it out",
        )
    settings = read_settings(task)
    target = target_reader(settings.task) if privileged else None
    pictures = PictureSize(camera_height or DEFAULT_PIXELS, camera_width or DEFAULT_PIXELS) if cameras else None
    turned: Orientation = orientation or "upright"
    versions = installed_versions()
    try:
        installation = find_installation(assets or "")
        versions[ASSETS] = assets_version(installation)
        check_objects(installation, settings.object_registries)
        _check_digest(installation, assets_sha256)
        snapshot = None
        if isinstance(task.init, SnapshotInit):
            snapshot = read_snapshot(task, benchmark_folder, settings, installation.assets)
        simulation = KitchenSimulation(installation, settings, pictures)
    except EnvUnready as error:
        spec = env_spec(action, pictures, turned, privileged=target is not None)
        return UnreadyEnv(spec, error, versions=versions, renderer=renderer_name() if pictures else "none")
    return RobocasaEnv(
        task,
        simulation,
        name=settings.task,
        assets=installation.assets,
        versions=versions,
        snapshot=snapshot,
        layout=action,
        pictures=pictures,
        orientation=turned,
        target=target,
    )


def _check_digest(installation: Installation, asked: str | None) -> None:
    if asked is None:
        return
    found = assets_digest(installation.assets)
    if found != asked:
        raise DigestMismatch(asked, found, what=f"the assets {installation.assets}")
