"""One environment of RoboCasa, reset as a pure function of a seed or a snapshot.

The package's ``create_env`` forces cameras and a split; its class is made directly, with the same controllers. Nothing
of it is changed. Its generator is set anew before every reset, and so are the global ones of Python and numpy, which
are given back as they were found.
"""

from __future__ import annotations

import contextlib
import copy
import random
from typing import TYPE_CHECKING, Any, Final, cast
from xml.etree.ElementTree import ParseError

import attrs

from hylo_eval.envs.robocasa.installation import EXTRA, Installation, import_simulator
from hylo_eval.errors import EnvError, EnvUnready
from hylo_eval.installing import install_command

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from hylo_eval.envs.robocasa.settings import KitchenSettings

ROBOT: Final = "PandaOmron"
CONTROL_HZ: Final = 20
CAMERAS: Final = ("robot0_agentview_left", "robot0_agentview_right", "robot0_eye_in_hand")
"""The cameras of the package's own Gymnasium wrapper."""
ACTION_SLICES: Final = {"right": (0, 6), "right_gripper": (6, 7), "base": (7, 10), "torso": (10, 11)}
"""Controller to its entries; the twelfth entry, the base mode, belongs to none."""
ACTION_SIZE: Final = 12

_KEPT_BY_CONTROLLERS: Final = ("goal", "init", "origin")
"""Beginnings of the names of what a controller does not compute anew at every step."""


@attrs.frozen
class PictureSize:
    """Height and width of every camera's picture, in pixels."""

    height: int
    width: int


