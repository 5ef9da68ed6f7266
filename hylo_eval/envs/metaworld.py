"""``metaworld``: the 50 tasks of Meta-World, one arm and one table.

An initial state is one of the 50 scenes that ``MT1(task, seed=42)`` draws for a task, and ``instance.seed`` is its
index: Meta-World's own ``reset(seed=...)`` does not choose the scene. Meta-World leaves parts of an episode behind in
the model (shelves, boxes and doors are moved there) and in attributes of the env, so before every reset all of it goes
back to what it was when the env was built; then the task is set and the simulator's own reset runs.

``info["success"]`` is the simulator's ``success`` at this very step. The published protocol counts an episode as a
success when it held at any of 500 steps, and stops there: ``success_at = "once"``, ``stop_on_success = true``. Several
tasks lose it again (the expert lets go of the door), which ``metaworld_mt10_at_end`` measures.
"""

from __future__ import annotations

import copy
import functools
import hashlib
import re
from pathlib import Path
from typing import Any, Final, cast

import gymnasium
import numpy as np
from numpy.typing import NDArray

from hylo_core.benchmark import Benchmark
from hylo_core.errors import DigestMismatch
from hylo_core.spec import ActionSlice, CameraSpec, EnvSpec, StateSpec
from hylo_core.task import InitStateRef, Predicate, TaskSpec
from hylo_eval.envs.assets import tree_digest
from hylo_eval.envs.metaworld_instructions import INSTRUCTIONS
from hylo_eval.envs.mujoco_picture import PictureView, renderer_name
from hylo_eval.envs.mujoco_state import StabilityWatch, model_digest, state_digest
from hylo_eval.envs.protocol import INSTRUCTION, MODEL_DIGEST, STATE_DIGEST, SUCCESS, UNSTABLE
from hylo_eval.envs.task_support import (
    installed_versions,
    instance_at_reset,
    read_params,
    require_env_success,
    require_init,
    static_instruction,
)
from hylo_eval.errors import EnvError, MissingSimulator
from hylo_eval.suggest import did_you_mean

SCENE_SEED: Final = 42
"""The seed of ``MT1`` that the benchmark files name, as the package's own examples do."""
CAMERA: Final = "corner2"
"""The camera that published vision policies use. It hangs upside down; the picture is turned upright here."""
IMAGE: Final = "image"
MAX_IMAGE_SIZE: Final = 1024
SCENES_DIGEST: Final = "scenes_sha256"
"""The param that pins the scenes: digest of the random vectors that ``MT1`` draws."""

_URI = re.compile(r"metaworld://MT1/(\d{1,9})/([a-z0-9-]+)")
_MODEL_ARRAYS = ("actuator_", "body_", "dof_", "eq_", "geom_", "jnt_", "qpos", "site_")
"""Prefixes of the model's arrays that a task can change; what is left out is meshes, textures and names."""
_NO_TIME_LIMIT = 2**31

Observation = dict[str, NDArray[Any]]


def check_task(task: TaskSpec, _: str = "") -> None:
    """Raise an ``EnvError`` where a task cannot be one of this family, without the simulator."""
    require_init(task, InitStateRef)
    require_env_success(task)
    read_params(task, required={}, optional={SCENES_DIGEST: str})
    _parse_uri(task)
    static_instruction(task)


