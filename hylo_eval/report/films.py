"""The videos of a page: in it while there is room, else a link beside it and a strip of pictures."""

from __future__ import annotations

import base64
import os
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import attrs

from hylo_eval.errors import EvalError
from hylo_eval.report.page_content import Place
from hylo_eval.report.run_summary import RunSummary
from hylo_eval.report.wall import sample_frames
from hylo_eval.video.reading import VideoFile

STRIP_FRAMES: Final = 8
STRIP_WIDTH: Final = 96
"""Columns of each picture of a strip, in pixels."""
_OVERHEAD: Final = 600
"""Bytes that a film takes in the page beside its content, generously."""


@attrs.frozen(kw_only=True)
class Film:
    """One video of an episode.

    Attributes:
        camera: What it shows.
        block: The id of the block of the page that holds it; empty where it is not in the page.
        content: Base64 of the file, where it is in the page.
        link: Where it lies otherwise, relative to the page.
        sheet: Some of its pictures as a ``data:`` URI, where it is not in the page.
    """

    camera: str
    block: str = ""
    content: str = ""
    link: str = ""
    sheet: str = ""

    def as_json(self) -> dict[str, Any]:
        """What the page's script needs."""
        return {"camera": self.camera, "block": self.block, "link": self.link, "sheet": self.sheet}


def fit_films(
    runs: Sequence[RunSummary], chosen: Sequence[Place], *, room: int, page: Path | None
) -> dict[Place, list[Film]]:
    """The videos of all episodes: of the chosen ones in the page, in their order, as long as there is room.

    Those are left out that nothing vouches for: where the trace or the video itself is not the one on record.

    Args:
        runs: What the page is about.
        chosen: Whose videos may be in it.
        room: Bytes that the page may grow by.
        page: Where it will lie; None for a server that has ``videos/<file>``, which puts none into the page.
    """
    links = {
        (place, index): [_linked(video, page) for video in episode.videos]
        for place, run in enumerate(runs)
        for index, episode in enumerate(run.episodes)
        if episode.videos
    }
    if page is None:
        return links
    room -= sum(len(film.link) + _OVERHEAD // 4 for films in links.values() for film in films)
    for place, index in chosen:
        for number, video in enumerate(runs[place].episodes[index].videos):
            film = _embedded(video, f"film-{place}-{index}-{number}", room)
            if film is not None:
                room -= len(film.content) + len(film.sheet) + _OVERHEAD
                links[place, index][number] = attrs.evolve(film, link=links[place, index][number].link)
    return links


def _linked(video: VideoFile, page: Path | None) -> Film:
    name = quote(video.path.name)
    if page is None:
        return Film(camera=video.camera, link=f"videos/{name}")
    folder = os.path.relpath(video.path.parent, page.parent.absolute())
    return Film(camera=video.camera, link=f"{quote(Path(folder).as_posix())}/{name}")


def _embedded(video: VideoFile, block: str, room: int) -> Film | None:
    """The video itself, or else its strip, or else nothing."""
    size = video.path.stat().st_size * 4 // 3 + 4
    if size + _OVERHEAD <= room:
        return Film(camera=video.camera, block=block, content=base64.b64encode(video.path.read_bytes()).decode())
    if room < 50_000:
        return None
    sheet = _strip(video.path)
    return Film(camera=video.camera, sheet=sheet) if len(sheet) + _OVERHEAD <= room else None


def _strip(path: Path) -> str:
    """Some pictures side by side as a ``data:`` URI; empty where they cannot be read here."""
    import numpy as np

    try:
        from PIL import Image

        frames = np.concatenate(sample_frames(path, STRIP_FRAMES, width=STRIP_WIDTH), axis=1)
    except (ImportError, EvalError):
        # A page without the strip is still a page; the link beside it says where the video is.
        return ""
    content = BytesIO()
    Image.fromarray(frames).save(content, "JPEG", quality=80)
    return f"data:image/jpeg;base64,{base64.b64encode(content.getvalue()).decode()}"
