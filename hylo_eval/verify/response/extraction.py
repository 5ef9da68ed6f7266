"""Recovery of answer and annotation from anywhere in a response, apart from its format."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from hylo_eval.verify.response.answer import answer_text
from hylo_eval.verify.response.final_object import ResponseReader, evaluate_format
from hylo_eval.verify.response.spans import BraceScan, code_blocks, tagged_blocks

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hylo_eval.verify.response.final_object import TraceResponseFormat


class TracePrediction(NamedTuple):
    """What a response predicts.

    Attributes:
        answer: The answer, or None if the object has none or there is no object.
        annotation: The annotation, or None.
        found: Whether an object with one of the two keys was found.
    """

    answer: object
    annotation: object
    found: bool


_LONG_BLOCK = 65_536
"""Characters above which a final code block is searched like any other text."""

# A mapping in a text can have one of the keys only if the key stands there in quotes, or written by escapes.
_MAY_HOLD_KEY = re.compile(r"""(?:"(?:answer|annotation)"|'(?:answer|annotation)')\s*+:|\\""")

_NOTHING_FOUND = TracePrediction(None, None, found=False)


def extract_trace_prediction(response: str) -> tuple[object, object, bool]:
    """Answer, annotation, and whether an object that holds one of them was found.

    The object that the response ends with comes first. Otherwise tagged blocks, code blocks, balanced
    objects and the whole response are tried from the last to the first; of equal texts the first place
    counts. Objects nested in others are not unwrapped.
    """
    reader = ResponseReader(response)
    prediction = recover_prediction(reader, evaluate_format(reader, "answer"))
    return prediction.answer, prediction.annotation, prediction.found


def extract_trace_answer_for_scoring(response: str) -> str | None:
    """The answer as text, or None: text as it is, other values as compact JSON of their canonical form."""
    answer, _, found = extract_trace_prediction(response)
    return answer_text(answer) if found and answer is not None else None


def recover_prediction(reader: ResponseReader, response_format: TraceResponseFormat) -> TracePrediction:
    """`extract_trace_prediction` for a response whose format is known already."""
    payload = response_format["payload"]
    block = response_format["answer_block"]
    no_mapping: set[str] = set()  # a text is read once, wherever it stands
    if payload is None and block is not None and len(block) <= _LONG_BLOCK:
        payload = _first_mapping(block, no_mapping, reader)
    if payload is not None and _has_key(payload):
        return _prediction(payload)
    if not _may_hold_key(reader.text):
        return _NOTHING_FOUND
    for candidate in reversed(_candidates(reader.text, reader.braces)):
        if candidate in no_mapping or not _may_hold_key(candidate):
            continue
        mapping = reader.mapping(candidate)
        if mapping is not None and _has_key(mapping):
            return _prediction(mapping)
    return _NOTHING_FOUND


def _first_mapping(block: str, no_mapping: set[str], reader: ResponseReader) -> Mapping[object, object] | None:
    """The first mapping in a code block that holds more than the object."""
    for candidate in _candidates(block, BraceScan(block, with_key_only=False)):
        mapping = reader.mapping(candidate)
        if mapping is not None:
            return mapping
        no_mapping.add(candidate)
    return None


def _may_hold_key(text: str) -> bool:
    """Whether a mapping in the text could have one of the keys; plain search, which is quick, comes first."""
    if "answer" not in text and "annotation" not in text and "\\" not in text:
        return False
    return _MAY_HOLD_KEY.search(text) is not None


def _has_key(payload: Mapping[object, object]) -> bool:
    return "answer" in payload or "annotation" in payload


def _prediction(payload: Mapping[object, object]) -> TracePrediction:
    return TracePrediction(payload.get("answer"), payload.get("annotation"), found=True)


def _candidates(text: str, braces: BraceScan) -> list[str]:
    """The texts that may be the object, each at its first place."""
    places: tuple[Iterable[str], ...] = (tagged_blocks(text), code_blocks(text), braces.objects(), (text,))
    stripped = (candidate.strip() for place in places for candidate in place)
    return [candidate for candidate in dict.fromkeys(stripped) if candidate]
