"""Finished, unfinished and broken structures."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_eval.verify.structure_closure import (
    PrefixStatus,
    delimited_json_closure_state,
    json_closure_state,
    paired_marker_closure_state,
    required_code_fence_state,
)

COMPLETE, EXTENDABLE, INVALID = PrefixStatus.COMPLETE, PrefixStatus.EXTENDABLE, PrefixStatus.INVALID
TAGS = {"opener": "<t>", "closer": "</t>"}


def delimited(text):
    return delimited_json_closure_state(text, **TAGS)


def paired(text):
    return paired_marker_closure_state(text, **TAGS)


FUNCTIONS = [json_closure_state, delimited, paired, required_code_fence_state]
fragments = st.lists(
    st.sampled_from(
        [
            "{",
            "}",
            "[1",
            "]",
            '"a"',
            ":",
            ",",
            "1",
            " ",
            "\n",
            "<t>",
            "</t>",
            "</",
            "<",
            "```",
            "``",
            "~~~",
            "x",
        ]
    ),
    max_size=10,
).map("".join)


@pytest.mark.parametrize("state_of", FUNCTIONS)
@given(text=fragments)
def test_a_closing_suffix_completes_the_structure(state_of, text):
    """Appending the suffix of an extendable text gives a complete structure that ends with the text."""
    state = state_of(text)
    if state.status is EXTENDABLE and state.closing_suffix is not None:
        closed = state_of(text + state.closing_suffix)
        assert closed.status is COMPLETE
        assert closed.completion_offset == len(text + state.closing_suffix)


@pytest.mark.parametrize("state_of", FUNCTIONS)
@given(text=fragments, more=fragments)
def test_an_invalid_text_stays_invalid(state_of, text, more):
    """No continuation mends a text that is already wrong."""
    if state_of(text).status is INVALID:
        assert state_of(text + more).status is INVALID


@pytest.mark.parametrize("state_of", FUNCTIONS)
@given(text=fragments, more=fragments)
def test_completion_survives_whatever_follows_the_guard(state_of, text, more):
    """Once complete and guarded, a structure keeps its offset whatever is generated after it."""
    state = state_of(text)
    if state.status is COMPLETE and state_of is not json_closure_state:
        assert state_of(text + state.completion_guard + more).completion_offset == state.completion_offset


def test_content_after_json_is_invalid_and_keeps_the_offset():
    """The end of the value is known even when something else follows it."""
    state = json_closure_state('{"a": 1} x')
    assert (state.status, state.completion_offset, state.error_offset) == (INVALID, 8, 9)
    assert json_closure_state('{"a": 1} \n').status is COMPLETE


@pytest.mark.parametrize(
    ("text", "status", "suffix", "offset"),
    [
        ("", EXTENDABLE, None, None),
        ("<", EXTENDABLE, None, None),
        ("<t>", EXTENDABLE, None, None),
        ('<t>{"a": 1', EXTENDABLE, "}</t>", None),
        ("<t>{} ", EXTENDABLE, "</t>", None),
        ("<t>{}</", EXTENDABLE, "t>", None),
        ("<t>12</t>", COMPLETE, "", 9),
        ('<t>"</t>"</t> ', COMPLETE, "", 13),
        ("<t>{}</t>x", INVALID, None, 9),
        ("<t>{}x", INVALID, None, None),
        ("x", INVALID, None, None),
        ("<t></t>", INVALID, None, None),
    ],
)
def test_delimited_json(text, status, suffix, offset):
    """Markers in strings are content, and the closer may be half written."""
    state = delimited(text)
    assert (state.status, state.closing_suffix, state.completion_offset) == (status, suffix, offset)


@pytest.mark.parametrize(
    ("text", "status", "suffix", "offset"),
    [
        ("<t", EXTENDABLE, None, None),
        ("<t>", EXTENDABLE, "</t>", None),
        ("<t>a < b </", EXTENDABLE, "t>", None),
        ("<t>a</t>\n", COMPLETE, "", 8),
        ("<t>a</t> b", INVALID, None, 8),
        ("<t>a<t>", INVALID, None, None),
        ("<t>a</t><t>", INVALID, None, 8),
        ("t>", INVALID, None, None),
    ],
)
def test_paired_markers(text, status, suffix, offset):
    """Content is opaque; a second opener before the closer is an error."""
    state = paired(text)
    assert (state.status, state.closing_suffix, state.completion_offset) == (status, suffix, offset)


@pytest.mark.parametrize("markers", [("", "b"), ("a", ""), ("a", "a")])
def test_markers_must_be_two_different_texts(markers):
    """Equal or empty markers are the caller's mistake."""
    opener, closer = markers
    for function in (delimited_json_closure_state, paired_marker_closure_state):
        with pytest.raises(ValueError, match="markers"):
            function("x", opener=opener, closer=closer)


@pytest.mark.parametrize(
    ("text", "status", "suffix", "offset", "guard"),
    [
        ("", EXTENDABLE, None, None, ""),
        ("  ``", EXTENDABLE, None, None, ""),
        ("```py", EXTENDABLE, "\n```", None, ""),
        ("```py\n", EXTENDABLE, "```", None, ""),
        ("```py\nx = 1", EXTENDABLE, "\n```", None, ""),
        ("````\nx\n```", EXTENDABLE, "`", None, ""),
        ("```\nx\n```", COMPLETE, "", 9, "\n"),
        ("```\nx\n   ````  \n\n", COMPLETE, "", 15, ""),
        ("~~~\n```\n~~~\n", COMPLETE, "", 11, ""),
        ("```\nx\n```\nmore", INVALID, None, 9, ""),
        ("```\nx\n    ```", EXTENDABLE, "\n```", None, ""),
        ("``` a`b\nx\n```", INVALID, None, None, ""),
        ("    ```\n", INVALID, None, None, ""),
        ("x", INVALID, None, None, ""),
    ],
)
def test_code_fences(text, status, suffix, offset, guard):
    """CommonMark fences, with the closing fence required."""
    state = required_code_fence_state(text)
    assert (state.status, state.closing_suffix, state.completion_offset) == (status, suffix, offset)
    assert state.completion_guard == guard


def test_a_megabyte_of_almost_closers_is_one_pass():
    """Half-written closers and fences by the hundred thousand end; quadratic search would not."""
    assert paired("<t>" + "</t" * 300_000).closing_suffix == ">"
    assert required_code_fence_state("```\n" + "``\n" * 300_000).closing_suffix == "```"
    assert required_code_fence_state("```\n" + "`" * 1_000_000 + "x").status is EXTENDABLE
    assert required_code_fence_state("```\n```" + " " * 1_000_000 + "x").status is EXTENDABLE
    assert delimited("<t>" + "[" * 200_000).status is EXTENDABLE
