"""``fetch``: FetchReach, FetchPush and FetchPickAndPlace of Gymnasium-Robotics.

The simulator's own reset draws object and goal from the seed and restores the rest; the time limit of 50
steps is lifted, because the harness owns the horizon. ``info["success"]`` is the simulator's ``is_success``:
the gripper (reach) or the object (push, pick and place) within 5 cm of the goal.
"""

from __future__ import annotations

import contextlib
import io
import itertools
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from hylo_core.benchmark import Benchmark
from hylo_core.spec import ActionSlice, CameraSpec, EnvSpec, StateSpec
from hylo_core.task import Predicate, SeedInit, TaskInstance, TaskSpec
from hylo_eval.envs.assets import tree_digest
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

if TYPE_CHECKING:
    from collections.abc import Mapping

INSTRUCTIONS: Mapping[str, str] = {
    "FetchReach-v4": "move the gripper to the goal position",
    "FetchPush-v4": "push the block to the goal position on the table",
    "FetchPickAndPlace-v4": "bring the block to the goal position",
}
"""The Gymnasium ids this family runs. The simulator has no texts; these are ours."""

IMAGE = "image"
"""The observation key of the picture."""
MAX_IMAGE_SIZE = 1024
CAMERA = ((1.3, 0.75, 0.55), 2.5, 132.0, -14.0)
"""The free camera of the picture, as the simulator itself places it."""

_ENV_IDS: Mapping[str, str] = {
    "fetch_reach": "FetchReach-v4",
    "fetch_push": "FetchPush-v4",
    "fetch_pick_and_place": "FetchPickAndPlace-v4",
}

Observation = dict[str, NDArray[Any]]


def check_task(task: TaskSpec, _: str = "") -> None:
    """Refuse a task that cannot be one of this family, without the simulator.

    Args:
        task: The task.

    Raises:
        EnvError: It has other params, or names no environment of the family.
    """
    require_init(task, SeedInit)
    require_env_success(task)
    env_id = read_params(task, required={"env_id": str})["env_id"]
    if env_id not in INSTRUCTIONS:
        raise EnvError(f"param 'env_id' of task {task.id!r} must be one of {', '.join(INSTRUCTIONS)}, not {env_id!r}")
    static_instruction(task)


