"""The half-life of point and segment similarity: how many pixels halve a score."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from hylo_eval.verify.response.coordinates import finite_float
from hylo_eval.verify.response.parsing import LenientParser

if TYPE_CHECKING:
    from collections.abc import Sequence

FALLBACK_PX = 32.0
"""Half-life when no image size is known."""

_DIAGONAL_FRACTION = 0.035
_SMALLEST_PX = 20.0
_LARGEST_PX = 80.0

_SIZE_KEYS = ("source_image_size", "image_size", "image_sizes", "canvas_size", "img_size")
_WIDTH_KEYS = ("width", "w", "image_width", "canvas_width")
_HEIGHT_KEYS = ("height", "h", "image_height", "canvas_height")
_MAX_DEPTH = 16
_MAX_ITEMS = 256


def resolve_half_life_px(explicit: float | None, candidates: Sequence[object]) -> float:
    """The explicit half-life, else clamp(0.035 · image diagonal, 20, 80), else 32, in pixels.

    Args:
        explicit: A half-life that was given, already checked.
        candidates: Where an image size may stand, in order; the first usable size counts.
    """
    if explicit is not None:
        return explicit
    for candidate in candidates:
        size = None if candidate is None else usable_image_size(candidate)
        if size is not None:
            return min(max(_DIAGONAL_FRACTION * math.hypot(*size), _SMALLEST_PX), _LARGEST_PX)
    return FALLBACK_PX


def usable_image_size(candidate: object) -> tuple[float, float] | None:
    """Width and height in pixels, found in a pair, a list, a mapping or text that holds one of these as JSON.

    A list of two positive numbers is a size; of any other list the first usable item counts. A mapping is
    searched for a nested size first, then for a width and a height. What is no size is None.
    """
    return _size(candidate, LenientParser(), _MAX_DEPTH)


def _size(candidate: object, parser: LenientParser, depth: int) -> tuple[float, float] | None:
    if depth == 0:
        return None
    value = parser.parse(candidate)
    if isinstance(value, Mapping):
        return _size_of_mapping(cast("Mapping[object, object]", value), parser, depth)
    if not isinstance(value, list | tuple):
        return None
    items = cast("Sequence[object]", value)
    if len(items) == 2:
        size = _pair(items[0], items[1])
        if size is not None:
            return size
    for item in items[:_MAX_ITEMS]:
        if isinstance(item, list | tuple | Mapping | str):
            size = _size(item, parser, depth - 1)  # pyright: ignore[reportUnknownArgumentType]
            if size is not None:
                return size
    return None


def _size_of_mapping(mapping: Mapping[object, object], parser: LenientParser, depth: int) -> tuple[float, float] | None:
    for key in _SIZE_KEYS:
        if key in mapping:
            size = _size(mapping[key], parser, depth - 1)
            if size is not None:
                return size
    width = next((mapping[key] for key in _WIDTH_KEYS if key in mapping), None)
    height = next((mapping[key] for key in _HEIGHT_KEYS if key in mapping), None)
    return _pair(width, height)


def _pair(width: object, height: object) -> tuple[float, float] | None:
    numbers = finite_float(width), finite_float(height)
    if numbers[0] is None or numbers[1] is None or numbers[0] <= 0.0 or numbers[1] <= 0.0:
        return None
    return numbers[0], numbers[1]
