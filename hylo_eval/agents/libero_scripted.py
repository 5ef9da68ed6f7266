"""A scripted agent for libero_object: reads the true poses of object and basket, acts through ``env.step`` only.

It shows that the tasks can be solved from their published initial states, and gives tests a policy whose success is
known. It is no baseline for learned policies: it sees what a robot does not.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any, Final

import attrs
import numpy as np

from hylo_core.expression import conjuncts, parse_expression
from hylo_core.spec import ActionSlice, AgentSpec, StateSpec
from hylo_core.trace import AgentInfo
from hylo_eval.agents.protocol import Reply
from hylo_eval.errors import AgentError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from hylo_core.task import TaskInstance

    Vector = NDArray[np.float64]

_OPEN: Final = -1.0
_CLOSE: Final = 1.0
_POSITION_SCALE_M: Final = 0.05
"""What an action of 1 commands (robosuite's OSC_POSE)."""
_GAIN: Final = 3.0
"""The controller covers about a third of a commanded move within one step."""

_TRAVEL_M: Final = 0.2
"""The hand travels at this height or higher: the tallest bottles on the floor reach 0.15 m."""
_LOWEST_GRASP_M: Final = 0.012
"""The fingertips reach this far below the point between them."""
_RIM_M: Final = 0.141
"""The basket's rim above the floor."""
_CLEARANCE_M: Final = 0.035
_RELEASE_M: Final = 0.15
_RISE_M: Final = 0.03
"""A held object has risen at least this far after lifting."""

_REGION: Final = "_contain_region"


class Phase(enum.Enum):
    """What the agent is doing."""

    APPROACH = enum.auto()
    DESCEND = enum.auto()
    GRASP = enum.auto()
    LIFT = enum.auto()
    CARRY = enum.auto()
    LOWER = enum.auto()
    RELEASE = enum.auto()
    RETREAT = enum.auto()


_NEXT: Final = dict(zip(Phase, [*list(Phase)[1:], Phase.RETREAT], strict=True))
_TOLERANCE_M: Final = {
    Phase.APPROACH: 0.008,
    Phase.DESCEND: 0.005,
    Phase.LIFT: 0.02,
    Phase.CARRY: 0.012,
    Phase.LOWER: 0.015,
}
"""A phase of motion ends this close to its goal; the others end by time."""
_PATIENCE_STEPS: Final = {
    Phase.APPROACH: 60,
    Phase.DESCEND: 40,
    Phase.GRASP: 12,
    Phase.LIFT: 40,
    Phase.CARRY: 60,
    Phase.LOWER: 25,
    Phase.RELEASE: 10,
    Phase.RETREAT: 1000,
}
"""A phase ends after so many steps at the latest."""


@attrs.frozen
class _Scene:
    """Where things are, in metres, world frame."""

    hand: Vector
    thing: Vector
    basket: Vector


class LiberoScripted:
    """Solves libero_object from privileged state.

    Args:
        noise: Standard deviation of Gaussian noise on the three entries of the position command, in the command's
            own unit (1 is 5 cm); 0 for none. Seeded by the episode.

    Raises:
        AgentError: Negative noise.
    """

    def __init__(self, *, noise: float = 0.0) -> None:
        if noise < 0.0:
            raise AgentError(
                f"noise is a standard deviation and must be at least 0, not {noise:g}", fix="--agent-arg noise=0.1"
            )
        self._noise = noise
        self.info = AgentInfo(name="libero-scripted", version="1", components={"noise": noise})
        self.spec = AgentSpec(
            action=_action(),
            control_hz=20.0,
            state=(StateSpec(name="robot0_eef_pos", shape=(3,), unit="m", frame="world"),),
        )

    def open_episode(self, instance: TaskInstance, instruction: str, seed: int) -> LiberoScriptedSession:
        """Begin an episode; what to carry where is read from the task's goal.

        Raises:
            AgentError: The goal is not to put one thing into a basket.
        """
        del instruction
        thing, basket = _goal(instance)
        return LiberoScriptedSession(thing, basket, noise=self._noise, seed=seed)

    def close(self) -> None:
        """Nothing is held."""


class LiberoScriptedSession:
    """One episode: approach from above, grasp, lift, carry over the basket, let go; again if the grasp failed."""

    def __init__(self, thing: str, basket: str, *, noise: float, seed: int) -> None:
        self._thing = thing
        self._basket = basket
        self._noise = noise
        self._random = np.random.default_rng(seed)
        self._phase = Phase.APPROACH
        self._steps_in_phase = 0
        self._attempt = 0
        self._rest_height_m: float | None = None
        self._grip_offset_m = 0.0

    def act(self, observation: Mapping[str, Any]) -> Reply:
        """One action, shape (7,)."""
        scene = _Scene(
            hand=_position(observation, "robot0_eef_pos"),
            thing=_position(observation, f"{self._thing}_pos"),
            basket=_position(observation, f"{self._basket}_pos"),
        )
        if self._rest_height_m is None:
            self._rest_height_m = float(scene.thing[2])
        self._advance(scene, self._rest_height_m)
        error = self._target(scene, self._rest_height_m) - scene.hand
        move = np.clip(_GAIN * error / _POSITION_SCALE_M, -1.0, 1.0)
        if self._noise:
            move = np.clip(move + self._noise * self._random.standard_normal(3), -1.0, 1.0)
        gripper = _CLOSE if self._phase in (Phase.GRASP, Phase.LIFT, Phase.CARRY, Phase.LOWER) else _OPEN
        self._steps_in_phase += 1
        return Reply(np.array([*move, 0.0, 0.0, 0.0, gripper]), metadata={"phase": self._phase.name.lower()})

    def close(self) -> None:
        """Nothing is held."""

    def _advance(self, scene: _Scene, rest_height_m: float) -> None:
        """Go on to the next phase where the present one is done; back to the first where the grasp failed."""
        if self._phase in (Phase.CARRY, Phase.LOWER) and scene.thing[2] < rest_height_m + _RISE_M:
            self._attempt += 1
            self._enter(Phase.APPROACH)
            return
        tolerance = _TOLERANCE_M.get(self._phase)
        arrived = tolerance is not None and _distance(self._target(scene, rest_height_m), scene.hand) < tolerance
        if arrived or self._steps_in_phase >= _PATIENCE_STEPS[self._phase]:
            if self._phase is Phase.GRASP:
                self._grip_offset_m = float(scene.hand[2] - scene.thing[2])
            self._enter(_NEXT[self._phase])

    def _enter(self, phase: Phase) -> None:
        self._phase = phase
        self._steps_in_phase = 0

    def _target(self, scene: _Scene, rest_height_m: float) -> Vector:
        """Where the hand should be, in metres, world frame."""
        over_thing = scene.thing.copy()
        over_basket = scene.basket.copy()
        lowest_point = self._grip_offset_m + rest_height_m
        carry_height = _RIM_M + _CLEARANCE_M + lowest_point
        match self._phase:
            case Phase.APPROACH:
                over_thing[2] = max(_TRAVEL_M, scene.thing[2] + rest_height_m + _CLEARANCE_M)
                return over_thing
            case Phase.DESCEND | Phase.GRASP:
                # A failed grasp is tried again a little lower, then a little higher.
                shift = (0.0, -0.01, 0.01)[self._attempt % 3]
                over_thing[2] = max(over_thing[2] + shift, _LOWEST_GRASP_M)
                return over_thing
            case Phase.LIFT:
                over_hand = scene.hand.copy()
                over_hand[2] = carry_height
                return over_hand
            case Phase.CARRY:
                over_basket[2] = carry_height
                return over_basket
            case Phase.LOWER | Phase.RELEASE:
                over_basket[2] = max(_RELEASE_M, lowest_point + _CLEARANCE_M)
                return over_basket
            case Phase.RETREAT:
                over_basket[2] = _RIM_M + 0.15
                return over_basket


def _goal(instance: TaskInstance) -> tuple[str, str]:
    expr = instance.spec.success.expr
    parts = () if expr is None else conjuncts(parse_expression(expr))
    match parts:
        case (("in", str() as thing, str() as region),) if region.endswith(_REGION) and "basket" in region:
            return thing, region.removesuffix(_REGION)
        case _:
            raise AgentError(
                f"libero-scripted puts one thing into a basket; {instance.spec.id} asks for {expr or 'something else'}",
                fix="run it on libero_object",
            )


def _position(observation: Mapping[str, Any], key: str) -> Vector:
    if key not in observation:
        raise AgentError(f"the observation lacks {key!r}", fix="--env-arg privileged=true")
    return np.array(observation[key], dtype=np.float64)


def _distance(a: Vector, b: Vector) -> float:
    return float(np.linalg.norm(a - b))


def _action() -> tuple[ActionSlice, ...]:
    """The action it sends, said independently of the environment so that the two can be compared."""
    bounds: dict[str, Any] = {"unit": "normalised", "low": -1.0, "high": 1.0}
    return (
        ActionSlice(name="eef_position", start=0, stop=3, mode="delta", frame="world", **bounds),
        ActionSlice(name="eef_rotation", start=3, stop=6, mode="delta", frame="world", rotation="axis_angle", **bounds),
        ActionSlice(name="gripper", start=6, stop=7, mode="absolute", frame="eef", gripper="positive_closes", **bounds),
    )
