"""Annotation values: read as the declared type, never as the type they look like."""

from __future__ import annotations

import marshal
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from hylo_eval.verify.response.coordinates import READ_ITEM, Item, ItemTable, read_items
from hylo_eval.verify.response.parsing import LenientParser, as_mapping

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hylo_eval.verify.response.contracts import AnnotationKind

Annotation: TypeAlias = Item | ItemTable | dict[str, Item] | dict[str, ItemTable]

_BOX_LIST_KEY = "bboxes"

_MARSHAL_WITHOUT_REFERENCES = 2
"""The last version of the format in which equal values have equal bytes."""

_LARGEST_REMEMBERED_BYTES = 65_536
"""Larger truths are read anew, so that what is remembered stays small."""


def read_annotation(kind: AnnotationKind, value: object, parser: LenientParser) -> Annotation | None:
    """The annotation as the type demands it, or None if the value is anything else.

    The whole value may be text that holds JSON of the right shape; of the values inside, only those of a
    map of sets may.

    Returns:
        One item; a table of items for sets and sequences; a mapping for maps.
    """
    parsed = parser.parse(value)
    if kind.arrangement == "scalar":
        return READ_ITEM[kind.shape](parsed)
    if kind.arrangement in ("set", "sequence"):
        return _read_table(kind, parsed)
    mapping = as_mapping(parsed)
    entries = None if mapping is None else _unique_keys(mapping)
    if entries is None:
        return None
    if kind.arrangement == "map":
        read = READ_ITEM[kind.shape]
        return _all_or_none({key: read(entry) for key, entry in entries.items()})
    return _all_or_none({key: _read_table(kind, parser.parse(entry)) for key, entry in entries.items()})


def read_truth_annotation(kind: AnnotationKind, value: object) -> Annotation | None:
    """`read_annotation` of a truth: the same one comes with every response of a run, so lists are remembered."""
    if kind.arrangement in ("set", "sequence"):
        try:
            content = marshal.dumps(cast("Any", value), _MARSHAL_WITHOUT_REFERENCES)
        except ValueError:  # it holds what is no plain Python value
            content = b""
        table = _remembered_table(kind, content) if 0 < len(content) <= _LARGEST_REMEMBERED_BYTES else None
        if table is not None:
            return table
    return read_annotation(kind, value, LenientParser())


@lru_cache(maxsize=64)
def _remembered_table(kind: AnnotationKind, content: bytes) -> Annotation | None:
    """The table that marshalled content denotes; None if the content is none, or only the value itself is one.

    The bytes tell True from 1 and are made here, never read from outside. NumPy's numbers are bytes in them,
    which are no numbers.
    """
    return read_annotation(kind, marshal.loads(content), LenientParser())  # noqa: S302 - our own bytes


def _all_or_none(entries: Mapping[str, Item | ItemTable | None]) -> Annotation | None:
    if any(entry is None for entry in entries.values()):
        return None
    return cast("Annotation", entries)


def _unique_keys(mapping: Mapping[object, object]) -> dict[str, object] | None:
    """The mapping with stripped keys; None if one is blank or two are the same."""
    entries: dict[str, object] = {}
    for key, value in mapping.items():
        name = _key_text(key)
        if not name or name in entries:
            return None
        entries[name] = value
    return entries


def _key_text(key: object) -> str:
    try:
        return str(key).strip()
    except (ValueError, RecursionError):  # an integer of more digits than Python converts
        return ""


def _read_table(kind: AnnotationKind, parsed: object) -> ItemTable | None:
    """A list of items; one bare point or box is a list of one, a bare segment is not."""
    if kind.shape != "segment":
        single = READ_ITEM[kind.shape](parsed)
        if single is not None:
            return ItemTable(tuple([number] for number in single))
    if kind.shape == "bbox":
        mapping = as_mapping(parsed)
        parsed = parsed if mapping is None else mapping.get(_BOX_LIST_KEY)
    return read_items(kind.shape, parsed)
