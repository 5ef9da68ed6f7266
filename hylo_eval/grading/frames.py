"""Pictures of a recorded video: the first, the last, and some evenly between."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any, Final

import attrs

from hylo_eval.agents.png import encode_png
from hylo_eval.errors import EvalError

_AGAIN: Final = "record the episode again with --video all"
_SMALLER: Final = "record smaller or shorter videos"
MAX_VIDEO_FRAMES: Final = 200_000
"""A longer video is refused."""

MAX_SIDE: Final = 4096
"""A video with a longer side is refused, before a picture of it is made."""


@attrs.frozen(kw_only=True)
class Frame:
    """One picture of a video.

    Attributes:
        index: Its position, from 0.
        of: Pictures in the video.
        png: The picture as a PNG file.
    """

    index: int
    of: int
    png: bytes = attrs.field(repr=False)


def read_frames(path: Path, count: int, longest_side: int = 512) -> tuple[Frame, ...]:
    """Pictures of a video, in order.

    Args:
        path: The video.
        count: How many: the first, the last, and the others evenly between; all of a shorter video.
        longest_side: Pixels; larger pictures are made smaller, with their proportions.

    Raises:
        EvalError: The library is missing, the file cannot be read as a video, or it is too large.
    """
    try:
        av: Any = import_module("av")
    except ImportError as error:
        raise EvalError("PyAV, which reads videos, is not installed", fix="pip install 'hylo-eval[video]'") from error
    try:
        total = _count(av, path)
        chosen = evenly(total, count)
        with av.open(str(path)) as container:
            found = [
                Frame(index=index, of=total, png=_png(frame, longest_side))
                for index, frame in enumerate(container.decode(video=0))
                if index in chosen
            ]
    except (av.FFmpegError, OSError, IndexError) as error:
        raise EvalError(f"the video {path.name} cannot be read: {type(error).__name__}", fix=_AGAIN) from error
    if not found:
        raise EvalError(f"the video {path.name} holds no picture", fix=_AGAIN)
    return tuple(found)


def evenly(total: int, count: int) -> frozenset[int]:
    """Positions of ``count`` of ``total`` pictures: first and last, the others evenly between, halves rounded up."""
    if total <= count:
        return frozenset(range(total))
    if count == 1:
        return frozenset({total - 1})
    return frozenset((2 * index * (total - 1) + count - 1) // (2 * (count - 1)) for index in range(count))


def _count(av: Any, path: Path) -> int:
    """Pictures that can be decoded; what the file says of itself is not believed."""
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        if max(stream.codec_context.width, stream.codec_context.height) > MAX_SIDE:
            raise EvalError(f"the video {path.name} has a side of more than {MAX_SIDE} pixels", fix=_SMALLER)
        total = 0
        for _ in container.decode(video=0):
            total += 1
            if total > MAX_VIDEO_FRAMES:
                raise EvalError(f"the video {path.name} holds more than {MAX_VIDEO_FRAMES} pictures", fix=_SMALLER)
    return total


def _png(frame: Any, longest_side: int) -> bytes:
    scale = min(1.0, longest_side / max(frame.width, frame.height))
    width, height = max(1, round(frame.width * scale)), max(1, round(frame.height * scale))
    return encode_png(frame.to_ndarray(format="rgb24", width=width, height=height))
