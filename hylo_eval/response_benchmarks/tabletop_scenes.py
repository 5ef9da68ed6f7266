"""The scenes of ``response_tabletop``: what lies where, drawn from the name of the scene alone.

Layouts keep every question answerable by looking: things do not touch, the nearest card is nearer by a clear
margin than the second, the largest block and the longest pencil are larger and longer by a third.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from hylo_core.draws import Draws
from hylo_eval.envs.response.scene import COLOURS, Question, Scene, Thing

WIDTH_PX, HEIGHT_PX = 448, 336
_MARGIN_PX = 12
"""Least distance of a thing from the border of the picture."""
_GAP_PX = 12
"""Least distance between the boxes of two things: more than a shadow is long."""
_TRIES = 4000
_SIZES: Mapping[str, tuple[int, int]] = {
    "ball": (12, 18),
    "block": (14, 20),
    "mug": (20, 25),
    "plate": (34, 42),
    "card": (14, 14),
}
_CLEARLY = 1.35
"""The least ratio that an eye tells apart at once."""


class _NoRoom(Exception):
    """A thing found no place: nothing is wrong, the layout is drawn again."""


class _Table:
    """Things placed so far, and the stream that places them."""

    def __init__(self, draws: Draws) -> None:
        self.draws = draws
        self.things: list[Thing] = []

    def put(self, kind: str, colour: str = "", *, label: str = "", size: int | None = None) -> Thing:
        """Lay a compact thing on a free place."""
        low, high = _SIZES[kind]
        reach = self.draws.integer(low, high) if size is None else size
        for _ in range(_TRIES):
            place = (self.draws.integer(0, WIDTH_PX - 1), self.draws.integer(0, HEIGHT_PX - 1))
            thing = Thing(kind=kind, colour=colour, label=label, size=reach, points=(place,))  # pyright: ignore[reportArgumentType]
            if self._fits(thing):
                return self._lay(thing)
        raise _NoRoom

    def put_pencil(self, colour: str, length_px: tuple[int, int]) -> Thing:
        """Lay a pencil on a free place, its length in a range."""
        for _ in range(_TRIES):
            start = (self.draws.integer(0, WIDTH_PX - 1), self.draws.integer(0, HEIGHT_PX - 1))
            end = (
                start[0] + self.draws.integer(-length_px[1], length_px[1]),
                start[1] + self.draws.integer(-length_px[1], length_px[1]),
            )
            if min(end) < 0 or not length_px[0] ** 2 <= squared_distance(start, end) <= length_px[1] ** 2:
                continue
            thing = Thing(kind="pencil", colour=colour, size=5, points=(start, end))
            if self._fits(thing):
                return self._lay(thing)
        raise _NoRoom

    def put_cord(self, colour: str, corners: int) -> Thing:
        """Lay a zigzag cord from left to right, with this many corners between its ends."""
        stretches = corners + 1
        width = (WIDTH_PX - 100) // stretches
        points: list[tuple[int, int]] = []
        up = self.draws.integer(0, 1) == 1
        for index in range(stretches + 1):
            band = (40, 130) if up else (200, 296)
            points.append((50 + index * width + self.draws.integer(-8, 8), self.draws.integer(*band)))
            up = not up
        return self._lay(Thing(kind="cord", colour=colour, size=4, points=tuple(points)))

    def put_on(self, kind: str, colour: str, below: Thing) -> Thing:
        """Lay a thing on the middle of another."""
        offset = (self.draws.integer(-6, 6), self.draws.integer(-6, 6))
        place = (below.centre[0] + offset[0], below.centre[1] + offset[1])
        size = self.draws.integer(*_SIZES[kind])
        return self._lay(Thing(kind=kind, colour=colour, size=size, points=(place,)))  # pyright: ignore[reportArgumentType]

    def distract(self, kinds: Sequence[str], count: int, colours: Sequence[str] = COLOURS) -> None:
        """Lay things that the question is not about."""
        for _ in range(count):
            self.put(self.draws.choice(kinds), self.draws.choice(colours))

    def _lay(self, thing: Thing) -> Thing:
        self.things.append(thing)
        return thing

    def _fits(self, thing: Thing) -> bool:
        left, top, right, bottom = thing.box
        if left < _MARGIN_PX or top < _MARGIN_PX:
            return False
        if right > WIDTH_PX - _MARGIN_PX or bottom > HEIGHT_PX - _MARGIN_PX:
            return False
        return not any(_boxes_are_near(thing.box, other.box) for other in self.things)


def squared_distance(first: tuple[int, int], second: tuple[int, int]) -> int:
    """Squared distance of two points, exact."""
    return (first[0] - second[0]) ** 2 + (first[1] - second[1]) ** 2


def _boxes_are_near(first: tuple[int, ...], second: tuple[int, ...]) -> bool:
    apart = (
        first[2] + _GAP_PX < second[0]
        or second[2] + _GAP_PX < first[0]
        or first[3] + _GAP_PX < second[1]
        or second[3] + _GAP_PX < first[1]
    )
    return not apart


def _count_points(table: _Table, number: int) -> Question:
    colour = COLOURS[number % len(COLOURS)]
    for _ in range(2 + number):
        table.put("ball", colour)
    others = [other for other in COLOURS if other != colour]
    table.distract(("ball",), 3, others)
    table.distract(("block", "mug"), 2)
    return Question(ask="count_points", kind="ball", colour=colour)


def _count_boxes(table: _Table, number: int) -> Question:
    for _ in range(1 + number):
        table.put("mug", table.draws.choice(COLOURS))
    table.distract(("ball", "block"), 5)
    return Question(ask="count_boxes", kind="mug")


def _count_segments(table: _Table, number: int) -> Question:
    for _ in range(1 + number):
        table.put_pencil(table.draws.choice(COLOURS), (70, 120))
    table.distract(("ball", "block"), 3)
    return Question(ask="count_segments", kind="pencil")


def _nearest_card(table: _Table, number: int) -> Question:
    kind, colour = ("mug", "ball", "block", "plate")[number], table.draws.choice(COLOURS)
    target = table.put(kind, colour)
    cards = [table.put("card", label=label) for label in table.draws.shuffled("ABCD")]
    near, second = sorted(squared_distance(card.centre, target.centre) for card in cards)[:2]
    if second < _CLEARLY**2 * near:
        raise _NoRoom
    table.distract([other for other in ("ball", "block") if other != kind], 2)
    return Question(ask="nearest_card", kind=kind, colour=colour)


def _largest_block(table: _Table, number: int) -> Question:
    colours = table.draws.shuffled(COLOURS)
    table.put("block", colours[0], size=30 + number)
    for colour in colours[1:4]:
        table.put("block", colour, size=table.draws.integer(14, 20))
    table.distract(("ball",), 3)
    return Question(ask="largest_block", kind="block")


def _longest_pencil(table: _Table, number: int) -> Question:
    colours = table.draws.shuffled(COLOURS)
    table.put_pencil(colours[0], (170, 200))
    for colour in colours[1 : 3 + number % 2]:
        table.put_pencil(colour, (70, 120))
    return Question(ask="longest_pencil", kind="pencil")


def _cards_in_order(table: _Table, number: int) -> Question:
    labels = table.draws.shuffled("0123456789")[: 3 + number]
    columns = [_MARGIN_PX + 20 + 70 * index for index in range(len(labels))]
    for label, column in zip(labels, columns, strict=True):
        place = (column + table.draws.integer(0, 20), table.draws.integer(40, HEIGHT_PX - 40))
        table.things.append(Thing(kind="card", label=label, size=14, points=(place,)))
    table.things[:] = table.draws.shuffled(table.things)
    table.distract(("ball",), 2)
    return Question(ask="cards_in_order", kind="card")


def _cord_corners(table: _Table, number: int) -> Question:
    colour = table.draws.choice(COLOURS)
    table.put_cord(colour, 1 + number)
    return Question(ask="cord_corners", kind="cord", colour=colour)


def _box_by_colour(table: _Table, number: int) -> Question:
    for colour in table.draws.shuffled(COLOURS)[: 2 + number]:
        table.put("block", colour)
    table.distract(("ball", "mug"), 3)
    return Question(ask="box_by_colour", kind="block")


def _points_by_colour(table: _Table, number: int) -> Question:
    for colour in table.draws.shuffled(COLOURS)[: 2 + number % 2]:
        for _ in range(table.draws.integer(1, 3)):
            table.put("ball", colour)
    table.distract(("block",), 3)
    return Question(ask="points_by_colour", kind="ball")


def _ball_on_plate(table: _Table, number: int) -> Question:
    colours = table.draws.shuffled(COLOURS)
    plate = table.put("plate", colours[0])
    table.put_on("ball", colours[1 + number % 2], plate)
    for colour in colours[1:5]:
        table.put("ball", colour)
    return Question(ask="ball_on_plate", kind="ball")


def _is_there(table: _Table, number: int) -> Question:
    colours = table.draws.shuffled(COLOURS)
    shown = colours[:1] if number % 2 == 0 else colours[1:2]
    table.put("mug", shown[0])
    table.distract(("mug",), 2, colours[2:])
    # The colour stands on the table in any case, so that it alone answers nothing.
    table.put("ball", colours[0])
    table.distract(("block", "ball"), 3)
    return Question(ask="is_there", kind="mug", colour=colours[0])


_LAYOUTS: Mapping[str, Callable[[_Table, int], Question]] = {
    "count_points": _count_points,
    "count_boxes": _count_boxes,
    "count_segments": _count_segments,
    "nearest_card": _nearest_card,
    "largest_block": _largest_block,
    "longest_pencil": _longest_pencil,
    "cards_in_order": _cards_in_order,
    "cord_corners": _cord_corners,
    "box_by_colour": _box_by_colour,
    "points_by_colour": _points_by_colour,
    "ball_on_plate": _ball_on_plate,
    "is_there": _is_there,
}
SCENES_A_QUESTION = 4


def tabletop_scenes() -> list[Scene]:
    """All scenes, ``SCENES_A_QUESTION`` a question, in a fixed order."""
    return [_scene(ask, number) for ask in _LAYOUTS for number in range(SCENES_A_QUESTION)]


def _scene(ask: str, number: int) -> Scene:
    """A scene by its name; a layout without room for a thing is drawn again, from the stream of the next try."""
    name = f"{ask}_{number + 1}"
    for attempt in range(_TRIES):
        table = _Table(Draws(f"hylo/response_tabletop|{name}|{attempt}"))
        try:
            question = _LAYOUTS[ask](table, number)
        except _NoRoom:
            continue
        return Scene(width=WIDTH_PX, height=HEIGHT_PX, things=tuple(table.things), question=question, name=name)
    raise RuntimeError(f"the layout of {name} finds no room")
