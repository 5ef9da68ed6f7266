"""What a family accepts of a task; everything else is refused with a sentence, before anything is built."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hylo_core.contract import describe
from hylo_core.errors import ContractError
from hylo_core.instruction import render_instruction
from hylo_core.task import TaskInstance, TaskSpec
from hylo_core.task_params import VERIFIER, VERIFIER_RESOURCES, VERIFIER_SOURCE
from hylo_eval.errors import EnvError
from hylo_eval.suggest import did_you_mean

_TYPE_NAMES: Mapping[type, str] = {
    str: "text",
    bool: "true or false",
    int: "an integer",
    float: "a number",
    tuple: "a list",
    Mapping: "a table",
}


_OF_EVERY_FAMILY: Mapping[str, type] = {VERIFIER: Mapping, VERIFIER_SOURCE: str, VERIFIER_RESOURCES: Mapping}
"""Params that say how the answer is judged: the scorer ``verdict`` reads them, and no environment."""


def read_params(
    task: TaskSpec, *, required: Mapping[str, type], optional: Mapping[str, type] | None = None
) -> dict[str, Any]:
    """The params of a task, all known and of the right type, without those of its verifier.

    Args:
        task: The task.
        required: Names and types (``str``, ``bool``, ``int``, ``float``, ``tuple``, ``Mapping``) that must be
            there.
        optional: Names and types that may be there; absent ones are absent from the result.

    Raises:
        EnvError: A param is missing, unknown (it would change nothing), or of another type.
    """
    own = {**required, **(optional or {})}
    known = {**own, **_OF_EVERY_FAMILY}
    for name in task.params:
        if name not in known:
            listed = ", ".join(own) or "none"
            raise EnvError(f"task {task.id!r} has no param {name!r}{did_you_mean(name, known)} (params: {listed})")
    for name in required:
        if name not in task.params:
            raise EnvError(f"task {task.id!r} needs the param {name!r} ({_TYPE_NAMES[required[name]]})")
    for name, value in task.params.items():
        if not _fits(value, known[name]):
            raise EnvError(f"param {name!r} of {task.id!r} must be {_TYPE_NAMES[known[name]]}, not {describe(value)}")
    return {name: value for name, value in task.params.items() if name in own}


def read_point(task: TaskSpec, name: str, size: int) -> tuple[float, ...]:
    """A param that is a list of ``size`` numbers.

    Raises:
        EnvError: It has another length, or holds something else.
    """
    value = task.params[name]
    if len(value) != size or not all(_fits(item, float) for item in value):
        raise EnvError(f"param {name!r} of task {task.id!r} must be {size} numbers, not {describe(value)}")
    return tuple(float(item) for item in value)


def require_env_success(task: TaskSpec) -> None:
    """Refuse every success predicate but ``builtin env_success``.

    Raises:
        EnvError: The task asks for a predicate this family does not evaluate.
    """
    if task.success.kind != "builtin" or task.success.name != "env_success":
        raise EnvError(
            f"task {task.id!r} asks for the success predicate {task.success.name or task.success.kind!r}, "
            "but this family knows one: kind 'builtin', name 'env_success'"
        )


def require_init(task: TaskSpec, kind: type) -> None:
    """Refuse every way to the initial state but one.

    Raises:
        EnvError: The task's ``init`` is of another kind.
    """
    if not isinstance(task.init, kind):
        raise EnvError(
            f"task {task.id!r} has an init of kind {task.init.kind!r}, but this family takes {kind.__dict__['kind']!r}"
        )


def static_instruction(task: TaskSpec) -> str:
    """The instruction of a task whose text has no fields to fill.

    Raises:
        EnvError: It is a template; this family has no values for its fields.
    """
    try:
        return render_instruction(task.instruction, {})
    except ContractError as error:
        raise EnvError(f"the instruction of task {task.id!r} {error.reason}; this family fills no fields") from None


def instance_at_reset(task: TaskSpec, seed: int | None, options: Mapping[str, Any] | None) -> TaskInstance:
    """The instance that ``env.reset(seed=instance.seed, options={"instance": instance})`` is about.

    Raises:
        EnvError: There is none, it is of another task, or the seed is not its own.
    """
    instance = (options or {}).get("instance")
    if not isinstance(instance, TaskInstance):
        raise EnvError("reset needs the task instance: env.reset(seed=instance.seed, options={'instance': instance})")
    spec = instance.spec
    if (spec.id, spec.init, spec.params) != (task.id, task.init, task.params):
        raise EnvError(f"this env was made for task {task.id!r}, not for instance {instance.key!r} of another task")
    if seed != instance.seed:
        raise EnvError(f"reset got seed {seed}, but instance {instance.key!r} has seed {instance.seed}")
    return instance


def installed_versions(*distributions: str) -> dict[str, str]:
    """Version by distribution name, for the trace and the manifest; the distributions must be installed."""
    from importlib.metadata import version

    return {name: version(name) for name in distributions}


def _fits(value: Any, kind: type) -> bool:
    if kind is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, kind)
