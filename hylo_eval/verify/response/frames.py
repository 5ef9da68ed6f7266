"""Coordinate frames: an explicit conversion to pixels that runs before scoring and is reported with it.

Models answer in pixels, in unit, per-mille or percent coordinates, with x or y first. The Trace contract
itself scores pixels with x first and never rescales, so whoever runs a model in another frame names that
frame.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import attrs

from hylo_eval.verify.response.coordinates import as_list, finite_float, point
from hylo_eval.verify.response.parsing import LenientParser, as_mapping

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hylo_eval.verify.response.contracts import AnnotationKind

Unit = Literal["pixel", "unit", "per_mille", "percent"]
AxisOrder = Literal["xy", "yx"]

_FULL_SCALE: Mapping[str, float | None] = {"pixel": None, "unit": 1.0, "per_mille": 1000.0, "percent": 100.0}
_ORDERS = ("xy", "yx")


@attrs.frozen(kw_only=True)
class CoordinateFrame:
    """The frame a model's coordinates are in.

    Attributes:
        unit: `pixel`, or the image's width and height as 1 (`unit`), 1000 (`per_mille`) or 100 (`percent`).
        order: Which axis comes first, in points and in the corners of boxes alike.
    """

    unit: Unit = "pixel"
    order: AxisOrder = "xy"

    def __attrs_post_init__(self) -> None:
        """Refuse names that are no frame.

        Raises:
            ValueError: The unit or the order is unknown.
        """
        if self.unit not in _FULL_SCALE:
            raise ValueError(f"unit must be one of {', '.join(_FULL_SCALE)}, not {self.unit!r}")
        if self.order not in _ORDERS:
            raise ValueError(f"order must be one of {', '.join(_ORDERS)}, not {self.order!r}")

    @property
    def is_contract_frame(self) -> bool:
        """Whether coordinates are pixels with x first already."""
        return self.unit == "pixel" and self.order == "xy"

    def metadata(self) -> dict[str, str]:
        """The choice, as a score's metadata records it."""
        return {"coordinate_unit": self.unit, "coordinate_order": self.order}

    def scale(self, image_size: object) -> tuple[float, float]:
        """Pixels that one unit of x and of y is.

        Args:
            image_size: `(width, height)` in pixels; needed by every unit but `pixel`.

        Raises:
            ValueError: The image size is needed and is no pair of positive numbers.
        """
        full = _FULL_SCALE[self.unit]
        if full is None:
            return 1.0, 1.0
        size = point(image_size)
        if size is None or min(size) <= 0.0:
            raise ValueError(f"unit {self.unit!r} needs image_size as [width, height] in pixels, not {image_size!r}")
        return size[0] / full, size[1] / full


PIXEL_XY = CoordinateFrame()
"""The frame of the Trace contract."""


def to_pixels(
    value: object,
    kind: AnnotationKind,
    frame: CoordinateFrame,
    image_size: object,
    parser: LenientParser | None = None,
) -> object:
    """A predicted annotation with its coordinates in pixels, x first.

    What has not the shape of the type stays as it is, so that the scorer reports it.

    Args:
        value: The annotation as predicted, parsed or as text.
        kind: Its declared type.
        frame: The frame it is in.
        image_size: `(width, height)` of the image in pixels.
        parser: The parser of the response, for values that are text.

    Raises:
        ValueError: The frame needs an image size and there is none.
    """
    if frame.is_contract_frame:
        return value
    conversion = _Conversion(frame, frame.scale(image_size), parser or LenientParser())
    return conversion.annotation(value, kind)


class _Conversion:
    """One frame with its scale, applied to values of any arrangement."""

    def __init__(self, frame: CoordinateFrame, scale: tuple[float, float], parser: LenientParser) -> None:
        self._scale = scale if frame.order == "xy" else scale[::-1]
        self._is_swapped = frame.order == "yx"
        self._parser = parser

    def annotation(self, value: object, kind: AnnotationKind) -> object:
        parsed = self._parser.parse(value)
        if kind.arrangement not in ("map", "set_map"):
            return self._items(parsed, kind)
        entries = as_mapping(parsed)
        if entries is None:
            return parsed
        if kind.arrangement == "map":
            return {key: self._items(item, kind) for key, item in entries.items()}
        return {key: self._items(self._parser.parse(item), kind) for key, item in entries.items()}

    def _items(self, value: object, kind: AnnotationKind) -> object:
        """One item, or a list of items, bare or under `bboxes`."""
        named = as_mapping(value)
        if kind.shape == "bbox" and named is not None and "bboxes" in named:
            return {**named, "bboxes": self._items(named["bboxes"], kind)}
        items = as_list(value)
        if items is None:
            return value
        if kind.shape == "segment" and kind.arrangement == "scalar":
            return [self._flat(end, 2) for end in items]
        if kind.shape == "segment":
            return [self._ends(item) for item in items]
        length = 4 if kind.shape == "bbox" else 2
        if any(as_list(item) is not None for item in items):
            return [self._flat(item, length) for item in items]
        return self._flat(items, length)

    def _ends(self, value: object) -> object:
        """Both ends of one segment of a set; anything else stays as it is."""
        ends = as_list(value)
        return value if ends is None else [self._flat(end, 2) for end in ends]

    def _flat(self, value: object, length: int) -> object:
        """One point (2 numbers) or box (4 numbers); anything else stays as it is."""
        items = as_list(value)
        numbers = [] if items is None else [number for item in items if (number := finite_float(item)) is not None]
        if items is None or len(numbers) != length or len(items) != length:
            return value
        scaled = [number * self._scale[index % 2] for index, number in enumerate(numbers)]
        return [scaled[index ^ 1] for index in range(length)] if self._is_swapped else scaled
