"""Annotation values: read as the declared type, never as the type they look like."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias, cast

from hylo_eval.verify.response.coordinates import READERS, Item

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hylo_eval.verify.response.contracts import AnnotationKind
    from hylo_eval.verify.response.parsing import LenientParser

Items: TypeAlias = list[Item]
Annotation: TypeAlias = Item | Items | dict[str, Item] | dict[str, Items]

_BOX_LIST_KEY = "bboxes"


def read_annotation(kind: AnnotationKind, value: object, parser: LenientParser) -> Annotation | None:
    """The annotation as the type demands it, or None if the value is anything else.

    The whole value may be text that holds JSON of the right shape; of the values inside, only those of a map of sets.

    Returns:
        One item; a list of items for sets and sequences; a mapping for maps.
    """
    parsed = parser.parse(value)
    read_item = READERS[kind.shape]
    if kind.arrangement == "scalar":
        return read_item(parsed)
    if kind.arrangement in ("set", "sequence"):
        return _read_items(kind, parsed, read_item)
    if not isinstance(parsed, Mapping):
        return None
    entries = _unique_keys(cast("Mapping[object, object]", parsed))
    if entries is None:
        return None
    if kind.arrangement == "map":
        return _all_or_none({key: read_item(entry) for key, entry in entries.items()})
    return _all_or_none({key: _read_items(kind, parser.parse(entry), read_item) for key, entry in entries.items()})


def _all_or_none(entries: Mapping[str, Item | Items | None]) -> Annotation | None:
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
    if isinstance(key, str):
        return key.strip()
    try:
        return str(key).strip()
    except (ValueError, RecursionError):  # an integer of more digits than Python converts
        return ""


def _read_items(
    kind: AnnotationKind, parsed: object, read_item: Callable[[object], Item | None]
) -> Items | None:
    """A list of items; one bare point or box is a list of one, a bare segment is not."""
    if kind.shape != "segment":
        single = read_item(parsed)
        if single is not None:
            return [single]
    if kind.shape == "bbox" and isinstance(parsed, Mapping) and _BOX_LIST_KEY in parsed:
        parsed = cast("Mapping[object, object]", parsed)[_BOX_LIST_KEY]
    if not isinstance(parsed, list | tuple):
        return None
    items: Items = []
    for value in cast("Sequence[object]", parsed):
        item = read_item(value)
        if item is None:
            return None
        items.append(item)
    return items
