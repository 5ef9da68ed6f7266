"""``hylo-eval run``."""

from __future__ import annotations

import json
import signal
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import attrs
import click

from hylo_eval import plugins
from hylo_eval.benchmarks import env_of, find_benchmark
from hylo_eval.cli.streams import stdout_to_stderr
from hylo_eval.cli.terminal import console, describe_abstentions, describe_summary, printable
from hylo_eval.errors import AgentError, EvalError
from hylo_eval.options import read_options, split_pairs

if TYPE_CHECKING:
    from hylo_core.task import TaskInstance
    from hylo_eval.evaluation.evaluate import EvalResult
    from hylo_eval.evaluation.worker import Episode

_MAX_AGENT_FILE_BYTES = 1024 * 1024


@attrs.frozen
class Made:
    """A plug-in made from a name and options, and what the manifest says of it."""

    value: Any
    ref: Mapping[str, Any]
    options: Mapping[str, Any]


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
@click.option("--run-root", type=click.Path(path_type=Path), default=Path("runs"), show_default=True)
@click.option("--run-id", default=None, help="Default: time, benchmark and agent.")
@click.option("--max-attempts", type=int, default=3, show_default=True, help="Tries where the infrastructure fails.")
@click.option("--fsync", is_flag=True, help="Force every trace to disk, to survive power loss.")
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
    from hylo_eval.evaluation.evaluate import Interrupted, evaluate
    from hylo_eval.evaluation.plan import plan_run

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
    env = _env(env_name, env_defaults, split_pairs(options["env_arg"], "--env-arg"))
    agent = _agent(options["agent"], split_pairs(options["agent_arg"], "--agent-arg"))
    scorers = [_scorer(name) for name in options["scorers"]] or None
    safety = _safety(options["safety"])
    previous = signal.signal(signal.SIGTERM, _interrupt)
    progress = _Progress(len(plan.instances), quiet=options["as_json"])
    try:
        result = evaluate(
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
            started=progress.started,
            finished=progress.finished,
        )
    except Interrupted as interrupt:
        progress.close()
        console(stderr=True).print(f"stopped; what is finished is in {interrupt.result.log_path}")
        raise
    finally:
        progress.close()
        signal.signal(signal.SIGTERM, previous)
        _close_agent(agent.value)
    return result


def _env(name: str, defaults: Mapping[str, Any], given: Mapping[str, str]) -> Made:
    factory = plugins.load("envs", name)
    options = {
        **read_options(factory, defaults, what=f"env {name!r}"),
        **read_options(factory, given, what=f"env {name!r}"),
    }
    return Made(factory, {"ref": plugins.ref_of("envs", name), "options": options}, options)


def _agent(name: str, given: Mapping[str, str]) -> Made:
    defaults: Mapping[str, Any] = {}
    if name.endswith(".toml"):
        name, defaults = _agent_file(Path(name))
    factory = plugins.load("agents", name)
    what = f"agent {name!r}"
    options = {**read_options(factory, defaults, what=what), **read_options(factory, given, what=what)}
    try:
        agent = factory(**options)
    except EvalError:
        raise
    except Exception as error:
        raise AgentError(f"{what} cannot be made: {type(error).__name__}: {error}") from error
    missing = [part for part in ("info", "spec", "open_episode", "close") if not hasattr(agent, part)]
    if missing:
        raise AgentError(f"{what} is a {type(agent).__name__}, which is no agent: it lacks {', '.join(missing)}")
    return Made(agent, {"ref": plugins.ref_of("agents", name), "options": options}, options)