class MetaworldEnv(gymnasium.Env[Any, Any]):
    """The environment of one Meta-World task; the class is its own factory.

    Observations: ``observation`` (39,) float64, the vector of the published state policies (hand, gripper,
        two objects, now and one step before, then the goal); ``hand`` (4,) float64, its first four entries,
        which a real robot knows; with ``image_size`` also ``image`` (size, size, 3) uint8 RGB of the camera
        ``corner2``, upright.

    Args:
        task: Init ``metaworld://MT1/<scene seed>/<task name>``; optional param ``scenes_sha256`` pins the scenes.
        image_size: Rows and columns of the picture in pixels; 0 renders nothing.

    Raises:
        MissingSimulator: Meta-World is not installed.
        EnvError: The task or an option is not one of this family.
        DigestMismatch: The installed version draws other scenes than the task pins.
    """

    def __init__(self, task: TaskSpec, *, image_size: int = 0) -> None:
        check_task(task)
        if not 0 <= image_size <= MAX_IMAGE_SIZE:
            raise EnvError(f"option 'image_size' must be in [0, {MAX_IMAGE_SIZE}] pixels, not {image_size}")
        seed, name = _parse_uri(task)
        self._task = task
        self._instruction = static_instruction(task)
        package = _import_metaworld()
        if name not in package.MT1.ENV_NAMES:
            raise EnvError(f"Meta-World has no task {name!r}{did_you_mean(name, package.MT1.ENV_NAMES)}")
        simulator_class, self._scenes = _drawn(name, seed)
        self._check_scenes(task.params.get(SCENES_DIGEST))
        self._simulator = simulator_class()
        self._simulator.max_path_length = _NO_TIME_LIMIT
        self._watch = StabilityWatch(self._simulator.model, self._simulator.data)
        self._pristine = _Pristine(self._simulator)
        self._simulator.set_task(self._scenes[0])
        self._picture = PictureView(self._simulator.model, image_size, CAMERA) if image_size else None
        self._closed = False
        self.action_space = self._simulator.action_space
        self.observation_space = _observation_space(self._simulator, image_size)
        self.env_spec = _env_spec(float(self._simulator.dt), image_size)
        self.versions = installed_versions("metaworld", "gymnasium", "mujoco")
        self.renderer = renderer_name() if image_size else "none"

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Set up the scene whose index is the instance's seed."""
        instance = instance_at_reset(self._task, seed, options)
        super().reset(seed=instance.seed)
        simulator = self._simulator
        self._pristine.restore(simulator)
        simulator.set_task(self._scenes[instance.seed])
        vector, _ = simulator.reset()
        self._vector: NDArray[Any] = vector
        self._watch.restart()
        info = {
            INSTRUCTION: self._instruction,
            SUCCESS: self._success_now(vector),
            STATE_DIGEST: state_digest(simulator.data),
            MODEL_DIGEST: model_digest(simulator.model, simulator._target_pos),  # noqa: SLF001
        }
        return self._observe(vector), info

    def step(self, action: NDArray[Any]) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Apply one action, shape (4,), for five simulation steps. Reward: the simulator's, in [0, 10].

        A simulation that became unstable says so in ``info``; where nothing can be computed from it any more, the
        observation is the one before.
        """
        command = np.asarray(action, dtype=np.float64)
        try:
            vector, reward, terminated, truncated, result = self._simulator.step(command)
        except (ArithmeticError, ValueError):
            # Meta-World computes rotations and rewards from whatever the simulation holds, and stumbles over NaN.
            unstable = self._watch.check()
            if unstable is None:
                raise
            return self._observe(self._vector), 0.0, False, False, {SUCCESS: False, UNSTABLE: unstable}
        self._vector = vector
        info: dict[str, Any] = {SUCCESS: _as_bool(result["success"])}
        unstable = self._watch.check()
        if unstable is not None:
            info[UNSTABLE] = unstable
        return self._observe(vector), float(reward), bool(terminated), bool(truncated), info

    def gripper_opening(self) -> float:
        """Distance between the two claws in m."""
        right, left = (self._simulator.data.body(name).xpos for name in ("rightclaw", "leftclaw"))
        return float(np.linalg.norm(right - left))

    def close(self) -> None:
        """Release the simulator; a second call does nothing."""
        if not self._closed:
            self._closed = True
            if self._picture is not None:
                self._picture.close()
            self._simulator.close()

    def _check_scenes(self, pinned: str | None) -> None:
        init = self._task.init
        if not isinstance(init, InitStateRef) or init.count != len(self._scenes):
            raise EnvError(f"task {self._task.id!r} must have init.count = {len(self._scenes)}, the scenes MT1 draws")
        if pinned is None:
            return
        found = scenes_digest(self._scenes)
        if found != pinned:
            raise DigestMismatch(pinned, found, what=f"the list of scenes of {self._task.id!r}")

    def _success_now(self, vector: NDArray[Any]) -> bool:
        """Whether success holds before any action; asking leaves no mark on the episode."""
        import mujoco

        api: Any = mujoco
        simulator = self._simulator
        # Some tasks move joints after the last forward pass of their reset, so where things are is out of date:
        # window-close would count as closed. Every step begins with this computation; it changes no trajectory.
        api.mj_kinematics(simulator.model, simulator.data)
        before = _attributes(simulator)
        space = simulator.sawyer_observation_space
        _, result = simulator.evaluate_state(np.clip(vector, space.low, space.high), np.zeros(4))
        _set_attributes(simulator, before)
        return _as_bool(result["success"])

    def _observe(self, vector: NDArray[Any]) -> Observation:
        observation: Observation = {"observation": vector.copy(), "hand": vector[:4].copy()}
        if self._picture is not None:
            observation[IMAGE] = np.ascontiguousarray(self._picture.draw(self._simulator.data)[::-1, ::-1])
        return observation


class _Pristine:
    """What a Meta-World env was when it was built, as far as episodes can change it."""

    def __init__(self, simulator: Any) -> None:
        names = [name for name in dir(simulator.model) if name.startswith(_MODEL_ARRAYS)]
        members: dict[str, Any] = {name: getattr(simulator.model, name) for name in names}
        self._arrays: dict[str, NDArray[Any]] = {
            name: array.copy() for name, array in members.items() if isinstance(array, np.ndarray)
        }
        self._attributes = _attributes(simulator)

    def restore(self, simulator: Any) -> None:
        """Make the env what it was: model arrays, simulation data, attributes."""
        import mujoco

        api: Any = mujoco
        for name, array in self._arrays.items():
            getattr(simulator.model, name)[...] = array
        api.mj_resetData(simulator.model, simulator.data)
        api.mj_forward(simulator.model, simulator.data)
        _set_attributes(simulator, self._attributes)


def _attributes(simulator: Any) -> dict[str, Any]:
    """The env's attributes: values copied, objects and views into the simulation data by reference."""
    members = cast("dict[str, Any]", vars(simulator))
    return {name: _copy_value(value) for name, value in members.items()}


