"""The videos of a run at one sight: a contact sheet, a row an episode, and a wall in which all of them play at once."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs

from hylo_eval.errors import EvalError, cannot_write
from hylo_eval.report.text import printable_line
from hylo_eval.video.encoder import CameraFile
from hylo_eval.video.reading import count_frames, frame_rate_of, read_frames

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Picture = NDArray[np.uint8]

TILE_WIDTH: Final = 160
"""Columns of a tile, in pixels."""
SHEET_FRAMES: Final = 8
"""Pictures of an episode on a contact sheet: the first, the last, and evenly between."""
MAX_TILES: Final = 100
"""Episodes on a wall; more are too small to be seen."""

_FRAME = 3
_LABEL = 16
_COLOURS: Final = {"success": (0, 114, 178), "failure": (213, 94, 0)}
_GREY: Final = (128, 128, 128)
_BACKGROUND: Final = 24
_CHARACTER = 6


@attrs.frozen(kw_only=True)
class Tile:
    """One episode on the wall.

    Attributes:
        label: What is written above it.
        outcome: ``success``, ``failure``, or why there is neither; the colour of its frame.
        path: Its video.
    """

    label: str
    outcome: str
    path: Path


def write_contact_sheet(tiles: Sequence[Tile], path: Path, *, frames: int = SHEET_FRAMES) -> None:
    """Write a PNG with a row of pictures for each episode, evenly spaced from the first to the last.

    Raises:
        EvalError: There is no episode, a video cannot be read, or the file exists or cannot be written.
    """
    import numpy as np

    _check(tiles)
    rows: list[Picture] = []
    for tile in tiles:
        shown = np.concatenate(sample_frames(tile.path, frames, width=TILE_WIDTH), axis=1)
        rows.append(_framed(shown, tile))
    width = max(row.shape[1] for row in rows)
    sheet = np.concatenate([_padded(row, width, row.shape[0]) for row in rows], axis=0)
    _write_png(sheet, path)


def write_wall(tiles: Sequence[Tile], path: Path) -> None:
    """Write an MP4 in which all videos play at once, at the rate of the first; one that is over stands still, darker.

    Raises:
        EvalError: There is no episode, or more than :data:`MAX_TILES`; a video cannot be read; or the file exists or
            cannot be written.
    """
    _check(tiles)
    if path.exists():
        raise EvalError(f"{path} exists already", fix="remove it, or name another folder with --output")
    rate = frame_rate_of(tiles[0].path)
    file: CameraFile | None = None
    try:
        for picture in wall_frames(tiles):
            file = file or CameraFile(path, rate=Fraction(rate), pixels="rgb24", shape=_sides(picture))
            file.write(picture)
        if file is not None:
            file.finish()
            file = None
    except OSError as error:
        raise cannot_write(str(path), error) from error
    finally:
        if file is not None:
            with suppress(OSError):
                file.discard()


def wall_frames(tiles: Sequence[Tile]) -> Iterator[Picture]:
    """The wall picture by picture, as long as the longest video."""
    import numpy as np

    readers = [read_frames(tile.path, width=TILE_WIDTH) for tile in tiles]
    first = [next(reader, None) for reader in readers]
    shown: list[Any] = [np.zeros((TILE_WIDTH, TILE_WIDTH, 3), np.uint8) if frame is None else frame for frame in first]
    going = [frame is not None for frame in first]
    while True:
        yield arrange([_framed(picture, tile) for picture, tile in zip(shown, tiles, strict=True)])
        for index, reader in enumerate(readers):
            if going[index]:
                following = next(reader, None)
                going[index] = following is not None
                shown[index] = shown[index] // 2 if following is None else following
        if not any(going):
            return


def arrange(pictures: Sequence[Picture]) -> Picture:
    """Pictures side by side in about as many rows as columns, each in a cell of the largest one's size."""
    import numpy as np

    columns = math.ceil(math.sqrt(len(pictures)))
    height, width = (max(picture.shape[side] for picture in pictures) for side in (0, 1))
    cells = [_padded(picture, width, height) for picture in pictures]
    blank = np.full((height, width, 3), _BACKGROUND, np.uint8)
    cells += [blank] * (-len(cells) % columns)
    rows = [np.concatenate(cells[start : start + columns], axis=1) for start in range(0, len(cells), columns)]
    return np.concatenate(rows, axis=0)


def sample_frames(path: Path, count: int, *, width: int) -> list[Picture]:
    """Evenly spaced frames of a video, the first and the last among them; a short one repeats some.

    Raises:
        EvalError: It cannot be read, or holds no frame.
    """
    total = count_frames(path)
    wanted = {round(index * (total - 1) / max(1, count - 1)) for index in range(count)}
    found = {index: frame for index, frame in enumerate(read_frames(path, width=width)) if index in wanted}
    if not found:
        raise EvalError(f"the video {path} holds no frame", fix="remove the video, or run the episode again")
    last = max(found)
    return [found[min(round(index * (total - 1) / max(1, count - 1)), last)] for index in range(count)]


def _check(tiles: Sequence[Tile]) -> None:
    if not tiles:
        raise EvalError("there is no video to show", fix="record some: hylo-eval run … --video all")
    if len(tiles) > MAX_TILES:
        raise EvalError(
            f"a wall of {len(tiles)} episodes cannot be seen; {MAX_TILES} are the most",
            fix=f"--max-episodes {MAX_TILES}",
        )


def _sides(picture: Picture) -> tuple[int, int]:
    return picture.shape[0], picture.shape[1]


def _framed(picture: Picture, tile: Tile) -> Picture:
    """The picture in a frame of its outcome's colour, its label above."""
    import numpy as np

    height, width = picture.shape[:2]
    framed = np.empty((height + 2 * _FRAME + _LABEL, width + 2 * _FRAME, 3), np.uint8)
    framed[:] = _COLOURS.get(tile.outcome, _GREY)
    framed[:_LABEL] = _label(tile, framed.shape[1])
    framed[_LABEL + _FRAME : -_FRAME, _FRAME:-_FRAME] = picture
    return framed


def _label(tile: Tile, width: int) -> Picture:
    import numpy as np

    try:
        from PIL import Image, ImageDraw
    except ImportError as error:
        raise EvalError(
            f"labels need Pillow, which is not installed here ({error})", fix="python -m pip install 'hylo-eval[video]'"
        ) from error
    strip = Image.new("RGB", (width, _LABEL), (_BACKGROUND,) * 3)
    # The end of a key tells episodes apart, so a long one loses its beginning.
    room = max(4, width // _CHARACTER - 1)
    text = printable_line(f"{tile.label} {tile.outcome}").encode("ascii", "replace").decode()
    text = text if len(text) <= room else f"..{text[2 - room :]}"
    ImageDraw.Draw(strip).text((3, 2), text, fill=(240, 240, 240))
    return np.asarray(strip)


def _padded(picture: Picture, width: int, height: int) -> Picture:
    import numpy as np

    missing = ((0, height - picture.shape[0]), (0, width - picture.shape[1]), (0, 0))
    return np.pad(picture, missing, constant_values=_BACKGROUND)


def _write_png(picture: Picture, path: Path) -> None:
    from io import BytesIO

    from PIL import Image

    from hylo_eval.traces.files import write_once

    content = BytesIO()
    Image.fromarray(picture).save(content, "PNG")
    try:
        write_once(path, content.getvalue())
    except FileExistsError:
        raise EvalError(f"{path} exists already", fix="remove it, or name another folder with --output") from None
    except OSError as error:
        raise cannot_write(str(path), error) from error
