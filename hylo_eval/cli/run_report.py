"""What ``hylo-eval run`` says of a run: as JSON for programs, as text for people."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from hylo_core.spec import UNKNOWN
from hylo_eval.cli.run_settings import settings_line
from hylo_eval.cli.terminal import (
    console,
    describe_precision,
    print_abstentions,
    print_summaries,
    printable,
    printable_line,
)
from hylo_eval.numerals import counted
from hylo_eval.report.text import repeated_words
from hylo_eval.versions import stand_in_sentence

if TYPE_CHECKING:
    from hylo_core.trace import ErrorEvent
    from hylo_eval.evaluation.conclusion import EvalResult


def as_json(result: EvalResult) -> dict[str, Any]:
    """The result for programs."""
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


def print_report(result: EvalResult) -> None:
    """The result for people, on standard output."""
    out = console()
    log, spec = result.log, result.agent_spec
    out.print(
        f"{printable_line(log.benchmark.id)} ({printable_line(log.benchmark.split)}), "
        f"agent {printable_line(log.agent.name)} {printable_line(log.agent.version)}, "
        f"chunk length {spec.chunk_length}, replan {spec.replan}"
    )
    out.print(settings_line(log.eval.manifest))
    print_summaries(out, result.summaries)
    _print_notes(result)
    if result.videos is not None:
        out.print(printable_line(result.videos.words()))
    out.print(f"run: {printable_line(str(result.run.path))}")


def _print_notes(result: EvalResult) -> None:
    out = console()
    if said := stand_in_sentence("the run", result.log.eval.manifest.get("versions")):
        out.print(printable_line(said))
    states = result.initial_states
    again = repeated_words(states.repeated)
    out.print(f"distinct initial states: {states.distinct}{again}")
    primary, summary = next(iter(result.summaries.items()))
    if hint := describe_precision(printable(primary), summary):
        out.print(hint)
    print_abstentions(out, result.summaries, result.log.samples)
    statuses: dict[str, int] = {}
    for sample in result.log.samples:
        statuses[sample.status] = statuses.get(sample.status, 0) + 1
    if statuses and set(statuses) != {"completed"}:
        out.print("outcomes: " + ", ".join(f"{count} {status}" for status, count in sorted(statuses.items())))
    if (failure := result.first_error) is not None:
        failed, error = failure
        out.print(
            f"first error: {printable_line(failed.instance.key)}, {error.phase}: "
            f"{printable_line(error.error_type)}: {printable_line(error.message)}{printable_line(_place(error))}"
        )
        out.print(f"all of it: the error event of {printable_line(str(failed.result.path))}")
    if result.disagreements:
        differing = counted(result.disagreements, "episode")
        out.print(f"warning: in {differing} the goal as written and the simulator's check differ")
    for side, value in (("agent", "agent"), ("environment", "env")):
        silent = [
            item.path for item in result.differences if item.severity == "unknown" and getattr(item, value) == UNKNOWN
        ]
        if silent:
            named = printable_line(", ".join(silent))
            out.print(f"the {side} does not declare {named} (docs/cli.md#run): a mismatch there would go unseen")


def _place(error: ErrorEvent) -> str:
    """Where it was raised: the last place of the traceback on record."""
    places = re.findall(r'File "([^"]+)", line (\d+)', str(error.volatile.get("traceback", "")))
    return f" (at {Path(places[-1][0]).name}:{places[-1][1]})" if places else ""
