"""What an environment says at reset and at every step, checked before it is believed: nothing is coerced."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hylo_core.canonical import describe
from hylo_core.instruction import matches_instruction
from hylo_eval.envs.protocol import GOAL, INSTRUCTION, SETTLE_STEPS, SNAPSHOT, SUCCESS, UNSTABLE
from hylo_eval.errors import EnvError

if TYPE_CHECKING:
    from hylo_core.task import TaskSpec
    from hylo_core.trace import StepEvent


def instruction_of(info: Mapping[str, Any], template: str) -> str:
    """``info["instruction"]``, the text the environment used at reset.

    Args:
        info: As ``reset`` returned it.
        template: The task's instruction, whose fields the environment fills.

    Raises:
        EnvError: It is no text, or no text that the template can give.
    """
    instruction = info.get(INSTRUCTION)
    if not isinstance(instruction, str):
        raise EnvError(f"info[{INSTRUCTION!r}] must be text at reset, not {describe(instruction)}")
    if not matches_instruction(template, instruction):
        raise EnvError(
            f"info[{INSTRUCTION!r}] is {describe(instruction)}, "
            f"which does not come from the task's {describe(template)}"
        )
    return instruction


def success_of(info: Mapping[str, Any]) -> bool:
    """``info["success"]``; raises EnvError when it is no bool."""
    success = info.get(SUCCESS)
    if success is True or success is False:
        return success
    raise EnvError(f"info[{SUCCESS!r}] must be a bool, not {describe(success)}; convert it with bool(...)")


def flag(value: Any, name: str) -> bool:
    """``terminated`` or ``truncated``, a bool of Python or numpy; raises EnvError when it is neither."""
    if value is True or value is False:
        return value
    if isinstance(value, np.bool_):
        return value == np.True_
    raise EnvError(f"{name} must be a bool, not {describe(value)}")


def goal_of(info: Mapping[str, Any]) -> tuple[bool, ...] | None:
    """``info["goal"]``, where the env says it; raises EnvError when it is no sequence of bools."""
    goal = info.get(GOAL)
    if goal is None:
        return None
    if isinstance(goal, (list, tuple, np.ndarray)):
        return tuple(flag(item, f"an entry of info[{GOAL!r}]") for item in cast("list[Any]", goal))
    raise EnvError(f"info[{GOAL!r}] must be a tuple of bools, not {describe(goal)}")


def settle_steps_of(info: Mapping[str, Any]) -> int:
    """``info["settle_steps"]``, 0 where the env does not say; raises EnvError when it is no count."""
    steps: Any = info.get(SETTLE_STEPS, 0)
    if isinstance(steps, (int, np.integer)) and not isinstance(steps, bool) and steps >= 0:
        return int(cast("Any", steps))
    raise EnvError(f"info[{SETTLE_STEPS!r}] must be a number of steps, not {describe(info.get(SETTLE_STEPS))}")


def snapshot_of(info: Mapping[str, Any]) -> Mapping[str, Any]:
    """``info["snapshot"]``, empty where the env does not say; raises EnvError when it is no mapping."""
    snapshot: Any = info.get(SNAPSHOT, {})
    if isinstance(snapshot, Mapping):
        return cast("Mapping[str, Any]", snapshot)
    raise EnvError(f"info[{SNAPSHOT!r}] must be a mapping, not {describe(snapshot)}")


def text_of(info: Mapping[str, Any], name: str) -> str:
    """A text member of ``info``, empty where the env does not say; raises EnvError when it is no text."""
    text = info.get(name, "")
    if isinstance(text, str):
        return text
    raise EnvError(f"info[{name!r}] must be text, not {describe(text)}")


def reward_of(value: Any, info: Mapping[str, Any]) -> float:
    """The reward as a float, finite but where ``info`` says that the simulation has become unstable.

    Raises:
        EnvError: It is no single number, or is not finite: no action that an agent may take is worth that, and nobody
            can add it up. An unstable simulation is an outcome of its own, whatever its numbers are.
    """
    if type(value) is float:
        reward = value
    else:
        array: Any = np.asarray(value)
        if isinstance(value, str) or array.ndim or array.dtype.kind not in "fiu":
            raise EnvError(f"the reward must be a number, not {describe(value)}")
        reward = float(array)
    if not math.isfinite(reward) and UNSTABLE not in info:
        raise EnvError(f"the reward must be a finite number, not {reward}")
    return reward


def end_reason(spec: TaskSpec, index: int, event: StepEvent, *, first_success: bool) -> tuple[str, bool | None] | None:
    """Why the episode ends after this step and what ``success_at_end`` is, or None when it goes on.

    An episode that ends because of its first success, before its horizon, says nothing about its end.
    """
    at_horizon = index + 1 == spec.max_steps
    if event.success and spec.stop_on_success:
        return "success", True if at_horizon else None
    if event.terminated:
        return "terminated", None if first_success and not at_horizon else event.success
    if event.truncated:
        return "truncated", event.success
    return ("horizon", event.success) if at_horizon else None
