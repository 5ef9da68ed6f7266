"""RoboCasa as the harness sees it: a Gymnasium environment of one task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import gymnasium
import numpy as np

from hylo_eval.envs import protocol
from hylo_eval.envs.mujoco_picture import renderer_name
from hylo_eval.envs.mujoco_state import StabilityWatch, model_digest, state_digest
from hylo_eval.envs.robocasa import specs
from hylo_eval.envs.robocasa.snapshots import Snapshot, require_scene, take_snapshot
from hylo_eval.envs.task_support import instance_at_reset
from hylo_eval.errors import EnvError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from hylo_core.task import TaskSpec
    from hylo_eval.envs.robocasa.simulation import KitchenSimulation, PictureSize

    Observation: TypeAlias = dict[str, NDArray[Any]]

SETTLE_STEPS = 10
"""Control steps the package itself stands still at the end of its reset."""


class RobocasaEnv(gymnasium.Env[Any, Any]):
    """One RoboCasa task.

    Args:
        task: The task.
        simulation: Its scene; closed with the environment.
        name: The package's class of the task.
        assets: The asset root, whose place stands in no trace.
        versions: Packages and assets.
        snapshot: The scene to begin in; None where the seed draws one.
        layout: Which entries an action has.
        pictures: The size of the pictures, or None for state only.
        orientation: How pictures are turned.
        target: Reads the privileged pose from the package's environment, or None.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - Gymnasium declares it so

    def __init__(
        self,
        task: TaskSpec,
        simulation: KitchenSimulation,
        *,
        name: str,
        assets: Path,
        versions: Mapping[str, str],
        snapshot: Snapshot | None,
        layout: specs.ActionLayout,
        pictures: PictureSize | None,
        orientation: specs.Orientation,
        target: Callable[[Any], NDArray[np.float64]] | None,
    ) -> None:
        self._task = task
        self._simulation = simulation
        self._name = name
        self._assets = assets
        self._snapshot = snapshot
        self._layout: specs.ActionLayout = layout
        self._orientation: specs.Orientation = orientation
        self._target = target
        self._watch: StabilityWatch | None = None
        self._closed = False
        self._last: Observation = {}
        self.env_spec = specs.env_spec(layout, pictures, orientation, privileged=target is not None)
        self.observation_space = specs.observation_space(self.env_spec)
        size = self.env_spec.action_size or 0
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (size,), np.float64)
        self.versions = dict(versions)
        self.renderer = renderer_name() if pictures else "none"

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Set up the scene of an instance: drawn from its seed, or the task's snapshot.

        Raises:
            EnvError: No instance, one of another task or seed, or a scene that cannot be set up.
        """
        instance = instance_at_reset(self._task, seed, options)
        super().reset(seed=instance.seed)
        simulation, snapshot = self._simulation, self._snapshot
        raw = simulation.reset(instance.seed, None if snapshot is None else snapshot.ep_meta)
        self._watch = StabilityWatch(simulation.model, simulation.data, since_the_beginning=True)
        unstable = self._watch.check()
        if unstable is not None:
            raise EnvError(f"{instance.key} is unstable while it settles: {unstable}")
        if snapshot is not None:
            raw = simulation.set_state(snapshot.state, snapshot.controllers)
            self._watch.restart()
        ep_meta = simulation.ep_meta()
        taken = take_snapshot(self._name, ep_meta, simulation.data, simulation.controller_state(), self._assets)
        if snapshot is not None:
            require_scene(snapshot, taken, self._assets)
        info = {
            protocol.INSTRUCTION: str(ep_meta.get("lang", "")),
            protocol.SUCCESS: simulation.check_success_unnoticed(),
            protocol.SETTLE_STEPS: SETTLE_STEPS,
            protocol.STATE_DIGEST: state_digest(simulation.data),
            protocol.MODEL_DIGEST: model_digest(simulation.model),
            protocol.SNAPSHOT: taken,
        }
        self._last = self._observation(raw)
        return self._last, info

    def step(self, action: NDArray[np.float64]) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Execute one action.

        Args:
            action: Shape (12,), or (7,) with the layout ``arm``; finite; :data:`hylo_eval.envs.robocasa.specs.ACTIONS`
                names the entries. The controllers clip what lies outside [-1, 1]; nothing is clipped here.

        Returns:
            Observation, reward (1 while the task's check holds, else 0), False, False (the harness owns the end), info.

        Raises:
            EnvError: The action is misshapen or not finite, or there was no reset.
        """
        if self._watch is None:
            raise EnvError("step was called before reset")
        command = specs.whole_action(self._checked(action), self._layout)
        try:
            raw, reward = self._simulation.step(command)
        except np.linalg.LinAlgError:
            # A state that is not finite reaches robosuite's controller before it reaches us.
            raw, reward = None, 0.0
        unstable = self._watch.check()
        if raw is None:
            if unstable is None:
                raise EnvError("a controller met a state it cannot invert, and MuJoCo warned of nothing")
            return self._last, reward, False, False, {protocol.SUCCESS: False, protocol.UNSTABLE: unstable}
        info: dict[str, Any] = {protocol.SUCCESS: self._simulation.check_success()}
        if unstable is not None:
            info[protocol.UNSTABLE] = unstable
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

    def _checked(self, action: Any) -> NDArray[np.float64]:
        array = np.asarray(action)
        shape = self.action_space.shape
        if array.shape != shape or array.dtype.kind not in "fiu":
            raise EnvError(f"an action has shape {shape}, not {array.shape} of type {array.dtype}")
        if not np.isfinite(array).all():
            raise EnvError(f"an action must be finite, not {array.tolist()}")
        return array.astype(np.float64)

    def _observation(self, raw: Mapping[str, Any]) -> Observation:
        observation: Observation = {name: np.array(raw[name], dtype=np.float64) for name in specs.STATES}
        for camera in self.env_spec.cameras:
            # robosuite hands on OpenGL's row order: the last row is the top one.
            rows = -1 if self._orientation == "upright" else 1
            observation[camera.name] = np.array(raw[camera.name][::rows], order="C")
        if self._target is not None:
            observation[specs.TARGET] = self._target(self._simulation.task_env)
        return observation
