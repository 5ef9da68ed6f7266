"""A verdict's detail as a score or a trace can hold it: plain JSON of bounded size.

A detail quotes the candidate, and a trace is kept for ever: what stands in it must be readable by every JSON reader
and must not grow with what the candidate wrote.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import islice
from typing import Any, Final, cast

from hylo_core.canonical import MAX_SAFE_INTEGER

MAX_TEXT_CHARACTERS: Final = 500
MAX_ENTRIES: Final = 32
MAX_DEPTH: Final = 6
MAX_DETAIL_BYTES: Final = 8192
"""Encoded size of a whole detail; of a larger one only ``reason`` and ``error`` are kept."""

_CUT: Final = "…"


def bounded_detail(detail: Mapping[str, Any]) -> dict[str, Any]:
    """A detail as a contract's ``metadata`` accepts it.

    Long texts end in an ellipsis, lists and objects keep their first entries, values nested deeper become null, and
    what canonical JSON cannot hold exactly (large integers, numbers that are not finite) becomes text.

    Returns:
        At most :data:`MAX_DETAIL_BYTES` bytes of JSON; the detail itself where it is small and clean.
    """
    bounded: dict[str, Any] = _bounded(detail, 0)
    if _size(bounded) <= MAX_DETAIL_BYTES:
        return bounded
    kept = {name: bounded[name] for name in ("reason", "error") if isinstance(bounded.get(name), str)}
    return {**kept, "truncated": True}


def bounded_text(text: str) -> str:
    """The beginning of a text, as UTF-8 can hold it."""
    shown = text if len(text) <= MAX_TEXT_CHARACTERS else text[: MAX_TEXT_CHARACTERS - 1] + _CUT
    return shown.encode("utf-8", "replace").decode()


def _bounded(value: Any, depth: int) -> Any:  # noqa: PLR0911 - one case a kind of value
    if depth > MAX_DEPTH:
        return None
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return bounded_text(value)
    if isinstance(value, int | float):
        return _number(value)
    if isinstance(value, Mapping):
        members = islice(cast("Mapping[Any, Any]", value).items(), MAX_ENTRIES)
        return {bounded_text(str(key)): _bounded(entry, depth + 1) for key, entry in members}
    if isinstance(value, list | tuple):
        return [_bounded(entry, depth + 1) for entry in islice(cast("list[Any]", value), MAX_ENTRIES)]
    return type(value).__name__


def _number(value: float) -> float | str:
    if abs(value) <= MAX_SAFE_INTEGER:
        return value
    if isinstance(value, float):
        return repr(value)
    # Python refuses to print integers of thousands of digits.
    return str(value) if value.bit_length() < 512 else f"an integer of {value.bit_length()} bits"


def _size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False).encode())
