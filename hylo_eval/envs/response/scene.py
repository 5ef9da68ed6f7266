"""Tabletop scenes as records: everything that is asked about a picture is known from the record it is drawn from.

The table is seen from straight above. Coordinates are continuous pixels, x to the right and y down from the
top left corner of the picture, so that a pixel of column ``c`` covers ``[c, c + 1)``.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import attrs

from hylo_core.contract import (
    Contract,
    check_integer,
    contracts_of,
    describe,
    instance_of,
    integer,
    one_of,
    sequence_of,
    text,
)
from hylo_core.errors import ContractError

Point: TypeAlias = tuple[int, int]
Box: TypeAlias = tuple[int, int, int, int]

KINDS = ("ball", "block", "mug", "plate", "card", "pencil", "cord")
"""What can lie on the table."""
COLOURS = ("red", "green", "blue", "yellow", "purple")
"""The colours of things; cards are white."""
LABELS = "ABCDEFGH0123456789"
"""What can stand on a card."""
ASKS = (
    "count_points",
    "count_boxes",
    "count_segments",
    "nearest_card",
    "largest_block",
    "longest_pencil",
    "cards_in_order",
    "cord_corners",
    "box_by_colour",
    "points_by_colour",
    "ball_on_plate",
    "is_there",
)
"""What can be asked about a scene."""

MAX_SIDE_PX = 2048
"""Largest width or height of a picture."""


def _points(value: object) -> tuple[Point, ...]:
    def check(item: Any, path: str) -> None:
        coordinates = sequence_of(path, check_coordinate)(item)
        if len(coordinates) != 2:
            raise ContractError(f"must be a point [x, y], not {describe(item)}", path=path)

    def check_coordinate(item: Any, path: str) -> None:
        check_integer(item, path, minimum=0, below=MAX_SIDE_PX)

    return tuple((x, y) for x, y in sequence_of("points", check)(value))


@attrs.frozen(kw_only=True)
class Thing(Contract):
    """One thing on the table.

    Attributes:
        kind: One of :data:`KINDS`.
        size: Half the side of a block or card, the radius of a ball, mug or plate, half the thickness of a
            pencil or cord; pixels.
        points: The centre of the thing; of a pencil its blunt end and its tip; of a cord its corners from
            left to right.
        colour: One of :data:`COLOURS`; a card has none.
        label: The character on a card; nothing else has one.
    """

    kind: Literal["ball", "block", "mug", "plate", "card", "pencil", "cord"] = attrs.field(validator=one_of(*KINDS))
    size: int = attrs.field(validator=integer(minimum=1, below=MAX_SIDE_PX))
    points: tuple[tuple[int, int], ...] = attrs.field(converter=_points)
    colour: str = attrs.field(default="", validator=one_of("", *COLOURS))
    label: str = attrs.field(default="", validator=one_of("", *LABELS))

    def __attrs_post_init__(self) -> None:
        wanted = {"pencil": "two points", "cord": "at least two points"}.get(self.kind, "one point")
        count = len(self.points)
        fits = count == 2 if self.kind == "pencil" else count >= 2 if self.kind == "cord" else count == 1
        if not fits:
            raise ContractError(f"of a {self.kind} must be {wanted}, not {count}", path="points")
        if bool(self.label) != (self.kind == "card"):
            raise ContractError("stands on every card and on nothing else", path="label")
        if bool(self.colour) == (self.kind == "card"):
            raise ContractError("belongs to everything but a card", path="colour")

    @property
    def centre(self) -> Point:
        """The middle of the thing; of a mug, the middle of its opening."""
        return self.points[0]

    @property
    def ends(self) -> tuple[Point, Point]:
        """The two ends of a pencil or cord."""
        return self.points[0], self.points[-1]

    @property
    def box(self) -> Box:
        """Left, top, right, bottom of all that is drawn of the thing, without its shadow."""
        xs = [x for x, _ in self.points]
        ys = [y for _, y in self.points]
        handle = mug_handle_reach(self.size) if self.kind == "mug" else 0
        return (
            min(xs) - self.size,
            min(ys) - self.size,
            max(xs) + self.size + handle,
            max(ys) + self.size,
        )


def mug_handle_reach(size: int) -> int:
    """How far the handle of a mug of this radius stands out to the right, in pixels."""
    return size * 3 // 5


@attrs.frozen(kw_only=True)
class Question(Contract):
    """What is asked about a scene.

    Attributes:
        ask: One of :data:`ASKS`.
        kind: The kind of thing asked about, where the question names one.
        colour: Its colour, where the question names one.
    """

    ask: str = attrs.field(validator=one_of(*ASKS))
    kind: str = attrs.field(default="", validator=one_of("", *KINDS))
    colour: str = attrs.field(default="", validator=one_of("", *COLOURS))


@attrs.frozen(kw_only=True)
class Scene(Contract):
    """A table with things on it, and the question about them.

    Attributes:
        width: Columns of the picture.
        height: Rows of the picture.
        things: In the order they are painted: a later one lies on an earlier one.
        question: What is asked.
        name: Where the scene stands in its benchmark, as text; nothing is drawn of it.
    """

    width: int = attrs.field(validator=integer(minimum=16, below=MAX_SIDE_PX + 1))
    height: int = attrs.field(validator=integer(minimum=16, below=MAX_SIDE_PX + 1))
    things: tuple[Thing, ...] = attrs.field(converter=contracts_of("things", Thing))
    question: Question = attrs.field(validator=instance_of(Question))
    name: str = attrs.field(default="", validator=text())

    def of_kind(self, kind: str, colour: str = "") -> tuple[Thing, ...]:
        """The things of a kind, and of a colour where one is given, in the order they are painted."""
        return tuple(thing for thing in self.things if thing.kind == kind and colour in ("", thing.colour))
