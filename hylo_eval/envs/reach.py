"""``reach``: a point robot in numpy, small enough to read in one sitting, for tests and for learning.

The robot is a point in a box-shaped room. An action is a velocity command in m/s. The robot follows it with a
first-order lag, as a velocity-controlled arm does: over one control period ``dt`` with time constant ``tau``

    v <- v + (1 - exp(-dt / tau)) * (command - v)
    x <- x + dt * v

which is the exact solution of ``tau * dv/dt = command - v`` for a constant command, followed by one Euler
step. The task has succeeded while the point is within ``tolerance_m`` of the goal. The goal is a param of the
task; the start is drawn from the instance's seed.
"""

from __future__ import annotations

import hashlib
import math
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from hylo_core.spec import ActionSlice, EnvSpec, StateSpec
from hylo_core.task import SeedInit, TaskSpec
from hylo_eval.envs.protocol import INSTRUCTION, STATE_DIGEST, SUCCESS
from hylo_eval.envs.task_support import (
    installed_versions,
    instance_at_reset,
    read_params,
    read_point,
    require_env_success,
    require_init,
    static_instruction,
)
from hylo_eval.errors import EnvError

CONTROL_HZ = 10.0
"""Actions a second."""
TIME_CONSTANT_SECONDS = 0.2
"""How long the robot takes to close 63 % of the gap between its velocity and the command."""
MAX_SPEED_M_S = 0.25
"""Bound of every entry of the command."""
ROOM_M = 1.0
"""The room is ``[-ROOM_M, ROOM_M]`` along every axis; its walls stop the robot."""
START_DISTANCE_M = (0.65, 1.2)
"""Nearest and farthest start, seen from the goal."""

Floats = NDArray[np.float64]


def check_task(task: TaskSpec, _: str = "") -> None:
    """Refuse a task that cannot be one of this family.

    Args:
        task: The task.

    Raises:
        EnvError: It has other params, or a goal outside the room.
    """
    require_init(task, SeedInit)
    require_env_success(task)
    tolerance = float(read_params(task, required={"goal_m": tuple, "tolerance_m": float})["tolerance_m"])
    static_instruction(task)
    if any(abs(value) > ROOM_M for value in read_point(task, "goal_m", 3)):
        raise EnvError(f"param 'goal_m' of task {task.id!r} must lie within {ROOM_M:g} m along every axis")
    if tolerance <= 0:
        raise EnvError(f"param 'tolerance_m' of task {task.id!r} must be positive, not {tolerance:g}")


class ReachEnv(gymnasium.Env[Any, Any]):
    """The environment of one reach task; the class is its own factory.

    Observations, float64, world frame: ``position`` (3,) m, ``velocity`` (3,) m/s, ``goal`` (3,) m.

    Args:
        task: Params ``goal_m`` (three numbers) and ``tolerance_m`` (a positive number).

    Raises:
        EnvError: The task has other params, or a goal outside the room.
    """

    def __init__(self, task: TaskSpec) -> None:
        check_task(task)
        self._task = task
        self._instruction = static_instruction(task)
        self._goal: Floats = np.array(read_point(task, "goal_m", 3))
        self._tolerance = float(task.params["tolerance_m"])
        self._position: Floats = np.zeros(3)
        self._velocity: Floats = np.zeros(3)
        self._gain = 1.0 - math.exp(-1.0 / (CONTROL_HZ * TIME_CONSTANT_SECONDS))

        room = gymnasium.spaces.Box(-ROOM_M, ROOM_M, (3,), np.float64)
        speed = gymnasium.spaces.Box(-MAX_SPEED_M_S, MAX_SPEED_M_S, (3,), np.float64)
        self.observation_space = gymnasium.spaces.Dict({"position": room, "velocity": speed, "goal": room})
        self.action_space = speed
        self.env_spec = _env_spec()
        self.versions = installed_versions("numpy")
        self.renderer = "none"

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Floats], dict[str, Any]]:
        """Put the robot at rest at the start that the instance's seed draws."""
        instance = instance_at_reset(self._task, seed, options)
        super().reset(seed=instance.seed)
        self._position = self._draw_start(np.random.default_rng(instance.seed))
        self._velocity = np.zeros(3)
        info = {INSTRUCTION: self._instruction, SUCCESS: self._at_goal(), STATE_DIGEST: self._state_digest()}
        return self._observe(), info

    def step(self, action: Floats) -> tuple[dict[str, Floats], float, bool, bool, dict[str, Any]]:
        """Follow a velocity command, shape (3,), m/s, for one period. Reward: minus the distance in m."""
        command = np.clip(np.asarray(action, dtype=np.float64), -MAX_SPEED_M_S, MAX_SPEED_M_S)
        self._velocity = self._velocity + self._gain * (command - self._velocity)
        moved = self._position + self._velocity / CONTROL_HZ
        self._position = np.clip(moved, -ROOM_M, ROOM_M)
        self._velocity = np.where(moved == self._position, self._velocity, 0.0)
        return self._observe(), -self._distance(), False, False, {SUCCESS: self._at_goal()}

    def _draw_start(self, generator: np.random.Generator) -> Floats:
        """A point of the room, uniform in direction and distance from the goal."""
        while True:
            direction = generator.standard_normal(3)
            distance = generator.uniform(*START_DISTANCE_M)
            start: Floats = self._goal + direction * (distance / np.linalg.norm(direction))
            if np.all(np.abs(start) <= ROOM_M):
                return start

    def _observe(self) -> dict[str, Floats]:
        return {
            "position": self._position.copy(),
            "velocity": self._velocity.copy(),
            "goal": self._goal.copy(),
        }

    def _distance(self) -> float:
        return float(np.linalg.norm(self._position - self._goal))

    def _at_goal(self) -> bool:
        return self._distance() <= self._tolerance

    def _state_digest(self) -> str:
        state = np.concatenate([self._position, self._velocity])
        return f"sha256:{hashlib.sha256(state.tobytes()).hexdigest()}"


def _env_spec() -> EnvSpec:
    command = ActionSlice(
        name="velocity",
        start=0,
        stop=3,
        mode="absolute",
        unit="m/s",
        frame="world",
        low=-MAX_SPEED_M_S,
        high=MAX_SPEED_M_S,
    )
    return EnvSpec(
        action=(command,),
        control_hz=CONTROL_HZ,
        step_seconds=1.0 / CONTROL_HZ,
        state=(
            StateSpec(name="position", shape=(3,), unit="m", frame="world", layout="x y z"),
            StateSpec(name="velocity", shape=(3,), unit="m/s", frame="world", layout="x y z"),
            StateSpec(name="goal", shape=(3,), unit="m", frame="world", layout="x y z"),
        ),
        instruction_source="benchmark",
        success_source="distance to the goal at most tolerance_m",
    )
