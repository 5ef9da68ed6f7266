"""One robosuite environment of LIBERO, reset as a pure function of a seed and a recorded state.

Three things of the original make a scene depend on what ran before it, and are undone here:

* fixtures (cabinet, stove, rack) get their pose from numpy's global generator, so it is seeded before every reset
  and given back afterwards as it was found;
* every reset appends one more sampler for each ``Open``, ``Close``, ``Turnon`` or ``Turnoff`` of the BDDL file's
  ``:init`` to a list that nobody empties, and each draws from that generator *before* the fixtures are placed: the
  second reset of such a task places them elsewhere than the first, whatever the seed. The list is emptied first;
* ``set_init_state`` without a reset keeps the controller's goal, so there is always a reset.

``ControlEnv``, the wrapper public runners use, tries again for ever when placement fails. It is left out: it adds
nothing else, and a test compares states with it.
"""

from __future__ import annotations

import contextlib
import copy
from typing import TYPE_CHECKING, Any, Final

import attrs

from hylo_eval.envs.libero.installation import Installation, Simulator, configured, import_simulator
from hylo_eval.envs.libero.suites import CONTROL_HZ, SETTLE_ACTION, SETTLE_STEPS
from hylo_eval.errors import EnvError
from hylo_eval.installing import install_command

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

CAMERAS: Final = ("agentview", "robot0_eye_in_hand")
RESET_ATTEMPTS: Final = 10
"""Placement of fixtures fails rarely, and never ten times in a row for a scene that can be placed."""


@attrs.frozen
class PictureSize:
    """Height and width of the pictures of both cameras, in pixels."""

    height: int
    width: int


