"""Sections as Markdown, for pull requests and job summaries. Names in it come from anywhere and stay text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from hylo_eval.report.sections import Section
from hylo_eval.report.text import printable_line

_SPECIAL: Final = re.compile(
    r"""[\\`*\[\]<>#|~&@$]   # markup, HTML, mentions and formulas, wherever they stand
    | (?<![^\W_])_ | _(?![^\W_])   # emphasis; within a word an underscore is one
    | :(?!\s|$)   # emoji codes and addresses; after a word a colon is one
    | (?<=www)\.   # addresses without a scheme
    | ^[-+=](?=[-+=\s]|$)   # lists, headings and rules; before a number a sign is one""",
    re.VERBOSE | re.IGNORECASE,
)


def escape(text: str) -> str:
    """Text that renders as itself, on one line: no markup, no HTML, no mention, no link.

    What means nothing where it stands is left alone, so that the page can be read as it is, too.
    """
    return _SPECIAL.sub(lambda found: f"&#{ord(found[0])};", printable_line(text))


def render_markdown(title: str, sections: Iterable[Section]) -> str:
    """A page of sections below one heading."""
    return "\n".join((f"## {escape(title)}", "", *_lines(sections))).rstrip("\n") + "\n"


def _lines(sections: Iterable[Section]) -> Iterator[str]:
    for section in sections:
        if section.title:
            yield f"### {escape(section.title)}"
            yield ""
        for sentence in section.sentences:
            yield f"- {escape(sentence)}"
        if section.sentences:
            yield ""
        if section.facts:
            yield from _table(("", ""), section.facts)
        if section.headers:
            yield from _table(section.headers, section.rows)


def _table(headers: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(map(escape, headers))} |"
    yield "|---" * len(headers) + "|"
    for row in rows:
        yield f"| {' | '.join(map(escape, row))} |"
    yield ""
