"""What an environment offers and what an agent expects, in the terms that have silently cost labs weeks.

Every field has a way to say *unknown* (``None``, or the word ``"unknown"``): unknown is a value, and it is shown.
A known value on one side that differs from a known value on the other is a mismatch, and a run refuses it.
"""

from __future__ import annotations

from typing import Literal

import attrs

from hylo_core.contract import (
    Contract,
    boolean,
    contracts_of,
    instance_of,
    integer,
    integers,
    number,
    one_of,
    text,
)
from hylo_core.errors import ContractError

UNKNOWN = "unknown"


@attrs.frozen(kw_only=True)
class ActionSlice(Contract):
    """A named run of entries of the action vector.

    Attributes:
        name: What the entries command: ``eef_position``, ``eef_rotation``, ``gripper``, ``base``, ...
        start: First index.
        stop: One past the last index.
        mode: ``delta`` (relative to the present or the last command) or ``absolute``.
        unit: ``m``, ``rad``, ``m/s``, or ``normalised`` where the controller scales [-1, 1].
        frame: ``world``, ``base``, ``eef``, ...
        rotation: ``axis_angle``, ``euler_xyz``, ``quaternion_xyzw``, ...; ``none`` where the slice is no rotation.
        gripper: ``positive_opens`` or ``positive_closes``; ``none`` where the slice is no gripper.
        low: Lower bound of every entry, in ``unit``; None is unknown.
        high: Upper bound of every entry, in ``unit``; None is unknown.
    """

    name: str = attrs.field(validator=text(empty=False))
    start: int = attrs.field(validator=integer(minimum=0))
    stop: int = attrs.field(validator=integer(minimum=1))
    mode: Literal["delta", "absolute", "unknown"] = attrs.field(
        default="unknown", validator=one_of("delta", "absolute", "unknown")
    )
    unit: str = attrs.field(default=UNKNOWN, validator=text(empty=False))
    frame: str = attrs.field(default=UNKNOWN, validator=text(empty=False))
    rotation: str = attrs.field(default="none", validator=text(empty=False))
    gripper: Literal["positive_opens", "positive_closes", "none", "unknown"] = attrs.field(
        default="none", validator=one_of("positive_opens", "positive_closes", "none", "unknown")
    )
    low: float | None = attrs.field(default=None, validator=number(optional=True))
    high: float | None = attrs.field(default=None, validator=number(optional=True))

    def __attrs_post_init__(self) -> None:
        if self.stop <= self.start:
            raise ContractError(f"must be above start ({self.start}), not {self.stop}", path="stop")
        if self.low is not None and self.high is not None and self.high < self.low:
            raise ContractError(f"must be at least low ({self.low:g}), not {self.high:g}", path="high")


@attrs.frozen(kw_only=True)
class CameraSpec(Contract):
    """A camera as the policy sees it.

    Attributes:
        name: The observation key.
        height: Rows, in pixels.
        width: Columns, in pixels.
        channels: 3 for colour, 1 for depth or grey, 4 for colour with an alpha channel.
        dtype: ``uint8`` (0-255) or ``float32``.
        colour_order: ``rgb`` or ``bgr``; ``none`` for one channel.
        orientation: ``upright`` as a person sees the scene, ``flipped`` upside down (OpenGL's row order),
            ``rotated_180``.
    """

    name: str = attrs.field(validator=text(empty=False))
    height: int = attrs.field(validator=integer(minimum=1))
    width: int = attrs.field(validator=integer(minimum=1))
    channels: int = attrs.field(default=3, validator=integer(minimum=1))
    dtype: str = attrs.field(default="uint8", validator=text(empty=False))
    colour_order: Literal["rgb", "bgr", "none", "unknown"] = attrs.field(
        default="rgb", validator=one_of("rgb", "bgr", "none", "unknown")
    )
    orientation: Literal["upright", "flipped", "rotated_180", "unknown"] = attrs.field(
        default="unknown", validator=one_of("upright", "flipped", "rotated_180", "unknown")
    )


@attrs.frozen(kw_only=True)
class StateSpec(Contract):
    """A low-dimensional observation.

    Attributes:
        name: The observation key.
        shape: Of the array.
        dtype: Of the array.
        unit: ``m``, ``rad``, ...; ``mixed`` where entries differ.
        frame: ``world``, ``base``, ...
        layout: What the entries are, where the name does not say it.
        privileged: Whether a real robot could not know it (an object's true pose).
    """

    name: str = attrs.field(validator=text(empty=False))
    shape: tuple[int, ...] = attrs.field(default=(), converter=integers("shape"))
    dtype: str = attrs.field(default="float64", validator=text(empty=False))
    unit: str = attrs.field(default=UNKNOWN, validator=text(empty=False))
    frame: str = attrs.field(default=UNKNOWN, validator=text(empty=False))
    layout: str = attrs.field(default="", validator=text())
    privileged: bool = attrs.field(default=False, validator=boolean)


