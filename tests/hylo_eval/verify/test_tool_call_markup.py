"""Tool-call markup in assistant text."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_eval.verify.tool_call_markup import (
    TOOL_CLOSE,
    TOOL_OPEN,
    ToolCallStatus,
    classify_tool_call_continuation,
    tool_call_regions,
)

CALL = '<tool_call>{"name": "grip", "arguments": {"width_m": 0.04}}</tool_call>'


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ('{"name": "a", "arguments": {}}</tool_call>', "valid"),
        ('\n{"arguments": {}, "name": "a", "id": 7}\n</tool_call> and more', "valid"),
        ("<tool_call>", "repeated_opener"),
        ("  <tool_call>{}", "repeated_opener"),
        ("", "malformed_json"),
        ('{"name": "a", "arguments": {}', "malformed_json"),
        ('{"name": "a", "name": "b", "arguments": {}}</tool_call>', "malformed_json"),
        ('{"name": "a", "arguments": {"x": NaN}}</tool_call>', "malformed_json"),
        ("{'name': 'a'}</tool_call>", "malformed_json"),
        ('{"name": "", "arguments": {}}</tool_call>', "invalid_envelope"),
        ('{"name": "a"}</tool_call>', "invalid_envelope"),
        ('{"name": "a", "arguments": []}</tool_call>', "invalid_envelope"),
        ('{"name": 1, "arguments": {}}</tool_call>', "invalid_envelope"),
        ("[1]</tool_call>", "invalid_envelope"),
        ("12</tool_call>", "invalid_envelope"),
        ('{"name": "a", "arguments": {}}', "missing_closer"),
        ('{"name": "a", "arguments": {}} x</tool_call>', "missing_closer"),
    ],
)
def test_the_first_call_decides(text, status):
    """Every status, each on its smallest text."""
    assert classify_tool_call_continuation(text) is ToolCallStatus(status)


@given(
    st.text(min_size=1),
    st.dictionaries(st.text(), st.text() | st.just(TOOL_CLOSE) | st.integers()),
    st.text(),
)
def test_any_encoded_call_is_valid(name, arguments, after):
    """Markers inside the arguments are content, and text after the call is not judged."""
    payload = json.dumps({"name": name, "arguments": arguments})
    assert classify_tool_call_continuation(payload + TOOL_CLOSE + after) is ToolCallStatus.VALID


def test_calls_in_thinking_are_skipped():
    """Only calls outside thinking spans are regions; the span may begin inside one."""
    text = f"<|start_think|>{CALL}<|end_think|>{CALL}"
    (region,) = tool_call_regions(text, initial_thinking=False)
    assert text[region.start : region.end] == CALL
    assert region.payload_start == region.start + len(TOOL_OPEN)
    assert tool_call_regions(CALL, initial_thinking=True) == ()


def test_search_stops_at_the_first_bad_call():
    """After a bad call the rest is not judged."""
    regions = tool_call_regions(f"{CALL} <tool_call>x {CALL}", initial_thinking=False)
    assert [region.status for region in regions] == [ToolCallStatus.VALID, ToolCallStatus.MALFORMED_JSON]


def test_a_marker_quoted_in_a_call_begins_nothing():
    """A thinking marker inside a JSON string does not hide the next call."""
    quoted = '<tool_call>{"name": "say", "arguments": {"text": "<|start_think|>"}}</tool_call>'
    regions = tool_call_regions(quoted + CALL, initial_thinking=False)
    assert [region.status for region in regions] == [ToolCallStatus.VALID] * 2


def test_hostile_text_is_bounded():
    """Deep nesting is malformed, and many calls or markers end."""
    deep = '{"name": "a", "arguments": {"x": ' + "[" * 100_000 + "]" * 100_000 + "}}" + TOOL_CLOSE
    assert classify_tool_call_continuation(deep) is ToolCallStatus.MALFORMED_JSON
    assert len(tool_call_regions(CALL * 10_000, initial_thinking=False)) == 10_000
    assert tool_call_regions("<|start_think|>" + TOOL_OPEN * 100_000, initial_thinking=False) == ()
