"""The object a response must end with, and whether it does."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, TypedDict

from hylo_eval.verify.response.options import resolve_mode
from hylo_eval.verify.response.parsing import LenientParser, as_mapping
from hylo_eval.verify.response.spans import FENCE, BraceScan, block_content, final_object_start, has_open_string

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hylo_eval.verify.response.options import RewardMode

KEYS = ("answer", "annotation")
"""The keys a response's object is known by."""

_REQUIRED_KEYS: Mapping[RewardMode, frozenset[object]] = {
    "answer": frozenset({"answer"}),
    "answer_and_annotation": frozenset(KEYS),
}


class TraceResponseFormat(TypedDict):
    """Format diagnostics of a response.

    Attributes:
        format: 1.0 if the final object has exactly the keys of the mode, else 0.0.
        structure_ok: The response ends with a code block or with balanced braces.
        json_ok: What it ends with is a mapping.
        schema_ok: The mapping has exactly the keys of the mode.
        answer_block: The text it ends with, or None.
        payload: The mapping, or None.
    """

    format: float
    structure_ok: bool
    json_ok: bool
    schema_ok: bool
    answer_block: str | None
    payload: Mapping[object, object] | None


def evaluate_trace_response_format(
    response: str, *, trace_reward_mode: str | None = "answer_and_annotation"
) -> TraceResponseFormat:
    """Whether a response ends with one object of exactly the keys its mode asks for.

    Text may precede the object, white space may follow it; a final code block may hold it.

    Args:
        response: The whole response.
        trace_reward_mode: A mode or an alias; None, empty and `auto` mean `answer`.

    Raises:
        ValueError: There is no such mode.
    """
    mode = resolve_mode(trace_reward_mode)
    return evaluate_format(ResponseReader(response), mode)


class ResponseReader:
    """A response with the one parser that serves it, and the search for braces that its stages share."""

    def __init__(self, response: object) -> None:
        """Hold a response; what is no text is read as empty."""
        self.text = response if isinstance(response, str) else ""
        self.parser = LenientParser()

    @cached_property
    def braces(self) -> BraceScan:
        """The balanced braces of the whole response that may hold a key."""
        return BraceScan(self.text, with_key_only=True)

    def mapping(self, text: str) -> Mapping[object, object] | None:
        """The mapping that a text denotes, or None."""
        return as_mapping(self.parser.parse(text))


def evaluate_format(reader: ResponseReader, mode: RewardMode) -> TraceResponseFormat:
    """`evaluate_trace_response_format` with a resolved mode."""
    text, payload = final_text(reader)
    schema_ok = payload is not None and frozenset(payload) == _REQUIRED_KEYS[mode]
    return {
        "format": 1.0 if schema_ok else 0.0,
        "structure_ok": text is not None,
        "json_ok": payload is not None,
        "schema_ok": schema_ok,
        "answer_block": text,
        "payload": payload,
    }


def final_text(reader: ResponseReader) -> tuple[str | None, Mapping[object, object] | None]:
    """The text a response ends with, and the mapping that this text is, if it is one."""
    stripped = reader.text.rstrip()
    if stripped.endswith(FENCE):
        return _final_block(stripped, reader)
    start = final_object_start(stripped)
    if start < 0:
        return None, None
    text = stripped[start:]
    payload = reader.mapping(text)
    if payload is None and has_open_string(text):
        return None, None
    has_key = payload is not None and ("answer" in payload or "annotation" in payload)
    if start > 0 and "{" in stripped[:start] and reader.braces.is_nested(start, has_key=has_key):
        return None, None
    return text, payload


def _final_block(stripped: str, reader: ResponseReader) -> tuple[str | None, Mapping[object, object] | None]:
    """The content of the code block that ends the text.

    Its opening fence is the last one before the closing fence, however many fences the prose before it holds.
    If that content is no mapping, fences may stand inside the object's own strings: then the last fence that
    starts a line, and the first fence of all, are tried.
    """
    closing = len(stripped) - len(FENCE)
    opening = stripped.rfind(FENCE, 0, closing)
    if opening < 0:
        return None, None
    last_content = block_content(stripped, opening, closing)
    payload = reader.mapping(last_content)
    if payload is not None:
        return last_content, payload
    line_start = stripped.rfind("\n" + FENCE, 0, closing) + 1
    for start in dict.fromkeys((line_start, stripped.find(FENCE))):
        if start == opening or not stripped.startswith(FENCE, start) or start + len(FENCE) > closing:
            continue
        content = block_content(stripped, start, closing)
        payload = reader.mapping(content)
        if payload is not None:
            return content, payload
    return (last_content, None) if last_content else (None, None)
