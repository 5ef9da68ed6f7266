"""``hylo-eval benchmark``: show, validate, freeze, sample and import definitions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from hylo_eval.cli.counts import Count
from hylo_eval.cli.group import EXIT_USAGE, SuggestingGroup
from hylo_eval.cli.tables import print_table
from hylo_eval.cli.terminal import console, print_hanging, printable, printable_line
from hylo_eval.errors import EvalError
from hylo_eval.numerals import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hylo_core.benchmark import Benchmark
    from hylo_core.errors import HyloError
    from hylo_core.task import TaskSpec
    from hylo_eval.benchmark_changes import Change

_SHOWN_CHANGES = 40
"""Differences printed for one benchmark; JSON holds them all."""


@click.group(cls=SuggestingGroup)
def benchmark() -> None:
    """Show, validate, freeze, sample or import a benchmark."""


@benchmark.command()
@click.argument("name", metavar="BENCH")
@click.option("--json", "as_json", is_flag=True, help="JSON on standard output, and nothing else there.")
def show(*, name: str, as_json: bool) -> None:
    """Show what BENCH (an alias, a path or a reference) consists of.

    Needs no simulator. The digest is the identity that runs record and comparisons check.
    """
    from hylo_eval.benchmarks import find_benchmark

    found = find_benchmark(name)
    if as_json:
        click.echo(json.dumps({"digest": found.digest(), **_with_env(found)}, indent=2))
    else:
        _print_benchmark(found)


@benchmark.command()
@click.argument("files", metavar="FILE…", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="JSON on standard output, and nothing else there.")
def validate(*, files: tuple[Path, ...], as_json: bool) -> int:
    """Say everything that is wrong with benchmark files: file, path of the value, sentence.

    Needs no simulator, and imports nothing that a file names. Ends with 2 when a file is not valid.
    """
    from hylo_eval.benchmark_problems import benchmark_problems

    problems = {str(path): benchmark_problems(path) for path in files}
    if as_json:
        listed = {
            path: [
                {"path": getattr(problem, "path", ""), "reason": getattr(problem, "reason", str(problem))}
                for problem in found
            ]
            for path, found in problems.items()
        }
        click.echo(json.dumps({"valid": not any(problems.values()), "files": listed}, indent=2))
    else:
        for path, found in problems.items():
            _print_problems(path, found)
    return EXIT_USAGE if any(problems.values()) else 0


@benchmark.command()
@click.argument("name", metavar="FAMILY|BENCH")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Where to write; a folder when FAMILY has several benchmarks. Default: standard output.",
)
@click.option("--check", is_flag=True, help="Write nothing; compare with the definition in use.")
@click.option("--json", "as_json", is_flag=True, help="With --check: JSON on standard output, and nothing else there.")
def freeze(*, name: str, output: Path | None, check: bool, as_json: bool) -> int:
    """Write the definition of BENCH, or of every benchmark of FAMILY, from the installed simulator.

    With --check, ends with 2 when a definition differs from what the simulator gives, and names tasks and fields.
    """
    from hylo_eval.benchmarks import dump_benchmark
    from hylo_eval.cli.elsewhere import entry_for, run_elsewhere
    from hylo_eval.cli.streams import stdout_to_stderr
    from hylo_eval.freezing import compare_with_shipped, family_of, freeze_benchmark, frozen_names, write_frozen

    names = frozen_names(name)
    if as_json and not check:
        raise click.UsageError("--json goes with --check; a frozen benchmark is TOML")
    if check and output is not None:
        raise click.UsageError("--check writes nothing; leave --output out")
    if not check and output is None and len(names) > 1:
        raise click.UsageError(f"{name!r} has {len(names)} benchmarks; say where they go: --output FOLDER")
    entry = entry_for(family_of(name))
    if entry is not None:
        return run_elsewhere(entry)
    with stdout_to_stderr():
        frozen = [freeze_benchmark(each) for each in names]
    if output is not None:
        for path in write_frozen(frozen, output, as_folder=len(names) > 1):
            click.echo(path)
        return 0
    if not check:
        click.echo(dump_benchmark(frozen[0]), nl=False)
        return 0
    changes = {each.id: compare_with_shipped(each) for each in frozen}
    if as_json:
        click.echo(json.dumps(_changes_as_json(changes), indent=2))
    else:
        for benchmark_id, found in changes.items():
            _print_changes(benchmark_id, found)
    return EXIT_USAGE if any(changes.values()) else 0


@benchmark.command()
@click.argument("name", metavar="PROVIDER")
@click.option("--count", required=True, type=Count(most=100_000), metavar="N", help="How many tasks.")
@click.option("--seed", required=True, type=Count(0), metavar="S", help="What they are drawn from.")
@click.option("--split", default=None, help="A split of the provider's own.  [default: its first]")
@click.option("--episodes", type=Count(most=10_000), default=1, show_default=True, help="Seeds a task.")
@click.option("--arg", "pairs", multiple=True, metavar="K=V", help="An option of the provider; repeatable.")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), metavar="FILE.toml", help="The file.")
@click.option("--id", "benchmark_id", default="", metavar="ID", help="Default: the stem of FILE.toml.")
@click.option("--json", "as_json", is_flag=True, help="JSON on standard output, and nothing else there.")
def sample(
    *,
    name: str,
    count: int,
    seed: int,
    split: str | None,
    episodes: int,
    pairs: tuple[str, ...],
    output: Path,
    benchmark_id: str,
    as_json: bool,
) -> None:
    """Write a benchmark of tasks that PROVIDER, a short name or a reference, draws from a seed.

    The same arguments give the same file on every machine. Needs no simulator where the provider needs none.
    """
    from hylo_eval.freezing import write_frozen
    from hylo_eval.options import split_pairs
    from hylo_eval.sampling.providers import make_provider, sample_benchmark

    _check_new_file(output)
    made = make_provider(name, split_pairs(pairs, "--arg"))
    drawn = sample_benchmark(
        made, benchmark_id=benchmark_id or output.stem, split=split, count=count, seed=seed, episodes=episodes
    )
    (path,) = write_frozen([drawn], output, as_folder=False)
    if as_json:
        tasks = [{"id": task.id, "digest": task.digest()} for task in drawn.tasks]
        click.echo(json.dumps({"path": str(path), "digest": drawn.digest(), "tasks": tasks}, indent=2))
    else:
        console().print(printable_line(f"{path}: {counted(len(drawn.tasks), 'task')}, {drawn.digest()}"))


@benchmark.command("import-responses")
@click.argument("source", metavar="FILE.jsonl", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    metavar="BENCH.toml",
    help="Where to write; the pictures lie in its folder or below.",
)
@click.option("--id", "benchmark_id", default="", metavar="ID", help="Default: the stem of BENCH.toml.")
@click.option(
    "--tau",
    type=click.FloatRange(0, 1),
    default=0.5,
    show_default=True,
    help="Least annotation reward that counts as success.",
)
@click.option(
    "--coordinate-unit",
    type=click.Choice(["pixel", "unit", "per_mille", "percent"]),
    default="pixel",
    show_default=True,
    help="What the prompts ask coordinates in; truths are in pixels.",
)
@click.option(
    "--coordinate-order",
    type=click.Choice(["xy", "yx"]),
    default="xy",
    show_default=True,
    help="Which axis the prompts ask for first.",
)
def import_responses(
    *,
    source: Path,
    output: Path,
    benchmark_id: str,
    tau: float,
    coordinate_unit: Literal["pixel", "unit", "per_mille", "percent"],
    coordinate_order: Literal["xy", "yx"],
) -> int:
    """Make a benchmark of a JSONL file: one object a line with image, prompt, answer and annotation.

    Each picture is recorded by its path relative to BENCH.toml and by its SHA-256.
    """
    from hylo_eval.freezing import write_frozen
    from hylo_eval.response_benchmarks.importing import ImportOptions, import_responses

    _check_new_file(output)
    options = ImportOptions(annotation_tau=tau, coordinate_unit=coordinate_unit, coordinate_order=coordinate_order)
    made = import_responses(source, output, benchmark_id=benchmark_id, options=options)
    for path in write_frozen([made], output, as_folder=False):
        console().print(printable_line(f"{path}: {counted(len(made.tasks), 'question')}"))
    return 0


def _check_new_file(output: Path) -> None:
    if output.suffix != ".toml":
        raise click.UsageError(f"a benchmark file ends in .toml, not {output.name!r}")
    if output.exists() or output.is_symlink():
        raise EvalError(f"{output} exists, and nothing is written over", fix="-o another file, or remove that one")


def _print_problems(path: str, found: Sequence[HyloError]) -> None:
    """What is wrong in a file, each thing once; that it cannot be read at all is a refusal as of any command."""
    from hylo_core.errors import ContractError
    from hylo_eval.benchmark_problems import problem_sentences

    for error in found:
        if not isinstance(error, ContractError):
            console(stderr=True).print(f"error: {printable(str(error))}")
    for sentence in problem_sentences([error for error in found if isinstance(error, ContractError)]):
        console().print(printable(sentence))
    if not found:
        console().print(f"{printable(path)}: valid")


def _with_env(found: Benchmark) -> dict[str, Any]:
    """The benchmark as its file has it: env and options beside the metadata."""
    from hylo_eval.benchmarks import ENV, ENV_OPTIONS, env_of

    members = found.to_dict()
    env, options = env_of(found)
    own = {name: value for name, value in members.pop("metadata", {}).items() if name not in (ENV, ENV_OPTIONS)}
    return {**members, ENV: env, ENV_OPTIONS: options, "metadata": own}


def _print_benchmark(found: Benchmark) -> None:
    from hylo_eval.benchmarks import env_of

    out = console()
    env, options = env_of(found)
    shown = ", ".join(f"{name}={json.dumps(value)}" for name, value in options.items())
    print_hanging(out, "id      ", f"{found.id} {found.version}")
    print_hanging(out, "digest  ", found.digest())
    print_hanging(out, "env     ", f"{env} ({shown})" if shown else env)
    for split, seeds in found.splits.items():
        used = seeds[: found.episodes_per_task]
        capped = f" of {len(seeds)}" if len(used) < len(seeds) else ""
        episodes = len(used) * len(found.tasks)
        of = "seed" if len(used) == 1 else "seeds"
        text = f"{split}: {len(used)}{capped} {of} ({describe_seeds(used)}), {counted(episodes, 'episode')}"
        print_hanging(out, "split   ", text)
    if found.requires_privileged:
        print_hanging(out, "needs   ", "privileged information to score, which a robot does not have")
    for name, value in found.metadata.items():
        if name not in ("env", "env_options") and not name.startswith("asset."):
            print_hanging(out, "about   ", f"{name}: {value}")
    assets = sum(name.startswith("asset.") for name in found.metadata)
    if assets:
        print_hanging(out, "about   ", f"hashes of {assets} asset file{'s' if assets > 1 else ''} (--json lists them)")
    _print_tasks(found)


def _print_tasks(found: Benchmark) -> None:
    out = console()
    headers = ["", "task", "steps", "success", "instruction"]
    rows = [
        [str(index), task.id, str(found.max_steps.get(task.id, task.max_steps)), _success(task), task.instruction]
        for index, task in enumerate(found.tasks)
    ]
    for column in (3, 2):
        if len({row[column] for row in rows}) == 1:
            # What all tasks share is said once.
            print_hanging(out, f"{headers[column]:<8}", rows[0][column])
            for row in (headers, *rows):
                del row[column]
    out.print()
    print_table(out, headers, rows, numbers=("", "steps"))


def _success(task: TaskSpec) -> str:
    predicate = task.success
    what = predicate.name or predicate.expr or predicate.ref or predicate.kind
    return f"{what}, {'at the last step' if task.success_at == 'end' else 'at any step'}"


def describe_seeds(seeds: tuple[int, ...]) -> str:
    """Seeds as runs of consecutive numbers: ``0-49``, or ``1, 5-7, …`` for scattered ones."""
    runs: list[list[int]] = []
    for seed in seeds:
        if runs and seed == runs[-1][1] + 1:
            runs[-1][1] = seed
        else:
            runs.append([seed, seed])
    shown = [f"{first}-{last}" if first != last else str(first) for first, last in runs[:4]]
    return ", ".join([*shown, "…"] if len(runs) > 4 else shown)


def _changes_as_json(changes: dict[str, tuple[Change, ...]]) -> dict[str, Any]:
    return {
        "equal": not any(changes.values()),
        "benchmarks": {
            name: [{"path": item.path, "file": item.before, "simulator": item.after} for item in found]
            for name, found in changes.items()
        },
    }


def _print_changes(benchmark_id: str, found: tuple[Change, ...]) -> None:
    out = console()
    if not found:
        out.print(f"{printable(benchmark_id)}: equal to what the simulator gives")
        return
    plural = "s" if len(found) > 1 else ""
    out.print(f"{printable(benchmark_id)}: {len(found)} difference{plural}")
    for change in found[:_SHOWN_CHANGES]:
        print_hanging(out, "  ", change.path)
        print_hanging(out, "    file       ", change.before)
        print_hanging(out, "    simulator  ", change.after)
    if len(found) > _SHOWN_CHANGES:
        out.print(f"  … and {len(found) - _SHOWN_CHANGES} more (--json lists them all)")
