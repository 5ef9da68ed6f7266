"""``gymnasium``: any registered Gymnasium id, with a success rule that the benchmark file chooses.

Gymnasium has no notion of success, so a task says what success is, by exactly one of

* ``success_key``: a key of ``info`` that the env sets at every step to true or false (or 1 or 0);
* ``success_rule = "terminated"``: the env ended the episode itself, as MountainCar does at the flag;
* ``success_rule = "return_at_least"`` with ``success_threshold``: the rewards of the episode so far add up to
  it, as CartPole's 475 steps upright.

The env's time limit is lifted, because the harness owns the horizon. A Box observation becomes a dict of one
key, ``observation``; a Dict observation of boxes stays what it is. A Discrete action is one number, the index
of the choice.

Where the env is one of MuJoCo and keeps ``model`` and ``data`` as Gymnasium's own do, an instability that MuJoCo
warns of ends the episode as ``sim_unstable``, as in the families of ours. Any other simulator says nothing of
the kind, and a reward that is not finite is then the environment's fault.

The env draws its initial state from the seed it is given at reset. Whether it keeps anything else from one
episode to the next is its own affair: ``hylo-eval check-env`` tells.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, cast

import gymnasium
import numpy as np
from numpy.typing import NDArray

from hylo_core.frozen import thaw
from hylo_core.spec import ActionSlice, EnvSpec, StateSpec
from hylo_core.task import SeedInit, TaskSpec
from hylo_eval.envs.mujoco_state import watch_of
from hylo_eval.envs.protocol import INSTRUCTION, SUCCESS, UNSTABLE
from hylo_eval.envs.task_support import (
    installed_versions,
    instance_at_reset,
    read_params,
    require_env_success,
    require_init,
    static_instruction,
)
from hylo_eval.errors import AgentError, EnvError

OBSERVATION: Final = "observation"
"""The key a Box observation is wrapped into."""
RULES: Final = ("terminated", "return_at_least")

Observation = dict[str, NDArray[Any]]


class GymnasiumEnv(gymnasium.Env[Any, Any]):
    """The environment of one task on a registered id; the class is its own factory.

    Args:
        task: Params ``id`` (text); ``success_key`` or ``success_rule`` (text), see the module;
            ``success_threshold`` (a number, with the rule ``return_at_least``); ``kwargs`` (a table, passed
            to ``gymnasium.make``).

    Raises:
        EnvError: The id is not registered or cannot be made, a param is not understood, or a space is not
            supported.
    """

    def __init__(self, task: TaskSpec) -> None:
        require_init(task, SeedInit)
        require_env_success(task)
        self._task = task
        self._instruction = static_instruction(task)
        self._success = _SuccessRule(task)
        self._env = _make(task)
        self._discrete = _discrete(task, self._env.action_space)
        self._wrapped = isinstance(self._env.observation_space, gymnasium.spaces.Box)
        self._closed = False
        self.observation_space = _observation_space(task, self._env.observation_space)
        self.action_space = _action_space(self._env.action_space, self._discrete)
        self.env_spec = EnvSpec(
            action=_action_slices(self.action_space, discrete=self._discrete is not None),
            state=_state_specs(self.observation_space),
            instruction_source="benchmark",
            success_source=self._success.source,
        )
        self._watch = watch_of(self._env.unwrapped)
        self.versions = installed_versions("gymnasium", *(["mujoco"] if self._watch else []))
        self.renderer = "none"

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Reset the env with the instance's seed."""
        instance = instance_at_reset(self._task, seed, options)
        super().reset(seed=instance.seed)
        observation, info = self._env.reset(seed=instance.seed)
        self._success.restart()
        self._watch = watch_of(self._env.unwrapped)
        return self._observe(observation), {
            INSTRUCTION: self._instruction,
            SUCCESS: self._success.at_reset(info),
        }

    def step(self, action: NDArray[Any]) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Apply one action, of the shape and dtype of the action space."""
        observation, reward, terminated, truncated, info = self._env.step(self._command(action))
        unstable = None if self._watch is None else self._watch.check()
        if unstable is not None:
            # Numbers of no meaning decide no success.
            return self._observe(observation), float(reward), False, False, {SUCCESS: False, UNSTABLE: unstable}
        success = self._success.after_step(float(reward), terminated=bool(terminated), info=info)
        return (
            self._observe(observation),
            float(reward),
            bool(terminated),
            bool(truncated),
            {SUCCESS: success},
        )

    def close(self) -> None:
        """Close the env; a second call does nothing."""
        if not self._closed:
            self._closed = True
            self._env.close()

    def _command(self, action: NDArray[Any]) -> Any:
        if self._discrete is None:
            return np.array(action, dtype=self._env.action_space.dtype)
        value = float(action[0])
        low, high = self._discrete
        if not value.is_integer() or not low <= value <= high:
            # Choosing is the agent's business: rounding here would play another policy than the one
            # evaluated.
            raise AgentError(f"the action of {self._task.id!r} is an integer in [{low}, {high}], not {value:g}")
        return np.int64(value)

    def _observe(self, observation: Any) -> Observation:
        if self._wrapped:
            return {OBSERVATION: np.array(observation)}
        members = cast("Mapping[str, Any]", observation)
        return {name: np.array(value) for name, value in members.items()}


class _SuccessRule:
    """What a task calls success, evaluated along one episode."""

    def __init__(self, task: TaskSpec) -> None:
        params = read_params(
            task,
            required={"id": str},
            optional={"success_key": str, "success_rule": str, "success_threshold": float, "kwargs": Mapping},
        )
        self._key: str | None = params.get("success_key")
        self._rule: str | None = params.get("success_rule")
        self._threshold = float(params.get("success_threshold", math.nan))
        self._return = 0.0
        if (self._key is None) == (self._rule is None):
            raise EnvError(f"task {task.id!r} must have exactly one of the params 'success_key' and 'success_rule'")
        if self._rule is not None and self._rule not in RULES:
            raise EnvError(f"param 'success_rule' of {task.id!r} must be one of {', '.join(RULES)}, not {self._rule!r}")
        if (self._rule == "return_at_least") != ("success_threshold" in params):
            raise EnvError(f"task {task.id!r}: 'success_threshold' goes with success_rule 'return_at_least' alone")

    @property
    def source(self) -> str:
        """What decides, for the env's spec."""
        return f"info[{self._key!r}]" if self._key is not None else str(self._rule)

    def restart(self) -> None:
        self._return = 0.0

    def at_reset(self, info: Mapping[str, Any]) -> bool:
        """Success before any action; an env that has no opinion yet has not succeeded."""
        return self._from_info(info) if self._key is not None and self._key in info else False

    def after_step(self, reward: float, *, terminated: bool, info: Mapping[str, Any]) -> bool:
        self._return += reward
        if self._rule == "terminated":
            return terminated
        if self._rule == "return_at_least":
            return self._return >= self._threshold
        return self._from_info(info)

    def _from_info(self, info: Mapping[str, Any]) -> bool:
        if self._key is None or self._key not in info:
            listed = ", ".join(sorted(info)) or "nothing"
            raise EnvError(f"the env's info has no success key {self._key!r} (it has {listed})")
        value = info[self._key]
        if np.ndim(value) != 0 or value not in (0, 1):
            raise EnvError(f"info[{self._key!r}] is {value!r}, which is neither true nor false, 0 nor 1")
        return bool(value)


