"""Frames of recorded videos, where inspect-robots' viewer looks for them: array files, and messages that name them."""

from __future__ import annotations

import re
import shutil
import zlib
from collections.abc import Iterable, Mapping
from glob import escape
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from hylo_eval.errors import EvalError, TraceError, cannot_write
from hylo_eval.evallog.v02 import Sample
from hylo_eval.exchange.source import ExportSource
from hylo_eval.traces.reader import read_trace
from hylo_eval.video.films import sort_out

FRAMES_A_VIDEO: Final = 8
"""Evenly spaced, the first and the last among them."""

_PLACEHOLDER: Final = "[image omitted: streamed camera frame]"
"""The text in whose place their viewer shows the frame that the text before it names."""

_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]+")


def write_frames(source: ExportSource, folder: Path) -> Mapping[str, list[dict[str, Any]]]:
    """Write frames of every recorded video of the log's episodes.

    Args:
        source: Whose videos; without any, nothing is written.
        folder: Where the frames go; must not exist.

    Returns:
        Instance key -> messages that show its frames, for the scene's transcript.

    Raises:
        EvalError: PyAV is not installed, the folder exists, a file cannot be read or written, or nothing vouches for a
            video.
    """
    import numpy as np

    videos = {sample.key: _videos(source, sample) for sample in source.log.samples}
    if not any(videos.values()):
        return {}
    try:
        folder.mkdir(parents=True)
    except FileExistsError as error:
        raise EvalError(f"{folder} exists already; nothing is written over", fix="choose another -o") from error
    except OSError as error:
        raise cannot_write(str(folder), error) from error
    messages: dict[str, list[dict[str, Any]]] = {}
    try:
        for key, cameras in videos.items():
            parts: list[dict[str, str]] = []
            for camera, path in cameras.items():
                for step, frame in _frames(path).items():
                    name = f"{file_name(f'{key}-e0')}_{file_name(camera)}_{step:06d}.npy"
                    np.save(folder / name, np.asarray(frame), allow_pickle=False)
                    shown = (f"camera '{camera}' (step {step}):", _PLACEHOLDER)
                    parts += [{"type": "text", "text": text} for text in shown]
            if parts:
                messages[key] = [{"role": "user", "content": parts}]
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return messages


def file_name(text: str) -> str:
    """A text as the viewer's file names hold it: what was replaced is told apart by a checksum of the text."""
    safe = _UNSAFE.sub("-", text)
    return safe if safe == text else f"{safe}-{zlib.crc32(text.encode()):08x}"


def _videos(source: ExportSource, sample: Sample) -> dict[str, Path]:
    """Camera -> the finished video of an episode.

    Raises:
        EvalError: One is not the video that was recorded, or the trace that would tell is not the recorded one.
    """
    trace = source.trace(sample)
    stem = trace.name.removesuffix(".jsonl")
    there = sorted(source.run.videos.glob(f"{escape(stem)}.*.mp4"))
    there = [path for path in there if path.is_file() and not path.is_symlink()]
    found = {path.name[len(stem) + 1 : -len(".mp4")]: path for path in there}
    doubts = _doubts(trace, sample.trace_sha256, found.values()) if found else []
    if doubts:
        raise EvalError(
            f"nothing vouches for a video of {sample.key}: {doubts[0]}",
            fix="restore the run's files as they were written, or remove the video: the export then has none of it",
        )
    return found


def _doubts(path: Path, trace_sha256: str, videos: Iterable[Path]) -> list[str]:
    try:
        trace = read_trace(path, digests="trace", by_column=True)
    except TraceError as error:
        return [f"{path.name}: {error.reason}"]
    if trace_sha256 and trace.trace_sha256 != trace_sha256:
        return [f"{path.name}: {trace_sha256} is on record as its digest, the file has {trace.trace_sha256}"]
    return sort_out(videos, trace)[1]


def _frames(path: Path) -> dict[int, Any]:
    """Evenly spaced frames of a video by their index, RGB, shape (height, width, 3), dtype uint8."""
    try:
        av: Any = import_module("av")
    except ImportError as error:
        raise EvalError("frames of videos need PyAV", fix="python -m pip install 'hylo-eval[video]'") from error
    try:
        with av.open(str(path)) as container:
            last = max(0, int(container.streams.video[0].frames) - 1)
            wanted = {round(last * number / (FRAMES_A_VIDEO - 1)) for number in range(FRAMES_A_VIDEO)}
            return {
                index: frame.to_ndarray(format="rgb24")
                for index, frame in enumerate(container.decode(video=0))
                if index in wanted
            }
    except (av.error.FFmpegError, IndexError) as error:
        raise EvalError(
            f"{path} is no video that can be read: {error}",
            fix="remove the video: the export then holds no frames of it",
        ) from error
