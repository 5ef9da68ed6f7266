"""What one episode is about: initial state, success predicate, task, instance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, TypeAlias

import attrs

from hylo_core.contract import Contract, boolean, describe, instance_of, integer, one_of, text, texts
from hylo_core.errors import ContractError, RefError
from hylo_core.expression import canonical_expression
from hylo_core.frozen import FrozenMapping, freeze_mapping
from hylo_core.instruction import instruction_fields
from hylo_core.refs import parse_ref
from hylo_core.seeds import SEED_LIMIT

BUILTIN_PREDICATES: Mapping[str, str] = FrozenMapping(
    {
        "env_success": "the environment's own report, info['success']",
        "response_correct": "the text response scored against the truth in the task's params",
    }
)
"""The closed list of builtin predicates and what each one asks."""


@attrs.frozen
class SeedInit(Contract):
    """The simulator draws the initial state from ``instance.seed``."""

    kind: ClassVar[str] = "seed"


@attrs.frozen
class InitStateRef(Contract):
    """A file of recorded initial states; the row is the seed itself.

    Attributes:
        uri: Where the states are, for example ``libero://libero_10/<task>.pruned_init``.
        count: How many there are. A seed outside ``[0, count)`` is refused, so no scene hides behind two seeds.
    """

    kind: ClassVar[str] = "init_state"

    uri: str = attrs.field(validator=text(empty=False))
    count: int = attrs.field(validator=integer(minimum=1))


@attrs.frozen
class SnapshotInit(Contract):
    """One recorded scene, restored whole (RoboCasa: the ``ep_meta`` of an episode)."""

    kind: ClassVar[str] = "snapshot"

    uri: str = attrs.field(validator=text(empty=False))


InitSpec: TypeAlias = SeedInit | InitStateRef | SnapshotInit
"""Where an episode begins: from the seed, from a recorded state, or from a snapshot."""


@attrs.frozen
class Predicate(Contract):
    """When a task has succeeded.

    Attributes:
        kind: ``builtin`` (a name of :data:`BUILTIN_PREDICATES`), ``expr`` (a declarative goal) or ``callable``.
        name: The builtin's name; only with ``builtin``.
        expr: A canonical S-expression (grammar: :mod:`hylo_core.expression`); only with ``expr``.
        ref: ``package.module:Class.method``; only with ``callable``.
    """

    kind: Literal["builtin", "expr", "callable"] = attrs.field(validator=one_of("builtin", "expr", "callable"))
    name: str = attrs.field(default="", validator=text())
    expr: str | None = attrs.field(default=None, validator=attrs.validators.optional(text()))
    ref: str | None = attrs.field(default=None, validator=attrs.validators.optional(text()))

    def __attrs_post_init__(self) -> None:
        given = {"builtin": bool(self.name), "expr": self.expr is not None, "callable": self.ref is not None}
        fields = {"builtin": "name", "expr": "expr", "callable": "ref"}
        for kind, present in given.items():
            if kind == self.kind and not present:
                raise ContractError(f"is needed by a predicate of kind {kind!r}", path=fields[kind])
            if kind != self.kind and present:
                raise ContractError(
                    f"means nothing to a predicate of kind {self.kind!r}; leave it out", path=fields[kind]
                )
        if self.kind == "builtin" and self.name not in BUILTIN_PREDICATES:
            listed = ", ".join(repr(name) for name in BUILTIN_PREDICATES)
            raise ContractError(f"must be one of {listed}, not {describe(self.name)}", path="name")
        if self.expr is not None:
            _check_canonical(self.expr)
        if self.ref is not None:
            try:
                parse_ref(self.ref)
            except RefError as error:
                raise ContractError(str(error), path="ref") from error


@attrs.frozen(kw_only=True)
class TaskSpec(Contract):
    """A task: everything about an episode but its seed.

    Attributes:
        id: Unique in a benchmark, without ``#`` (which separates id and seed in an instance key).
        version: Changes when the meaning does.
        instruction: Static text, or a template the environment fills at reset (:mod:`hylo_core.instruction`).
        init: How the initial state comes about.
        success: When the task has succeeded.
        max_steps: The horizon in environment steps; the harness owns it.
        params: Task parameters passed to the environment. JSON, deeply frozen.
        tags: Labels to group results by.
        success_at: Whether ``success`` means success at any step (``once``) or at the last (``end``).
        stop_on_success: Whether the harness ends the episode at the first success.
        instruction_source: Where the instruction comes from, when a benchmark has several.
    """

    id: str = attrs.field(validator=text(empty=False))
    version: str = attrs.field(validator=text(empty=False))
    instruction: str = attrs.field(validator=text())
    init: InitSpec = attrs.field(validator=instance_of(SeedInit, InitStateRef, SnapshotInit))
    success: Predicate = attrs.field(validator=instance_of(Predicate))
    max_steps: int = attrs.field(validator=integer(minimum=1))
    params: Mapping[str, Any] = attrs.field(factory=FrozenMapping[Any], converter=freeze_mapping("params"))
    tags: tuple[str, ...] = attrs.field(default=(), converter=texts("tags"))
    success_at: Literal["once", "end"] = attrs.field(default="once", validator=one_of("once", "end"))
    stop_on_success: bool = attrs.field(default=True, validator=boolean)
    instruction_source: str = attrs.field(default="", validator=text())

    def __attrs_post_init__(self) -> None:
        if "#" in self.id:
            raise ContractError(f"must not contain '#', the separator of instance keys: {self.id!r}", path="id")
        try:
            instruction_fields(self.instruction)
        except ContractError as error:
            raise error.under("instruction") from None
        if self.success_at == "end" and self.stop_on_success:
            raise ContractError(
                "must be false when success_at is 'end': an episode that stops at its first success "
                "says nothing about its end",
                path="stop_on_success",
            )


@attrs.frozen(kw_only=True)
class TaskInstance(Contract):
    """One episode to run: everything it depends on is a pure function of this value.

    Attributes:
        spec: The task, overrides applied.
        seed: In ``[0, 2**31)``; with an :class:`InitStateRef` also the row, below its count.
        episode_index: The position of the seed in its split, whatever part of the split is run.
        split: The name of the split.
    """

    spec: TaskSpec = attrs.field(validator=instance_of(TaskSpec))
    seed: int = attrs.field(validator=integer(minimum=0, below=SEED_LIMIT))
    episode_index: int = attrs.field(validator=integer(minimum=0))
    split: str = attrs.field(validator=text(empty=False))

    def __attrs_post_init__(self) -> None:
        check_seed(self.spec, self.seed)

    @property
    def key(self) -> str:
        """``<task id>#<seed>``: what pairs this episode with the same one under another agent."""
        return f"{self.spec.id}#{self.seed}"


def check_seed(spec: TaskSpec, seed: int) -> None:
    """Refuse a seed that names no initial state of the task."""
    if isinstance(spec.init, InitStateRef) and seed >= spec.init.count:
        raise ContractError(
            f"must be below {spec.init.count}, the number of initial states of {spec.id!r}, not {seed}",
            path="seed",
        )


def _check_canonical(expr: str) -> None:
    try:
        canonical = canonical_expression(expr)
    except ContractError as error:
        raise error.under("expr") from None
    if canonical != expr:
        raise ContractError(f"is not in canonical form; write {canonical!r}", path="expr")