class KitchenSimulation:
    """The package's environment of one task.

    Args:
        installation: Which RoboCasa and which assets.
        settings: The task.
        pictures: The size of the pictures, or None for state only.
    """

    def __init__(self, installation: Installation, settings: KitchenSettings, pictures: PictureSize | None) -> None:
        self._settings = settings
        self._installation = installation
        self._simulator = import_simulator(installation, cameras=pictures is not None)
        self._inner: Any = self._make(pictures)
        self._checked = False

    def _make(self, pictures: PictureSize | None) -> Any:
        settings, simulator = self._settings, self._simulator
        size = pictures or PictureSize(128, 128)
        more: dict[str, Any] = {}
        if settings.fixture:
            types = simulator.fixture_types.__members__
            if settings.fixture not in types:
                raise EnvError(f"RoboCasa knows no fixture type {settings.fixture!r} (types: {', '.join(types)})")
            more["fixture_id"] = types[settings.fixture]
        if settings.object_category:
            more["obj_groups"] = settings.object_category
        try:
            return simulator.make(
                env_name=settings.task,
                robots=ROBOT,
                controller_configs=simulator.load_controller_config(controller=None, robot=ROBOT),
                layout_and_style_ids=[tuple(scene) for scene in settings.scenes],
                obj_instance_split=None if settings.objects == "all" else settings.objects,
                obj_registries=settings.object_registries,
                seed=0,
                control_freq=CONTROL_HZ,
                ignore_done=True,
                use_object_obs=True,
                use_camera_obs=pictures is not None,
                has_renderer=False,
                has_offscreen_renderer=pictures is not None,
                camera_names=list(CAMERAS),
                camera_heights=size.height,
                camera_widths=size.width,
                camera_depths=False,
                # The viewer of the default renderer is opened by every reset, and nobody looks at it.
                renderer="mujoco",
                **more,
            )
        except TypeError as error:
            raise EnvError(
                f"RoboCasa's {settings.task} cannot be made as this family makes it: {error}",
                fix=install_command(EXTRA),
            ) from error

    @property
    def model(self) -> Any:
        """The present ``mujoco.MjModel``; another object after every reset."""
        return self._inner.sim.model._model  # noqa: SLF001

    @property
    def data(self) -> Any:
        """The present ``mujoco.MjData``; another object after every reset."""
        return self._inner.sim.data._data  # noqa: SLF001

    @property
    def task_env(self) -> Any:
        """The package's environment, for what only it knows (fixtures, targets)."""
        return self._inner

    def reset(self, seed: int, ep_meta: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        """Build the scene; all that is random in it comes from ``seed``, all that ``ep_meta`` says from there.

        Raises:
            EnvUnready: Assets are missing.
            EnvError: Objects or fixtures cannot be placed, or a model is damaged.
        """
        import numpy as np

        self._inner.set_ep_meta(copy.deepcopy(dict(ep_meta)) if ep_meta else {})
        self._inner.rng = np.random.default_rng(seed)
        try:
            with _random_numbers(seed):
                observation: Mapping[str, Any] = self._inner.reset()
        except (
            FileNotFoundError,
            PermissionError,
            *self._simulator.placement_errors,
            ValueError,
            RuntimeError,
            KeyError,
            ParseError,
        ) as error:
            raise _explained(self._settings, self._installation, error) from error
        if not self._checked:
            _check_action_layout(self._inner)
            self._checked = True
        return observation

    def ep_meta(self) -> dict[str, Any]:
        """What the package itself records of an episode, as it says it: numpy scalars and absolute paths included."""
        # A task may draw its wording when it is asked.
        with _random_numbers(0):
            before = copy.deepcopy(self._inner.rng)
            meta: dict[str, Any] = self._inner.get_ep_meta()
            self._inner.rng = before
        return meta

    def controller_state(self) -> dict[str, dict[str, Any]]:
        """What the controllers keep from one step to the next: controller to attribute to array."""
        return {
            part: {
                name: value
                for name, value in sorted(cast("dict[str, Any]", vars(controller)).items())
                if name.startswith(_KEPT_BY_CONTROLLERS) and getattr(value, "size", 0)
            }
            for part, controller in self._controllers().items()
        }

    def set_state(
        self, state: Mapping[str, NDArray[np.float64]], controllers: Mapping[str, Mapping[str, NDArray[np.float64]]]
    ) -> Mapping[str, Any]:
        """Put recorded arrays of ``mujoco.MjData`` and of the controllers in place.

        Raises:
            EnvError: They do not fit the model or the robot.
        """
        for name, values in state.items():
            present = getattr(self.data, name)
            _check_shape(present, values, name)
            present[...] = values
        self._inner.sim.forward()
        own = self._controllers()
        for part, members in controllers.items():
            if part not in own:
                raise EnvError(f"the snapshot speaks of a controller {part!r}; the robot has {', '.join(own)}")
            for name, values in members.items():
                _check_shape(getattr(own[part], name, None), values, f"{part}.{name}")
                # Not into the array that is there: controllers share theirs.
                setattr(own[part], name, values.copy())
            # It has not seen the joints where they are now.
            own[part].new_update = True
        # The solver begins its next step from here.
        if "qacc_warmstart" in state:
            self.data.qacc_warmstart[...] = state["qacc_warmstart"]
        # Sensors sample by clocks of their own, which begin anew as they do in the package's reset.
        self._inner._obs_cache = {}  # noqa: SLF001
        self._inner._reset_observables()  # noqa: SLF001
        observation: Mapping[str, Any] = self._inner._get_observations(force_update=True)  # noqa: SLF001
        return observation

    def step(self, action: NDArray[np.float64]) -> tuple[Mapping[str, Any], float]:
        """Execute one action of shape (12,), which the base's controller writes to; returns observation and reward."""
        observation, reward, _, _ = self._inner.step(action)
        return observation, float(reward)

    def _controllers(self) -> dict[str, Any]:
        return dict(self._inner.robots[0].composite_controller.part_controllers)

    def check_success(self) -> bool:
        """The task's own check of the present state; some tasks count how often it is asked while something holds."""
        return bool(self._inner._check_success())  # noqa: SLF001

    def check_success_unnoticed(self) -> bool:
        """The same, leaving no mark on the episode."""
        before = _plain_attributes(self._inner)
        try:
            return self.check_success()
        finally:
            cast("dict[str, Any]", vars(self._inner)).update(before)

    def close(self) -> None:
        """Free model, data and drawing context."""
        if self._inner.sim is not None:
            self._inner.close()


def _check_shape(present: Any, values: NDArray[np.float64], name: str) -> None:
    shape = getattr(present, "shape", None)
    if shape != values.shape:
        raise EnvError(f"the snapshot's {name} has shape {values.shape}, and the scene's {shape}")


def _check_action_layout(inner: Any) -> None:
    """Hold the controllers against the slices this family names: a permuted action runs, and only numbers are wrong."""
    controller = inner.robots[0].composite_controller
    found = {name: tuple(entries) for name, entries in controller._action_split_indexes.items()}  # noqa: SLF001
    size = int(inner.action_spec[0].shape[0])
    if found != ACTION_SLICES or size != ACTION_SIZE:
        raise EnvError(
            f"the robot's action has {size} entries in the order {found}; this family names {ACTION_SIZE} "
            f"in the order {ACTION_SLICES}",
            fix=install_command(EXTRA),
        )


def _explained(settings: KitchenSettings, installation: Installation, error: Exception) -> EnvError:
    """A typed error that says how to mend what the package raises at reset."""
    said = f"{type(error).__name__}: {error}"
    if isinstance(error, FileNotFoundError):
        return EnvUnready(
            f"an asset of {settings.task} is missing ({error.filename or error})", fix=installation.completion()
        )
    if isinstance(error, PermissionError):
        return EnvError(
            f"RoboCasa writes a file beside every object it reads, and may not here ({error.filename or error})",
            fix="copy the assets to a folder that can be written to, and --env-arg assets=FOLDER",
            lasting=True,
        )
    if isinstance(error, ParseError):
        return EnvError(
            f"a model among the assets of {settings.task} is damaged ({error})",
            fix=installation.completion(),
            lasting=True,
        )
    if isinstance(error, ValueError) and "Error opening file" in str(error):
        # MuJoCo's words for a texture or mesh that is not there.
        return EnvUnready(f"an asset of {settings.task} is missing ({error})", fix=installation.completion())
    if isinstance(error, ValueError) and "NaN" in str(error):
        registries = ", ".join(settings.object_registries)
        return EnvUnready(
            f"an object of {settings.task} has no instance in the registries {registries} "
            f"(objects={settings.objects!r}): the package divides by their number",
            fix=installation.completion("all"),
        )
    return EnvError(f"the scene of {settings.task} cannot be set up: {said}")


def _plain_attributes(inner: Any) -> dict[str, Any]:
    """Attributes that a check may count in: numbers, texts, and containers of them."""
    members = cast("dict[str, Any]", vars(inner))
    return {name: copy.deepcopy(value) for name, value in members.items() if _is_plain(value)}


def _is_plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(_is_plain(item) for item in cast("dict[Any, Any]", value).values())
    if isinstance(value, (list, tuple, set)):
        return all(_is_plain(item) for item in cast("list[Any]", value))
    return value is None or isinstance(value, (bool, int, float, str))


@contextlib.contextmanager
def _random_numbers(seed: int) -> Generator[None]:
    """Seed the global generators of Python and numpy, and give them back as they were found."""
    import numpy as np

    python_state = random.getstate()
    numpy_state: Any = np.random.get_state()  # noqa: NPY002 - the legacy generator is the one that is drawn from
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(python_state)
        np.random.set_state(numpy_state)  # noqa: NPY002
