"""Whether an environment keeps the contract of :mod:`hylo_eval.envs.protocol`, one named sentence a rule.

>>> check_env(ReachEnv, benchmark.tasks[0]).require()  # doctest: +SKIP
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from hylo_core.instruction import matches_instruction
from hylo_core.spec import EnvSpec
from hylo_core.task import InitStateRef, TaskInstance, TaskSpec
from hylo_eval.conformance import Broken, ConformanceReport, NotApplicable, Rule, run_rules
from hylo_eval.envs.fingerprint import absorb, digest_of, disturb_global_generators, freeze_arrays
from hylo_eval.envs.protocol import INSTRUCTION, MODEL_DIGEST, STATE_DIGEST, SUCCESS
from hylo_eval.errors import EvalError

if TYPE_CHECKING:
    from numpy.typing import NDArray

EPISODE_STEPS = 20
"""Steps of the episodes that are compared."""
GRIPPER_STEPS = 15
"""Steps the gripper is driven each way."""


def check_env(
    factory: Callable[..., Any],
    task: TaskSpec,
    *,
    seeds: tuple[int, int] = (0, 1),
    horizon_steps: int | None = None,
    **options: Any,
) -> ConformanceReport:
    """Check an env factory on one task.

    Args:
        factory: Makes the env: ``factory(task, **options)``.
        task: What to make it for.
        seeds: Two different seeds of the task to run.
        horizon_steps: Steps run to see that the time limit is lifted; ``task.max_steps + 1`` unless given.
        **options: Passed to the factory.

    Raises:
        EnvError: The env cannot be made at all.
    """
    env = factory(task, **options)
    subject = _Subject(
        factory=factory,
        task=task,
        options=options,
        instances=tuple(_instance(task, seed) for seed in seeds),
        horizon_steps=horizon_steps or task.max_steps + 1,
        env=env,
    )
    try:
        return run_rules(f"{getattr(factory, '__name__', factory)} on {task.id}", subject, RULES)
    finally:
        env.close()


@attrs.frozen(kw_only=True)
class _Subject:
    """An env factory under check, with one env that is reused by most rules."""

    factory: Callable[..., Any]
    task: TaskSpec
    options: Mapping[str, Any]
    instances: tuple[TaskInstance, ...]
    horizon_steps: int
    env: Any

    def reset(self, index: int = 0, env: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        instance = self.instances[index]
        return (env or self.env).reset(seed=instance.seed, options={"instance": instance})

    def action(self, generator: np.random.Generator) -> NDArray[Any] | str:
        """A random action within the bounds; unbounded entries are drawn from [-1, 1]; text is a number."""
        import gymnasium

        space = self.env.action_space
        if isinstance(space, gymnasium.spaces.Text):
            return str(generator.integers(1000))[: space.max_length]
        if not hasattr(space, "low"):
            raise NotApplicable(f"actions are {space}, which this rule does not draw")
        low = np.where(np.isfinite(space.low), space.low, -1.0)
        high = np.where(np.isfinite(space.high), space.high, 1.0)
        if np.issubdtype(space.dtype, np.integer):
            return generator.integers(low.astype(int), high.astype(int), endpoint=True)
        return generator.uniform(low, high)

    def episode_digest(self, env: Any, index: int = 0) -> str:
        """Digest of everything an episode of seeded random actions returns, bit for bit.

        The global generators are set differently every time, so that what is drawn from them shows.
        """
        disturb_global_generators()
        observation, info = self.reset(index, env)
        sha = hashlib.sha256(repr(sorted(info.items())).encode())
        generator = np.random.default_rng(7)
        for _ in range(EPISODE_STEPS):
            absorb(sha, observation)
            observation, reward, terminated, truncated, info = env.step(self.action(generator))
            sha.update(repr((float(reward), bool(terminated), bool(truncated), info[SUCCESS])).encode())
            if terminated or truncated:
                break
        absorb(sha, observation)
        return sha.hexdigest()


def _observation_space_is_dict(subject: _Subject) -> None:
    import gymnasium

    if not isinstance(subject.env.observation_space, gymnasium.spaces.Dict):
        raise Broken(f"the observation space is {subject.env.observation_space}")
    kinds = (gymnasium.spaces.Box, gymnasium.spaces.Discrete, gymnasium.spaces.Text)
    if not isinstance(subject.env.action_space, kinds):
        raise Broken(f"the action space is {subject.env.action_space}")


def _instruction_is_text(subject: _Subject) -> None:
    for index in range(len(subject.instances)):
        _, info = subject.reset(index)
        found = info.get(INSTRUCTION)
        if not isinstance(found, str):
            raise Broken(f"info[{INSTRUCTION!r}] is {found!r}")
        if not matches_instruction(subject.task.instruction, found):
            raise Broken(f"{found!r} does not come from the task's {subject.task.instruction!r}")


def _success_is_bool(subject: _Subject) -> None:
    _, info = subject.reset()
    generator = np.random.default_rng(0)
    for step in range(EPISODE_STEPS):
        if not isinstance(info.get(SUCCESS), bool):
            found = info.get(SUCCESS)
            when = f"after step {step}" if step else "at reset"
            raise Broken(f"{when} info[{SUCCESS!r}] is {found!r} ({type(found).__name__})")
        _, _, terminated, truncated, info = subject.env.step(subject.action(generator))
        if terminated or truncated:
            return


def _step_returns_plain_flags(subject: _Subject) -> None:
    subject.reset()
    _, reward, terminated, truncated, _ = subject.env.step(subject.action(np.random.default_rng(0)))
    if not isinstance(terminated, bool) or not isinstance(truncated, bool):
        raise Broken(f"terminated is {terminated!r}, truncated is {truncated!r}; both are bools")
    if isinstance(reward, bool) or not isinstance(reward, float) or not np.isfinite(reward):
        raise Broken(f"the reward is {reward!r} ({type(reward).__name__})")


def _observations_fit_the_space(subject: _Subject) -> None:
    space = subject.env.observation_space
    observation, _ = subject.reset()
    generator = np.random.default_rng(0)
    for step in range(EPISODE_STEPS):
        if set(observation) != set(space.spaces):
            raise Broken(f"after step {step} the keys are {sorted(observation)}, not {sorted(space.spaces)}")
        for name, member in space.spaces.items():
            if not member.contains(observation[name]):
                raise Broken(f"after step {step} {name!r} is {observation[name]!r}, which is not in {member}")
        observation, _, terminated, truncated, _ = subject.env.step(subject.action(generator))
        if terminated or truncated:
            return


def _spec_names_the_observations(subject: _Subject) -> None:
    spec = _spec(subject)
    spaces = subject.env.observation_space.spaces
    named = {item.name: (item.shape, item.dtype) for item in spec.state}
    named |= {item.name: ((item.height, item.width, item.channels), item.dtype) for item in spec.cameras}
    if set(named) != set(spaces):
        raise Broken(f"env_spec names {sorted(named)}, the observations are {sorted(spaces)}")
    for name, (shape, dtype) in named.items():
        space = spaces[name]
        if space.shape is None:
            continue
        if tuple(space.shape) != shape:
            raise Broken(f"env_spec gives {name!r} the shape {shape}, the space {space.shape}")
        if space.dtype != np.dtype(dtype):
            raise Broken(f"env_spec gives {name!r} the dtype {dtype}, the space {space.dtype}")


def _spec_covers_the_action(subject: _Subject) -> None:
    spec = _spec(subject)
    space = subject.env.action_space
    if not spec.action:
        raise NotApplicable("the slices are unknown, and say so")
    size = math.prod(space.shape)
    if spec.action_size != size:
        raise Broken(f"the slices cover {spec.action_size} entries, the action has {size}")
    for item in spec.action:
        for bound, entries in ((item.low, space.low), (item.high, space.high)):
            part = entries[item.start : item.stop]
            if bound is not None and not np.all(part == bound):
                raise Broken(f"slice {item.name!r} says {bound:g}, the action space {part}")


def _time_limit_is_lifted(subject: _Subject) -> None:
    subject.reset()
    space = subject.env.action_space
    generator = np.random.default_rng(0)
    still = np.clip(np.zeros(space.shape, space.dtype), space.low, space.high) if hasattr(space, "low") else None
    for step in range(subject.horizon_steps):
        action = subject.action(generator) if still is None else still
        _, _, terminated, truncated, _ = subject.env.step(action)
        if truncated:
            raise Broken(f"truncated after step {step + 1}, within the horizon of {subject.task.max_steps}")
        if terminated:
            raise NotApplicable(f"the task itself ended after step {step + 1}")


def _reset_is_pure(subject: _Subject) -> None:
    fresh = subject.factory(subject.task, **subject.options)
    try:
        first = subject.episode_digest(fresh)
        again = subject.episode_digest(fresh)
    finally:
        fresh.close()
    subject.episode_digest(subject.env, len(subject.instances) - 1)
    after_another = subject.episode_digest(subject.env)
    if again != first:
        raise Broken("the second episode of an instance in one env differs from the first")
    if after_another != first:
        raise Broken("an episode in a reused env, after another instance, differs from the same one in a fresh env")


def _seeds_are_different_scenes(subject: _Subject) -> None:
    infos = [subject.reset(index)[1] for index in range(len(subject.instances))]
    scenes = [(info.get(STATE_DIGEST), info.get(MODEL_DIGEST)) for info in infos]
    if scenes[0] == (None, None):
        raise NotApplicable("the env reports no digest of its state")
    if len(set(scenes)) != len(scenes):
        raise Broken(f"the seeds {[instance.seed for instance in subject.instances]} give one and the same scene")


def _reset_needs_its_instance(subject: _Subject) -> None:
    instance = subject.instances[0]
    stranger = attrs.evolve(instance, spec=attrs.evolve(subject.task, id=f"{subject.task.id}/other"))
    cases: dict[str, dict[str, Any]] = {
        "no instance": {"seed": instance.seed},
        "an instance of another task": {"seed": instance.seed, "options": {"instance": stranger}},
        "a seed other than the instance's": {"seed": instance.seed + 1, "options": {"instance": instance}},
    }
    for case, arguments in cases.items():
        try:
            subject.env.reset(**arguments)
        except EvalError:
            continue
        raise Broken(f"reset with {case} was accepted")


def _unknown_option_is_refused(subject: _Subject) -> None:
    try:
        env = subject.factory(subject.task, **{**subject.options, "no_such_option": 1})
    except (TypeError, EvalError):
        return
    env.close()
    raise Broken("the option no_such_option = 1 was accepted")


def _action_is_left_alone(subject: _Subject) -> None:
    subject.reset()
    action = subject.action(np.random.default_rng(0))
    if isinstance(action, str):
        raise NotApplicable("text cannot be changed")
    before = action.copy()
    action.flags.writeable = False
    subject.env.step(action)
    if not np.array_equal(action, before):
        raise Broken("step changed the action it was given")


def _observations_stay_what_they_were(subject: _Subject) -> None:
    first, _ = subject.reset()
    generator = np.random.default_rng(0)
    second, *_ = subject.env.step(subject.action(generator))
    kept = {id(item): digest_of(item) for item in (first, second)}
    for item in (first, second):
        freeze_arrays(item)
    subject.env.step(subject.action(generator))
    subject.reset(len(subject.instances) - 1)
    if any(digest_of(item) != kept[id(item)] for item in (first, second)):
        raise Broken("an observation changed after it was returned")


def _gripper_follows_its_convention(subject: _Subject) -> None:
    grippers = [item for item in _spec(subject).action if item.gripper in ("positive_opens", "positive_closes")]
    opening = getattr(subject.env, "gripper_opening", None)
    if not grippers or opening is None:
        raise NotApplicable("no gripper with a known convention, or no gripper_opening() to measure it by")
    for item in grippers:
        gaps: dict[float, float | None] = {}
        for sign in (1.0, -1.0):
            subject.reset()
            action = np.zeros(subject.env.action_space.shape)
            action[item.start : item.stop] = sign
            for _ in range(GRIPPER_STEPS):
                subject.env.step(action)
            gaps[sign] = opening()
        positive, negative = gaps[1.0], gaps[-1.0]
        if positive is None or negative is None:
            raise NotApplicable("the task holds the gripper still")
        if (positive > negative) != (item.gripper == "positive_opens"):
            raise Broken(f"+1 leaves {positive:.4f} m open and -1 {negative:.4f} m, against {item.gripper!r}")


def _describes_itself(subject: _Subject) -> None:
    versions: Any = getattr(subject.env, "versions", None)
    if not isinstance(versions, Mapping) or not versions:
        raise Broken(f"versions is {versions!r}, not package versions by name")
    renderer = getattr(subject.env, "renderer", None)
    if not isinstance(renderer, str):
        raise Broken(f"renderer is {renderer!r}")
    if bool(_spec(subject).cameras) == (renderer == "none"):
        raise Broken(f"renderer is {renderer!r} with {len(_spec(subject).cameras)} cameras")


def _closes_twice(subject: _Subject) -> None:
    env = subject.factory(subject.task, **subject.options)
    env.close()
    env.close()


RULES: tuple[Rule[_Subject], ...] = (
    Rule(
        "spaces",
        "The observation space is a Dict, the action space a Box, Discrete or Text.",
        _observation_space_is_dict,
    ),
    Rule(
        "instruction",
        "reset returns the instruction used, a text the task's can produce.",
        _instruction_is_text,
    ),
    Rule("success", "info['success'] is a bool at reset and at every step.", _success_is_bool),
    Rule("step_types", "step returns a finite float reward and two bools.", _step_returns_plain_flags),
    Rule(
        "observations",
        "Every observation has the keys of its space, and lies in it.",
        _observations_fit_the_space,
    ),
    Rule(
        "spec_observations",
        "env_spec names every observation key, with its shape and dtype.",
        _spec_names_the_observations,
    ),
    Rule(
        "spec_action",
        "The slices of env_spec cover the action, with the bounds of its space.",
        _spec_covers_the_action,
    ),
    Rule("time_limit", "Built-in time limits are lifted: the harness owns the horizon.", _time_limit_is_lifted),
    Rule(
        "reset_purity",
        "An episode is a function of its instance: fresh, again, or after another.",
        _reset_is_pure,
    ),
    Rule(
        "distinct_scenes",
        "Two seeds give two scenes, told apart by state or model digest.",
        _seeds_are_different_scenes,
    ),
    Rule(
        "reset_arguments",
        "reset refuses to run without its own instance and seed.",
        _reset_needs_its_instance,
    ),
    Rule("unknown_option", "An option that the factory does not know is refused.", _unknown_option_is_refused),
    Rule("action_untouched", "step takes a read-only action and leaves it as it is.", _action_is_left_alone),
    Rule(
        "observation_untouched",
        "An observation, read-only or not, stays what it was.",
        _observations_stay_what_they_were,
    ),
    Rule("gripper", "The gripper opens and closes as env_spec says.", _gripper_follows_its_convention),
    Rule("description", "The env names its packages' versions and its renderer.", _describes_itself),
    Rule("close", "close can be called twice.", _closes_twice),
)
"""Every rule an environment is checked against."""


def _instance(task: TaskSpec, seed: int) -> TaskInstance:
    count = task.init.count if isinstance(task.init, InitStateRef) else None
    return TaskInstance(spec=task, seed=seed if count is None else seed % count, episode_index=0, split="conformance")


def _spec(subject: _Subject) -> EnvSpec:
    spec = getattr(subject.env, "env_spec", None)
    if not isinstance(spec, EnvSpec):
        raise Broken(f"env_spec is {spec!r}")
    return spec
