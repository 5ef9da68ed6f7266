"""What a run is given, refused before anything is made of it: objects of another kind, tasks with broken truths."""

from __future__ import annotations

from hylo_core.benchmark import Benchmark
from hylo_core.canonical import describe
from hylo_core.errors import ContractError
from hylo_core.spec import AgentSpec
from hylo_core.trace import AgentInfo
from hylo_eval.errors import AgentError, EvalError
from hylo_eval.evaluation.plan import Plan
from hylo_eval.scoring.task_truth import check_task_truth


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
