"""``hylo-eval race``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hylo_eval.benchmarks import benchmark_folder, env_of, find_benchmark
from hylo_eval.cli.counts import Count
from hylo_eval.cli.elsewhere import entry_for, run_elsewhere
from hylo_eval.cli.shared_options import run_root_option_that_says
from hylo_eval.cli.streams import stdout_to_stderr
from hylo_eval.cli.terminal import console, percent, printable_line
from hylo_eval.numerals import counted
from hylo_eval.options import split_pairs

if TYPE_CHECKING:
    from hylo_eval.compare.gate import GatePolicy
    from hylo_eval.evaluation.comparing.race import RaceResult
    from hylo_eval.report.sections import Section


@click.command()
@click.argument("candidate")
@click.argument("parent")
@click.argument("benchmark", metavar="BENCH")
@click.option("--candidate-arg", multiple=True, metavar="K=V", help="An option of the candidate; repeatable.")
@click.option("--parent-arg", multiple=True, metavar="K=V", help="An option of the parent; repeatable.")
@click.option("--env-arg", multiple=True, metavar="K=V", help="An option of the environment; repeatable.")
@click.option("--split", default=None, help="Default: heldout, or the only one.")
@click.option("--task", "tasks", multiple=True, metavar="ID|N", help="Only this task; repeatable.")
@click.option("--episodes", type=Count(), default=None, metavar="N", help="Seeds a task; caps the split.")
@click.option("--max-pairs", type=Count(), default=None, metavar="N", help="Pairs at most, a balanced prefix.")
@click.option("--max-minutes", type=float, default=None, metavar="M", help="Time at most.")
@click.option("--max-steps", type=Count(), default=None, metavar="N", help="Another horizon.")
@click.option("--alpha", type=float, default=None, help="One-sided significance level.  [default: 0.05]")
@click.option("--min-coverage", type=float, default=None, help="Share of pairs to be scored.  [default: 0.95]")
@click.option(
    "--agent-errors",
    type=click.Choice(["fail", "abstain"]),
    default=None,
    help="What the candidate's errors count as.  [default: fail]",
)
@click.option(
    "--safety-must-not-rise/--no-safety-must-not-rise",
    default=None,
    help="Whether safety interventions must not rise significantly.  [default: they must not]",
)
@click.option("--safety", multiple=True, metavar="REF[:K=V,…]", help="A safety filter; repeatable; 'none' for none.")
@click.option(
    "--max-attempts", type=Count(most=1000), default=3, show_default=True, help="Tries where the infrastructure fails."
)
@click.option("--candidate-run-id", default=None, help="Name of the candidate's run folder.")
@click.option("--parent-run-id", default=None, help="Name of the parent's run folder.")
@run_root_option_that_says("Where the two run folders go; the record goes to comparisons/ in it.")
@click.option("--json", "as_json", is_flag=True, help="The record as JSON on standard output, and nothing else there.")
def race(**options: Any) -> int:
    """Race two agents on BENCH: the same instances in turn, until the sequential rule decides.

    Ends early when the candidate is shown to be better or worse, or can no longer be shown to be better. Ends with 0
    when it is better, 1 when the parent is, 3 when neither was shown, 2 for bad usage.
    """
    from hylo_eval.cli.gate import conclude
    from hylo_eval.evaluation.comparing.gating import judge

    policy = _policy(options)
    entry = entry_for(env_of(find_benchmark(options["benchmark"]))[0])
    if entry is not None:
        return run_elsewhere(entry)
    with stdout_to_stderr():
        result = _race(policy, options)
    judged = judge(policy, result.candidate.run, result.parent.run, run_root=options["run_root"])
    runs = {"candidate": result.candidate.run.run_id, "parent": result.parent.run.run_id}
    members = {"ending": result.ending, "planned": result.planned, "run": result.run, "saved": result.saved}
    return conclude(
        judged,
        {**options, **runs, "junit": None, "markdown": None},
        first=_section(result),
        members={"race": {**members, "seconds_budget": _seconds(options)}},
    )


def _policy(options: dict[str, Any]) -> GatePolicy:
    from hylo_eval.evaluation.comparing.gate_policy import make_policy

    names = ("alpha", "min_coverage", "agent_errors", "safety_must_not_rise")
    given = {name: options[name] for name in names if options[name] is not None}
    return make_policy({"mode": "improve", "sequential": True, **given})


def _seconds(options: dict[str, Any]) -> float | None:
    return None if options["max_minutes"] is None else 60.0 * options["max_minutes"]


def _race(policy: GatePolicy, options: dict[str, Any]) -> RaceResult:
    from hylo_eval.cli.progress import Progress
    from hylo_eval.evaluation import making
    from hylo_eval.evaluation.comparing.race import Racer, race
    from hylo_eval.evaluation.executor import close_agent
    from hylo_eval.evaluation.plan import plan_run
    from hylo_eval.evaluation.stopping import StopRequest

    benchmark = find_benchmark(options["benchmark"])
    plan = plan_run(
        benchmark,
        options["split"],
        tasks=options["tasks"],
        episodes=options["episodes"],
        max_episodes=options["max_pairs"],
        max_steps=options["max_steps"],
        called=options["benchmark"],
    )
    name, defaults = env_of(benchmark)
    given = split_pairs(options["env_arg"], "--env-arg")
    env = making.make_env_factory(name, defaults, given, folder=benchmark_folder(options["benchmark"]))
    safety = making.make_safety(options["safety"])
    sides = ("candidate", "parent")
    agents = [making.make_agent(options[side], split_pairs(options[f"{side}_arg"], f"--{side}-arg")) for side in sides]
    candidate, parent = (
        Racer(agent=agent.value, ref=agent.ref, run_id=options[f"{side}_run_id"])
        for side, agent in zip(sides, agents, strict=True)
    )
    progress = Progress(2 * plan.count, quiet=options["as_json"])
    try:
        with StopRequest(lambda: console(stderr=True).print("stopping after this step")) as stop:
            return race(
                candidate,
                parent,
                plan,
                policy,
                env_factory=env.value,
                run_root=options["run_root"],
                env_options=env.options,
                env_ref=env.ref,
                safety=safety,
                max_attempts=options["max_attempts"],
                seconds=_seconds(options),
                stop=stop,
                started=progress.started,
                finished=progress.finished,
            )
    finally:
        progress.close()
        for agent in agents:
            close_agent(agent.value)


_ENDINGS = {
    "decided": "the rule decided",
    "futile": "the candidate can no longer be shown to be better, even by winning every pair left",
    "budget": "the time budget ended",
    "finished": "every pair was run",
}


def _section(result: RaceResult) -> Section:
    from hylo_eval.report.sections import Section

    share = percent(result.saved / result.planned)
    return Section(
        title="race",
        facts=(
            (
                "ended",
                f"{_ENDINGS[result.ending]}, after {result.test.n_looked} of {counted(result.test.n_declared, 'pair')}",
            ),
            ("saved", f"{result.saved} of {counted(result.planned, 'episode')} ({share}) were not needed"),
            ("candidate's run", printable_line(str(result.candidate.run.path))),
            ("parent's run", printable_line(str(result.parent.run.path))),
        ),
    )
