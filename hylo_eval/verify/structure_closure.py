"""Classify a text as a finished, unfinished or broken structure.

Four structures are known: JSON, JSON between two markers, opaque text between two markers, and a Markdown
code fence that the task requires to be closed. Each function looks at *text* alone. The caller keeps the
sampled tokens, removes stop markers, and decides when an attempt has ended: an extendable text is a failure
only then.

A closing suffix closes what is open and adds nothing else. It never says that the content was meant to end
there: closing a text or an empty array may well cut off what was intended.
"""

from __future__ import annotations

import re

import attrs

from hylo_eval.verify.json_prefix import JSON_WHITESPACE, PrefixStatus, scan_json

__all__ = [
    "ClosureState",
    "PrefixStatus",
    "delimited_json_closure_state",
    "json_closure_state",
    "paired_marker_closure_state",
    "required_code_fence_state",
]

_FENCE_OPENING = re.compile(r" {0,3}(`{3,}|~{3,})([^\n]*)")
_FENCE_BEGINNING = re.compile(r" {0,3}(?:`{0,2}|~{0,2})")


@attrs.frozen
class ClosureState:
    """Where a structure stands. Offsets count characters of the given text.

    Attributes:
        status: A finished structure followed by anything but blanks is invalid, and keeps its
            completion offset.
        open_structures: Openers not closed yet, outermost first.
        closing_suffix: Text that would complete the structure; empty when it is complete, None when
            completing it would invent a key, value, literal, number or escape.
        error_offset: Where an invalid text goes wrong.
        reason: Why it is invalid.
        completion_offset: End of the structure, exclusive, once it is complete.
        completion_guard: What must follow a structure that ends at the end of the text so that more text
            cannot undo it: the newline after a closing fence.
    """

    status: PrefixStatus
    open_structures: tuple[str, ...] = ()
    closing_suffix: str | None = None
    error_offset: int | None = None
    reason: str | None = None
    completion_offset: int | None = None
    completion_guard: str = ""


def json_closure_state(text: str) -> ClosureState:
    """Classify a text that should be one JSON value; duplicate object keys are invalid."""
    scan = scan_json(text)
    if scan.status is PrefixStatus.COMPLETE:
        return _after_completion(text, scan.end, "the complete JSON value")
    if scan.status is PrefixStatus.EXTENDABLE:
        return ClosureState(scan.status, scan.open_structures, scan.closing_suffix)
    return ClosureState(scan.status, scan.open_structures, None, scan.end, scan.reason)


def delimited_json_closure_state(text: str, *, opener: str, closer: str) -> ClosureState:
    """Classify a text that should be one JSON value between two markers, the opening one included.

    Markers inside JSON strings are content. The value may be of any type.

    Raises:
        ValueError: The markers are empty or equal.
    """
    before_content = _opening_state(text, opener, closer)
    if before_content is not None:
        return before_content
    scan = scan_json(text, len(opener), stop_character=closer[0])
    open_structures = (opener, *scan.open_structures)
    if scan.status is PrefixStatus.INVALID:
        return ClosureState(scan.status, open_structures, None, scan.end, scan.reason)
    if scan.status is PrefixStatus.EXTENDABLE:
        suffix = None if scan.closing_suffix is None else scan.closing_suffix + closer
        return ClosureState(scan.status, open_structures, suffix)
    offset = _skip_blanks(text, scan.end)
    matched = _common_length(text, offset, closer)
    if matched == len(closer):
        return _after_completion(text, offset + matched, "the closing marker")
    if offset + matched == len(text):
        return ClosureState(PrefixStatus.EXTENDABLE, (opener,), closer[matched:])
    return ClosureState(PrefixStatus.INVALID, (opener,), None, offset + matched, "Expected the closing marker")


