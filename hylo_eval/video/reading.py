"""Videos of a run read back: which there are, and their frames."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs

from hylo_core.errors import describe_error
from hylo_eval.errors import EvalError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hylo_eval.traces.layout import RunFolder

MAX_FRAMES: Final = 100_000
"""Frames after which a video is read no further: an hour at 25 a second."""

_VIDEO: Final = re.compile(r"(?P<episode>.+)\.(?P<camera>[A-Za-z0-9_-]+)\.mp4")


@attrs.frozen(kw_only=True)
class VideoFile:
    """A finished video.

    Attributes:
        episode_id: Of which episode.
        camera: The camera, as its file names it.
        path: The file.
    """

    episode_id: str
    camera: str
    path: Path


def find_videos(run: RunFolder) -> Mapping[str, tuple[VideoFile, ...]]:
    """The finished videos of a run by episode id, cameras in the order of their names."""
    found: dict[str, list[VideoFile]] = {}
    for path in sorted(run.videos.glob("*.mp4")) if run.videos.is_dir() else ():
        video = video_at(path)
        if video is not None:
            found.setdefault(video.episode_id, []).append(video)
    return {episode: tuple(videos) for episode, videos in found.items()}


def video_at(path: Path) -> VideoFile | None:
    """The finished video that is this file; None for any other file, and for a link, which leads elsewhere."""
    match = _VIDEO.fullmatch(path.name)
    if match is None or not path.is_file() or path.is_symlink():
        return None
    return VideoFile(episode_id=match["episode"], camera=match["camera"], path=path)


def frame_rate_of(path: Path) -> Fraction:
    """Frames a second of a video.

    Raises:
        EvalError: It cannot be read.
    """
    with _Opened(path) as (container, stream):
        del container
        return Fraction(stream.average_rate or 10)


def count_frames(path: Path) -> int:
    """How many frames a video says it has.

    Raises:
        EvalError: It cannot be read.
    """
    with _Opened(path) as (container, stream):
        del container
        return int(stream.frames)


def read_frames(path: Path, *, width: int | None = None) -> Iterator[NDArray[np.uint8]]:
    """The frames of a video in order, RGB, shape (height, width, 3).

    Args:
        path: The file.
        width: Scale to this many columns, keeping the proportions; None keeps the size.

    Raises:
        EvalError: It cannot be read, or breaks off.
    """
    with _Opened(path) as (container, stream):
        size: dict[str, int] = {}
        if width is not None:
            size = {"width": width, "height": max(2, round(stream.height * width / stream.width))}
        for index, frame in enumerate(container.decode(stream)):
            if index >= MAX_FRAMES:
                return
            yield frame.to_ndarray(format="rgb24", **size)


class _Opened:
    """A video file that is open; what FFmpeg says of it becomes an error that names the file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._container: Any = None

    def __enter__(self) -> tuple[Any, Any]:
        from hylo_eval.video.encoder import require_encoder

        av = require_encoder()
        try:
            self._container = av.open(str(self._path))
            return self._container, self._container.streams.video[0]
        except (av.FFmpegError, OSError, IndexError) as error:
            raise self._unreadable(error) from error

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if self._container is not None:
            self._container.close()
        # FFmpeg's errors are OSErrors and ValueErrors too; nothing else in the block reads anything.
        if isinstance(error, (OSError, ValueError)):
            raise self._unreadable(error) from error

    def _unreadable(self, error: Exception) -> EvalError:
        return EvalError(
            f"the video {self._path} cannot be read: {describe_error(error)}",
            fix="remove the video, or record the episode again with --video all",
        )
