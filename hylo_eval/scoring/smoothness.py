"""How smoothly the agent commands the robot."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, cast

from hylo_core.score import Score
from hylo_core.spec import EnvSpec
from hylo_core.task import TaskInstance
from hylo_core.trace import EpisodeTrace
from hylo_eval.numerals import counted
from hylo_eval.scoring.outcome import NOT_APPLICABLE, NOT_FINITE, NOT_RECORDED, REASONS, abstention

_FEWEST_ACTIONS = 3


class ActionSmoothness:
    """Root mean square of the second difference of the applied actions; lower is smoother, 0 is a straight ramp.

    With actions a(0) ... a(T-1) of n entries it is ``sqrt(mean over t and entries of (a(t+1) - 2 a(t) + a(t-1))**2)``:
    the second-order action smoothing that locomotion rewards penalise (Margolis and Agrawal 2022, "Walk These Ways"),
    averaged so that neither the episode's length nor the number of entries matters. Where actions command velocities
    or steps it is proportional to the jerk of the commanded motion (Flash and Hogan 1985, J. Neurosci. 5:1688-1703).

    Unit: where the environment states its control rate, differences are divided by the squared time between actions and
    the unit is action units a second squared (``metadata["unit"] == "1/s^2"``); else action units a step squared
    (``"1/step^2"``). Entries that the environment declares to be a gripper are left out: opening and closing is a task,
    not a tremor. The number compares agents in one environment; entries of different units are not weighed.

    Abstains with ``not_applicable`` for actions that are text or discrete, for fewer than three actions and for actions
    of different sizes, and with ``not_recorded`` where an entry is no number.
    """

    name = "action_smoothness"

    def score(self, trace: EpisodeTrace, task: TaskInstance) -> Score:
        """Measure the applied actions."""
        abstained = abstention(trace)
        if abstained is not None:
            return abstained
        actions = _actions(trace)
        if isinstance(actions, Score):
            return actions
        entries = _measured_entries(trace.start.env_spec, len(actions[0]))
        if not entries:
            return Score.abstain(NOT_RECORDED, "the action has no entry that is not a gripper")
        rate = _control_rate(trace.start.env_spec)
        value = _root_mean_square(_second_differences(actions, entries)) * (1.0 if rate is None else rate * rate)
        if not math.isfinite(value):
            return Score.abstain(NOT_FINITE, REASONS[NOT_FINITE])
        unit = "1/step^2" if rate is None else "1/s^2"
        return Score(value, metadata={"unit": unit, "control_hz": rate, "entries": len(entries)})


def _actions(trace: EpisodeTrace) -> list[list[float]] | Score:
    """The applied actions, all of one size, or the abstention of an episode without such."""
    if not trace.start.action.dtype.startswith("float"):
        return Score.abstain(NOT_APPLICABLE, f"actions are {trace.start.action.dtype}, which has no smoothness")
    if len(trace.steps) < _FEWEST_ACTIONS:
        return Score.abstain(NOT_APPLICABLE, f"{len(trace.steps)} actions have no second difference")
    actions: list[list[float]] = []
    for step in trace.steps:
        action = _flat(step.applied)
        if action is None:
            return Score.abstain(NOT_RECORDED, f"the action of step {step.index} holds what is no number")
        if actions and len(action) != len(actions[0]):
            said = f"{counted(len(action), 'entry', 'entries')}, that of step 0 has {len(actions[0])}"
            return Score.abstain(NOT_APPLICABLE, f"the action of step {step.index} has {said}")
        actions.append(action)
    return actions


def _root_mean_square(values: Sequence[float]) -> float:
    """Exactly rounded sum; infinite where a value or the sum is not finite."""
    try:
        return math.sqrt(math.fsum(value * value for value in values) / len(values))
    except (OverflowError, ValueError):
        return math.inf


def _second_differences(actions: Sequence[Sequence[float]], entries: Sequence[int]) -> list[float]:
    return [
        after[entry] - 2.0 * now[entry] + before[entry]
        for before, now, after in zip(actions, actions[1:], actions[2:], strict=False)
        for entry in entries
    ]


def _measured_entries(spec: EnvSpec, size: int) -> list[int]:
    grippers = {entry for part in spec.action if part.gripper != "none" for entry in range(part.start, part.stop)}
    return [entry for entry in range(size) if entry not in grippers]


def _control_rate(spec: EnvSpec) -> float | None:
    """Actions a simulated second; None where the environment says neither rate nor time step."""
    if spec.control_hz:
        return float(spec.control_hz)
    return 1.0 / spec.step_seconds if spec.step_seconds else None


def _flat(action: Any) -> list[float] | None:
    """The entries of an action of any shape, in row order; None where one of them is no number."""
    entries = list(_entries(action))
    if any(isinstance(entry, bool) or not isinstance(entry, int | float) for entry in entries):
        return None
    return [float(entry) for entry in entries]


def _entries(action: Any) -> Iterable[Any]:
    if isinstance(action, list):
        for part in cast("list[Any]", action):
            yield from _entries(part)
    else:
        yield action
