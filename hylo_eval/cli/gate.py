"""``hylo-eval gate``."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from hylo_core.errors import ContractError
from hylo_eval.cli.compare import named_repetitions
from hylo_eval.cli.counts import Count
from hylo_eval.cli.group import EXIT_CLOSED, EXIT_INCOMPLETE, EXIT_USAGE
from hylo_eval.cli.sections import markdown_option, owns_output, print_sections, write_markdown
from hylo_eval.cli.shared_options import run_root_option_that_says
from hylo_eval.cli.terminal import console, print_hanging, printable_line
from hylo_eval.errors import EvalError

if TYPE_CHECKING:
    from hylo_eval.compare.gate import GatePolicy
    from hylo_eval.evaluation.comparing.gating import JudgedGate
    from hylo_eval.report.junit import Case
    from hylo_eval.report.sections import Section

EXIT_CODES: Final[Mapping[str, int]] = {"pass": 0, "fail": EXIT_CLOSED, "inconclusive": EXIT_INCOMPLETE}
"""Verdict -> exit code."""

_ELSEWHERE: Final = (
    "candidate",
    "parent",
    "run_root",
    "policy",
    "as_json",
    "junit",
    "markdown",
    "confirms",
    "replicates",
    "count",
)
"""Parameters that are not part of the policy."""


@click.command()
@click.argument("candidate")
@click.argument("parent")
@click.option(
    "--mode",
    type=click.Choice(["improve", "noninferior", "no-regression"]),
    default=None,
    help="Be better; be worse by less than the margin; or be worse on no task.",
)
@click.option("--margin", type=float, default=None, help="Difference of success rates that does not matter: .05.")
@click.option("--metric", default=None, help="The deciding metric, of 0 and 1.  [default: success]")
@click.option("--alpha", type=float, default=None, help="One-sided significance level.  [default: 0.05]")
@click.option(
    "--power", type=float, default=None, help="Of seeing a drop of the margin (no-regression).  [default: 0.8]"
)
@click.option(
    "--min-pairs", type=Count(), default=None, help="Scored pairs below which nothing is decided.  [default: 1]"
)
@click.option("--min-coverage", type=float, default=None, help="Share of instances to be scored.  [default: 0.95]")
@click.option(
    "--agent-errors",
    type=click.Choice(["fail", "abstain"]),
    default=None,
    help="What the candidate's errors count as.  [default: fail]",
)
@click.option("--worst-case", is_flag=True, default=None, help="Turn every abstention against the candidate.")
@click.option(
    "--safety-must-not-rise/--no-safety-must-not-rise",
    default=None,
    help="Whether safety interventions must not rise significantly.  [default: they must not]",
)
@click.option(
    "--max-latency-regression", type=float, default=None, metavar="SECONDS", help="Allowed rise of reply p95."
)
@click.option(
    "--sequential",
    is_flag=True,
    default=None,
    help="Look early and often: an anytime-valid test in the declared order; declared at the first look.",
)
@click.option(
    "--replicate",
    "replicates",
    nargs=2,
    multiple=True,
    metavar="CANDIDATE PARENT",
    help="Two more runs of the same agents on the same instances; repeatable. Instances then count once.",
)
@click.option(
    "--replicates",
    "count",
    type=Count(2, 1000),
    default=None,
    metavar="K",
    help="CANDIDATE and PARENT name K runs each: CANDIDATE-r1 and so on, as run --replicates calls them.",
)
@click.option(
    "--confirms", default=None, metavar="ID", help="The selection whose choice this gate confirms on heldout."
)
@click.option("--intersect", is_flag=True, default=None, help="Compare the instances both have; leave out the others.")
@click.option("--allow", multiple=True, metavar="NAME", help="A difference to accept, by name; repeatable.")
@click.option("--log-only", is_flag=True, default=None, help="Believe the logs; read no trace. Said in the verdict.")
@click.option(
    "--policy",
    type=click.Path(path_type=Path),
    default=None,
    metavar="gate.toml",
    help="The options above as a file; the command line has the last word.",
)
@click.option("--junit", type=click.Path(path_type=Path), default=None, metavar="FILE", help="Write JUnit XML.")
@markdown_option
@click.option("--json", "as_json", is_flag=True, help="The record on standard output, and nothing else there.")
@run_root_option_that_says("Where runs are looked for by id; the record goes to comparisons/ in it.")
def gate(**options: Any) -> int:
    """Decide whether CANDIDATE may replace PARENT: two runs (folders, or ids under the run root).

    Ends with 0 for a pass, 1 for a fail, 2 for bad usage or refused evidence, 3 when the evidence does not decide.
    """
    from hylo_eval.compare.comparability import EvidenceRefused
    from hylo_eval.evaluation.comparing.gating import judge
    from hylo_eval.report.documents import refusal_document
    from hylo_eval.report.sections import Section
    from hylo_eval.traces.finding import find_run

    options = named_repetitions(options)
    policy = _policy(options)
    owns_output(options)  # Refused before anything is read.
    words = policy.words(repetitions=1 + len(options["replicates"]))
    run_root = options["run_root"]
    candidate, parent = (find_run(options[side], run_root) for side in ("candidate", "parent"))
    further = [(find_run(ours, run_root), find_run(theirs, run_root)) for ours, theirs in options["replicates"]]
    try:
        judged = judge(policy, candidate, parent, run_root=run_root, confirms=options["confirms"], repetitions=further)
    except EvidenceRefused as refusal:
        from hylo_eval.report.junit import Case

        document = {
            **refusal_document(policy, refusal.differences, words=words, exit_code=EXIT_USAGE),
            "candidate": {"run_id": candidate.run_id},
            "parent": {"run_id": parent.run_id},
        }
        sentences = tuple(item.words for item in refusal.differences)
        case = Case(f"gate {policy.rule.mode}", "refused", "\n".join((*sentences, f"fix: {refusal.fix}")))
        verdict = Section(title="verdict: refused", sentences=(*sentences, f"fix: {refusal.fix}"))
        _, document = _write(options, document, [case], (verdict, Section(title="rule", sentences=(words,))))
        if options["as_json"]:
            click.echo(json.dumps(document, indent=2))
        raise
    return conclude(judged, options)


def conclude(
    judged: JudgedGate,
    options: Mapping[str, Any],
    *,
    first: Section | None = None,
    members: Mapping[str, Any] | None = None,
) -> int:
    """Write the record and the reports of a gate, print it, and give its exit code.

    Args:
        judged: The gate.
        options: Of the command line.
        first: What is to stand before the verdict.
        members: Further members of the record.
    """
    from hylo_eval.report.documents import gate_document, ledger_document
    from hylo_eval.report.junit import gate_cases
    from hylo_eval.report.sections import Section, gate_sections

    outcome = judged.outcome
    code = EXIT_CODES[outcome.decision.verdict]
    verdict, *rest = gate_sections(outcome)
    head = () if first is None else (first,)
    sections = (*head, verdict, Section(title="ledger", sentences=tuple(f"{note}." for note in judged.notes)), *rest)
    rule = Section(title="rule", sentences=(outcome.words(),))
    document = {
        **gate_document(outcome, exit_code=code),
        "ledger": ledger_document(judged.ledger, judged.notes),
        "declared_at": judged.declared_at or None,
        "confirms": judged.confirms or None,
        **(members or {}),
    }
    path, document = _write(options, document, gate_cases(outcome), (rule, *sections))
    if options["as_json"]:
        click.echo(json.dumps(document, indent=2))
    elif not owns_output(options):
        out = console()
        print_hanging(out, "rule: ", outcome.words())
        out.print()
        print_sections(out, sections)
        out.print(f"\nrecord: {printable_line(str(path))}")
    return code


def _policy(options: Mapping[str, Any]) -> GatePolicy:
    from hylo_eval.evaluation.comparing.gate_policy import MEND_POLICY, make_policy, read_policy

    values = read_policy(options["policy"]) if options["policy"] is not None else {}
    given = {name: value for name, value in options.items() if name not in _ELSEWHERE and value not in (None, ())}
    try:
        return make_policy({**values, **given})
    except ContractError as error:
        if error.path in values and error.path not in given:
            raise EvalError(f"{options['policy']}: {error}", fix=MEND_POLICY) from error
        raise


def _write(
    options: Mapping[str, Any], document: Mapping[str, Any], cases: Iterable[Case], sections: Iterable[Section]
) -> tuple[Path, dict[str, Any]]:
    """Write record and reports before the verdict is printed: what cannot be written is no verdict."""
    from hylo_eval.evaluation.comparing.records import append_summary, write_record, write_report
    from hylo_eval.report.junit import render_junit
    from hylo_eval.report.markdown import render_markdown

    title = f"hylo-eval gate: {document['verdict']}"
    suite = f"hylo-eval gate {options['candidate']} {options['parent']}"
    path, complete = write_record(options["run_root"], document)
    if options["junit"] is not None:
        write_report(options["junit"], render_junit(suite, cases))
    listed = tuple(sections)
    write_markdown(options, title, listed)
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        append_summary(Path(summary), render_markdown(title, listed))
    return path, complete
