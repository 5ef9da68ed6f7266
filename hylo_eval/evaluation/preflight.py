"""The first environment is made and meets the agent before a run begins, while a refusal still costs nothing."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from hylo_core.errors import describe_error
from hylo_core.spec import EnvSpec, SpecDifference, compare_specs
from hylo_core.task import TaskSpec
from hylo_eval.agents.protocol import Agent, meet_env
from hylo_eval.envs.protocol import renderer_of, spec_of, versions_of
from hylo_eval.errors import AgentError, EnvError, EvalError
from hylo_eval.evaluation.fitting import concerning_differences, refuse_mismatch
from hylo_eval.evaluation.manifest import describe_interpreter, describe_safety
from hylo_eval.evaluation.recipe import RunSetup
from hylo_eval.evaluation.worker import Worker
from hylo_eval.safety.protocol import begin_filters


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
    differences = concerning_differences(env.action_space, compare_specs(spec_of(env), agent.spec))
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