def paired_marker_closure_state(text: str, *, opener: str, closer: str) -> ClosureState:
    """Classify a text that should be opaque content between two markers that do not nest.

    For markers that are structure wherever they stand, such as a model's special reasoning tokens; not for
    prose that may quote them.

    Raises:
        ValueError: The markers are empty or equal.
    """
    before_content = _opening_state(text, opener, closer)
    if before_content is not None:
        return before_content
    close_at = text.find(closer, len(opener))
    repeat_at = text.find(opener, len(opener))
    if repeat_at >= 0 and (close_at < 0 or repeat_at < close_at):
        # The last character of the second opener is the first that no valid text could have there.
        offset = repeat_at + len(opener) - 1
        return ClosureState(PrefixStatus.INVALID, (opener,), None, offset, "Repeated opening marker")
    if close_at >= 0:
        return _after_completion(text, close_at + len(closer), "the closing marker")
    longest = min(len(text) - len(opener), len(closer) - 1)
    begun = next(length for length in range(longest, -1, -1) if text.endswith(closer[:length]))
    return ClosureState(PrefixStatus.EXTENDABLE, (opener,), closer[begun:])


def required_code_fence_state(text: str) -> ClosureState:
    """Classify a text that should be one closed Markdown code block.

    Backtick and tilde fences, indented by at most three spaces; the closing run is at least as long as the
    opening one (CommonMark 0.31, section 4.5). CommonMark lets a block run to the end of the document; a
    task that wants the fence closed says so by using this function.
    """
    first_line_end = text.find("\n")
    opening = _FENCE_OPENING.fullmatch(text, 0, first_line_end if first_line_end >= 0 else len(text))
    if opening is None:
        if _FENCE_BEGINNING.fullmatch(text):
            return ClosureState(PrefixStatus.EXTENDABLE)
        return ClosureState(PrefixStatus.INVALID, error_offset=0, reason="Expected a code fence")
    fence = opening.group(1)
    if fence[0] == "`" and "`" in opening.group(2):
        offset = text.find("`", opening.end(1))
        return ClosureState(PrefixStatus.INVALID, error_offset=offset, reason="Backtick in the fence's info text")
    if first_line_end < 0:
        return ClosureState(PrefixStatus.EXTENDABLE, (fence,), "\n" + fence)
    closing = re.compile(rf"^ {{0,3}}{re.escape(fence)}{re.escape(fence[0])}*[ \t]*(?=\n|\Z)", re.MULTILINE)
    closed = closing.search(text, first_line_end + 1)
    if closed is not None:
        guard = "\n" if closed.end() == len(text) else ""
        return attrs.evolve(_after_completion(text, closed.end(), "the code fence"), completion_guard=guard)
    last_line = text[text.rfind("\n") + 1 :]
    begun = re.fullmatch(rf" {{0,3}}({re.escape(fence[0])}*)", last_line)
    suffix = "\n" + fence if begun is None else fence[len(begun.group(1)) :]
    return ClosureState(PrefixStatus.EXTENDABLE, (fence,), suffix)


def _opening_state(text: str, opener: str, closer: str) -> ClosureState | None:
    """The state of a text whose opening marker is missing or unfinished; None when the marker is there."""
    if not opener or not closer or opener == closer:
        raise ValueError(f"the markers must be two different non-empty texts, not {opener!r} and {closer!r}")
    if text.startswith(opener):
        return None
    if opener.startswith(text):
        return ClosureState(PrefixStatus.EXTENDABLE)
    return ClosureState(PrefixStatus.INVALID, error_offset=0, reason="Expected the opening marker")


def _after_completion(text: str, completed_at: int, what: str) -> ClosureState:
    """The state of a text whose structure ends at ``completed_at``: nothing but blanks may follow."""
    rest = _skip_blanks(text, completed_at)
    if rest == len(text):
        return ClosureState(PrefixStatus.COMPLETE, (), "", completion_offset=completed_at)
    return ClosureState(PrefixStatus.INVALID, (), None, rest, f"Content after {what}", completed_at)


def _skip_blanks(text: str, offset: int) -> int:
    rest = text[offset:]
    return offset + len(rest) - len(rest.lstrip(JSON_WHITESPACE))


def _common_length(text: str, offset: int, marker: str) -> int:
    """How many first characters of ``marker`` stand at ``offset``."""
    length = 0
    while length < len(marker) and text.startswith(marker[length], offset + length):
        length += 1
    return length
