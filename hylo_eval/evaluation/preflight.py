"""What is refused before a run begins, while a refusal still costs nothing."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from hylo_core.benchmark import Benchmark
from hylo_core.canonical import describe
from hylo_core.errors import ContractError, describe_error
from hylo_core.spec import AgentSpec, EnvSpec, SpecDifference, compare_specs
from hylo_core.task import TaskSpec
from hylo_core.trace import AgentInfo
from hylo_eval.agents.protocol import Agent, meet_env
from hylo_eval.envs.protocol import renderer_of, spec_of, versions_of
from hylo_eval.errors import AgentError, EnvError, EvalError
from hylo_eval.evaluation.manifest import describe_interpreter, describe_safety
from hylo_eval.evaluation.plan import Plan
from hylo_eval.evaluation.recipe import RunSetup
from hylo_eval.evaluation.worker import Worker
from hylo_eval.families import find_family
from hylo_eval.safety.protocol import begin_filters
from hylo_eval.scoring.task_truth import check_task_truth

if TYPE_CHECKING:
    from gymnasium import Space


def check_arguments(benchmark: object, env_factory: object, agent: object) -> None:
    """Refuse what is of another kind than :func:`evaluate` takes: a name where an object belongs, a class, a made env.

    Raises:
        EvalError: Saying what was given and how to make what is needed.
    """
    if not isinstance(benchmark, Benchmark):
        raise EvalError(f"the benchmark must be a Benchmark, not {describe(benchmark)}", fix="find_benchmark(name)")
    if not callable(env_factory):
        raise EvalError(
            f"the env factory must be called with a task, and {describe(env_factory)} cannot be",
            fix="pass the class of the env or a function, such as hylo_eval.envs.reach.ReachEnv",
        )
    for part, kind in (("info", AgentInfo), ("spec", AgentSpec)):
        found = getattr(agent, part, None)
        if isinstance(agent, type) or not isinstance(found, kind):
            what = "the class itself" if isinstance(agent, type) else f"its {part} is {describe(found)}"
            raise AgentError(
                f"the agent must be an agent whose {part} is an {kind.__name__}; {what}",
                fix=f"pass an object whose {part} is an {kind.__name__}",
            )


def refuse_broken_truths(plan: Plan) -> None:
    """Refuse tasks whose truth or verifier breaks its contract, before the agent is asked anything.

    Raises:
        ContractError: Naming the benchmark as the command did, the task's place and the member.
    """
    for task in plan.tasks:
        try:
            check_task_truth(task)
        except ContractError as error:
            place = [other.id for other in plan.benchmark.tasks].index(task.id)
            raise error.under(f"tasks[{place}]", source=plan.called or plan.benchmark.id) from None


def preflight(
    worker: Worker,
    task: TaskSpec,
    agent: Agent,
    env_ref: Mapping[str, Any],
    agent_ref: Mapping[str, Any],
) -> tuple[RunSetup, tuple[SpecDifference, ...]]:
    """Make the first env, begin the filters, introduce the agent and compare the specs.

    Raises:
        EvalError: The env cannot be made, not even in as many attempts as an episode has; a filter cannot filter here;
            agent and env do not fit.
    """
    from gymnasium import Space

    env: Any = _open(worker, task)
    if not isinstance(getattr(env, "action_space", None), Space):
        raise EnvError(f"the env is a {type(env).__name__} without an action space", fix="hylo-eval check-env")
    filters = worker.filters(env)
    begin_filters(filters, spec_of(env), env.action_space)
    _meet(agent, spec_of(env))
    differences = _concerning(env.action_space, compare_specs(spec_of(env), agent.spec))
    refuse_mismatch(differences, agent.spec, env_ref)
    setup = RunSetup(
        agent=agent.info,
        agent_spec=agent.spec,
        agent_ref=agent_ref,
        env_spec=spec_of(env),
        env_ref=env_ref,
        safety=describe_safety(filters),
        versions=versions_of(env),
        renderer=renderer_of(env),
        max_attempts=worker.max_attempts,
        replicate=worker.replicate,
        interpreter=describe_interpreter(str(env_ref.get("ref", ""))),
    )
    return setup, differences


_ONLY_OF_ROBOTS: Final = ("control_hz", "action")


def _concerning(action_space: Space[Any], differences: Sequence[SpecDifference]) -> tuple[SpecDifference, ...]:
    """The differences without what nobody can declare here: an answer in text has neither a rate nor slices."""
    from gymnasium.spaces import Text

    if not isinstance(action_space, Text):
        return tuple(differences)
    return tuple(item for item in differences if item.severity != "unknown" or item.path not in _ONLY_OF_ROBOTS)


def _open(worker: Worker, task: TaskSpec) -> Any:
    """The first env. A simulator may fail once and come up again; one that never comes up is no run."""
    for attempt in range(1, worker.max_attempts + 1):
        try:
            return worker.open(task)
        except EvalError:
            raise
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            if attempt == worker.max_attempts:
                raise EnvError(
                    f"the environment of {task.id} cannot be made: {describe_error(error)}",
                    fix="hylo-eval doctor says what works here; --debug shows where it raised",
                ) from error
            again = "making the environment of %s raised %s; it is tried again"
            logging.getLogger(__name__).warning(again, task.id, describe_error(error))
    raise AssertionError("the loop above returns or raises")


def _meet(agent: Agent, env_spec: EnvSpec) -> None:
    try:
        meet_env(agent, env_spec)
    except EvalError:
        raise
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise AgentError(
            f"the agent cannot work with this env: {describe_error(error)}",
            fix="run it in the environment that it is made for, or mend its meet_env",
        ) from error


def refuse_mismatch(differences: Sequence[SpecDifference], agent: AgentSpec, env_ref: Mapping[str, Any]) -> None:
    """Refuse an agent that the env does not suit.

    Args:
        differences: Of the two specs.
        agent: What the agent declares.
        env_ref: What the env is made from.

    Raises:
        EvalError: They do not fit; the fix names the options with which the env would show what the agent misses.
    """
    wrong = [difference for difference in differences if difference.severity == "mismatch"]
    if wrong:
        listed = "".join(f"\n  {difference}" for difference in wrong)
        raise EvalError(
            f"agent and environment do not fit; every episode would run and only the numbers would be wrong:{listed}",
            fix=_observing_more(wrong, agent, env_ref)
            or "mend what the agent's spec declares, or run an agent that is made for this environment",
        )


def _observing_more(wrong: Sequence[SpecDifference], agent: AgentSpec, env_ref: Mapping[str, Any]) -> str:
    """The options with which the environment shows what the agent misses; empty where none would, or more is wrong."""
    family = find_family(str(env_ref.get("ref", "")))
    if family is None:
        return ""
    options: Mapping[str, Any] = env_ref.get("options", {})
    shown = {
        "privileged": {f"state.{item.name}" for item in agent.state if item.privileged},
        "cameras": {f"cameras.{item.name}" for item in agent.cameras},
    }
    off = [switch for switch in family.switches if not options.get(switch.option, switch.on)]
    missing = {difference.path for difference in wrong}
    if not missing <= set[str]().union(*(shown[switch.shows] for switch in off)):
        return ""
    return " ".join(f"--env-arg {switch.option}=true" for switch in off if shown[switch.shows] & missing)
