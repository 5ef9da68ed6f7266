"""The usual JSONL layout of question sets: one object a line with image, prompt, answer and annotation.

::

    {"image": "scene.png", "image_size": [640, 480], "prompt": "How many cups?", "answer": 3}
    {"image": ["a.png", "b.png"], "prompt": "Where is it?", "answer": {"type": "option_letter", "value": "B"},
     "annotation": {"type": "point", "value": [320, 200]}}

`images`, `answer_gt` and `annotation_gt` are read like `image`, `answer` and `annotation`; a
`reward_contract` is checked against both. This module reads text; it opens no file.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

import attrs

from hylo_core.errors import ContractError
from hylo_eval.verify.response.annotation import read_annotation
from hylo_eval.verify.response.contracts import (
    ANNOTATION_KINDS,
    resolve_reward_contract,
    validate_reward_contract_payload,
)
from hylo_eval.verify.response.coordinates import as_list, finite_float, point
from hylo_eval.verify.response.half_life import usable_image_size
from hylo_eval.verify.response.parsing import LenientParser, as_mapping, depth_exceeds

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_LINE_CHARACTERS = 4_000_000
MAX_DEPTH = 64

_ALIASES: Mapping[str, str] = {"images": "image", "answer_gt": "answer", "annotation_gt": "annotation"}
_KEYS = ("id", "image", "image_size", "prompt", "answer", "annotation", "reward_contract", "metadata")
_NO_ANNOTATION_TYPE = "bbox"
"""A contract names an annotation type even where only answers are scored."""


@attrs.frozen(kw_only=True)
class ResponseRecord:
    """One question with its truth.

    Attributes:
        id: The record's id; its line number if it has none. images: Paths of the images, as written.
        prompt: The question. answer_gt: `{"type": …, "value": …}`. annotation_gt: The same for the
        annotation; None if the record has none, so that only answers are scored. reward_contract: The
        contract of both types. image_size: Width and height in pixels, or None if the record does not say.
        metadata: What else the record carries.
    """

    id: str
    images: tuple[str, ...]
    prompt: str
    answer_gt: Mapping[str, object]
    annotation_gt: Mapping[str, object] | None
    reward_contract: Mapping[str, object]
    image_size: tuple[float, float] | None
    metadata: Mapping[str, object]


def parse_response_records(lines: Iterable[str], *, source: str) -> tuple[ResponseRecord, ...]:
    """The records of a JSONL text.

    Args:
        lines: The lines; blank ones are skipped.
        source: The name of the file, for errors.

    Raises:
        ContractError: A line is no record; the error names the file, the line and the field. Two records
        share an
            id. There is no record.
    """
    records: list[ResponseRecord] = []
    first_lines: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = _record(_fields(line), str(number))
        except ContractError as error:
            raise error.under(f"line {number}", source=source) from None
        if record.id in first_lines:
            reason = f"the id {record.id!r} stands in line {first_lines[record.id]} already"
            raise ContractError(reason, path=f"line {number}.id", source=source)
        first_lines[record.id] = number
        records.append(record)
    if not records:
        raise ContractError("there is no record; write one JSON object a line", source=source)
    return tuple(records)


def _fields(line: str) -> dict[str, object]:
    """The members of one line by their own names."""
    if len(line) > MAX_LINE_CHARACTERS:
        raise ContractError(f"the line has more than {MAX_LINE_CHARACTERS} characters")
    try:
        parsed: object = _DECODER.decode(line)
    except (ValueError, RecursionError) as error:
        raise ContractError(f"the line is no JSON: {error}") from None
    mapping = as_mapping(parsed)
    if mapping is None:
        raise ContractError("the line must hold one JSON object")
    if depth_exceeds(parsed, MAX_DEPTH):
        raise ContractError(f"the line nests deeper than {MAX_DEPTH}")
    fields: dict[str, object] = {}
    for key, value in mapping.items():
        name = _ALIASES.get(str(key), str(key))
        if name not in _KEYS:
            raise ContractError(f"is no known field; known are {', '.join(_KEYS)}", path=str(key)[:80])
        if name in fields:
            raise ContractError(f"the same field stands as {name!r} already", path=str(key))
        fields[name] = value
    return fields


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"{digits[:40]} is larger than any number that can be compared")
    return number


def _unique(members: list[tuple[str, object]]) -> dict[str, object]:
    """An object; of two members of one name either might be the truth."""
    found = dict(members)
    if len(found) < len(members):
        times = Counter(name for name, _ in members)
        twice = next(name for name, count in times.items() if count > 1)
        raise ValueError(f"the member {twice[:80]!r} stands twice in one object")
    return found


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite, object_pairs_hook=_unique)


def _record(fields: Mapping[str, object], default_id: str) -> ResponseRecord:
    answer = _typed_answer(fields.get("answer"))
    annotation = _typed_annotation(fields.get("annotation"))
    annotation_type = _NO_ANNOTATION_TYPE if annotation is None else str(annotation["type"])
    contract = resolve_reward_contract(answer_type=str(answer["type"]), annotation_type=annotation_type).to_dict()
    given = fields.get("reward_contract")
    if given is not None:
        mismatch = validate_reward_contract_payload(
            given, answer_type=str(answer["type"]), annotation_type=annotation_type
        )
        if mismatch is not None:
            raise ContractError(mismatch, path="reward_contract")
    size = fields.get("image_size")
    pair = as_list(size)
    usable = None if size is None else usable_image_size(size)
    if size is not None and (usable is None or (pair is not None and point(pair) is None)):
        raise ContractError("must be [width, height] in pixels, both positive", path="image_size")
    metadata = as_mapping(fields.get("metadata", {}))
    if metadata is None:
        raise ContractError("must be an object", path="metadata")
    return ResponseRecord(
        id=_text(fields, "id", default_id),
        images=_images(fields.get("image")),
        prompt=_text(fields, "prompt", None),
        answer_gt=answer,
        annotation_gt=annotation,
        reward_contract=contract,
        image_size=usable,
        metadata={str(key): value for key, value in metadata.items()},
    )


def _text(fields: Mapping[str, object], name: str, default: str | None) -> str:
    value = fields.get(name, default)
    if isinstance(value, int) and not isinstance(value, bool) and name == "id":
        return str(value)
    if not isinstance(value, str) or not value.strip():
        raise ContractError("must be a text that is not empty", path=name)
    return value


def _images(value: object) -> tuple[str, ...]:
    """One path or a list of paths."""
    paths = [value] if isinstance(value, str) else as_list(value)
    texts = [path for path in paths or () if isinstance(path, str) and path]
    if not paths or len(texts) != len(paths):
        raise ContractError("must be a path or a list of paths", path="image")
    return tuple(texts)


def _typed_answer(value: object) -> Mapping[str, object]:
    """An answer with its type: as given, or the type that a plain JSON value has."""
    typed = _typed(value, "answer")
    if typed is not None:
        return typed
    if value is None:
        raise ContractError("is missing", path="answer")
    return {"type": _answer_type(value), "value": value}


def _answer_type(value: object) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if finite_float(value) is not None:
        return "number"
    if isinstance(value, str):
        return "string"
    items = as_list(value)
    if items is None:
        return "object"
    is_index_list = all(isinstance(item, int) and not isinstance(item, bool) for item in items)
    return "index_list" if is_index_list else "matrix"


def _typed_annotation(value: object) -> Mapping[str, object] | None:
    if value is None:
        return None
    typed = _typed(value, "annotation")
    if typed is None:
        raise ContractError('must be {"type": …, "value": …}: a bare value does not say its type', path="annotation")
    kind = ANNOTATION_KINDS.get(str(typed["type"]))
    if kind is None:
        known = ", ".join(ANNOTATION_KINDS)
        raise ContractError(f"must be one of {known}, not {typed['type']!r}", path="annotation.type")
    if read_annotation(kind, typed["value"], LenientParser()) is None:
        raise ContractError(f"is no {kind.name}", path="annotation.value")
    return typed


def _typed(value: object, path: str) -> Mapping[str, object] | None:
    """A mapping of exactly `type` and `value`; None if the value is anything else."""
    mapping = as_mapping(value)
    if mapping is None or set(mapping) != {"type", "value"}:
        return None
    name = mapping["type"]
    if not isinstance(name, str) or not name.strip():
        raise ContractError("must be a text that is not empty", path=f"{path}.type")
    return {"type": name.strip(), "value": mapping["value"]}
