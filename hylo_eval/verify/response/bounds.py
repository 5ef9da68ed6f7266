"""Whether the coordinates of a truth lie in its picture: what nobody can point at would be missed by every model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hylo_core.errors import ContractError
from hylo_eval.verify.response.coordinates import ItemTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hylo_eval.verify.response.annotation import Annotation
    from hylo_eval.verify.response.coordinates import Item


def check_within_picture(coordinates: Annotation, size: tuple[float, float], path: str) -> None:
    """Refuse coordinates outside a picture; its edges, also x = width and y = height, belong to it.

    Args:
        coordinates: Points, boxes or segments in pixels, alone, in a table or in a mapping.
        size: Width and height of the picture in pixels.
        path: Where they stand.

    Raises:
        ContractError: With the path of the first one outside.
    """
    for place, item in _outside(coordinates, size, path):
        written = ", ".join(f"{number:g}" for number in item)
        raise ContractError(
            f"lies outside the picture of {size[0]:g} x {size[1]:g} pixels: [{written}]; "
            "truths are in pixels of the picture, x first",
            path=place,
        )


def _outside(found: Annotation, size: tuple[float, float], path: str) -> Iterator[tuple[str, Item]]:
    if isinstance(found, dict):
        for key, entry in found.items():
            yield from _outside(entry, size, f"{path}.{key}")
    elif isinstance(found, ItemTable):
        # A look at whole columns first: nearly every truth is right, and some are long.
        if len(found) and not all(_fits(column, size[axis % 2]) for axis, column in enumerate(found.columns)):
            for index, item in enumerate(found):
                yield from _outside(item, size, f"{path}[{index}]")
    elif not all(_fits((number,), size[axis % 2]) for axis, number in enumerate(found)):
        yield path, found


def _fits(numbers: Sequence[Any], limit: float) -> bool:
    return min(numbers) >= 0 and max(numbers) <= limit
