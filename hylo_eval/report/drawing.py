"""Pictures of a few kinds of shapes, as SVG or as PNG. Names in them come from anywhere and stay text."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs

from hylo_eval.errors import EvalError
from hylo_eval.report.text import printable_line

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

FORMATS: Final = (".svg", ".png")
_PNG_SCALE = 2
"""Pixels a unit: text stays sharp on screens of high density."""
_DASH = 3
_MAX_CHARACTERS = 400
"""A line of text beyond this would leave any picture."""


@attrs.frozen(kw_only=True)
class Rectangle:
    """A filled rectangle with an outline."""

    x: float
    y: float
    width: float
    height: float
    fill: str
    stroke: str = ""


@attrs.frozen(kw_only=True)
class Line:
    """A straight line."""

    x1: float
    y1: float
    x2: float
    y2: float
    stroke: str = "#000000"
    dashed: bool = False
    width: float = 1.0


@attrs.frozen(kw_only=True)
class Circle:
    """A disc with an outline."""

    cx: float
    cy: float
    r: float
    fill: str = "#000000"
    stroke: str = ""


@attrs.frozen(kw_only=True)
class Label:
    """A line of text.

    Attributes:
        x: Where it starts, is centred or ends, by `anchor`.
        y: Its base line.
        text: Anything; made harmless when drawn.
        size: Height of the letters in units.
        anchor: ``start``, ``middle`` or ``end``.
        title: The whole text, shown where a reader points at it (SVG only).
        fill: Its colour.
    """

    x: float
    y: float
    text: str
    size: int = 12
    anchor: str = "start"
    title: str = ""
    fill: str = "#000000"


Shape = Rectangle | Line | Circle | Label


@attrs.frozen(kw_only=True)
class Drawing:
    """Shapes on white, drawn in their order."""

    width: int
    height: int
    shapes: tuple[Shape, ...]


def text_width(text: str, size: int) -> float:
    """An upper estimate of how wide a line of text is drawn, in units; fonts differ between readers.

    Args:
        text: Anything; a picture shows it on one line.
        size: Height of the letters in units.
    """
    return size * sum(map(_share_of_size, _line(text)))


def fitted_length(text: str, size: int, room: float) -> int:
    """How many characters fit into so many units: all, or at least two, an ellipsis and the end of the text."""
    if text_width(text, size) <= room:
        return len(text)
    left = room - size
    for length, character in enumerate(reversed(text), start=1):
        left -= size * _share_of_size(character)
        if left < 0.0:
            return max(2, length)
    return len(text)


def require_format(path: Path) -> None:
    """Refuse the name of a picture that is neither SVG nor PNG, before anything is computed.

    Raises:
        EvalError: It has another ending.
    """
    if path.suffix not in FORMATS:
        raise EvalError(
            f"a figure is an SVG or PNG file, not {path.name!r}", fix=f"--figure {path.stem or 'figure'}.svg"
        )


def render(drawing: Drawing, suffix: str) -> bytes:
    """The picture in the format of a file name's ending, ``.svg`` or ``.png``.

    Raises:
        EvalError: Pillow, which PNG needs, is not installed.
    """
    return render_png(drawing) if suffix == ".png" else render_svg(drawing)


def render_svg(drawing: Drawing) -> bytes:
    """SVG without scripts, links or fonts of its own."""
    from xml.etree.ElementTree import Element, tostring

    width, height = drawing.width, drawing.height
    root = Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {width} {height}",
            "width": str(width),
            "height": str(height),
            "font-family": "sans-serif",
            "font-size": "12",
        },
    )
    _element(root, Rectangle(x=0, y=0, width=width, height=height, fill="#ffffff"))
    for shape in drawing.shapes:
        _element(root, shape)
    return tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"


def render_png(drawing: Drawing) -> bytes:
    """PNG, drawn with Pillow and the font that it brings.

    Raises:
        EvalError: Pillow is not installed.
    """
    try:
        from PIL import Image, ImageDraw, ImageFont
    except ImportError as error:
        raise EvalError(
            "a PNG figure needs Pillow, which is not installed",
            fix="python -m pip install 'hylo-eval[figure]'; or name an SVG file",
        ) from error
    scale = _PNG_SCALE
    image = Image.new("RGB", (drawing.width * scale, drawing.height * scale), "#ffffff")
    canvas: Any = ImageDraw.Draw(image)
    fonts: dict[int, Any] = {}
    for shape in drawing.shapes:
        if isinstance(shape, Rectangle):
            box = (shape.x, shape.y, shape.x + shape.width, shape.y + shape.height)
            canvas.rectangle([scale * side for side in box], fill=shape.fill, outline=shape.stroke or shape.fill)
        elif isinstance(shape, Circle):
            box = (shape.cx - shape.r, shape.cy - shape.r, shape.cx + shape.r, shape.cy + shape.r)
            outline = shape.stroke or shape.fill
            canvas.ellipse([scale * side for side in box], fill=shape.fill, outline=outline, width=scale)
        elif isinstance(shape, Line):
            for part in _parts(shape):
                canvas.line([scale * place for place in part], fill=shape.stroke, width=round(scale * shape.width))
        else:
            font = fonts.setdefault(shape.size, ImageFont.load_default(shape.size * scale))
            anchor = {"start": "ls", "middle": "ms", "end": "rs"}[shape.anchor]
            place = (scale * shape.x, scale * shape.y)
            canvas.text(place, _line(shape.text), fill=shape.fill, font=font, anchor=anchor)
    written = BytesIO()
    image.save(written, "PNG", optimize=True)
    return written.getvalue()


def _share_of_size(character: str) -> float:
    from unicodedata import east_asian_width

    return 1.0 if east_asian_width(character) in "WF" else 0.62


def _line(text: str) -> str:
    return printable_line(text[:_MAX_CHARACTERS])


def _parts(line: Line) -> list[tuple[float, float, float, float]]:
    """The dashes of a line, or the line itself."""
    if not line.dashed:
        return [(line.x1, line.y1, line.x2, line.y2)]
    length = max(abs(line.x2 - line.x1), abs(line.y2 - line.y1))
    dashes = max(1, round(length / (2 * _DASH)))
    at = [(step / (2 * dashes), (step + 1) / (2 * dashes)) for step in range(0, 2 * dashes, 2)]
    dx, dy = line.x2 - line.x1, line.y2 - line.y1
    return [(line.x1 + a * dx, line.y1 + a * dy, line.x1 + b * dx, line.y1 + b * dy) for a, b in at]


def _element(root: Element, shape: Shape) -> None:
    from xml.etree.ElementTree import SubElement

    if isinstance(shape, Label):
        place = {"x": str(shape.x), "y": str(shape.y), "font-size": str(shape.size), "text-anchor": shape.anchor}
        node = SubElement(root, "text", place if shape.fill == "#000000" else {**place, "fill": shape.fill})
        node.text = _line(shape.text)
        if shape.title:
            SubElement(node, "title").text = _line(shape.title)
        return
    members: dict[str, Any] = attrs.asdict(shape)
    if not members["stroke"]:
        del members["stroke"]
    if isinstance(shape, Line):
        width = members.pop("width")
        if width != 1.0:
            members["stroke-width"] = width
        if members.pop("dashed"):
            members["stroke-dasharray"] = f"{_DASH} {_DASH}"
    kind = {Rectangle: "rect", Line: "line", Circle: "circle"}[type(shape)]
    SubElement(root, kind, {name: str(value) for name, value in members.items()})