@attrs.frozen(kw_only=True)
class ImagePreparation(Contract):
    """What an agent does to a picture before its network sees it.

    Attributes:
        crop: ``none``, ``centre_0.9``, ...
        resize: ``none``, ``lanczos3_224x224``, ``bilinear_256x256``, ...
        antialias: ``yes``, ``no``; ``none`` where nothing is resized.
        padding: ``none``, ``black``, ...
    """

    crop: str = attrs.field(default=UNKNOWN, validator=text(empty=False))
    resize: str = attrs.field(default=UNKNOWN, validator=text(empty=False))
    antialias: str = attrs.field(default=UNKNOWN, validator=text(empty=False))
    padding: str = attrs.field(default=UNKNOWN, validator=text(empty=False))


@attrs.frozen(kw_only=True)
class EnvSpec(Contract):
    """What an environment offers.

    Attributes:
        action: The slices of the action vector; together they cover it once. Empty is unknown (or a text action).
        control_hz: Actions a simulated second.
        step_seconds: Simulated seconds a step; ``1 / control_hz`` unless an env says otherwise.
        cameras: The pictures the agent gets.
        state: The low-dimensional observations the agent gets.
        instruction_source: Where the text in ``info["instruction"]`` comes from.
        success_source: What decides ``info["success"]``.
    """

    action: tuple[ActionSlice, ...] = attrs.field(default=(), converter=contracts_of("action", ActionSlice))
    control_hz: float | None = attrs.field(default=None, validator=number(optional=True, minimum=0))
    step_seconds: float | None = attrs.field(default=None, validator=number(optional=True, minimum=0))
    cameras: tuple[CameraSpec, ...] = attrs.field(default=(), converter=contracts_of("cameras", CameraSpec))
    state: tuple[StateSpec, ...] = attrs.field(default=(), converter=contracts_of("state", StateSpec))
    instruction_source: str = attrs.field(default=UNKNOWN, validator=text(empty=False))
    success_source: str = attrs.field(default=UNKNOWN, validator=text(empty=False))

    def __attrs_post_init__(self) -> None:
        _check_cover(self.action)

    @property
    def action_size(self) -> int | None:
        """Entries of the action vector, or None when the slices are unknown."""
        return self.action[-1].stop if self.action else None


@attrs.frozen(kw_only=True)
class AgentSpec(Contract):
    """What an agent expects and how it acts.

    Attributes:
        chunk_length: Actions in a reply.
        replan: How many of them are executed before the next reply is asked for; at most ``chunk_length``.
        action: The slices of the action vector it emits; empty is unknown.
        control_hz: Actions a simulated second it was trained for.
        cameras: The pictures it needs.
        state: Names of the low-dimensional observations it needs.
        image_preparation: What it does to pictures; None where it sees none.
        observation_history: Observations it looks at, the present one included.
        history_fill: How the history is filled at the start: ``repeat_first``, ``zeros``; ``none`` with one.
        instruction_source: The text it expects, ``any`` where it does not matter.
        normaliser_key: Which statistics un-normalise its actions; ``none`` where there are none.
    """

    chunk_length: int = attrs.field(default=1, validator=integer(minimum=1))
    replan: int = attrs.field(default=1, validator=integer(minimum=1))
    action: tuple[ActionSlice, ...] = attrs.field(default=(), converter=contracts_of("action", ActionSlice))
    control_hz: float | None = attrs.field(default=None, validator=number(optional=True, minimum=0))
    cameras: tuple[CameraSpec, ...] = attrs.field(default=(), converter=contracts_of("cameras", CameraSpec))
    state: tuple[StateSpec, ...] = attrs.field(default=(), converter=contracts_of("state", StateSpec))
    image_preparation: ImagePreparation | None = attrs.field(
        default=None, validator=instance_of(ImagePreparation, optional=True)
    )
    observation_history: int = attrs.field(default=1, validator=integer(minimum=1))
    history_fill: str = attrs.field(default="none", validator=text(empty=False))
    instruction_source: str = attrs.field(default="any", validator=text(empty=False))
    normaliser_key: str = attrs.field(default="none", validator=text(empty=False))

    def __attrs_post_init__(self) -> None:
        _check_cover(self.action)
        if self.replan > self.chunk_length:
            raise ContractError(f"must be at most chunk_length ({self.chunk_length}), not {self.replan}", path="replan")


