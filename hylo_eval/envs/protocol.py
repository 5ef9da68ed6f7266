"""What the harness asks of an environment.

An environment is a :class:`gymnasium.Env` with a ``Dict`` observation space (text and arrays by key). One env serves
all instances of one task. On top of Gymnasium's own rules:

* ``reset(seed=instance.seed, options={"instance": instance})`` sets *everything* the episode depends on, explicitly:
  never from a counter of resets, never from a global generator, never from what the episode before left behind.
* ``reset`` returns ``info["instruction"]`` (the text actually used) and ``info["success"]``; ``step`` returns
  ``info["success"]`` at every step. It is a ``bool``: any other type is an error, adapters convert explicitly.
* The reward is a finite number, except at a step that is said to be unstable.
* ``step`` takes a read-only action; observations keep the keys, shapes and dtypes they have at reset.
* Built-in time limits are lifted: the harness owns the horizon. ``terminated`` and ``truncated`` are the task's own.
* The attributes ``env_spec`` (:class:`~hylo_core.spec.EnvSpec`: what the env offers), ``versions`` (package -> version
  of the simulator) and ``renderer`` (what draws the pictures, as text) describe it; what is left out is unknown.
* An option that would change nothing is refused when the env is made.

Optional members of ``info`` are the constants below.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

from hylo_core.canonical import describe
from hylo_core.spec import EnvSpec
from hylo_eval.errors import EnvError

if TYPE_CHECKING:
    import gymnasium

    from hylo_core.task import TaskSpec

INSTRUCTION = "instruction"
"""At reset: the instruction text actually used (str)."""
SUCCESS = "success"
"""At reset and at every step: whether the task's success predicate holds now (bool)."""
SETTLE_STEPS = "settle_steps"
"""At reset: simulation steps taken to settle, not charged to the horizon (int)."""
STATE_DIGEST = "state_digest"
"""At reset: ``sha256:`` digest of the simulator's state after settling (str)."""
MODEL_DIGEST = "model_digest"
"""At reset: ``sha256:`` digest of what the state does not hold, such as fixture poses (str)."""
SNAPSHOT = "snapshot"
"""At reset: the scene as JSON (a mapping), from which the family can set it up again."""
UNSTABLE = "unstable"
"""At any step: what the simulator warned of, in words (str); the episode ends as ``sim_unstable``."""
GOAL = "goal"
"""At any step: whether each conjunct of the goal holds (tuple of bool), in the predicate's order."""
DISAGREEMENT = "disagreement"
"""At any step: True where our evaluation of the goal and the simulator's own check differ (bool)."""

BENCHMARK_FOLDER = "benchmark_folder"
"""The option of a factory whose tasks name files beside the benchmark file: the harness gives that folder (str)."""

_ALL_UNKNOWN = EnvSpec()


@runtime_checkable
class EnvFactory(Protocol):
    """Makes the environment of one task.

    Options are keyword-only parameters with annotations of ``str``, ``int``, ``float``, ``bool`` (or a ``Literal``), so
    that ``--env-arg name=value`` can be checked before anything is built. An unknown or meaningless option is refused.
    """

    def __call__(self, task: TaskSpec, **options: Any) -> gymnasium.Env[Any, Any]:
        """Make the env; raises :class:`hylo_eval.errors.EnvError` (a missing simulator names its extra)."""
        ...


def spec_of(env: object) -> EnvSpec:
    """The env's spec; all unknown where it has none."""
    found = getattr(env, "env_spec", None)
    return found if isinstance(found, EnvSpec) else _ALL_UNKNOWN


def versions_of(env: object) -> dict[str, str]:
    """The simulator's packages with versions; empty where the env does not say.

    Raises:
        EnvError: They are no texts by name.
    """
    found: Any = getattr(env, "versions", {})
    members: dict[Any, Any] = dict(cast("Mapping[Any, Any]", found)) if isinstance(found, Mapping) else {None: None}
    if not all(isinstance(item, str) for pair in members.items() for item in pair):
        raise EnvError(f"versions must be package versions by name, not {describe(getattr(env, 'versions', {}))}")
    return members


def renderer_of(env: object) -> str:
    """What draws the pictures; ``unknown`` where the env does not say, ``none`` for state only."""
    return str(getattr(env, "renderer", "unknown"))