class Simulation:
    """A robosuite environment of one task.

    Args:
        installation: Which LIBERO.
        bddl_file: The task definition; its content must be trusted, LIBERO's reader evaluates the angles in it.
        problem: The problem class it names, lower case.
        pictures: The size of both cameras' pictures, or None for state only.
    """

    def __init__(self, installation: Installation, bddl_file: Path, problem: str, pictures: PictureSize | None) -> None:
        self._installation = installation
        self._simulator = import_simulator(installation, cameras=pictures is not None)
        if problem not in self._simulator.problem_classes:
            known = ", ".join(sorted(self._simulator.problem_classes))
            raise EnvError(f"{bddl_file.name} names the problem {problem!r}; the installed LIBERO has {known}")
        problem_class = self._simulator.problem_classes[problem]
        self._inner: Any = problem_class.__new__(problem_class)
        self._compiled = _CompileOnce(self._simulator, self._inner)
        self._inner._initialize_sim = self._compiled  # noqa: SLF001
        # Construction places objects too, and the first reset places them anew: any seed will do, but always the same.
        with configured(installation), _random_numbers(seed=0):
            try:
                self._inner.__init__(str(bddl_file), **self._arguments(pictures))
            except self._simulator.placement_error as error:
                raise EnvError(f"the objects of {bddl_file.name} could not be placed: {error}") from error
            except (FileNotFoundError, ValueError) as error:
                # The second is how MuJoCo speaks of a texture or mesh that is not there.
                if not isinstance(error, FileNotFoundError) and "Error opening file" not in str(error):
                    raise
                fix = f"{install_command('hylo-eval[libero]')}, or --env-arg assets=FOLDER"
                raise EnvError(f"an asset of {bddl_file.name} is missing ({error})", fix=fix, lasting=True) from error

    def _arguments(self, pictures: PictureSize | None) -> dict[str, Any]:
        """What ``ControlEnv`` passes on, with the time limit lifted."""
        size = pictures or PictureSize(128, 128)
        return {
            "robots": ["Panda"],
            "controller_configs": self._simulator.load_controller_config(default_controller="OSC_POSE"),
            "gripper_types": "default",
            "initialization_noise": None,
            "use_camera_obs": pictures is not None,
            "has_renderer": False,
            "has_offscreen_renderer": pictures is not None,
            "render_camera": CAMERAS[0],
            "control_freq": CONTROL_HZ,
            "ignore_done": True,
            "hard_reset": True,
            "camera_names": list(CAMERAS),
            "camera_heights": size.height,
            "camera_widths": size.width,
            "camera_depths": False,
        }

    @property
    def model(self) -> Any:
        """The present ``mujoco.MjModel``; another object after every reset."""
        return self._inner.sim.model._model  # noqa: SLF001

    @property
    def data(self) -> Any:
        """The present ``mujoco.MjData``; another object after every reset."""
        return self._inner.sim.data._data  # noqa: SLF001

    @property
    def action_bounds(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lowest and highest action, each of shape (7,)."""
        low, high = self._inner.action_spec
        return low, high

    @property
    def object_names(self) -> frozenset[str]:
        """Objects, fixtures and regions a goal can speak of."""
        return frozenset(self._inner.object_states_dict)

    def observe(self) -> Mapping[str, Any]:
        """The observation of the present state, by robosuite's names."""
        return self._inner._get_observations(force_update=True)  # noqa: SLF001

    def reset(self, seed: int) -> int:
        """Build the scene anew; fixtures are placed from ``seed``.

        Returns:
            How many attempts placement took; 1 unless a sampler gave up.

        Raises:
            EnvError: Placement failed ten times.
        """
        failure: Exception | None = None
        with configured(self._installation), _random_numbers(seed):
            self._inner.seed(seed)
            for attempt in range(1, RESET_ATTEMPTS + 1):
                self._inner.object_property_initializers.clear()
                try:
                    self._inner.reset()
                except self._simulator.placement_error as error:
                    failure = error
                else:
                    return attempt
        raise EnvError(f"fixtures could not be placed in {RESET_ATTEMPTS} attempts: {failure}") from failure

    def set_state(self, row: NDArray[np.float64]) -> None:
        """Put time, positions and velocities in place, shape (1 + nq + nv,).

        Raises:
            EnvError: The row does not fit the model.
        """
        size = 1 + int(self.model.nq) + int(self.model.nv)
        if row.shape != (size,):
            raise EnvError(f"the recorded state has {row.shape[0]} numbers and the model needs {size}")
        self._inner.sim.set_state_from_flattened(row)
        self._inner.sim.forward()
        self._inner._post_process()  # noqa: SLF001
        self._inner._update_observables(force=True)  # noqa: SLF001

    def settle(self) -> Mapping[str, Any]:
        """Stand still for ten steps, gripper open; returns the last step's observation, as public runners use it."""
        with _undrawn(self._inner.sim):
            for _ in range(SETTLE_STEPS - 1):
                self._inner.step(list(SETTLE_ACTION))
        observation, _, _, _ = self._inner.step(list(SETTLE_ACTION))
        return observation

    def step(self, action: NDArray[np.float64]) -> tuple[Mapping[str, Any], float]:
        """Execute one action of shape (7,); returns observation and reward."""
        observation, reward, _, _ = self._inner.step(action)
        return observation, float(reward)

    def check_success(self) -> bool:
        """The simulator's own verdict on the present state."""
        return bool(self._inner._check_success())  # noqa: SLF001

    def holds(self, relation: str, arguments: tuple[str, ...]) -> bool:
        """Whether one relation holds now, by the simulator's predicate functions."""
        states = [self._inner.object_states_dict[name] for name in arguments]
        return bool(self._simulator.evaluate_predicate(relation, *states))

    def close(self) -> None:
        """Free model, data and drawing context; nothing works afterwards."""
        self._inner.close()
        # The scene and its compiled copy refer to each other, and a worker makes one scene a task.
        self._compiled.forget()
        self._inner = None


class _CompileOnce:
    """Stands in for ``_initialize_sim``: compiles a scene's XML once and hands out copies of the model.

    The XML of a task is the same at every reset (random placement happens later), and compiling it is nine tenths of
    a reset. The pristine copy costs about 250 MB.
    """

    def __init__(self, simulator: Simulator, inner: Any) -> None:
        self._simulator = simulator
        self._inner: Any = inner
        self._xml = ""
        self._pristine: Any = None

    def forget(self) -> None:
        """Drop the compiled model and the scene."""
        self._xml, self._pristine, self._inner = "", None, None

    def __call__(self, xml_string: str | None = None) -> None:
        xml: str = xml_string or self._inner.model.get_xml()
        if xml != self._xml:
            self._pristine = self._simulator.mujoco.MjModel.from_xml_string(xml)
            self._xml = xml
        self._inner.sim = self._simulator.simulation_class(copy.copy(self._pristine))
        self._inner.sim.forward()
        self._inner.initialize_time(self._inner.control_freq)


@contextlib.contextmanager
def _undrawn(scene: Any) -> Generator[None]:
    """Give black pictures for those that nobody sees; drawing two a step is half of a reset with cameras."""
    import numpy as np

    def black(*, height: int, width: int, **_: Any) -> NDArray[np.uint8]:
        return np.zeros((height, width, 3), np.uint8)

    scene.render = black
    try:
        yield
    finally:
        del scene.render


@contextlib.contextmanager
def _random_numbers(seed: int) -> Generator[None]:
    """Seed numpy's global generator, which LIBERO draws from, and give it back as it was found."""
    import numpy as np

    before: Any = np.random.get_state()  # noqa: NPY002 - the legacy generator is the one LIBERO uses
    np.random.seed(seed)  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(before)  # noqa: NPY002