@attrs.frozen
class SpecDifference:
    """One thing in which an agent's expectation and an environment's offer differ.

    Attributes:
        path: Which field, for example ``action.gripper.gripper``.
        env: The environment's value.
        agent: The agent's value.
        severity: ``mismatch`` when both are known and differ, ``unknown`` when one side does not say.
    """

    path: str
    env: str
    agent: str
    severity: Literal["mismatch", "unknown"]

    def __str__(self) -> str:
        return f"{self.path}: the environment has {self.env}, the agent expects {self.agent}"


def compare_specs(env: EnvSpec, agent: AgentSpec) -> tuple[SpecDifference, ...]:
    """Everything in which the two differ or one side is unknown, in field order."""
    found = [
        *_compare("control_hz", env.control_hz, agent.control_hz),
        *_compare_actions(env.action, agent.action),
    ]
    if agent.instruction_source != "any":
        found += _compare("instruction_source", env.instruction_source, agent.instruction_source)
    for kind, offered, wanted in (
        ("cameras", env.cameras, agent.cameras),
        ("state", env.state, agent.state),
    ):
        by_name: dict[str, CameraSpec | StateSpec] = {item.name: item for item in offered}
        for item in wanted:
            path = f"{kind}.{item.name}"
            if item.name not in by_name:
                have = ", ".join(by_name) or "none"
                found.append(SpecDifference(path, f"none of that name (there is {have})", "it", "mismatch"))
                continue
            found += _compare_fields(path, by_name[item.name], item)
    return (*found, *_untold(agent))


def _untold(agent: AgentSpec) -> list[SpecDifference]:
    """What concerns the agent alone and it does not say; pictures only where it sees any."""
    silent: list[str] = []
    if agent.cameras:
        made = agent.image_preparation or ImagePreparation()
        fields = [field.name for field in attrs.fields(ImagePreparation) if getattr(made, field.name) == UNKNOWN]
        all_of_it = len(fields) == len(attrs.fields(ImagePreparation))
        silent = ["image_preparation"] if all_of_it else [f"image_preparation.{name}" for name in fields]
    silent += [name for name in ("history_fill", "normaliser_key") if getattr(agent, name) == UNKNOWN]
    return [SpecDifference(path, "no say in it", UNKNOWN, "unknown") for path in silent]


def _compare_actions(env: tuple[ActionSlice, ...], agent: tuple[ActionSlice, ...]) -> list[SpecDifference]:
    if not env or not agent:
        sides = ["known slices" if side else UNKNOWN for side in (env, agent)]
        return [SpecDifference("action", sides[0], sides[1], "unknown")]
    names = [tuple(item.name for item in side) for side in (env, agent)]
    if names[0] != names[1]:
        return [SpecDifference("action", ", ".join(names[0]), ", ".join(names[1]), "mismatch")]
    return [
        difference
        for ours, theirs in zip(env, agent, strict=True)
        for difference in _compare_fields(f"action.{ours.name}", ours, theirs)
    ]


def _compare_fields(path: str, env: Contract, agent: Contract) -> list[SpecDifference]:
    found: list[SpecDifference] = []
    for field in attrs.fields(type(agent)):
        ours, theirs = getattr(env, field.name), getattr(agent, field.name)
        if field.name in ("privileged", "layout") or theirs in (None, ()):
            continue
        found += _compare(f"{path}.{field.name}", ours, theirs)
    return found


def _compare(path: str, env: object, agent: object) -> list[SpecDifference]:
    if env == agent and env not in (None, UNKNOWN):
        return []
    unknown = env in (None, UNKNOWN) or agent in (None, UNKNOWN)
    shown = [UNKNOWN if value is None else str(value) for value in (env, agent)]
    return [SpecDifference(path, shown[0], shown[1], "unknown" if unknown else "mismatch")]


def _check_cover(slices: tuple[ActionSlice, ...]) -> None:
    position = 0
    seen: set[str] = set()
    for index, item in enumerate(slices):
        if item.start != position:
            raise ContractError(
                f"must be {position}: the slices cover the action once, in order",
                path=f"action[{index}].start",
            )
        if item.name in seen:
            raise ContractError(f"repeats {item.name!r}", path=f"action[{index}].name")
        seen.add(item.name)
        position = item.stop