class FetchEnv(gymnasium.Env[Any, Any]):
    """The environment of one Fetch task; the class is its own factory.

    Observations, float64: ``observation`` (10,) for reach and (25,) with an object, ``achieved_goal`` (3,) m
    and ``desired_goal`` (3,) m in the world frame; with ``image_size`` also ``image`` (size, size, 3) uint8
    RGB, upright.

    Args:
        task: Param ``env_id``, one of :data:`INSTRUCTIONS`.
        image_size: Rows and columns of the picture in pixels; 0 renders nothing.

    Raises:
        MissingSimulator: Gymnasium-Robotics or MuJoCo is not installed.
        EnvError: The task or an option is not one of this family.
    """

    def __init__(self, task: TaskSpec, *, image_size: int = 0) -> None:
        check_task(task)
        if not 0 <= image_size <= MAX_IMAGE_SIZE:
            raise EnvError(f"option 'image_size' must be in [0, {MAX_IMAGE_SIZE}] pixels, not {image_size}")
        self._task = task
        self._instruction = static_instruction(task)
        self._simulator = _make_simulator(task.params["env_id"])
        self._watch = StabilityWatch(self._simulator.model, self._simulator.data)
        self._picture = PictureView(self._simulator.model, image_size, CAMERA) if image_size else None
        self._closed = False
        self.action_space = self._simulator.action_space
        self.observation_space = _observation_space(self._simulator, image_size)
        self.env_spec = _env_spec(self._simulator, image_size)
        self.versions = installed_versions("gymnasium-robotics", "gymnasium", "mujoco")
        self.renderer = renderer_name() if image_size else "none"

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Restore the robot, then draw object and goal from the instance's seed."""
        instance = instance_at_reset(self._task, seed, options)
        super().reset(seed=instance.seed)
        simulator = self._simulator
        observation, _ = simulator.reset(seed=instance.seed)
        self._watch.restart()
        info = {
            INSTRUCTION: self._instruction,
            SUCCESS: _as_bool(simulator._is_success(observation["achieved_goal"], simulator.goal)),  # noqa: SLF001
            STATE_DIGEST: state_digest(simulator.data),
            MODEL_DIGEST: model_digest(simulator.model, simulator.goal),
        }
        return self._observe(observation), info

    def step(self, action: NDArray[Any]) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Apply one action, shape (4,), for 20 simulation steps. Reward: 0 at the goal, else -1."""
        # One dtype whatever the agent sends: float32 and float64 of the same number move the arm differently.
        command = np.asarray(action, dtype=np.float64)
        observation, reward, terminated, truncated, result = self._simulator.step(command)
        info: dict[str, Any] = {SUCCESS: _as_bool(result["is_success"])}
        unstable = self._watch.check()
        if unstable is not None:
            info[UNSTABLE] = unstable
        return self._observe(observation), float(reward), bool(terminated), bool(truncated), info

    def gripper_opening(self) -> float | None:
        """Distance between the fingers in m; None where the task holds them closed (reach, push)."""
        if self._simulator.block_gripper:
            return None
        joints = ("robot0:l_gripper_finger_joint", "robot0:r_gripper_finger_joint")
        return float(sum(self._simulator.data.joint(name).qpos[0] for name in joints))

    def close(self) -> None:
        """Release the simulator; a second call does nothing."""
        if not self._closed:
            self._closed = True
            if self._picture is not None:
                self._picture.close()
            self._simulator.close()

    def _observe(self, observation: Observation) -> Observation:
        if self._picture is None:
            return observation
        simulator = self._simulator
        # The simulator shows the goal as a site that it moves only when it draws by itself.
        model = simulator.model
        site = model.site("target0")
        model.site_pos[site.id] = simulator.goal - model.body_pos[model.site_bodyid[site.id]]
        return {**observation, IMAGE: self._picture.draw(simulator.data)}


def freeze(benchmark_id: str) -> Benchmark:
    """The definition of a Fetch benchmark, from the installed simulator.

    Success is judged at the last of the registered 50 steps, as in the paper that introduced the tasks
    (Plappert et al. 2018, arXiv:1802.09464): the goal has to be held, so the episode does not stop at the
    first success. Seeds whose goal lies where the block already is are left out: solved before the first
    action, they measure nothing.

    Args:
        benchmark_id: ``fetch_reach``, ``fetch_push`` or ``fetch_pick_and_place``.
    """
    env_id = _ENV_IDS[benchmark_id]
    _register()
    task = TaskSpec(
        id=f"fetch/{benchmark_id.removeprefix('fetch_')}",
        version="1.0",
        instruction=INSTRUCTIONS[env_id],
        init=SeedInit(),
        success=Predicate(kind="builtin", name="env_success"),
        max_steps=int(gymnasium.spec(env_id).max_episode_steps or 0),
        params={"env_id": env_id},
        tags=("fetch", "mujoco"),
        success_at="end",
        stop_on_success=False,
        instruction_source="hylo",
    )
    return Benchmark(
        id=benchmark_id,
        version="1.0",
        tasks=(task,),
        splits={
            split: _unsolved_seeds(task, first, count)
            for split, first, count in (("train", 0, 100), ("validation", 5000, 20), ("heldout", 10000, 20))
        },
        metadata={
            "env": "fetch",
            "upstream": "gymnasium-robotics 1.4.2",
            "protocol": "arXiv:1802.09464",
            "seeds": "ascending, without those whose goal is reached at reset",
            "asset.fetch": _assets_digest(),
        },
    )


def _unsolved_seeds(task: TaskSpec, first: int, count: int) -> tuple[int, ...]:
    """The first ``count`` seeds from ``first`` on for which success does not hold at reset."""
    env = FetchEnv(task)
    seeds: list[int] = []
    for seed in itertools.count(first):
        instance = TaskInstance(spec=task, seed=seed, episode_index=0, split="freeze")
        _, info = env.reset(seed=seed, options={"instance": instance})
        if not info[SUCCESS]:
            seeds.append(seed)
        if len(seeds) == count:
            break
    env.close()
    return tuple(seeds)


def _assets_digest() -> str:
    from importlib.util import find_spec
    from pathlib import Path

    spec = find_spec("gymnasium_robotics")
    if spec is None or spec.origin is None:
        raise MissingSimulator("fetch", "fetch", "no module gymnasium_robotics")
    return tree_digest(Path(spec.origin).parent / "envs" / "assets", "fetch", "stls/fetch", "textures")


def _register() -> None:
    try:
        # The package prints advice about environments of another family to standard error while it is
        # imported.
        with contextlib.redirect_stderr(io.StringIO()):
            import gymnasium_robotics
    except ImportError as error:
        raise MissingSimulator("fetch", "fetch", str(error)) from error
    if "FetchReach-v4" not in gymnasium.registry:
        gymnasium_robotics.register_robotics_envs()


def _make_simulator(env_id: str) -> Any:
    """The simulator without Gymnasium's wrappers, and so without its time limit."""
    _register()
    return gymnasium.make(env_id, disable_env_checker=True).unwrapped


