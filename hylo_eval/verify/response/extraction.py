"""Recovery of answer and annotation from anywhere in a response, apart from its format."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from hylo_eval.verify.response.answer import answer_text
from hylo_eval.verify.response.final_object import KEYS, evaluate_format
from hylo_eval.verify.response.parsing import LenientParser, as_mapping
from hylo_eval.verify.response.spans import balanced_objects, code_blocks, tagged_blocks

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hylo_eval.verify.response.final_object import TraceResponseFormat


@attrs.frozen
class TracePrediction:
    """What a response predicts.

    Attributes:
        answer: The answer, or None if the object has none or there is no object.
        annotation: The annotation, or None.
        found: Whether an object with one of the two keys was found.
    """

    answer: object
    annotation: object
    found: bool


_NOTHING_FOUND = TracePrediction(None, None, found=False)


def extract_trace_prediction(response: str) -> tuple[object, object, bool]:
    """Answer, annotation, and whether an object that holds one of them was found.

    The object that the response ends with comes first. Otherwise tagged blocks, code blocks, balanced
    objects and the whole response are tried from the last to the first; of equal texts the first place
    counts. Objects nested in others are not unwrapped.
    """
    parser = LenientParser()
    prediction = recover_prediction(response, evaluate_format(response, "answer", parser), parser)
    return prediction.answer, prediction.annotation, prediction.found


def extract_trace_answer_for_scoring(response: str) -> str | None:
    """The answer as text, or None: text as it is, other values as compact JSON of their canonical form."""
    answer, _, found = extract_trace_prediction(response)
    return answer_text(answer) if found and answer is not None else None


def recover_prediction(
    response: object, response_format: TraceResponseFormat, parser: LenientParser
) -> TracePrediction:
    """`extract_trace_prediction` for a response whose format is known already."""
    if not isinstance(response, str):
        return _NOTHING_FOUND
    payload = response_format["payload"]
    block = response_format["answer_block"]
    no_mapping: set[str] = set()  # a text is read once, wherever it stands
    if payload is None and block is not None:
        payload = _first_mapping(_candidates(block), no_mapping, parser)
    if payload is not None and _has_key(payload):
        return _prediction(payload)
    for candidate in reversed(_candidates(response)):
        if candidate in no_mapping or not _may_hold_key(candidate):
            continue
        mapping = as_mapping(parser.parse(candidate))
        if mapping is not None and _has_key(mapping):
            return _prediction(mapping)
    return _NOTHING_FOUND


def _first_mapping(
    candidates: Iterable[str], no_mapping: set[str], parser: LenientParser
) -> Mapping[object, object] | None:
    for candidate in candidates:
        mapping = as_mapping(parser.parse(candidate))
        if mapping is not None:
            return mapping
        no_mapping.add(candidate)
    return None


def _has_key(payload: Mapping[object, object]) -> bool:
    return any(key in payload for key in KEYS)


def _prediction(payload: Mapping[object, object]) -> TracePrediction:
    return TracePrediction(payload.get("answer"), payload.get("annotation"), found=True)


def _candidates(text: str) -> list[str]:
    """The texts that may be the object, each at its first place."""
    places: tuple[Iterable[str], ...] = (
        tagged_blocks(text),
        code_blocks(text),
        balanced_objects(text),
        (text,),
    )
    stripped = (candidate.strip() for place in places for candidate in place)
    return [candidate for candidate in dict.fromkeys(stripped) if candidate]


def _may_hold_key(text: str) -> bool:
    """Whether a mapping in the text could have one of the keys, in plain letters or by escapes."""
    return "answer" in text or "annotation" in text or "\\" in text
