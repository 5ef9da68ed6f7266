"""``hylo-eval check-env``."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs
import click

from hylo_core.errors import describe_error
from hylo_core.task import Predicate, SeedInit, TaskSpec
from hylo_eval import plugins
from hylo_eval.benchmarks import benchmark_files, benchmark_folder, env_of, find_benchmark, load_benchmark
from hylo_eval.cli.elsewhere import entry_for, run_elsewhere
from hylo_eval.cli.group import EXIT_USAGE
from hylo_eval.cli.terminal import console, print_hanging, printable
from hylo_eval.errors import EnvError, EvalError
from hylo_eval.options import split_pairs

if TYPE_CHECKING:
    from hylo_core.benchmark import Benchmark
    from hylo_eval.conformance import ConformanceReport

_MARKS: Mapping[str, tuple[str, str]] = {
    "kept": ("ok    ", "green"),
    "broken": ("BROKEN", "bold red"),
    "not_applicable": ("n/a   ", "dim"),
}


@attrs.frozen(kw_only=True)
class Subject:
    """What is checked.

    Attributes:
        env: Alias or reference of the factory.
        defaults: Options that the benchmark gives it.
        task: What to make it for.
        seeds: Two seeds of the task.
    """

    env: str
    defaults: Mapping[str, Any]
    task: TaskSpec
    seeds: tuple[int, int]


@click.command("check-env")
@click.argument("name", metavar="BENCH|ENV")
@click.option("--task", default=None, metavar="ID|N", help="The task to make the env for. Default: the first.")
@click.option("--env-arg", multiple=True, metavar="K=V", help="An option of the environment; repeatable.")
@click.option("--json", "as_json", is_flag=True, help="JSON on standard output, and nothing else there.")
def check_env(*, name: str, task: str | None, env_arg: tuple[str, ...], as_json: bool) -> int:
    """Check an environment against the contract, rule by rule.

    BENCH is a benchmark, whose env is checked on one of its tasks. ENV is an alias or a reference of an env factory,
    checked on the first shipped benchmark that uses it, or on a plain task without params. Every rule is run, so one
    report shows all that is wrong. Ends with 2 when a rule is broken.
    """
    from hylo_eval.cli.streams import stdout_to_stderr

    given = split_pairs(env_arg, "--env-arg")
    entry = entry_for(_env_of(name))
    if entry is not None:
        return run_elsewhere(entry)
    with stdout_to_stderr():
        from hylo_eval.envs.conformance import check_env as check
        from hylo_eval.evaluation.making import make_env_factory

        subject = find_subject(name, task)
        made = make_env_factory(subject.env, subject.defaults, given, folder=benchmark_folder(name))
        try:
            report = check(made.value, subject.task, seeds=subject.seeds, **made.options)
        except EvalError:
            raise
        except (Exception, SystemExit) as error:
            raise EnvError(
                f"env {subject.env!r} cannot be made: {describe_error(error)}",
                fix="mend what it names; --debug shows where it raised",
            ) from error
    if as_json:
        click.echo(json.dumps(_as_json(subject, made.options, report), indent=2))
    else:
        _print(subject, report)
    return 0 if report.ok else EXIT_USAGE


def find_subject(name: str, task: str | None) -> Subject:
    """What a name on the command line stands for: a benchmark first, then an env.

    Raises:
        EvalError: It is neither, or has no such task.
    """
    if name in benchmark_files() or name.endswith(".toml") or "/" in name:
        return _of_benchmark(find_benchmark(name), task, called=name)
    if any(plugin.name == name for plugin in plugins.plugins("envs")):
        return _of_env(name, task)
    if ":" in name:
        found = plugins.load("envs", name)
        return _of_env(name, task) if _takes_a_task(found) else _of_benchmark(find_benchmark(name), task, called=name)
    # Neither: the benchmark's error suggests near benchmarks, and envs are named beside it.
    try:
        return _of_benchmark(find_benchmark(name), task, called=name)
    except EvalError as error:
        envs = ", ".join(plugin.name for plugin in plugins.plugins("envs"))
        raise EvalError(f"{error.message}; envs are {envs}", fix="hylo-eval list") from None


def _env_of(name: str) -> str | None:
    """The alias or reference of the env that a name stands for, as far as that can be told without importing it."""
    files = benchmark_files()
    if name in files or name.endswith(".toml") or "/" in name:
        return env_of(find_benchmark(name))[0]
    return name if ":" in name or any(plugin.name == name for plugin in plugins.plugins("envs")) else None


def _takes_a_task(found: Any) -> bool:
    """Whether a loaded reference is an env factory: it is called with a task. A benchmark's is called with nothing."""
    if not callable(found):
        return False
    try:
        return bool(inspect.signature(found).parameters)
    except ValueError:
        # Written in C without a signature; a benchmark's function is not.
        return True


def _of_benchmark(benchmark: Benchmark, task: str | None, *, called: str = "") -> Subject:
    from hylo_eval.evaluation.plan import find_task

    env, defaults = env_of(benchmark)
    seeds = next((split[:2] for split in benchmark.splits.values() if len(split) > 1), (0, 1))
    return Subject(
        env=env,
        defaults=defaults,
        task=benchmark.tasks[0] if task is None else find_task(benchmark, task, called=called),
        seeds=(seeds[0], seeds[1]),
    )


def _of_env(env: str, task: str | None) -> Subject:
    ref = plugins.ref_of("envs", env)
    for path in benchmark_files().values():
        benchmark = load_benchmark(path)
        if plugins.ref_of("envs", env_of(benchmark)[0]) == ref:
            return attrs.evolve(_of_benchmark(benchmark, task), env=env)
    if task is not None:
        raise EvalError(
            f"no shipped benchmark uses {env!r}, so there is no task {task!r}",
            fix="hylo-eval check-env FILE.toml, a benchmark file that names the env",
        )
    return Subject(env=env, defaults={}, task=_plain_task(), seeds=(0, 1))


def _plain_task() -> TaskSpec:
    return TaskSpec(
        id="conformance/plain",
        version="1",
        instruction="",
        init=SeedInit(),
        success=Predicate("builtin", name="env_success"),
        max_steps=100,
    )


def _as_json(subject: Subject, options: Mapping[str, Any], report: ConformanceReport) -> dict[str, Any]:
    return {
        "ok": report.ok,
        "env": {"name": subject.env, "ref": plugins.ref_of("envs", subject.env), "options": options},
        "task": subject.task.id,
        "seeds": list(subject.seeds),
        "rules": [attrs.asdict(finding) for finding in report.findings],
    }


def _print(subject: Subject, report: ConformanceReport) -> None:
    out = console()
    out.print(
        f"env {printable(subject.env)} on {printable(subject.task.id)}, seeds {subject.seeds[0]} and {subject.seeds[1]}"
    )
    out.print()
    width = max(len(finding.rule) for finding in report.findings)
    for finding in report.findings:
        mark, style = _MARKS[finding.outcome]
        head = f"{mark}  {finding.rule:<{width}}  "
        print_hanging(out, head, finding.sentence, style=style)
        detail = f"({finding.detail})" if finding.detail and finding.outcome != "broken" else finding.detail
        # The text of an error has its fix on a line of its own.
        for line in detail.splitlines():
            print_hanging(out, " " * len(head), line.strip())
    out.print()
    counts = [sum(finding.outcome == outcome for finding in report.findings) for outcome in _MARKS]
    out.print(f"{counts[0]} rules kept, {counts[1]} broken, {counts[2]} not applicable")