def _as_bool(success: Any) -> bool:
    """The simulator's float32 success as a bool; anything but 0 and 1 is an error, not a guess."""
    if success not in (0, 1):
        raise EnvError(f"the simulator reports is_success = {success!r}, which is neither 0 nor 1")
    return bool(success)


def _observation_space(simulator: Any, image_size: int) -> gymnasium.spaces.Dict:
    spaces: dict[str, Any] = dict(simulator.observation_space.spaces)
    if image_size:
        spaces[IMAGE] = gymnasium.spaces.Box(0, 255, (image_size, image_size, 3), np.uint8)
    return gymnasium.spaces.Dict(spaces)


_LAYOUT = (
    "gripper position (3), finger positions (2), gripper velocity (3), finger velocities (2); velocities a control step"
)
_LAYOUT_WITH_OBJECT = (
    "gripper position (3), object position (3), object relative to gripper (3), finger positions (2), "
    "object euler angles (3), object velocity relative to gripper (3), object angular velocity (3), "
    "gripper velocity (3), finger velocities (2); velocities a control step"
)


def _env_spec(simulator: Any, image_size: int) -> EnvSpec:
    has_object = bool(simulator.has_object)
    state_size = int(simulator.observation_space["observation"].shape[0])
    camera = CameraSpec(name=IMAGE, height=image_size or 1, width=image_size or 1, orientation="upright")
    return EnvSpec(
        action=(
            # 1.0 moves the target of the gripper by 5 cm from where the gripper is now.
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
            # A finger target relative to where the finger is now; reach and push hold the fingers closed.
            ActionSlice(
                name="gripper",
                start=3,
                stop=4,
                mode="delta",
                unit="normalised",
                frame="eef",
                gripper="positive_opens",
                low=-1.0,
                high=1.0,
            ),
        ),
        control_hz=round(1.0 / float(simulator.dt), 9),
        step_seconds=round(float(simulator.dt), 9),
        cameras=(camera,) if image_size else (),
        state=(
            StateSpec(
                name="observation",
                shape=(state_size,),
                unit="mixed",
                frame="world",
                layout=_LAYOUT_WITH_OBJECT if has_object else _LAYOUT,
                privileged=has_object,
            ),
            StateSpec(
                name="achieved_goal",
                shape=(3,),
                unit="m",
                frame="world",
                layout="object position" if has_object else "gripper position",
                privileged=has_object,
            ),
            StateSpec(name="desired_goal", shape=(3,), unit="m", frame="world", layout="x y z"),
        ),
        instruction_source="benchmark",
        success_source="simulator is_success",
    )
