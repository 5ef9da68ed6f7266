"""Finding RoboCasa, its robosuite and its kitchen assets, and importing it with the assets of one's choice.

The package looks for assets beside its own code and nowhere else, and computes paths from there while it is imported.
A hook on the import of ``robocasa.models`` sets that one place; nothing of the package is changed, on disk or later.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import sys
import warnings
from functools import cache
from importlib import metadata
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs

from hylo_eval.errors import EnvError, EnvUnready, MissingSimulator
from hylo_eval.installing import install_command, module_command

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from types import ModuleType

ASSETS_VARIABLE: Final = "HYLO_ROBOCASA_ASSETS"
"""The environment variable that names a folder of assets, where the option ``assets`` does not."""

STAND_IN_MARKER: Final = "hylo_stand_in.json"
"""A file of this name in the asset root says that the assets stand in for RoboCasa's own."""

EXTRA: Final = "hylo-eval[robocasa]"
"""What installs RoboCasa with the versions it needs."""

_MODELS: Final = "robocasa.models"
_BACKEND_VARIABLE: Final = "MUJOCO_GL"
_REQUIRED_FOLDERS: Final = ("textures", "fixtures/sinks", "fixtures/stoves", "objects")
_OBJECT_FOLDERS: Final = {"objaverse": "objaverse", "aigen": "aigen_objs", "lightwheel": "lightwheel"}
_DOWNLOADS: Final = {"objaverse": "objs_objaverse", "aigen": "objs_aigen", "lightwheel": "objs_lw"}
_VERSIONED: Final = ("robocasa", "robosuite", "mujoco", "numba", "numpy")


@attrs.frozen
class Installation:
    """Where RoboCasa and its assets are.

    Attributes:
        root: The folder of the package.
        assets: The asset root in use.
    """

    root: Path
    assets: Path

    def completion(self, *types: str) -> str:
        """What to do where an asset is missing: RoboCasa's own download fills its own folder, and no other.

        Args:
            types: Kinds of the download; all unless named.
        """
        download = download_command(*types)
        if self.assets == (self.root / "models" / "assets").resolve():
            return download
        return f"complete the folder {self.assets}; or name none, and {download}"

    @property
    def stand_in(self) -> bool:
        """Whether the assets only stand in for RoboCasa's own."""
        return (self.assets / STAND_IN_MARKER).is_file()


@attrs.frozen
class Simulator:
    """The untyped parts of robosuite and RoboCasa in use; the one place where they become ``Any``."""

    make: Any
    load_controller_config: Any
    task_classes: dict[str, Any]
    fixture_types: Any
    placement_errors: tuple[type[Exception], ...]


def find_package() -> Path:
    """The folder of the installed package; imports nothing.

    Raises:
        MissingSimulator: RoboCasa is not installed.
    """
    root = _package_folder("robocasa")
    if root is None:
        raise MissingSimulator("robocasa", "robocasa", "no package provides 'import robocasa'", apart=True)
    return root


def find_installation(assets: str = "") -> Installation:
    """Find RoboCasa without importing it.

    Args:
        assets: A folder of assets; empty for the one that ``HYLO_ROBOCASA_ASSETS`` names, or else the package's own.

    Raises:
        MissingSimulator: RoboCasa or robosuite is not installed.
        EnvUnready: The wrong robosuite is installed, or the assets are not there.
        EnvError: A folder of assets was named that does not exist.
    """
    root, robosuite = find_package(), _package_folder("robosuite")
    if robosuite is None:
        raise MissingSimulator("robocasa", "robocasa", "no package provides 'import robosuite'", apart=True)
    _check_robosuite(robosuite)
    asked = assets or os.environ.get(ASSETS_VARIABLE, "")
    folder = Path(asked) if asked else root / "models" / "assets"
    if asked and not folder.is_dir():
        fix = f"--env-arg assets=FOLDER, or {ASSETS_VARIABLE}=FOLDER"
        raise EnvError(f"there is no folder of assets {asked}", fix=fix)
    missing = [name for name in _REQUIRED_FOLDERS if not (folder / name).is_dir()]
    if missing:
        lacks = f"({folder} lacks {', '.join(missing)})"
        if asked:
            fix = Installation(root=root, assets=folder.resolve()).completion()
            raise EnvUnready(f"the folder of kitchen assets is not whole {lacks}", fix=fix)
        raise EnvUnready(
            f"RoboCasa is installed without its kitchen assets {lacks}",
            fix=f"{download_command()}; or --env-arg assets=FOLDER, or {ASSETS_VARIABLE}=FOLDER",
        )
    return Installation(root=root, assets=folder.resolve())


def download_command(*types: str) -> str:
    """The command of RoboCasa's own download, in this interpreter; all kinds of assets unless some are named."""
    kinds = ("--type", *types) if types else ()
    return module_command("robocasa.scripts.download_kitchen_assets", *kinds)


def check_objects(installation: Installation, registries: Sequence[str]) -> None:
    """Refuse to begin where a registry of objects is missing: sampling from it fails late and says something else.

    Raises:
        EnvUnready: With the folder that is missing.
    """
    for registry in registries:
        folder = installation.assets / "objects" / _OBJECT_FOLDERS[registry]
        if not folder.is_dir() or not any(folder.iterdir()):
            raise EnvUnready(
                f"the objects of the registry {registry!r} are missing ({folder} has none)",
                fix=installation.completion(_DOWNLOADS[registry]),
            )


