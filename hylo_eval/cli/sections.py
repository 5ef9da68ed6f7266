"""Sections of a report on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from hylo_eval.cli.tables import print_table
from hylo_eval.cli.terminal import print_hanging, printable_line
from hylo_eval.errors import EvalError

if TYPE_CHECKING:
    from rich.console import Console

    from hylo_eval.report.sections import Section


STANDARD_OUTPUT: Final = Path("-")


def markdown_option(command: Callable[..., int]) -> Callable[..., int]:
    """``--markdown FILE``, the same in every command that has it."""
    return click.option(
        "--markdown",
        type=click.Path(path_type=Path),
        default=None,
        metavar="FILE",
        help="Write a Markdown page; - is standard output, and then nothing else stands there.",
    )(command)


def owns_output(options: Mapping[str, Any]) -> bool:
    """Whether standard output is for a program or a page, and people get no text there.

    Raises:
        EvalError: It is asked to be two things.
    """
    to_output = options["markdown"] == STANDARD_OUTPUT
    if options["as_json"] and to_output:
        raise EvalError("--json and --markdown - both want standard output", fix="--markdown FILE")
    return bool(options["as_json"] or to_output)


def write_markdown(options: Mapping[str, Any], title: str, sections: Iterable[Section]) -> None:
    """Write the page of ``--markdown``, if it was asked for.

    Raises:
        EvalError: It cannot be written.
    """
    target: Path | None = options["markdown"]
    if target is None:
        return
    from hylo_eval.evaluation.comparing.records import write_report
    from hylo_eval.report.markdown import render_markdown

    page = render_markdown(title, sections)
    if target == STANDARD_OUTPUT:
        click.echo(page, nl=False)
    else:
        write_report(target, page.encode())


def print_sections(out: Console, sections: Iterable[Section]) -> None:
    """Print sections one below the other; their texts are made harmless here."""
    for index, section in enumerate(sections):
        if index:
            out.print()
        if section.title:
            out.print(printable_line(section.title), style="bold")
        width = max((len(label) for label, _ in section.facts), default=0)
        for label, value in section.facts:
            print_hanging(out, f"  {label:<{width}}  ", value)
        for sentence in section.sentences:
            print_hanging(out, "  - ", sentence)
        if section.headers:
            print_table(out, section.headers, section.rows, numbers=section.headers[section.text_columns :])
