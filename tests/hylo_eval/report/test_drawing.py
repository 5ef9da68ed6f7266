"""Shapes as SVG and as PNG."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_eval import EvalError
from hylo_eval.report.drawing import (
    Circle,
    Drawing,
    Label,
    Line,
    Rectangle,
    fitted_length,
    render,
    render_png,
    render_svg,
    require_format,
    text_width,
)

DRAWING = Drawing(
    width=100,
    height=60,
    shapes=(
        Rectangle(x=10, y=10, width=20, height=20, fill="#0072b2"),
        Rectangle(x=40, y=10, width=20, height=20, fill="#ffffff", stroke="#d55e00"),
        Line(x1=0, x2=100, y1=45, y2=45, stroke="#8c8c8c", dashed=True, width=2.0),
        Circle(cx=80, cy=20, r=8, fill="#009e73"),
        Label(x=50, y=58, text="a", anchor="middle"),
    ),
)


@given(st.text(max_size=60), st.integers(8, 20), st.floats(20, 600))
def test_the_end_of_a_text_is_as_long_as_there_is_room(text: str, size: int, room: float) -> None:
    """All of it where it fits; else with its ellipsis it keeps within, and one more character would not."""
    text = "".join(character for character in text if character.isprintable())
    length = fitted_length(text, size, room)
    if text_width(text, size) <= room:
        assert length == len(text)
    else:
        assert length >= 2
        assert text_width("…" + text[1 - length :], size) <= max(room, 2 * size)
        assert text_width(text[-length:], size) + size > room


def test_png_has_the_colours_at_their_places():
    """Two pixels a unit, on white."""
    image_module = pytest.importorskip("PIL.Image")
    image = image_module.open(io.BytesIO(render(DRAWING, ".png")))
    assert image.size == (200, 120)
    at = {
        place: "#{:02x}{:02x}{:02x}".format(*image.getpixel((2 * place[0], 2 * place[1])))
        for place in ((20, 20), (50, 20), (40, 20), (80, 20), (5, 5))
    }
    assert at == {(20, 20): "#0072b2", (50, 20): "#ffffff", (40, 20): "#d55e00", (80, 20): "#009e73", (5, 5): "#ffffff"}
    dashes = {image.getpixel((x, 90)) for x in range(200)}
    assert len(dashes) == 2, "dashes and gaps"


def test_svg_has_the_same_shapes():
    """White ground first."""
    root = ET.fromstring(render(DRAWING, ".svg"))  # noqa: S314
    kinds = [node.tag.rpartition("}")[2] for node in root]
    assert kinds == ["rect", "rect", "rect", "line", "circle", "text"]
    assert root[3].attrib["stroke-dasharray"] == "3 3"
    assert "stroke" not in root[1].attrib


def test_hostile_text_stays_text_in_both():
    """No element and no control code; a text of a million characters is cut."""
    pytest.importorskip("PIL")
    text = "<script>x</script>\x1b\x00\ud83d\n" + "a" * 2_000_000
    drawing = Drawing(width=50, height=20, shapes=(Label(x=0, y=10, text=text, title=text),))
    written = render_svg(drawing)
    assert len(written) < 5_000
    assert {node.tag.rpartition("}")[2] for node in ET.fromstring(written).iter()} == {"svg", "rect", "text", "title"}  # noqa: S314
    assert render_png(drawing).startswith(b"\x89PNG")


def test_other_formats_are_refused_by_name():
    """Before anything is computed."""
    require_format(Path("a.svg"))
    require_format(Path("a.png"))
    with pytest.raises(EvalError, match=r"is an SVG or PNG file, not 'a\.jpeg'"):
        require_format(Path("a.jpeg"))


def test_png_without_pillow_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch):
    """Or to take SVG."""
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(EvalError, match="needs Pillow, which is not installed") as raised:
        render(DRAWING, ".png")
    assert "hylo-eval[figure]" in raised.value.fix
