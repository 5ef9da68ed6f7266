"""Pictures agree with the records they are drawn from."""

import numpy as np
import pytest

from hylo_core.errors import ContractError
from hylo_eval.envs.response.drawing import PAINT, draw
from hylo_eval.envs.response.scene import COLOURS, KINDS, Question, Scene, Thing

QUESTION = Question(ask="is_there", kind="mug", colour="red")


def scene(*things, width=96, height=80):
    """A small table."""
    return Scene(width=width, height=height, things=things, question=QUESTION)


def thing(kind, colour="red", size=12):
    """One thing in the middle of the small table."""
    if kind == "card":
        return Thing(kind="card", size=size, points=((40, 40),), label="A")
    points = {"pencil": ((20, 20), (70, 60)), "cord": ((20, 30), (45, 60), (75, 25))}.get(kind, ((40, 40),))
    return Thing(kind=kind, colour=colour, size=4 if len(points) > 1 else size, points=points)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_drawn_fills_the_box_and_nothing_but_shadow_leaves_it(kind):
    """The box of the record is the box of the changed pixels, a shadow of at most 6 pixels apart."""
    one = thing(kind)
    changed = (draw(scene(one)) != draw(scene())).any(axis=2)
    rows, columns = np.nonzero(changed)
    left, top, right, bottom = one.box
    slack = one.size + 1 if kind in ("pencil", "cord") else 1
    assert left <= columns.min() <= left + slack
    assert top <= rows.min() <= top + slack
    assert right - slack <= columns.max() + 1 <= right + 6
    assert bottom - slack <= rows.max() + 1 <= bottom + 6


@pytest.mark.parametrize("colour", COLOURS)
@pytest.mark.parametrize("kind", ["ball", "block", "mug", "plate"])
def test_a_thing_has_more_of_its_colour_than_of_any_other(kind, colour):
    """Seen by the nearest of the named colours, as a stranger would."""
    picture = draw(scene(thing(kind, colour, size=16))).astype(int)
    changed = (picture != draw(scene()).astype(int)).any(axis=2)
    vivid = picture[changed & (picture.max(axis=2) - picture.min(axis=2) > 70)]
    distances = [((vivid - np.array(PAINT[name])) ** 2).sum(axis=1) for name in COLOURS]
    nearest = np.bincount(np.argmin(distances, axis=0), minlength=len(COLOURS))
    assert COLOURS[int(nearest.argmax())] == colour


def test_a_later_thing_lies_on_an_earlier_one():
    """The order of the record is the order of painting."""
    plate, ball = thing("plate", "blue", 30), thing("ball", "red", 8)
    assert tuple(draw(scene(plate, ball))[40, 40]) == PAINT["red"]
    assert tuple(draw(scene(ball, plate))[40, 40]) != PAINT["red"]


def test_a_picture_is_a_pure_function_of_the_scene():
    """Drawn twice, and read back from its JSON form in between."""
    record = scene(*(thing(kind) for kind in KINDS))
    again = Scene.from_dict(record.to_dict())
    assert np.array_equal(draw(record), draw(again))


def test_things_at_and_beyond_the_border_are_cut_off():
    """Nothing wraps around or raises."""
    picture = draw(scene(Thing(kind="mug", colour="red", size=30, points=((95, 79),))))
    assert np.array_equal(picture[:20, :20], draw(scene())[:20, :20])


@pytest.mark.parametrize(
    "members",
    [
        {"kind": "ball", "colour": "red", "points": ((1, 2), (3, 4))},
        {"kind": "pencil", "colour": "red", "points": ((1, 2),)},
        {"kind": "ball", "points": ((1, 2),)},
        {"kind": "ball", "colour": "red", "label": "A", "points": ((1, 2),)},
        {"kind": "card", "points": ((1, 2),)},
        {"kind": "ball", "colour": "red", "points": ((1, 2, 3),)},
        {"kind": "ball", "colour": "red", "points": ((1, -2),)},
        {"kind": "ball", "colour": "red", "points": ((1.5, 2),)},
        {"kind": "box", "colour": "red", "points": ((1, 2),)},
    ],
)
def test_a_thing_that_is_none_is_refused(members):
    """With the name of the member."""
    with pytest.raises(ContractError):
        Thing(size=3, **members)


def test_the_size_of_a_picture_is_bounded():
    """A record is untrusted: no huge arrays from a small file."""
    with pytest.raises(ContractError, match="width"):
        scene(width=100_000)
