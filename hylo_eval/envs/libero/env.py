"""LIBERO as the harness sees it: a Gymnasium environment of one task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

import gymnasium
import numpy as np

from hylo_core.seeds import derive_seed
from hylo_core.task import TaskSpec
from hylo_eval.envs import protocol
from hylo_eval.envs.libero.goal import Goal, GoalState
from hylo_eval.envs.libero.installation import installed_versions
from hylo_eval.envs.libero.specs import Orientation, env_spec, is_image, is_kept, turn
from hylo_eval.envs.libero.suites import SETTLE_STEPS
from hylo_eval.envs.mujoco_state import StabilityWatch, model_digest, state_digest
from hylo_eval.envs.task_support import instance_at_reset, static_instruction
from hylo_eval.errors import EnvError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from hylo_eval.envs.libero.simulation import Simulation

    Observation: TypeAlias = dict[str, NDArray[Any]]

RESET_ATTEMPTS: Final = "reset_attempts"
"""Key of ``info`` at reset: how often placement of the fixtures was tried (int)."""


class LiberoEnv(gymnasium.Env[Any, Any]):
    """One LIBERO task.

    Observations are robosuite's by name: ``robot0_*``, with cameras ``agentview_image`` and
    ``robot0_eye_in_hand_image`` (height, width, 3; uint8), and the privileged poses of every object.

    Args:
        task: The task.
        simulation: Its scene; closed with the environment.
        states: Recorded initial states, shape (count, 1 + nq + nv); the row is the instance's seed.
        orientation: How pictures are turned.
        privileged: Whether observations hold the poses of objects.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - Gymnasium declares it so

    def __init__(
        self,
        task: TaskSpec,
        simulation: Simulation,
        states: NDArray[np.float64],
        *,
        orientation: Orientation,
        privileged: bool,
    ) -> None:
        self._task = task
        self._simulation = simulation
        self._states = states
        self._orientation: Orientation = orientation
        self._privileged = privileged
        self._instruction = static_instruction(task)
        self._goal = Goal(task.success, simulation.object_names)
        self._watch: StabilityWatch | None = None
        self._closed = False
        observation = self._observation(simulation.observe())
        self._last = observation
        self.env_spec = env_spec(observation, orientation, task.instruction_source)
        self.versions = installed_versions()
        self.renderer = _renderer() if self.env_spec.cameras else "none"
        self.observation_space = gymnasium.spaces.Dict({key: _space(item) for key, item in observation.items()})
        low, high = simulation.action_bounds
        self.action_space = gymnasium.spaces.Box(low, high, dtype=np.float64)

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin the episode of an instance.

        Args:
            seed: The instance's seed, which is the row of the recorded states.
            options: ``{"instance": TaskInstance}``.

        Raises:
            EnvError: No instance, one of another task or seed, or a scene that cannot be set up.
        """
        instance = instance_at_reset(self._task, seed, options)
        super().reset(seed=instance.seed)
        attempts = self._simulation.reset(derive_seed(instance.key, "fixtures"))
        self._simulation.set_state(self._states[instance.seed])
        self._watch = StabilityWatch(self._simulation.model, self._simulation.data)
        observation = self._simulation.settle()
        unstable = self._watch.check()
        if unstable is not None:
            raise EnvError(f"{instance.key} is unstable while it settles: {unstable}")
        info = self._info(self._judge())
        info |= {
            protocol.INSTRUCTION: self._instruction,
            protocol.SETTLE_STEPS: SETTLE_STEPS,
            protocol.STATE_DIGEST: state_digest(self._simulation.data),
            protocol.MODEL_DIGEST: model_digest(self._simulation.model),
            RESET_ATTEMPTS: attempts,
        }
        self._last = self._observation(observation)
        return self._last, info

    def step(self, action: NDArray[np.float64]) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Execute one action.

        Args:
            action: Shape (7,), finite; see :data:`hylo_eval.envs.libero.specs.ACTION`. The controller clips what
                lies outside [-1, 1]; nothing is clipped here.

        Returns:
            Observation, reward (1 while the goal holds, else 0), False, False (the harness owns the end), info. Where
            the scene became unstable within the step, the observation may be the one before.

        Raises:
            EnvError: The action is misshapen or not finite, or there was no reset.
        """
        if self._watch is None:
            raise EnvError("step was called before reset")
        command = _checked(action)
        try:
            raw, reward = self._simulation.step(command)
        except np.linalg.LinAlgError:
            # A state that is not finite reaches robosuite's controller before it reaches us.
            raw, reward = None, 0.0
        unstable = self._watch.check()
        if raw is None and unstable is None:
            raise EnvError("the controller met a state it cannot invert, and MuJoCo warned of nothing")
        info = self._info(self._judge())
        if unstable is not None:
            info[protocol.UNSTABLE] = unstable
        if raw is not None:
            self._last = self._observation(raw)
        return self._last, reward, False, False, info

    def gripper_opening(self) -> float:
        """Metres between the fingers, in the last observation."""
        left, right = self._last["robot0_gripper_qpos"]
        return float(left - right)

    def close(self) -> None:
        """Free the scene; safe to call twice."""
        if not self._closed:
            self._closed = True
            self._simulation.close()

    def _judge(self) -> GoalState:
        return self._goal.evaluate(self._simulation.holds, self._simulation.check_success())

    def _info(self, state: GoalState) -> dict[str, Any]:
        info: dict[str, Any] = {protocol.SUCCESS: state.success, protocol.DISAGREEMENT: state.disagreement}
        if state.conjuncts:
            info[protocol.GOAL] = state.conjuncts
        return info

    def _observation(self, raw: Mapping[str, Any]) -> Observation:
        return {
            key: turn(value, self._orientation) if is_image(key) else np.array(value)
            for key, value in raw.items()
            if is_kept(key, privileged=self._privileged)
        }


def _checked(action: Any) -> NDArray[np.float64]:
    array = np.asarray(action)
    if array.shape != (7,) or array.dtype.kind not in "fiu":
        raise EnvError(f"an action is 7 numbers, not an array of shape {array.shape} and type {array.dtype}")
    if not np.isfinite(array).all():
        raise EnvError(f"an action must be finite, not {array.tolist()}")
    return array.astype(np.float64)


def _space(value: NDArray[Any]) -> gymnasium.spaces.Box:
    if value.dtype == np.uint8:
        return gymnasium.spaces.Box(0, 255, value.shape, np.uint8)
    return gymnasium.spaces.Box(-np.inf, np.inf, value.shape, value.dtype.type)


def _renderer() -> str:
    """The device that draws, for example ``llvmpipe (LLVM 15.0.6, 256 bits)``; software and GPUs draw differently."""
    from importlib import import_module

    gl: Any = import_module("OpenGL.GL")
    device: bytes | None = gl.glGetString(gl.GL_RENDERER)
    return device.decode() if device else "unknown"
