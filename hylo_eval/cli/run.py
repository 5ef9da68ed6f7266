"""``hylo-eval run``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import click

from hylo_eval.benchmarks import benchmark_folder, env_of, find_benchmark
from hylo_eval.cli.counts import Count
from hylo_eval.cli.required import require
from hylo_eval.cli.run_executor import make_executor
from hylo_eval.cli.run_report import as_json, print_report
from hylo_eval.cli.shared_options import run_root_option_that_says
from hylo_eval.cli.streams import stdout_to_stderr
from hylo_eval.cli.terminal import console, describe_unfinished, printable_line
from hylo_eval.families import with_absolute_places
from hylo_eval.options import split_pairs

if TYPE_CHECKING:
    from hylo_eval.evaluation.conclusion import EvalResult
    from hylo_eval.evaluation.executor import Executor
    from hylo_eval.evaluation.plan import Plan
    from hylo_eval.evaluation.stopping import StopRequest
    from hylo_eval.traces.layout import RunFolder

_STOPPING = "stopping after this step; once more to stop at once"


@click.command()
@click.argument("benchmark", metavar="BENCH", required=False)
@click.option("--agent", metavar="REF|FILE.toml", help="Alias, package.module:Attr, or a TOML file.")
@click.option("--agent-arg", multiple=True, metavar="K=V", help="An option of the agent; repeatable.")
@click.option("--env-arg", multiple=True, metavar="K=V", help="An option of the environment; repeatable.")
@click.option("--split", default=None, help="Default: heldout, or the only one.")
@click.option("--task", "tasks", multiple=True, metavar="ID|N", help="Only this task; repeatable.")
@click.option("--key", default=None, metavar="KEY", help="Only this instance, to look at one failure again.")
@click.option("--episodes", type=Count(), default=None, metavar="N", help="Seeds a task; caps the split.")
@click.option("--max-episodes", type=Count(), default=None, metavar="N", help="Episodes altogether, a balanced prefix.")
@click.option("--budget", default=None, metavar="20m", help="Take nothing new after so long: a balanced prefix again.")
@click.option("--shard", default=None, metavar="I/N", help="Only part I of N, with its share of every task.")
@click.option(
    "--replicates", type=Count(2, 1000), default=None, metavar="K", help="Run everything K times, a run each."
)
@click.option(
    "--replicate", type=Count(most=1000), default=None, metavar="N", help="Only repetition N, as on a cluster."
)
@click.option(
    "--max-steps", type=Count(), default=None, metavar="N", help="Another horizon; comparisons will refuse it."
)
@click.option("--scorer", "scorers", multiple=True, metavar="REF", help="A scorer; repeatable. The first decides.")
@click.option(
    "--safety",
    multiple=True,
    metavar="REF[:K=V,…]",
    help="A safety filter; repeatable; 'none' for none. Default: finite, and bounds where actions have bounds.",
)
@run_root_option_that_says("Where run folders go.")
@click.option("--run-id", default=None, help="Default: time, benchmark and agent. The same command again continues it.")
@click.option(
    "--resume", default=None, metavar="RUN_ID|FOLDER", help="Continue a run as it was called; leave BENCH out."
)
@click.option("--allow-code-change", is_flag=True, help="Continue a run that another state of Hylo's source began.")
@click.option(
    "--workers",
    type=Count(0, 1024),
    default=1,
    show_default=True,
    help="Worker processes; 0 runs everything in this process, for debuggers.",
)
@click.option(
    "--executor", type=click.Choice(["local", "ray"]), default="local", show_default=True, help="Where workers are."
)
@click.option(
    "--ray-address", default=None, metavar="HOST:PORT", help="Of the Ray cluster.  [default: the one found here]"
)
@click.option("--gpus-per-worker", type=click.FloatRange(min=0), default=None, metavar="F", help="With --executor ray.")
@click.option("--python", "python", default=None, metavar="PATH", help="The workers' interpreter.  [default: this one]")
@click.option("--devices", default=None, metavar="0,1", help="GPUs, handed out to the workers in turn.")
@click.option(
    "--deadline", "deadlines", multiple=True, metavar="PHASE=SECONDS", help="Of make, reset, step, act, close."
)
@click.option("--recycle-after", type=Count(), default=None, metavar="K", help="Replace a worker after K episodes.")
@click.option("--max-rss-mb", type=Count(), default=None, metavar="MB", help="Replace a worker that holds more memory.")
@click.option(
    "--max-attempts",
    type=Count(most=1000),
    default=3,
    show_default=True,
    help="Tries where the infrastructure fails.",
)
@click.option("--fsync", is_flag=True, help="Force every trace to disk, to survive power loss.")
@click.option(
    "--video",
    type=click.Choice(["none", "failures", "all"]),
    default="none",
    show_default=True,
    help="Which episodes to keep as video, for each camera.",
)
@click.option("--json", "as_json_", is_flag=True, help="The result as JSON on standard output, and nothing else there.")
@click.pass_context
def run(context: click.Context, **options: Any) -> int:
    """Run an agent on BENCH (an alias, a path or a reference) and write a run folder.

    Ends with 0 when every episode has an outcome, 3 when something was not scored because of the infrastructure,
    or nothing was scored at all.
    """
    if options["replicates"] is not None:
        from hylo_eval.cli.run_replicates import run_replicates

        return run_replicates(context, options, evaluate_command)
    with stdout_to_stderr():
        result = evaluate_command(context, options)
    if options["as_json_"]:
        click.echo(json.dumps(as_json(result), indent=2))
    else:
        print_report(result)
    return result.exit_code


def evaluate_command(context: click.Context, options: dict[str, Any]) -> EvalResult:
    """What ``run`` does, without printing the result."""
    from hylo_eval.cli.progress import RunDisplay
    from hylo_eval.evaluation.conclusion import Interrupted
    from hylo_eval.evaluation.evaluate import run_plan
    from hylo_eval.evaluation.invocation import read_budget, resumed
    from hylo_eval.evaluation.making import make_scorer
    from hylo_eval.evaluation.plan import plan_run
    from hylo_eval.evaluation.stopping import StopRequest

    if options["resume"] is not None:
        typed = click.core.ParameterSource.COMMANDLINE
        options = resumed(options, [name for name in options if context.get_parameter_source(name) is typed])
    require(context, options, "benchmark", "agent")
    plan = plan_run(
        find_benchmark(options["benchmark"]),
        options["split"],
        tasks=options["tasks"],
        key=options["key"],
        episodes=options["episodes"],
        max_episodes=options["max_episodes"],
        max_steps=options["max_steps"],
        shard=options["shard"],
        called=options["benchmark"],
    )
    options = _with_absolute_places(plan, options)
    scorers = [make_scorer(name) for name in options["scorers"]] or None
    folder = _run_folder(plan, options)
    display = RunDisplay(quiet=options["as_json_"], continues=folder.queue.exists())
    begun = Event()
    try:
        with StopRequest(partial(display.notice, _STOPPING)) as stop:
            result = run_plan(
                plan,
                _executor(plan, folder, options, stop),
                run=folder,
                scorers=scorers,
                max_attempts=options["max_attempts"],
                fsync=options["fsync"],
                budget_seconds=read_budget(options["budget"]),
                allow_code_change=options["allow_code_change"],
                details=_details(options),
                video=options["video"] != "none",
                stop=stop,
                started=lambda _instance, _attempt, _worker: begun.set(),
                watcher=display,
            )
        display.close()
        _say_what_was_not_run(result, plan, options, begun=begun.is_set())
    except Interrupted as interrupt:
        display.close()
        _say_how_to_go_on(interrupt.result, plan, "stopped", options)
        raise
    else:
        return result
    finally:
        display.close()


def _run_folder(plan: Plan, options: Mapping[str, Any]) -> RunFolder:
    """The folder of the run that was named, or of one with a name of its own."""
    from hylo_eval.evaluation.evaluate import make_run_id
    from hylo_eval.traces.layout import RunFolder

    run_id = options["run_id"]
    if run_id is None:
        run_id = make_run_id(plan.benchmark.id, Path(options["agent"]).stem.rpartition(":")[2])
    return RunFolder.at(options["run_root"], run_id)


def _with_absolute_places(plan: Plan, options: dict[str, Any]) -> dict[str, Any]:
    """The options as they mean the same in another folder, from which the run may be continued."""
    given = with_absolute_places(env_of(plan.benchmark)[0], split_pairs(options["env_arg"], "--env-arg"))
    return {**options, "env_arg": tuple(f"{name}={value}" for name, value in given.items())}


def _say_what_was_not_run(result: EvalResult, plan: Plan, options: Mapping[str, Any], *, begun: bool) -> None:
    if not result.complete:
        _say_how_to_go_on(result, plan, "the budget is spent", options)
    elif not begun:
        err = console(stderr=True)
        another = "" if options["resume"] else "; another --run-id begins a new one"
        err.print(
            f"the run {printable_line(result.run.run_id)} is whole, every episode had its outcome already: "
            f"nothing was run{another}"
        )
        if abstained := max(item.n_infrastructure for item in result.summaries.values()):
            err.print(
                f"{abstained} of them abstained, for which there is no other try in this run: when what they lacked is "
                "there, begin another, without --resume and under another --run-id"
            )


def _say_how_to_go_on(result: EvalResult, plan: Plan, why: str, options: Mapping[str, Any]) -> None:
    """What a run that is not whole says for now, and what continues it."""
    name, summary = next(iter(result.summaries.items()))
    err = console(stderr=True)
    err.print(describe_unfinished(printable_line(name), summary, plan.count))
    err.print(f"{why}; what is finished is in {printable_line(str(result.log_path))}")
    err.print(f"to go on: hylo-eval run --resume {printable_line(result.run.run_id)}{_root(options)}")


def _executor(plan: Plan, folder: RunFolder, options: dict[str, Any], stop: StopRequest) -> Executor:
    """Worker processes, or this process where there are to be none."""
    from hylo_eval.evaluation.recipe import Recipe
    from hylo_eval.evaluation.repeating import require_replicate

    env, env_defaults = env_of(plan.benchmark)
    beside = benchmark_folder(options["benchmark"])
    recipe = Recipe(
        benchmark=plan.benchmark_ref,
        env=env,
        env_defaults=env_defaults,
        env_options=split_pairs(options["env_arg"], "--env-arg"),
        folder=None if beside is None else str(beside.absolute()),
        agent=options["agent"],
        agent_options=split_pairs(options["agent_arg"], "--agent-arg"),
        safety=options["safety"],
        run=str(folder.path),
        max_attempts=options["max_attempts"],
        fsync=options["fsync"],
        video=options["video"],
        replicate=require_replicate(1 if options["replicate"] is None else options["replicate"]),
    )
    workers = min(options["workers"], plan.count)
    return make_executor(recipe, {**options, "workers": workers}, stop)


def _details(options: dict[str, Any]) -> dict[str, Any]:
    from hylo_eval.evaluation.invocation import invocation_of

    execution = ("executor", "workers", "devices", "gpus_per_worker", "recycle_after", "max_rss_mb", "budget", "video")
    return {
        "invocation": invocation_of(options),
        "execution": {
            **{name: options[name] for name in execution if options[name] is not None},
            "deadlines": split_pairs(options["deadlines"], "--deadline"),
        },
    }


def _root(options: Mapping[str, Any]) -> str:
    return "" if options["run_root"] == Path("runs") else f" --run-root {printable_line(str(options['run_root']))}"