def import_simulator(installation: Installation, *, cameras: bool) -> Simulator:
    """Import RoboCasa, robosuite and MuJoCo with the installation's assets; some seconds, the first time.

    Args:
        installation: Which RoboCasa and which assets; one choice of assets a process.
        cameras: Whether pictures will be drawn.

    Raises:
        MissingSimulator: A package they need is missing.
        EnvUnready: RoboCasa refuses a version.
        EnvError: RoboCasa was imported with other assets, or pictures cannot be drawn.
    """
    asked = os.environ.get(_BACKEND_VARIABLE, "")
    if cameras and asked.lower() in ("disable", "disabled", "off", "false", "0"):
        raise EnvError(
            f"pictures were asked for and {_BACKEND_VARIABLE}={asked} switches drawing off",
            fix=f"{_BACKEND_VARIABLE}=egl (or osmesa), or --env-arg cameras=false",
        )
    try:
        with _assets_at(installation.assets), _quietly():
            simulator = _import()
    except AssertionError as error:
        # RoboCasa's own way of refusing versions of MuJoCo, numpy and robosuite.
        raise EnvUnready(f"RoboCasa refuses what is installed here: {error}", fix=install_command(EXTRA)) from error
    except ImportError as error:
        raise MissingSimulator("robocasa", "robocasa", str(error), apart=True) from error
    except AttributeError as error:
        # PyOpenGL's way of saying that the library behind it is not there.
        raise EnvError(
            f"{_BACKEND_VARIABLE}={asked or 'egl'}: its library cannot be loaded ({error})",
            fix="apt-get install libegl1 libegl-mesa0 libgl1-mesa-dri, or libosmesa6 with MUJOCO_GL=osmesa",
        ) from error
    used = Path(str(sys.modules[_MODELS].assets_root))
    if used.resolve() != installation.assets:
        raise EnvError(f"this process has imported RoboCasa with the assets {used}; others need a process of their own")
    return simulator


def installed_versions() -> dict[str, str]:
    """The distributions that decide what is simulated, with their versions; nothing is imported."""
    return dict(_installed_versions())


@cache
def _installed_versions() -> dict[str, str]:
    # Reading what every distribution provides takes a quarter of a second.
    providers = metadata.packages_distributions()
    found: dict[str, str] = {}
    for module in _VERSIONED:
        for name in sorted(set(providers.get(module, ()))):
            with contextlib.suppress(metadata.PackageNotFoundError):
                found[name] = metadata.version(name)
    return found


def _import() -> Simulator:
    from importlib import import_module

    # By name and not by statement: none of these packages has types, and here is the place where that shows.
    modules: dict[str, Any] = {
        name: import_module(name)
        for name in (
            "mujoco",
            "robosuite",
            "robosuite.controllers",
            "robocasa",
            "robocasa.environments.kitchen.kitchen",
            "robocasa.models.fixtures",
            "robocasa.utils.errors",
        )
    }
    return Simulator(
        make=modules["robosuite"].make,
        load_controller_config=modules["robosuite.controllers"].load_composite_controller_config,
        task_classes=modules["robocasa.environments.kitchen.kitchen"].REGISTERED_KITCHEN_ENVS,
        fixture_types=modules["robocasa.models.fixtures"].FixtureType,
        placement_errors=(
            modules["robocasa.utils.errors"].PlacementError,
            modules["robocasa.utils.errors"].SamplingError,
        ),
    )


def _check_robosuite(folder: Path) -> None:
    """Tell the robosuite that RoboCasa 1.0 needs from others by what it must be able to do; imports nothing."""
    try:
        text = (folder / "environments" / "base.py").read_text(encoding="utf-8")
    except OSError:
        text = ""
    if "load_model_on_init" in text:
        return
    versions = {name: version for name, version in installed_versions().items() if "robosuite" in name}
    listed = ", ".join(f"{name} {version}" for name, version in versions.items()) or "one of unknown version"
    raise EnvUnready(
        f"the robosuite that is installed ({listed}) is not the one RoboCasa needs: "
        "two packages provide 'import robosuite', and the other one's files are in place",
        fix=f"{module_command('pip', 'uninstall', '-y', 'robosuite', 'praxis-robosuite')} && {install_command(EXTRA)}",
    )


def _package_folder(name: str) -> Path | None:
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    folders = list(spec.submodule_search_locations or ()) if spec else []
    return Path(folders[0]) if folders else None


class _AssetsFinder(MetaPathFinder):
    """Finds ``robocasa.models`` where it is, and has it loaded with another asset root."""

    def __init__(self, assets: Path) -> None:
        self._assets = assets

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != _MODELS:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _AssetsLoader(spec.loader, self._assets)
        return spec


class _AssetsLoader(Loader):
    def __init__(self, loader: Loader, assets: Path) -> None:
        self._loader = loader
        self._assets = assets

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        module.__dict__["assets_root"] = str(self._assets)


@contextlib.contextmanager
def _assets_at(assets: Path) -> Generator[None]:
    finder = _AssetsFinder(assets)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


@contextlib.contextmanager
def _quietly() -> Generator[None]:
    """RoboCasa prints while it is imported, and its packages warn of what is missing and not needed."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        yield
