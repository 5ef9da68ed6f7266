"""Completed structures against their reference."""

import json

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_eval.verify.closure_scoring import (
    ClosureFormat,
    ClosureRegionScore,
    ContinuationOutcome,
    closure_response_content,
    continuation_outcome,
    score_closure_region,
)

JSON, TOOL = ClosureFormat.JSON, ClosureFormat.TOOL
REASONING, FENCE = ClosureFormat.REASONING, ClosureFormat.CODE_FENCE
WHOLE = ClosureRegionScore(syntax_complete=True, content_preserved=True, success=True, whole_response_success=True)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(values)
def test_a_reference_completes_itself_however_it_is_spelled(value):
    """Blanks and escapes do not change the content, in JSON and in a tool call alike."""
    compact, spaced = json.dumps(value, ensure_ascii=False), json.dumps(value, indent=2)
    if isinstance(value, str | list | dict):
        assert score_closure_region(spaced, compact, JSON) == WHOLE
    call = "<tool_call>{}</tool_call>"
    assert score_closure_region(call.format(spaced), call.format(compact), TOOL) == WHOLE


@pytest.mark.parametrize(
    ("text", "expected", "structure_format", "preserved", "trailing"),
    [
        ('{"b": 2, "a": 1}', '{"a": 1, "b": 2}', JSON, True, False),
        ('{"a": 1.0}', '{"a": 1}', JSON, False, False),
        ('{"a": 10e-1}', '{"a": 1.0}', JSON, True, False),
        ('{"a": true}', '{"a": 1}', JSON, False, False),
        ('{"a": 1} thanks', '{"a": 1}', JSON, True, True),
        ('{"a": 1e999}', '{"a": 1}', JSON, False, False),
        ("<tool_call>[2]</tool_call>", "<tool_call>[1]</tool_call>", TOOL, False, False),
        ("<|start_think|>a<|end_think|>\n", "<|start_think|>a<|end_think|>", REASONING, True, False),
        ("<|start_think|>a <|end_think|>", "<|start_think|>a<|end_think|>", REASONING, False, False),
        ("```\nx\n```\nbye", "```\nx\n```", FENCE, True, True),
        ("```\nx\n````", "```\nx\n```", FENCE, False, False),
    ],
)
def test_content_and_trailing_output_are_separate_results(text, expected, structure_format, preserved, trailing):
    """Content decides success; output after the structure only spoils the whole response."""
    assert attrs.asdict(score_closure_region(text, expected, structure_format)) == {
        "syntax_complete": True,
        "content_preserved": preserved,
        "success": preserved,
        "trailing_content": trailing,
        "whole_response_success": preserved and not trailing,
    }


@pytest.mark.parametrize("text", ["", '{"a": 1', 'x {"a": 1}', '{"a": 1, "a": 1}', "[" * 100_000])
def test_without_a_whole_structure_nothing_is_credited(text):
    """Unfinished, broken and late structures score nothing."""
    assert score_closure_region(text, '{"a": 1}', JSON) == ClosureRegionScore()


def test_a_structure_too_deep_to_decode_is_complete_and_different():
    """Fifty thousand closed brackets are syntax, not the reference, and no traceback."""
    score = score_closure_region("[" * 50_000 + "]" * 50_000, "[]", JSON)
    assert (score.syntax_complete, score.content_preserved) == (True, False)


@pytest.mark.parametrize(
    ("expected", "structure_format"), [("{", JSON), ("{}", TOOL), ("<tool_call>{}", TOOL), ("[1] x", JSON)]
)
def test_a_broken_reference_is_the_callers_mistake(expected, structure_format):
    """Whatever the candidate wrote, a reference that is not the structure raises."""
    for text in ("", "{}", "<tool_call>{}</tool_call>"):
        with pytest.raises(ValueError, match=r"[a-z]{3}"):
            score_closure_region(text, expected, structure_format)


@pytest.mark.parametrize(
    ("text", "expected", "structure_format", "outcome"),
    [
        ('{"a": [1, 2]}', '{"a": [1, 2]}', JSON, "reference_completed"),
        ('{"a":[1,2]} x', '{"a": [1, 2]}', JSON, "reference_completed"),
        ('{"a": [1]}', '{"a": [1, 2]}', JSON, "reference_prefix_closed_early"),
        ('{"a": [1]} x', '{"a": [1, 2]}', JSON, "reference_prefix_closed_early"),
        ('{"a":[1]}', '{"a": [1, 2]}', JSON, "other_content_change"),
        ('{"a": [1, 3]}', '{"a": [1, 2]}', JSON, "other_content_change"),
        ('{"a": [1', '{"a": [1, 2]}', JSON, "unclosed_or_invalid"),
        ("```\na\n```", "```\na\nb\n```", FENCE, "reference_prefix_closed_early"),
        (
            "<|start_think|>a<|end_think|>",
            "<|start_think|>ab<|end_think|>",
            REASONING,
            "reference_prefix_closed_early",
        ),
    ],
)
def test_continuation_outcomes(text, expected, structure_format, outcome):
    """Only an exact prefix of the reference plus its closing suffix counts as closed early."""
    assert continuation_outcome(text, expected, structure_format) is ContinuationOutcome(outcome)


@pytest.mark.parametrize(
    ("text", "stop_reason", "markers", "content"),
    [
        ("{}<|eot|>", "stop", ("<|eot|>",), "{}"),
        ("{}<|eot|><|eot|>", "stop", ("<|eot|>",), "{}<|eot|>"),
        ("{}<|eot|>", "length", ("<|eot|>",), "{}<|eot|>"),
        ("a<|eot|>b", "stop", ("<|eot|>",), "a<|eot|>b"),
        ("{}", "stop", ("}", " } ", ""), "{}"),
        ("x\n```", "stop", ("```", "\n```"), "x\n```"),
        ("{}<|im_end|>", "stop", ("<|eot|>", "<|im_end|>"), "{}"),
    ],
)
def test_one_terminal_marker_of_a_normal_stop_is_taken_off(text, stop_reason, markers, content):
    """Truncated turns, inner and repeated markers and structural closers stay."""
    assert closure_response_content(text, stop_reason=stop_reason, terminal_markers=markers) == content
