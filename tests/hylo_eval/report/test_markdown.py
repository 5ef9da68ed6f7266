"""Sections as Markdown: whatever a name holds, it is shown as it is."""

from __future__ import annotations

import html

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from hylo_eval.report.markdown import escape, render_markdown
from hylo_eval.report.sections import Section
from hylo_eval.report.text import printable_line

READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
HOSTILE = st.text(st.sampled_from(list("ab1 \\`*_{}[]()<>#!|~&@:$-+=./\"'é\n")), max_size=30)


@given(st.one_of(st.text(max_size=30), HOSTILE))
def test_a_text_is_shown_as_it_is(text: str) -> None:
    """A reader of Markdown makes no markup of it, alone or in a cell of a table, and shows every character."""
    shown = READER.renderInline(escape(text))
    assert html.unescape(shown) == printable_line(text)
    page = READER.render(render_markdown("t", [Section(headers=("name", "n"), rows=((f"x{text}x", "1"),))]))
    assert html.unescape(page.partition("<tbody>")[2].partition("<td>")[2].partition("</td>")[0]) == printable_line(
        f"x{text}x"
    )


@pytest.mark.parametrize(
    "text",
    [
        "fetch/pick_and_place",
        "p = 0.05 (exact), pairs: 20",
        "95 % interval",
        "verdict: pass",
        "+55.0 points",
        "-0.5",
        "a-r1, noise=0.2",
    ],
)
def test_what_means_nothing_is_left_alone(text: str) -> None:
    """The page is read as it is in a log or an editor, too."""
    assert escape(text) == text


@pytest.mark.parametrize(
    "text", [":tada:", "https://a.example", "www.a.example", "WWW.a.example", "@team", "a@b.example", "#12"]
)
def test_what_a_forge_turns_into_something_is_not_left_alone(text: str) -> None:
    """Emoji, links, mentions and references to issues."""
    assert escape(text) != text
