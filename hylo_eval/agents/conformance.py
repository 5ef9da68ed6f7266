"""Whether an agent keeps the contract of :mod:`hylo_eval.agents.protocol`, one named sentence a rule.

The check needs no environment: it shows the agent observations that somebody recorded, and compares what it
answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from hylo_core.spec import AgentSpec, EnvSpec, compare_specs
from hylo_core.task import TaskInstance
from hylo_core.trace import AgentInfo
from hylo_eval.agents.protocol import Reply, meet_env
from hylo_eval.conformance import Broken, ConformanceReport, NotApplicable, Rule, run_rules
from hylo_eval.errors import EvalError

if TYPE_CHECKING:
    from numpy.typing import NDArray

SEED = 11
"""The episode seed the rules use, and the one above it where a rule needs two."""


def check_agent(
    factory: Callable[..., Any],
    instance: TaskInstance,
    observations: Sequence[Mapping[str, Any]],
    *,
    env_spec: EnvSpec,
    instruction: str = "",
    **options: Any,
) -> ConformanceReport:
    """Check an agent factory on one instance.

    Args:
        factory: Makes the agent: ``factory(**options)``.
        instance: What the sessions are opened for.
        observations: What an env of that instance returned, at least two, in order.
        env_spec: The env's spec, which the agent's must match.
        instruction: The text the env gave; the task's own unless given.
        **options: Passed to the factory.

    Raises:
        EvalError: The agent cannot be made at all, or there are too few observations.
    """
    if len(observations) < 2:
        raise EvalError(
            f"check_agent needs at least two observations, not {len(observations)}",
            fix="give it observations of two steps",
        )
    agent: Any = factory(**options)
    meet_env(agent, env_spec)
    subject = _Subject(
        factory=factory,
        options=options,
        agent=agent,
        instance=instance,
        instruction=instruction or instance.spec.instruction,
        observations=tuple(_read_only(item) for item in observations),
        env_spec=env_spec,
    )
    try:
        return run_rules(f"{getattr(factory, '__name__', factory)} on {instance.key}", subject, RULES)
    finally:
        agent.close()


@attrs.frozen(kw_only=True)
class _Subject:
    """An agent under check and what it is shown."""

    factory: Callable[..., Any]
    options: Mapping[str, Any]
    agent: Any
    instance: TaskInstance
    instruction: str
    observations: tuple[dict[str, Any], ...]
    env_spec: EnvSpec

    def open(self, seed: int = SEED) -> Any:
        return self.agent.open_episode(self.instance, self.instruction, seed)

    def answers(self, seed: int = SEED) -> list[Any]:
        """What a new session answers to all observations, each copied."""
        session = self.open(seed)
        try:
            return [_copy(session.act(item).actions) for item in self.observations]
        finally:
            session.close()


def _describes_itself(subject: _Subject) -> None:
    if not isinstance(subject.agent.info, AgentInfo):
        raise Broken(f"info is {subject.agent.info!r}")
    if not isinstance(subject.agent.spec, AgentSpec):
        raise Broken(f"spec is {subject.agent.spec!r}")


def _matches_the_env(subject: _Subject) -> None:
    found = [item for item in compare_specs(subject.env_spec, subject.agent.spec) if item.severity == "mismatch"]
    if found:
        raise Broken("; ".join(map(str, found)))


def _answers_with_a_reply(subject: _Subject) -> None:
    session = subject.open()
    reply = session.act(subject.observations[0])
    session.close()
    if not isinstance(reply, Reply):
        raise Broken(f"act returned {type(reply).__name__}")


def _actions_have_their_shape(subject: _Subject) -> None:
    size = subject.env_spec.action_size
    if size is None:
        raise NotApplicable("the env's action slices are unknown")
    length = subject.agent.spec.chunk_length
    allowed = {(length, size)} | ({(size,)} if length == 1 else set[tuple[int, ...]]())
    for answer in subject.answers():
        if np.shape(answer) not in allowed:
            raise Broken(f"an action has shape {np.shape(answer)}, not {' or '.join(map(str, sorted(allowed)))}")


def _actions_are_finite_and_in_bounds(subject: _Subject) -> None:
    for answer in subject.answers():
        if isinstance(answer, str):
            raise NotApplicable("the agent answers with text")
        actions: NDArray[Any] = np.atleast_2d(np.asarray(answer))
        if not np.isfinite(actions).all():
            raise Broken(f"an action is not finite: {answer!r}")
        for item in subject.env_spec.action:
            part = actions[:, item.start : item.stop]
            low = -np.inf if item.low is None else item.low
            high = np.inf if item.high is None else item.high
            if part.min() < low or part.max() > high:
                raise Broken(f"slice {item.name!r} reaches [{part.min():g}, {part.max():g}], not [{low:g}, {high:g}]")


def _same_seed_same_answers(subject: _Subject) -> None:
    if not _equal(subject.answers(), subject.answers()):
        raise Broken("two sessions with the same seed and observations answered differently")


def _sessions_are_independent(subject: _Subject) -> None:
    alone = subject.answers(), subject.answers(SEED + 1)
    first, second = subject.open(), subject.open(SEED + 1)
    together: tuple[list[Any], list[Any]] = ([], [])
    for item in subject.observations:
        together[0].append(_copy(first.act(item).actions))
        together[1].append(_copy(second.act(item).actions))
    first.close()
    second.close()
    if not _equal(alone[0], together[0]) or not _equal(alone[1], together[1]):
        raise Broken("a session answers differently when another is open beside it")


def _answers_stay_what_they_were(subject: _Subject) -> None:
    session = subject.open()
    replies = [session.act(item).actions for item in subject.observations[:2]]
    kept = [_copy(item) for item in replies]
    for item in subject.observations:
        try:
            session.act(item)
        except EvalError:
            # A replay that has come to its end: what it gave before must still stand.
            break
    session.close()
    if not _equal(kept, replies):
        raise Broken("an action changed after it was returned")


def _unknown_option_is_refused(subject: _Subject) -> None:
    try:
        agent = subject.factory(**{**subject.options, "no_such_option": 1})
    except (TypeError, EvalError):
        return
    agent.close()
    raise Broken("the option no_such_option = 1 was accepted")


RULES: tuple[Rule[_Subject], ...] = (
    Rule("description", "The agent has an AgentInfo and an AgentSpec.", _describes_itself),
    Rule("spec", "Nothing the agent expects contradicts what the env offers.", _matches_the_env),
    Rule("reply", "act returns a Reply, also to read-only observations.", _answers_with_a_reply),
    Rule("shape", "An answer is one action, or a chunk as long as the spec says.", _actions_have_their_shape),
    Rule("bounds", "Actions are finite and within the bounds the env gives.", _actions_are_finite_and_in_bounds),
    Rule("seeded", "The same seed and observations give the same answers.", _same_seed_same_answers),
    Rule("independent", "Sessions open at the same time do not know of each other.", _sessions_are_independent),
    Rule("answer_untouched", "An action stays what it was after it was returned.", _answers_stay_what_they_were),
    Rule("unknown_option", "An option that the factory does not know is refused.", _unknown_option_is_refused),
)
"""Every rule an agent is checked against."""


def _read_only(observation: Mapping[str, Any]) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    for name, value in observation.items():
        shown[name] = value if isinstance(value, str) else np.array(value)
        if not isinstance(value, str):
            shown[name].flags.writeable = False
    return shown


def _copy(actions: Any) -> Any:
    return actions if isinstance(actions, str) else np.array(actions)


def _equal(left: Sequence[Any], right: Sequence[Any]) -> bool:
    return len(left) == len(right) and all(np.array_equal(one, other) for one, other in zip(left, right, strict=True))