def _make(task: TaskSpec) -> gymnasium.Env[Any, Any]:
    """The env of a task without its time limit; -1 is how Gymnasium spells that."""
    kwargs = cast("dict[str, Any]", thaw(task.params.get("kwargs", {})))
    env_id = str(task.params["id"])
    try:
        return gymnasium.make(env_id, max_episode_steps=-1, disable_env_checker=True, **kwargs)
    except gymnasium.error.Error as error:
        raise EnvError(f"Gymnasium cannot make {env_id!r}: {error}") from error
    except (ImportError, TypeError) as error:
        # TypeError: a name in kwargs that the env's constructor does not have.
        raise EnvError(f"Gymnasium cannot make {env_id!r} with kwargs {kwargs}: {error}") from error


def _discrete(task: TaskSpec, space: gymnasium.Space[Any]) -> tuple[int, int] | None:
    """First and last index of a Discrete action space; None for a vector of numbers."""
    if isinstance(space, gymnasium.spaces.Discrete):
        return int(space.start), int(space.start + space.n - 1)
    if isinstance(space, gymnasium.spaces.Box) and len(space.shape) == 1:
        return None
    raise EnvError(
        f"task {task.id!r}: the action space {space} is not supported; Box of one dimension and Discrete are"
    )


def _action_space(space: gymnasium.Space[Any], choices: tuple[int, int] | None) -> Any:
    return space if choices is None else gymnasium.spaces.Box(*choices, (1,), np.int64)


def _observation_space(task: TaskSpec, space: gymnasium.Space[Any]) -> gymnasium.spaces.Dict:
    if isinstance(space, gymnasium.spaces.Box):
        return gymnasium.spaces.Dict({OBSERVATION: space})
    members = cast("dict[str, Any]", getattr(space, "spaces", {}))
    if isinstance(space, gymnasium.spaces.Dict) and all(
        isinstance(member, gymnasium.spaces.Box) for member in members.values()
    ):
        return gymnasium.spaces.Dict(members)
    raise EnvError(f"task {task.id!r}: the observation space {space} is not supported; Box and Dict of Box are")


def _state_specs(space: gymnasium.spaces.Dict) -> tuple[StateSpec, ...]:
    """Shapes are known from the spaces; units and frames are not, and say so."""
    members: dict[str, Any] = dict(space.spaces)
    return tuple(
        StateSpec(name=name, shape=tuple(member.shape), dtype=str(member.dtype)) for name, member in members.items()
    )


def _action_slices(space: Any, *, discrete: bool) -> tuple[ActionSlice, ...]:
    """One slice where all entries have the same bounds, else one an entry."""
    bounds = [(float(low), float(high)) for low, high in zip(space.low, space.high, strict=True)]
    if discrete:
        return (
            ActionSlice(
                name="choice",
                start=0,
                stop=1,
                mode="absolute",
                unit="index",
                low=bounds[0][0],
                high=bounds[0][1],
            ),
        )
    if len(set(bounds)) == 1:
        return (_action_slice("action", 0, len(bounds), *bounds[0]),)
    return tuple(_action_slice(f"action_{index}", index, index + 1, *pair) for index, pair in enumerate(bounds))


def _action_slice(name: str, start: int, stop: int, low: float, high: float) -> ActionSlice:
    known_low, known_high = (bound if math.isfinite(bound) else None for bound in (low, high))
    return ActionSlice(name=name, start=start, stop=stop, low=known_low, high=known_high)
