"""Sections of a report on a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from hylo_eval.cli.terminal import print_hanging, print_table, printable_line

if TYPE_CHECKING:
    from rich.console import Console

    from hylo_eval.report.sections import Section


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
