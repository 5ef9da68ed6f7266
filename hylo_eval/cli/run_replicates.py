"""``hylo-eval run --replicates K``: the same instances again and again, a run folder each."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import click

from hylo_eval.cli.group import EXIT_INCOMPLETE
from hylo_eval.cli.required import require
from hylo_eval.cli.run_report import as_json, print_report
from hylo_eval.cli.streams import stdout_to_stderr
from hylo_eval.cli.terminal import console, number, percent, printable_line
from hylo_eval.errors import EvalError

if TYPE_CHECKING:
    from hylo_eval.compare.replicates import VarianceSplit
    from hylo_eval.evaluation.conclusion import EvalResult

Evaluate = Callable[[click.Context, dict[str, Any]], "EvalResult"]


def run_replicates(context: click.Context, options: Mapping[str, Any], evaluate: Evaluate) -> int:
    """Run K repetitions one after the other, and say how much of the variance lies between them.

    Args:
        context: Of the command.
        options: Of the command.
        evaluate: Runs one of them.

    Raises:
        EvalError: Options that do not go together.
    """
    names = _names(context, options)
    results: list[EvalResult] = []
    for place, name in enumerate(names, start=1):
        if not options["as_json_"]:
            console().print(f"repetition {place} of {len(names)}: {printable_line(name)}")
        with stdout_to_stderr():
            try:
                result = evaluate(context, {**options, "run_id": name, "replicate": place})
            except KeyboardInterrupt:
                if place < len(names):
                    left = f"not begun: {', '.join(names[place:])}; the same command with --run-id {_stem(name)}"
                    console(stderr=True).print(printable_line(f"{left} goes on with all of them"))
                raise
        results.append(result)
        if not options["as_json_"]:
            print_report(result)
            console().print()
    code = EXIT_INCOMPLETE if any(result.exit_code for result in results) else 0
    split = _split(results)
    if options["as_json_"]:
        members = {"replicates": [as_json(result) for result in results], "exit_code": code}
        click.echo(json.dumps({**members, "variance": attrs.asdict(split) if split else None}, indent=2))
    else:
        for line in _lines(results, split):
            console().print(printable_line(line))
        _print_next(options, names)
    return code


def _names(context: click.Context, options: Mapping[str, Any]) -> tuple[str, ...]:
    from hylo_eval.benchmarks import find_benchmark
    from hylo_eval.evaluation.evaluate import make_run_id
    from hylo_eval.evaluation.repeating import replicate_names
    from hylo_eval.traces.layout import RunFolder

    for name, flag, why in (
        ("replicate", "--replicate", "names one repetition, --replicates runs all of them"),
        ("resume", "--resume", "continues one run; repeat the whole command with its --run-id instead"),
        ("budget", "--budget", "is the time of one run; give it to each with --replicate N"),
    ):
        if options[name] is not None:
            raise EvalError(f"{flag} {why}", fix=f"leave {flag} or --replicates out")
    require(context, options, "benchmark", "agent")
    stem = options["run_id"]
    if stem is None:
        agent = Path(options["agent"]).stem.rpartition(":")[2]
        stem = make_run_id(find_benchmark(options["benchmark"]).id, agent)
    names = replicate_names(stem, options["replicates"])
    for name in names:
        # Refused now, not after the repetitions before it.
        RunFolder.at(options["run_root"], name)
    return names


def _split(results: Sequence[EvalResult]) -> VarianceSplit | None:
    from hylo_eval.compare.replicates import split_runs

    return split_runs(_scores(results))


def _scores(results: Sequence[EvalResult]) -> list[dict[str, float | None]]:
    """The deciding score of every instance, a mapping a repetition."""
    return [
        {sample.key: sample.value(next(iter(result.summaries))) for sample in result.log.samples} for result in results
    ]


def _lines(results: Sequence[EvalResult], split: VarianceSplit | None) -> Iterator[str]:
    from hylo_eval.report.sections import variance_words

    name, first = next(iter(results[0].summaries.items()))
    means = [next(iter(result.summaries.values())).mean for result in results]
    shown = ["-" if mean is None else percent(mean) if first.binary else number(mean, first.unit) for mean in means]
    yield f"{len(results)} repetitions, {name}: {', '.join(shown)}"
    if split is None:
        return
    yield f"variance of {name}: {variance_words(split)}"
    if not split.policy:
        yield (
            f"{name} came out alike in every repetition of every instance: an agent that draws no random numbers from "
            "its seed gains nothing from repetitions"
        )


def _print_next(options: Mapping[str, Any], names: Sequence[str]) -> None:
    stem, count = printable_line(_stem(names[0])), len(names)
    root = "" if options["run_root"] == Path("runs") else f" --run-root {printable_line(str(options['run_root']))}"
    out = console()
    out.print(f"against another agent's: hylo-eval gate {stem} PARENT --replicates {count} --mode improve{root}")
    out.print(f"the noise floor: hylo-eval plan --noise {stem}-r1 {stem}-r2{root}")


def _stem(name: str) -> str:
    return name.rpartition("-r")[0]
