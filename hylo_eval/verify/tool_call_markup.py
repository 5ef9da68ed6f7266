"""Find and judge ``<tool_call>`` markup in decoded assistant text.

A call is one JSON object with a non-empty text ``name`` and an object ``arguments`` between the two markers.
Only the markup is judged here: not whether the tool exists, what it does, or whether the task was solved.
Call it on completed text; an unfinished stream is no failure yet.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING

import attrs

from hylo_eval.verify.json_prefix import JSON_WHITESPACE, PrefixStatus, decode_value, scan_json

if TYPE_CHECKING:
    from hylo_eval.verify.json_comparison import JsonValue

TOOL_OPEN = "<tool_call>"
TOOL_CLOSE = "</tool_call>"
THINK_OPEN = "<|start_think|>"
THINK_CLOSE = "<|end_think|>"

_MARKER = re.compile("|".join(re.escape(marker) for marker in (TOOL_OPEN, THINK_OPEN, THINK_CLOSE)))


class ToolCallStatus(StrEnum):
    """What an opening marker turned out to begin."""

    VALID = "valid"
    REPEATED_OPENER = "repeated_opener"
    MALFORMED_JSON = "malformed_json"
    INVALID_ENVELOPE = "invalid_envelope"
    MISSING_CLOSER = "missing_closer"


@attrs.frozen(kw_only=True)
class ToolCallRegion:
    """One call; offsets count characters of the given text.

    Attributes:
        start: Where the opening marker begins.
        payload_start: Where it ends.
        end: End of what was judged: after the closing marker of a valid call, after the payload of one with a
            wrong envelope or no closer, after the second opener, and the end of the text after broken JSON.
        status: The judgement.
    """

    start: int
    payload_start: int
    end: int
    status: ToolCallStatus


def tool_call_regions(text: str, *, initial_thinking: bool) -> tuple[ToolCallRegion, ...]:
    """Find the calls outside thinking spans, in order, up to and including the first bad one.

    Markers inside a call's JSON strings are content. After a bad call nobody can tell where the next
    structure begins, so the rest is not judged.

    Args:
        text: A decoded assistant span.
        initial_thinking: Whether the span begins inside a thinking span.
    """
    regions: list[ToolCallRegion] = []
    position = 0
    thinking = initial_thinking
    while (marker := _MARKER.search(text, position)) is not None:
        position = marker.end()
        if marker.group() != TOOL_OPEN:
            thinking = marker.group() == THINK_OPEN
        elif not thinking:
            region = _call_region(text, marker.start())
            regions.append(region)
            if region.status is not ToolCallStatus.VALID:
                break
            position = region.end
    return tuple(regions)


def classify_tool_call_continuation(text: str) -> ToolCallStatus:
    """Judge the call that continues a prompt ending with ``<tool_call>``; text after that call is ignored."""
    return _call_region(TOOL_OPEN + text, 0).status


def _call_region(text: str, start: int) -> ToolCallRegion:
    payload_start = start + len(TOOL_OPEN)

    def region(end: int, status: ToolCallStatus) -> ToolCallRegion:
        return ToolCallRegion(start=start, payload_start=payload_start, end=end, status=status)

    first = _skip_blanks(text, payload_start)
    if text.startswith(TOOL_OPEN, first):
        return region(first + len(TOOL_OPEN), ToolCallStatus.REPEATED_OPENER)
    scan = scan_json(text, first, stop_character=TOOL_CLOSE[0])
    if scan.status is not PrefixStatus.COMPLETE:
        return region(len(text), ToolCallStatus.MALFORMED_JSON)
    try:
        payload = scan.value if scan.decoded else decode_value(text[first : scan.end])
    except ValueError:  # whole by its grammar, yet nested or numbered beyond what a tool could be given
        return region(len(text), ToolCallStatus.MALFORMED_JSON)
    if not _is_envelope(payload):
        return region(scan.end, ToolCallStatus.INVALID_ENVELOPE)
    closer_at = _skip_blanks(text, scan.end)
    if not text.startswith(TOOL_CLOSE, closer_at):
        return region(closer_at, ToolCallStatus.MISSING_CLOSER)
    return region(closer_at + len(TOOL_CLOSE), ToolCallStatus.VALID)


def _is_envelope(payload: JsonValue) -> bool:
    if not isinstance(payload, Mapping):
        return False
    name, arguments = payload.get("name"), payload.get("arguments")
    return isinstance(name, str) and name != "" and isinstance(arguments, Mapping)


def _skip_blanks(text: str, offset: int) -> int:
    while offset < len(text) and text[offset] in JSON_WHITESPACE:
        offset += 1
    return offset
