"""Annotation values: read as the declared type, never as the type they look like."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, cast

from hylo_eval.verify.response.coordinates import READ_ITEM, Item, ItemTable, read_items
from hylo_eval.verify.response.parsing import as_mapping

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hylo_eval.verify.response.contracts import AnnotationKind
    from hylo_eval.verify.response.parsing import LenientParser

Annotation: TypeAlias = Item | ItemTable | dict[str, Item] | dict[str, ItemTable]

_BOX_LIST_KEY = "bboxes"


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
