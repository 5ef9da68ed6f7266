"""Score how a model completed a structure whose full content is known.

The text scored is the prefix the task supplied plus what was generated. Syntax, content and what follows the
structure are separate results: a reply can close its JSON, change its content, and chat on.
"""

from __future__ import annotations

import re
from enum import StrEnum

import attrs

from hylo_eval.verify.json_comparison import JsonValue, NumericTypePolicy, json_values_equal
from hylo_eval.verify.json_prefix import JSON_WHITESPACE, PrefixStatus, decode_value
from hylo_eval.verify.specs.answer import ClosureFormat
from hylo_eval.verify.structure_closure import (
    ClosureState,
    delimited_json_closure_state,
    json_closure_state,
    paired_marker_closure_state,
    required_code_fence_state,
)
from hylo_eval.verify.tool_call_markup import THINK_CLOSE, THINK_OPEN, TOOL_CLOSE, TOOL_OPEN

__all__ = [
    "ClosureFormat",
    "ClosureRegionScore",
    "ContinuationOutcome",
    "closure_response_content",
    "closure_state",
    "continuation_outcome",
    "score_closure_region",
]

_STRUCTURAL_CLOSERS = frozenset((TOOL_CLOSE, THINK_CLOSE, "}", "]", '"'))
_FENCE_RUN = re.compile(r"`{3,}|~{3,}")


class ContinuationOutcome(StrEnum):
    """What became of the reference in a continuation."""

    REFERENCE_COMPLETED = "reference_completed"
    REFERENCE_PREFIX_CLOSED_EARLY = "reference_prefix_closed_early"
    OTHER_CONTENT_CHANGE = "other_content_change"
    UNCLOSED_OR_INVALID = "unclosed_or_invalid"


@attrs.frozen(kw_only=True)
class ClosureRegionScore:
    """The first outer structure of a text against the reference.

    Attributes:
        syntax_complete: A whole structure stands at the start of the text.
        content_preserved: Its content is the reference's.
        success: Both of these.
        trailing_content: Something other than blanks follows the structure.
        whole_response_success: Success, and nothing follows.
    """

    syntax_complete: bool = False
    content_preserved: bool = False
    success: bool = False
    trailing_content: bool = False
    whole_response_success: bool = False


def closure_state(text: str, structure_format: ClosureFormat) -> ClosureState:
    """Where the structure of one of the four formats stands in ``text``."""
    match structure_format:
        case ClosureFormat.JSON:
            return json_closure_state(text)
        case ClosureFormat.TOOL:
            return delimited_json_closure_state(text, opener=TOOL_OPEN, closer=TOOL_CLOSE)
        case ClosureFormat.REASONING:
            return paired_marker_closure_state(text, opener=THINK_OPEN, closer=THINK_CLOSE)
        case ClosureFormat.CODE_FENCE:
            return required_code_fence_state(text)


def score_closure_region(text: str, expected: str, structure_format: ClosureFormat) -> ClosureRegionScore:
    """Compare the structure at the start of ``text`` with the reference ``expected``.

    Leading text that cannot begin the structure is never skipped in search of a later one. JSON may differ in
    member order, blanks and the spelling of a number, but not in number type. Reasoning and fenced content is
    opaque: it must be the same text, blanks at its end aside.

    Raises:
        ValueError: ``expected`` is not JSON although the format says so.
    """
    reference = _decoded(expected, structure_format) if _is_json(structure_format) else None
    completed_at = closure_state(text, structure_format).completion_offset
    if completed_at is None:
        return ClosureRegionScore()
    region = text[:completed_at]
    if _is_json(structure_format):
        preserved = _preserves_json(region, reference, structure_format)
    else:
        preserved = region.rstrip(JSON_WHITESPACE) == expected.rstrip(JSON_WHITESPACE)
    trailing = bool(text[completed_at:].strip(JSON_WHITESPACE))
    return ClosureRegionScore(
        syntax_complete=True,
        content_preserved=preserved,
        success=preserved,
        trailing_content=trailing,
        whole_response_success=preserved and not trailing,
    )


def continuation_outcome(text: str, expected: str, structure_format: ClosureFormat) -> ContinuationOutcome:
    """Tell a reference that was completed from one that was cut short by closing its structures.

    Closing early means an exact, strict prefix of the reference followed by its closing suffix and nothing
    else. A changed spelling or blank makes it ``other_content_change``: this is a cautious diagnosis, not a
    detector of every premature end. Output after the structure is ignored.

    Raises:
        ValueError: ``expected`` is not JSON although the format says so.
    """
    score = score_closure_region(text, expected, structure_format)
    if not score.syntax_complete:
        return ContinuationOutcome.UNCLOSED_OR_INVALID
    if score.content_preserved:
        return ContinuationOutcome.REFERENCE_COMPLETED
    region = text[: closure_state(text, structure_format).completion_offset]
    shared = region[: _common_prefix_length(region, expected)]
    suffix = closure_state(shared, structure_format).closing_suffix
    if suffix is not None and shared + suffix == region:
        return ContinuationOutcome.REFERENCE_PREFIX_CLOSED_EARLY
    return ContinuationOutcome.OTHER_CONTENT_CHANGE


def closure_response_content(text: str, *, stop_reason: str, terminal_markers: tuple[str, ...]) -> str:
    """Take one terminal marker, such as an end-of-turn token, off a turn that stopped normally.

    Markers elsewhere, repeated markers and truncated turns are left for the structure check to judge. A
    marker that is itself a closer (a bracket, a quote, a closing tag, a fence) is content and is never
    taken off.

    Args:
        text: The decoded assistant turn.
        stop_reason: Why generation ended; only ``stop`` is a normal end.
        terminal_markers: Markers the caller names, in order of preference.
    """
    if stop_reason != "stop":
        return text
    for marker in terminal_markers:
        bare = marker.strip()
        is_content = bare in _STRUCTURAL_CLOSERS or _FENCE_RUN.fullmatch(bare) is not None
        if marker and not is_content and text.endswith(marker):
            return text[: -len(marker)]
    return text


def _is_json(structure_format: ClosureFormat) -> bool:
    return structure_format in (ClosureFormat.JSON, ClosureFormat.TOOL)


def _decoded(text: str, structure_format: ClosureFormat) -> JsonValue:
    """The JSON value of a complete structure; ValueError says why there is none."""
    if structure_format is ClosureFormat.TOOL:
        state = closure_state(text, structure_format)
        if state.status is not PrefixStatus.COMPLETE:
            raise ValueError(state.reason or "the tool call is unfinished")
        text = text.rstrip(JSON_WHITESPACE)[len(TOOL_OPEN) : -len(TOOL_CLOSE)]
    return decode_value(text)


def _preserves_json(region: str, reference: JsonValue, structure_format: ClosureFormat) -> bool:
    try:
        candidate = _decoded(region, structure_format)
    except ValueError:
        # Whole by its grammar, yet beyond what is decoded (1e999, a thousand levels): no reference is that.
        return False
    return json_values_equal(reference, candidate, numeric_types=NumericTypePolicy.STRICT)


def _common_prefix_length(left: str, right: str) -> int:
    pairs = enumerate(zip(left, right, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(left), len(right)))
