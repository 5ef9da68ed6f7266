"""``hylo-eval run``."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import click

from hylo_core.errors import describe_error
from hylo_core.spec import UNKNOWN
from hylo_eval.benchmarks import benchmark_folder, env_of, find_benchmark
from hylo_eval.cli.streams import stdout_to_stderr
from hylo_eval.cli.terminal import (
    console,
    describe_precision,
    describe_unfinished,
    print_abstentions,
    print_summaries,
    printable,
    printable_line,
)
from hylo_eval.options import split_pairs

if TYPE_CHECKING:
    from hylo_core.trace import ErrorEvent
    from hylo_eval.evaluation.evaluate import EvalResult


@click.command()
@click.argument("benchmark", metavar="BENCH")
@click.option("--agent", required=True, metavar="REF|FILE.toml", help="Alias, package.module:Attr, or a TOML file.")
@click.option("--agent-arg", multiple=True, metavar="K=V", help="An option of the agent; repeatable.")
@click.option("--env-arg", multiple=True, metavar="K=V", help="An option of the environment; repeatable.")
@click.option("--split", default=None, help="Default: heldout, or the only one.")
@click.option("--task", "tasks", multiple=True, metavar="ID|N", help="Only this task; repeatable.")
@click.option("--key", default=None, metavar="KEY", help="Only this instance, to look at one failure again.")
@click.option("--episodes", type=int, default=None, metavar="N", help="Seeds a task; caps the split.")
@click.option("--max-episodes", type=int, default=None, metavar="N", help="Episodes altogether, a balanced prefix.")
@click.option("--max-steps", type=int, default=None, metavar="N", help="Another horizon; comparisons will refuse it.")
@click.option("--scorer", "scorers", multiple=True, metavar="REF", help="A scorer; repeatable. The first decides.")
@click.option(
    "--safety",
    multiple=True,
    metavar="REF[:K=V,…]",
    help="A safety filter; repeatable; 'none' for none. Default: finite, and bounds where actions have bounds.",
)
@click.option(
    "--run-root",
    type=click.Path(path_type=Path),
    default=Path("runs"),
    show_default=True,
    help="Where run folders go.",
)
@click.option("--run-id", default=None, help="Default: time, benchmark and agent.")
@click.option("--max-attempts", type=int, default=3, show_default=True, help="Tries where the infrastructure fails.")
@click.option("--fsync", is_flag=True, help="Force every trace to disk, to survive power loss.")
@click.option(
    "--video",
    type=click.Choice(["none", "failures", "all"]),
    default="none",
    show_default=True,
    help="Which episodes to keep as video, for each camera.",
)
@click.option("--json", "as_json", is_flag=True, help="The result as JSON on standard output, and nothing else there.")
def run(**options: Any) -> int:
    """Run an agent on BENCH (an alias, a path or a reference) and write a run folder.

    Ends with 0 when every episode has an outcome, 3 when something was not scored because of the infrastructure,
    or nothing was scored at all.
    """
    with stdout_to_stderr():
        result = evaluate_command(**options)
    if options["as_json"]:
        click.echo(json.dumps(_as_json(result), indent=2))
    else:
        _print_report(result)
    return result.exit_code


def evaluate_command(**options: Any) -> EvalResult:
    """What ``run`` does, without printing the result."""
    from hylo_eval.cli.progress import Progress
    from hylo_eval.evaluation import making
    from hylo_eval.evaluation.evaluate import Interrupted, evaluate
    from hylo_eval.evaluation.plan import plan_run
    from hylo_eval.evaluation.stopping import StopRequest

    benchmark = find_benchmark(options["benchmark"])
    plan = plan_run(
        benchmark,
        options["split"],
        tasks=options["tasks"],
        key=options["key"],
        episodes=options["episodes"],
        max_episodes=options["max_episodes"],
        max_steps=options["max_steps"],
    )
    env_name, env_defaults = env_of(benchmark)
    env = making.make_env_factory(
        env_name,
        env_defaults,
        split_pairs(options["env_arg"], "--env-arg"),
        folder=benchmark_folder(options["benchmark"]),
    )
    agent = making.make_agent(options["agent"], split_pairs(options["agent_arg"], "--agent-arg"))
    scorers = [making.make_scorer(name) for name in options["scorers"]] or None
    safety = making.make_safety(options["safety"])
    progress = Progress(len(plan.instances), quiet=options["as_json"])
    try:
        with StopRequest(_announce_stop) as stop:
            return evaluate(
                benchmark,
                plan.split,
                env_factory=env.value,
                agent=agent.value,
                run_root=options["run_root"],
                safety=safety,
                scorers=scorers,
                plan=plan,
                run_id=options["run_id"],
                env_options=env.options,
                env_ref=env.ref,
                agent_ref=agent.ref,
                max_attempts=options["max_attempts"],
                fsync=options["fsync"],
                video=options["video"],
                stop=stop,
                started=progress.started,
                finished=progress.finished,
            )
    except Interrupted as interrupt:
        progress.close()
        name, summary = next(iter(interrupt.result.summaries.items()))
        err = console(stderr=True)
        err.print(describe_unfinished(printable_line(name), summary, len(plan.instances)))
        err.print(f"stopped; what is finished is in {printable_line(str(interrupt.result.log_path))}")
        raise
    finally:
        progress.close()
        _close_agent(agent.value)


def _announce_stop() -> None:
    console(stderr=True).print("stopping after this step; once more to stop at once")


def _close_agent(agent: Any) -> None:
    try:
        agent.close()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the run is on disk: this changes none of it
        console(stderr=True).print(f"warning: closing the agent raised {printable_line(describe_error(error))}")


def _as_json(result: EvalResult) -> dict[str, Any]:
    return {
        "run": str(result.run.path),
        "log": str(result.log_path),
        "benchmark": result.log.benchmark.to_dict(),
        "agent": {
            "name": result.log.agent.name,
            "version": result.log.agent.version,
            "chunk_length": result.agent_spec.chunk_length,
            "replan": result.agent_spec.replan,
        },
        "complete": result.complete,
        "exit_code": result.exit_code,
        "scores": {name: attrs.asdict(summary) for name, summary in result.summaries.items()},
        "initial_states": attrs.asdict(result.initial_states),
        "disagreements": result.disagreements,
        "videos": attrs.asdict(result.videos) if result.videos else None,
        "unknown": [difference.path for difference in result.differences],
    }


def _print_report(result: EvalResult) -> None:
    out = console()
    log, spec = result.log, result.agent_spec
    out.print(
        f"{printable_line(log.benchmark.id)} ({printable_line(log.benchmark.split)}), "
        f"agent {printable_line(log.agent.name)} {printable_line(log.agent.version)}, "
        f"chunk length {spec.chunk_length}, replan {spec.replan}"
    )
    print_summaries(out, result.summaries)
    _print_notes(result)
    if result.videos is not None:
        out.print(printable_line(result.videos.words()))
    out.print(f"run: {printable_line(str(result.run.path))}")


def _print_notes(result: EvalResult) -> None:
    out = console()
    states = result.initial_states
    again = f"; {states.repeated} episodes repeat one and are no independent evidence" if states.repeated else ""
    out.print(f"distinct initial states: {states.distinct}{again}")
    primary, summary = next(iter(result.summaries.items()))
    if hint := describe_precision(printable(primary), summary):
        out.print(hint)
    print_abstentions(out, result.summaries)
    statuses: dict[str, int] = {}
    for sample in result.log.samples:
        statuses[sample.status] = statuses.get(sample.status, 0) + 1
    if set(statuses) != {"completed"}:
        out.print("outcomes: " + ", ".join(f"{count} {status}" for status, count in sorted(statuses.items())))
    failed = next((item.episode for item in result.scored if item.episode.result.error), None)
    if failed is not None and failed.result.error is not None:
        error = failed.result.error
        out.print(
            f"first error: {printable_line(failed.instance.key)}, {error.phase}: "
            f"{printable_line(error.error_type)}: {printable(error.message)}{printable_line(_place(error))}"
        )
        out.print(f"its traceback: the error event of {printable_line(str(failed.result.path))}")
    if result.disagreements:
        out.print(f"warning: in {result.disagreements} episodes the goal as written and the simulator's check differ")
    for side, value in (("agent", "agent"), ("environment", "env")):
        silent = [
            item.path for item in result.differences if item.severity == "unknown" and getattr(item, value) == UNKNOWN
        ]
        if silent:
            named = printable_line(", ".join(silent))
            out.print(f"the {side} does not declare {named} (docs/cli.md): a mismatch there would go unseen")


def _place(error: ErrorEvent) -> str:
    """Where it was raised: the last place of the traceback on record."""
    places = re.findall(r'File "([^"]+)", line (\d+)', str(error.volatile.get("traceback", "")))
    return f" (at {Path(places[-1][0]).name}:{places[-1][1]})" if places else ""
