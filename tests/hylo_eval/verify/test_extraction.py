"""Narrowing a text to its answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_eval.verify.extraction import fenced_block, last_box, last_line, without_math_delimiters


@pytest.mark.parametrize(
    ("text", "content"),
    [
        (r"\boxed{9} then \boxed{ 7 }", "7"),
        (r"\boxed{\frac{1}{2}}", r"\frac{1}{2}"),
        (r"\boxed{7} then \boxed{", None),
        (r"\boxed{}", ""),
        ("no box", None),
    ],
)
def test_the_last_box_decides(text, content):
    """The last marker is the one that counts, and its braces must balance."""
    assert last_box(text) == content


@pytest.mark.parametrize(("text", "line"), [("a\n b \n\n  \n", "b"), ("", ""), (" \n\t", ""), ("one", "one")])
def test_the_last_line_is_the_last_that_is_not_blank(text, line):
    """Trailing blank lines are no answer."""
    assert last_line(text) == line


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("```json\n[1]\n```", "[1]\n"),
        ("say ```a``` or ```b```", ""),
        ("``` [1]```", "[1]"),
        ("```json\n[1]", "```json\n[1]"),
        ("[1]", "[1]"),
    ],
)
def test_the_first_closed_fence_is_taken_without_its_info_word(text, content):
    """A fence that is never closed is text; the first word of a fence is its language."""
    assert fenced_block(text) == content


@pytest.mark.parametrize(
    ("text", "inner"),
    [
        (r"\[ $5$ \]", "5"),
        ("$$x$$", "x"),
        ("$a$ + $b$", "$a$ + $b$"),
        (r"\(x\)", "x"),
        ("$$", "$$"),
        ("5", "5"),
    ],
)
def test_enclosing_math_delimiters_go_in_any_number_of_layers(text, inner):
    """Only delimiters around the whole expression are removed."""
    assert without_math_delimiters(text) == inner


@given(st.text(alphabet="`abc\n \\boxed{}$()"))
def test_every_extraction_takes_a_part_of_the_text(text):
    """Nothing is invented: each result is a substring of the text."""
    for part in (fenced_block(text), last_line(text), last_box(text) or "", without_math_delimiters(text)):
        assert part in text


def test_megabytes_of_openings_are_scanned_once():
    """Two million openings without an end take one scan: the test would not return if each were tried."""
    assert fenced_block("```" + "``" * 1_000_000 + " x") in ("", "```" + "``" * 1_000_000 + " x")
    assert last_box(r"\boxed{" * 300_000) is None
    assert without_math_delimiters(r"\[" * 300_000 + "1" + r"\]" * 300_000) == "1"