def _agent_file(path: Path) -> tuple[str, Mapping[str, Any]]:
    """An agent file: ``agent = "<alias or reference>"`` and a table ``[options]``."""
    try:
        if path.stat().st_size > _MAX_AGENT_FILE_BYTES:
            raise EvalError(f"{path} is too large for an agent file")
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise EvalError(f"cannot read the agent file {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise EvalError(f"{path}: is not valid TOML: {error}") from error
    unknown = sorted(set(document) - {"agent", "options"})
    if unknown:
        raise EvalError(f"{path}: {unknown[0]!r} is no key of an agent file (keys: agent, options)")
    name, options = document.get("agent"), document.get("options", {})
    if not isinstance(name, str):
        raise EvalError(f"{path}: agent: must be the alias or reference of an agent")
    if not isinstance(options, dict):
        raise EvalError(f"{path}: options: must be a table")
    return name, cast("dict[str, Any]", options)


def _scorer(name: str) -> Any:
    found = plugins.load("scorers", name)
    scorer = found() if isinstance(found, type) else found
    if not hasattr(scorer, "score") or not isinstance(getattr(scorer, "name", None), str):
        raise EvalError(f"scorer {name!r} is a {type(scorer).__name__}, which is no scorer: it needs name and score()")
    return scorer


def _safety(names: tuple[str, ...]) -> list[Any] | None:
    if not names:
        return None
    if "none" in names:
        if len(names) > 1:
            raise EvalError("--safety none stands alone")
        return []
    return [_safety_filter(name) for name in names]


def _safety_filter(given: str) -> Any:
    """``rate:limit=0.1`` or ``package.module:Attr``, with options after a colon that holds an equals sign."""
    head, separator, tail = given.rpartition(":")
    name, pairs = (head, tail) if separator and "=" in tail else (given, "")
    factory = plugins.load("safety", name)
    options = read_options(factory, split_pairs(_pairs(pairs), "--safety"), what=f"safety filter {name!r}")
    try:
        return factory(**options)
    except TypeError as error:
        raise EvalError(f"safety filter {name!r}: {error}") from error


def _pairs(text: str) -> list[str]:
    """Split at commas outside brackets: ``low=[0,0,0],high=[1,1,1]``."""
    pairs: list[str] = []
    depth = start = 0
    for position, character in enumerate(text):
        depth += (character == "[") - (character == "]")
        if character == "," and depth == 0:
            pairs.append(text[start:position])
            start = position + 1
    return [pair for pair in [*pairs, text[start:]] if pair]


def _close_agent(agent: Any) -> None:
    try:
        agent.close()
    except Exception as error:  # noqa: BLE001 - the run is on disk; an agent that cannot close changes none of it
        console(stderr=True).print(f"warning: closing the agent raised {type(error).__name__}: {printable(str(error))}")


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


class _Progress:
    """Says on standard error how far the run is: a bar on a terminal, a line every 30 seconds elsewhere."""

    _SECONDS = 30.0

    def __init__(self, total: int, *, quiet: bool) -> None:
        import time

        self._clock = time.monotonic
        self._total = total
        self._done = 0
        self._next = self._clock() + self._SECONDS
        self._bar: Any = None
        self._quiet = quiet
        terminal = console(stderr=True)
        if terminal.is_terminal and not quiet:
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            self._bar = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                console=terminal,
                transient=True,
            )
            self._row = self._bar.add_task("episodes", total=total)
            self._bar.start()

    def started(self, instance: TaskInstance, attempt: int) -> None:
        """An attempt begins."""
        if self._bar is not None:
            again = f" (attempt {attempt})" if attempt > 1 else ""
            self._bar.update(self._row, description=printable(instance.key) + again)

    def finished(self, episode: Episode) -> None:
        """An episode has its outcome."""
        self._done += 1
        if self._bar is not None:
            self._bar.advance(self._row)
        elif not self._quiet and self._clock() >= self._next:
            self._next = self._clock() + self._SECONDS
            console(stderr=True).print(f"{self._done}/{self._total} episodes")

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def _as_json(result: EvalResult) -> dict[str, Any]:
    return {
        "run": str(result.run.path),
        "log": str(result.log_path),
        "benchmark": result.log.benchmark.to_dict(),
        "agent": {"name": result.log.agent.name, "version": result.log.agent.version},
        "complete": result.complete,
        "exit_code": result.exit_code,
        "scores": {name: attrs.asdict(summary) for name, summary in result.summaries.items()},
        "disagreements": result.disagreements,
        "unknown": [difference.path for difference in result.differences],
    }


def _print_report(result: EvalResult) -> None:
    from rich.table import Table

    out = console()
    log = result.log
    out.print(
        f"{printable(log.benchmark.id)} ({printable(log.benchmark.split)}), "
        f"agent {printable(log.agent.name)} {printable(log.agent.version)}"
    )
    table = Table(box=None, pad_edge=False)
    for column in ("score", "mean", "95 % interval", "scored"):
        table.add_column(column, no_wrap=True)
    for name, summary in result.summaries.items():
        table.add_row(printable(name), *describe_summary(summary), f"{summary.n_scored}/{summary.n_attempted}")
    out.print(table)
    _print_notes(result)
    out.print(f"run: {result.run.path}")


def _print_notes(result: EvalResult) -> None:
    out = console()
    for name, summary in result.summaries.items():
        if summary.n_abstained:
            out.print(describe_abstentions(printable(name), summary))
    statuses: dict[str, int] = {}
    for sample in result.log.samples:
        statuses[sample.status] = statuses.get(sample.status, 0) + 1
    if set(statuses) != {"completed"}:
        out.print("outcomes: " + ", ".join(f"{count} {status}" for status, count in sorted(statuses.items())))
    failed = next((item.episode for item in result.scored if item.episode.result.error), None)
    if failed is not None and failed.result.error is not None:
        error = failed.result.error
        out.print(
            f"first error: {printable(failed.instance.key)}, {error.phase}: "
            f"{error.error_type}: {printable(error.message)}"
        )
    if result.disagreements:
        out.print(f"warning: in {result.disagreements} episodes the goal as written and the simulator's check differ")
    unknown = [difference.path for difference in result.differences if difference.severity == "unknown"]
    if unknown:
        out.print(f"not known on one side: {', '.join(unknown)}")
