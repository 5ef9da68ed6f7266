"""Texts on a terminal break between words; elsewhere they do not break at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from hylo_eval.cli.wrapping import wrapped
from tests.hylo_eval.cli.screens import lines, screen

SENTENCE = "the agent does not declare its control rate, its normaliser and its cameras: a mismatch there goes unseen"

words = st.text(st.characters(categories=("L", "N")), min_size=1, max_size=12)


@given(st.lists(words, min_size=1, max_size=30), st.integers(30, 120))
def test_every_line_fits_and_no_word_is_cut(said: list[str], width: int) -> None:
    """At any width that takes the longest word: the words of the lines are the words of the text."""
    out = screen(width)
    out.print(" ".join(said))
    printed = lines(out)
    assert " ".join(printed).split() == said
    assert all(Text(line).cell_len <= width for line in printed)


@pytest.mark.parametrize("width", [80, 100])
def test_what_goes_on_stands_further_in(width: int) -> None:
    """By its own blanks and two more."""
    out = screen(width)
    out.print(f"error: {SENTENCE}\n  fix: {SENTENCE}")
    printed = lines(out)
    assert [len(line) - len(line.lstrip()) for line in printed] == [0, 2, 2, 4]


def test_elsewhere_a_line_is_one_line() -> None:
    """A pipe has no width."""
    out = screen(80, terminal=False)
    out.print(SENTENCE * 3)
    assert lines(out) == [SENTENCE * 3]


def test_what_is_longer_than_a_line_is_left_to_the_terminal() -> None:
    """It follows its label, and what is copied has no line break."""
    out = screen(40)
    path = "/somewhere/far/" + "x" * 50
    out.print(f"log: {path} and more")
    assert lines(out) == [f"log: {path} and more"]


def test_a_command_stays_on_one_line() -> None:
    """Pasted in two lines, the first would run without the second; what follows it wraps as words do."""
    out = screen(60)
    out.print("the run is not whole; to go on: hylo-eval run --resume night --run-root other, or begin a new one")
    out.print("fix: PYTHONPATH=. /opt/env/bin/python3.12 -m pip install 'mujoco>=3.3,<3.10'")
    out.print("there are several of them here; hylo-eval list agents shows what each of them is made for")
    assert lines(out) == [
        "the run is not whole; to go on:",
        "  hylo-eval run --resume night --run-root other, or begin a",
        "  new one",
        "fix: PYTHONPATH=. /opt/env/bin/python3.12 -m pip install 'mujoco>=3.3,<3.10'",
        "there are several of them here; hylo-eval list agents shows",
        "  what each of them is made for",
    ]


def test_blank_lines_and_styles_stay() -> None:
    """A text with a style has it on all of its lines."""
    made = wrapped(Text.assemble(("bold " * 10, "bold"), "\n\nplain"), 22)
    assert made.plain.split("\n")[-2:] == ["", "plain"]
    assert made.plain.split() == [*["bold"] * 10, "plain"]
    assert {str(span.style) for span in made.spans} == {"bold"}


def test_wide_characters_take_two_columns() -> None:
    """Twelve words of three such characters, six columns and a blank each, in thirty columns."""
    out = screen(30)
    out.print(" ".join(["机器人"] * 12))
    assert [line.count("机器人") for line in lines(out)] == [4, 4, 4]
