"""``hylo-eval doctor``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import click

from hylo_eval.cli.group import EXIT_USAGE
from hylo_eval.cli.shared_options import run_root_option_that_says
from hylo_eval.cli.terminal import console, print_hanging

if TYPE_CHECKING:
    from hylo_eval.doctor import Finding, Report

_MARKS: Mapping[str, tuple[str, str]] = {
    "ok": ("ok     ", "green"),
    "info": ("-      ", "dim"),
    "warning": ("WARNING", "bold yellow"),
    "broken": ("BROKEN ", "bold red"),
}
_CHECK_WIDTH = len("metaworld")


@click.command()
@run_root_option_that_says("Where run folders go.")
@click.option("--json", "as_json", is_flag=True, help="JSON on standard output, and nothing else there.")
def doctor(*, run_root: Path, as_json: bool) -> int:
    """Say what is installed here, what of it works, and the command that mends what does not.

    Versions are compared with the ones known to work together, the packages of each family are really imported, and a
    picture is really drawn. A family that is not installed is no fault. Ends with 2 when something installed is broken.
    """
    from hylo_eval.doctor import examine

    report = examine(run_root, found=None if as_json else _print_finding)
    if as_json:
        click.echo(
            json.dumps({"ok": report.ok, "findings": [attrs.asdict(item) for item in report.findings]}, indent=2)
        )
    else:
        _print_summary(report)
    return 0 if report.ok else EXIT_USAGE


def _print_finding(finding: Finding) -> None:
    out = console()
    mark, style = _MARKS[finding.outcome]
    head = f"{mark}  {finding.check:<{_CHECK_WIDTH}}  "
    print_hanging(out, head, finding.text, style=style)
    if finding.fix:
        label = "to install" if finding.outcome == "info" and finding.text == "not installed" else "fix"
        print_hanging(out, " " * len(head), f"{label}: {finding.fix}")


def _print_summary(report: Report) -> None:
    broken, warnings = len(report.broken), len(report.warnings)
    parts = [f"{broken} broken" if broken else "everything that is installed works"]
    if warnings:
        parts.append(f"{warnings} warning{'s' if warnings > 1 else ''}")
    console().print("\n" + ", ".join(parts))