def _set_attributes(simulator: Any, saved: dict[str, Any]) -> None:
    members = cast("dict[str, Any]", vars(simulator))
    for name in [name for name in members if name not in saved]:
        del members[name]
    members.update({name: _copy_value(value) for name, value in saved.items()})


def _copy_value(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        array = cast("NDArray[Any]", value)
        return array.copy() if array.flags.owndata else array
    return cast("Any", copy.deepcopy(value)) if isinstance(value, (list, dict)) else value  # pyright: ignore[reportUnknownArgumentType]


@functools.cache
def _drawn(name: str, seed: int) -> tuple[Any, tuple[Any, ...]]:
    """The class and the 50 scenes of a task, tuples of a name and bytes; drawing them takes a second of simulation."""
    drawn = _import_metaworld().MT1(name, seed=seed)
    return drawn.train_classes[name], tuple(drawn.train_tasks)


def scenes_digest(scenes: tuple[Any, ...]) -> str:
    """Which scenes these are: digest of their random vectors (float64, little endian, in order)."""
    import pickle

    sha = hashlib.sha256()
    for scene in scenes:
        # Meta-World pickled its tasks in this process; nothing from outside is read here.
        vector = pickle.loads(scene.data)["rand_vec"]  # noqa: S301
        sha.update(np.ascontiguousarray(vector, dtype="<f8").tobytes())
    return f"sha256:{sha.hexdigest()}"


def freeze(benchmark_id: str) -> Benchmark:
    """The definition of a Meta-World benchmark, from the installed simulator.

    Args:
        benchmark_id: ``metaworld_mt50`` and ``metaworld_mt10`` (the published protocol, one split of all 50 scenes),
            ``metaworld_mt10_dev`` (the same tasks, scenes divided), or ``metaworld_mt10_at_end`` (judged at the last
            of the 500 steps).
    """
    package = _import_metaworld()
    mt10 = list(package.env_dict.MT10_V3)
    at_end = benchmark_id == "metaworld_mt10_at_end"
    names = {
        "metaworld_mt50": list(package.MT1.ENV_NAMES),
        "metaworld_mt10": mt10,
        "metaworld_mt10_dev": mt10,
        "metaworld_mt10_at_end": mt10,
    }[benchmark_id]
    whole = {"heldout": tuple(range(50))}
    divided = {"train": tuple(range(30)), "validation": tuple(range(30, 40)), "heldout": tuple(range(40, 50))}
    return Benchmark(
        id=benchmark_id,
        version="1.0",
        tasks=tuple(_freeze_task(name, at_end=at_end) for name in names),
        splits=divided if benchmark_id == "metaworld_mt10_dev" else whole,
        metadata={
            "env": "metaworld",
            "upstream": "metaworld 3.1.1",
            "protocol": "arXiv:1910.10897; success at the last step" if at_end else "arXiv:1910.10897",
            "asset.metaworld": tree_digest(Path(package.__file__).parent / "assets", "."),
        },
    )


def _freeze_task(name: str, *, at_end: bool) -> TaskSpec:
    simulator_class, scenes = _drawn(name, SCENE_SEED)
    return TaskSpec(
        id=f"metaworld/{name}",
        version="1.0",
        instruction=INSTRUCTIONS[name],
        init=InitStateRef(f"metaworld://MT1/{SCENE_SEED}/{name}", len(scenes)),
        success=Predicate(kind="builtin", name="env_success"),
        max_steps=int(simulator_class.max_path_length),
        params={SCENES_DIGEST: scenes_digest(scenes)},
        tags=("metaworld", "mujoco"),
        success_at="end" if at_end else "once",
        stop_on_success=not at_end,
        instruction_source="hylo",
    )


def _import_metaworld() -> Any:
    try:
        import metaworld
    except ImportError as error:
        raise MissingSimulator("metaworld", "metaworld", str(error)) from error
    return metaworld


def _parse_uri(task: TaskSpec) -> tuple[int, str]:
    uri = task.init.uri if isinstance(task.init, InitStateRef) else ""
    match = _URI.fullmatch(uri)
    if match is None:
        raise EnvError(f"init.uri of task {task.id!r} must be metaworld://MT1/<scene seed>/<task name>, not {uri!r}")
    return int(match.group(1)), match.group(2)


def _as_bool(success: Any) -> bool:
    """The simulator's success, a float or a bool, as a bool; anything but 0 and 1 is an error."""
    if success not in (0, 1):
        raise EnvError(f"the simulator reports success = {success!r}, which is neither 0 nor 1")
    return bool(success)


def _observation_space(simulator: Any, image_size: int) -> gymnasium.spaces.Dict:
    # The declared space is no bound for what reset returns, so only shape and type are promised here.
    size = int(simulator.sawyer_observation_space.shape[0])
    spaces: dict[str, Any] = {
        "observation": gymnasium.spaces.Box(-np.inf, np.inf, (size,), np.float64),
        "hand": gymnasium.spaces.Box(-np.inf, np.inf, (4,), np.float64),
    }
    if image_size:
        spaces[IMAGE] = gymnasium.spaces.Box(0, 255, (image_size, image_size, 3), np.uint8)
    return gymnasium.spaces.Dict(spaces)


def _env_spec(step_seconds: float, image_size: int) -> EnvSpec:
    camera = CameraSpec(name=IMAGE, height=image_size or 1, width=image_size or 1, orientation="upright")
    return EnvSpec(
        action=(
            # 1.0 moves the target of the hand by 1 cm.
            ActionSlice(
                name="eef_position",
                start=0,
                stop=3,
                mode="delta",
                unit="normalised",
                frame="world",
                low=-1.0,
                high=1.0,
            ),
            ActionSlice(
                name="gripper",
                start=3,
                stop=4,
                mode="absolute",
                unit="normalised",
                frame="eef",
                gripper="positive_closes",
                low=-1.0,
                high=1.0,
            ),
        ),
        control_hz=round(1.0 / step_seconds, 9),
        step_seconds=round(step_seconds, 9),
        cameras=(camera,) if image_size else (),
        state=(
            StateSpec(
                name="observation",
                shape=(39,),
                unit="mixed",
                frame="world",
                layout="hand position (3), gripper opening in [0, 1] (1), two objects as position and quaternion (14); "
                "the same 18 one step before; goal position (3)",
                privileged=True,
            ),
            StateSpec(
                name="hand",
                shape=(4,),
                unit="mixed",
                frame="world",
                layout="hand position (3, m), gripper opening in [0, 1] (1)",
            ),
        ),
        instruction_source="benchmark",
        success_source="simulator success",
    )
