"""``hylo-eval rescore``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import attrs
import click

from hylo_eval.cli.counts import Count
from hylo_eval.cli.run_settings import settings_line
from hylo_eval.cli.shared_options import run_root_option
from hylo_eval.cli.streams import stdout_to_stderr
from hylo_eval.cli.terminal import (
    console,
    describe_agreement,
    print_abstentions,
    print_summaries,
    printable,
    printable_line,
)
from hylo_eval.compare.words import not_as_recorded
from hylo_eval.numerals import counted
from hylo_eval.versions import stand_in_sentence, stand_ins

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hylo_eval.evaluation.rescore import Rescoring
    from hylo_eval.evaluation.rescore_plan import Refused, RescorePlan

_SHOWN_MODIFIED = 10


@click.command()
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@click.option(
    "--scorer",
    "scorers",
    multiple=True,
    metavar="REF",
    help="A scorer; repeatable. Default: those the run was scored with.",
)
@click.option("--name", default=None, metavar="NAME", help="Of the new log. Default: rescore-1, or the next free one.")
@click.option("--accept-modified", is_flag=True, help="Score traces that were changed since the run; the log says so.")
@click.option("--workers", type=Count(), default=None, metavar="N", help="Processes. Default: one a processor.")
@run_root_option
@click.option("--json", "as_json", is_flag=True, help="The result as JSON on standard output, and nothing else there.")
def rescore(**options: Any) -> int:
    """Score the traces of finished runs again and write scores/NAME.json into each run folder.

    RUN is a run folder, an id under the run root, or a folder of run folders. Nothing is written over. Ends with 0,
    with 2 when a run was refused, with 3 when a run was not whole or something in it could not be scored because of
    the infrastructure.
    """
    with stdout_to_stderr():
        plan, outcomes = rescore_command(**options)
    code = _exit_code(outcomes)
    if options["as_json"]:
        runs = [_as_json(outcome) for outcome in outcomes]
        click.echo(json.dumps({"name": plan.name, "exit_code": code, "runs": runs}, indent=2))
    else:
        for outcome in outcomes:
            _print_outcome(outcome)
    return code


def rescore_command(**options: Any) -> tuple[RescorePlan, list[Rescoring | Refused]]:
    """What ``rescore`` does, without printing the result."""
    from hylo_eval.cli.progress import Progress
    from hylo_eval.evaluation.rescore import rescore as rescore_runs
    from hylo_eval.evaluation.rescore_plan import plan_rescoring
    from hylo_eval.evaluation.stopping import StopRequest

    plan = plan_rescoring(
        options["runs"], scorers=options["scorers"], name=options["name"], run_root=options["run_root"]
    )
    progress = Progress(plan.n_episodes, quiet=options["as_json"])
    try:
        with StopRequest() as stop:
            outcomes = rescore_runs(
                plan,
                accept_modified=options["accept_modified"],
                workers=options["workers"],
                finished=progress.finished,
                stop=stop,
            )
            return plan, list(outcomes)
    finally:
        progress.close()


def _exit_code(outcomes: Sequence[Rescoring | Refused]) -> int:
    codes = {outcome.exit_code for outcome in outcomes}
    return next((code for code in (2, 3) if code in codes), 0)


def _as_json(outcome: Rescoring | Refused) -> dict[str, Any]:
    from hylo_eval.evaluation.rescore_plan import Refused

    if isinstance(outcome, Refused):
        return {"run": str(outcome.run.path), "exit_code": outcome.exit_code, "error": str(outcome.error)}
    return {
        "run": str(outcome.run.path),
        "exit_code": outcome.exit_code,
        "log": str(outcome.log_path),
        "details": str(outcome.details_path),
        "source": outcome.source.name,
        "complete": outcome.complete,
        "stand_ins": list(stand_ins(outcome.log.eval.manifest.get("versions"))),
        "scores": {name: attrs.asdict(summary) for name, summary in outcome.summaries.items()},
        "modified": {key: list(differences) for key, differences in outcome.modified.items()},
        "disagreements": outcome.disagreements,
        "agreement": [attrs.asdict(agreement) for agreement in outcome.agreement],
    }


def _print_outcome(outcome: Rescoring | Refused) -> None:
    from hylo_eval.evaluation.rescore_plan import Refused

    if isinstance(outcome, Refused):
        console(stderr=True).print(f"error: {printable(str(outcome.error))}")
        return
    out = console()
    log = outcome.log
    out.print(
        f"{printable(log.benchmark.id)} ({printable(log.benchmark.split)}), "
        f"agent {printable(log.agent.name)} {printable(log.agent.version)}"
    )
    out.print(settings_line(log.eval.manifest))
    if said := stand_in_sentence("the run", log.eval.manifest.get("versions")):
        out.print(printable_line(said))
    print_summaries(out, outcome.summaries)
    print_abstentions(out, outcome.summaries, log.samples)
    for agreement in outcome.agreement:
        out.print(describe_agreement(agreement))
    if not outcome.complete:
        out.print(f"the run was stopped before its end: these are the episodes of {outcome.source.name}")
    for key, differences in list(outcome.modified.items())[:_SHOWN_MODIFIED]:
        out.print(f"modified: {printable(key)}: {printable('; '.join(differences))}")
    if outcome.modified:
        out.print(f"warning: of {counted(len(log.samples), 'trace')}, {not_as_recorded(len(outcome.modified))}")
    if outcome.disagreements:
        differing = counted(outcome.disagreements, "episode")
        out.print(f"warning: in {differing} the goal as written and the simulator's check differ")
    out.print(f"log: {outcome.log_path}")
