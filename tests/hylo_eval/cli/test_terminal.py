"""What goes to a terminal fits it; what goes elsewhere is one line each."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_core import Score
from hylo_eval.cli.terminal import (
    describe_precision,
    describe_unfinished,
    percent,
    print_hanging,
    printable,
    printable_line,
)
from hylo_eval.scoring.aggregate import summarise
from tests.hylo_eval.cli.screens import lines, screen


@given(st.text())
def test_printable_text_has_no_control_character(text):
    """Neither escape codes nor direction marks reach the terminal; ordinary text is left as it is."""
    shown = printable_line(text)
    assert shown.isprintable()
    assert (shown == text) is text.isprintable()
    assert printable(text).replace("\n", "").replace("\t", "").isprintable()


@pytest.mark.parametrize("width", [80, 120])
def test_hanging_text_stays_within_the_terminal(width):
    """Every line but the first starts below the text; all words are there."""
    out = screen(width)
    text = "a word and another " * 20
    print_hanging(out, "head    ", text)
    printed = lines(out)
    assert all(len(line) <= width for line in printed)
    assert all(line.startswith(" " * 8) for line in printed[1:])
    assert "".join(printed).split() == ["head", *text.split()]


def test_hanging_text_elsewhere_is_one_line():
    """A pipe has no width."""
    out = screen(80, terminal=False)
    print_hanging(out, "head  ", "word " * 100 + "\nend")
    assert lines(out) == ["head  " + "word " * 100 + "\\nend"]


def test_a_wide_interval_says_how_many_episodes_it_takes():
    """Three successes in three leave Wilson's [43.8 %, 100 %]; sixty scored episodes need no hint, nor do none."""
    three, sixty, none = (summarise("success", [Score(1.0)] * scored, binary=True) for scored in (3, 60, 0))
    expected = "success: 3 episodes leave an interval of 56 points; 93 would leave at most 20"
    assert describe_precision("success", three) == expected
    assert describe_precision("success", sixty) == describe_precision("success", none) == ""


def test_a_stopped_run_counts_what_is_missing_both_ways():
    """Three of four succeeded, six are missing: between 3 and 9 of ten; a scorer without a rate has no bounds."""
    scores = [Score(1.0)] * 3 + [Score(0.0)]
    assert describe_unfinished("success", summarise("success", scores, binary=True), 10) == (
        "4 of 10 episodes are finished; success lies between 30.0 % and 90.0 % of all, whatever the others come to"
    )
    assert describe_unfinished("steps", summarise("steps", scores, binary=False), 10) == "4 of 10 episodes are finished"


def test_a_path_is_not_broken():
    """Somebody will copy it."""
    out = screen(40)
    path = "/a-very-long/path-with-hyphens/that-is-wider/than-the-terminal"
    print_hanging(out, "at  ", f"the file {path}")
    assert any(path in line for line in lines(out))


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.0, "0.0 %"), (1.0, "100.0 %"), (0.7, "70.0 %"), (2999 / 3000, "99.97 %"), (1 / 3000, "0.03 %")],
)
def test_none_and_all_are_said_of_nothing_else(share, text):
    """A rate with one failure in 3000 is not 100 %."""
    assert percent(share) == text
