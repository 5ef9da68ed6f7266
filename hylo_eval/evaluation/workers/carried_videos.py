"""Videos that were recorded on another machine: taken there, and written into the folder of the run here.

They travel as bytes with the answer of their episode, as traces do. What goes wrong with one is counted and changes no
outcome.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import attrs

from hylo_core.errors import describe_error
from hylo_eval.traces.files import write_once

if TYPE_CHECKING:
    from hylo_eval.traces.layout import RunFolder
    from hylo_eval.video.recorder import VideoTally

MAX_VIDEO_BYTES: Final = 256 * 1024 * 1024
"""Of one file: a longer one would fill the memory of two machines, and is left out."""

_ENDS: Final = ".mp4"


def take_videos(run: RunFolder, episode: str) -> dict[str, bytes]:
    """The finished videos of an episode by file name; nothing is left of them, nor of episodes that were lost.

    Args:
        run: The folder that the worker wrote into, for nobody else.
        episode: The episode's id.
    """
    taken: dict[str, bytes] = {}
    with contextlib.suppress(OSError):
        for path in sorted(run.videos.iterdir()):
            with contextlib.suppress(OSError):
                if _is_of(episode, path.name) and path.stat().st_size <= MAX_VIDEO_BYTES:
                    taken[path.name] = path.read_bytes()
                path.unlink()
    return taken


def store_videos(run: RunFolder, episode: str, files: Mapping[str, bytes], told: VideoTally) -> VideoTally:
    """Write the videos of an episode into the folder of the run.

    Args:
        run: The run.
        episode: The episode's id.
        files: What :func:`take_videos` took.
        told: What the worker says it has recorded.

    Returns:
        What the run has of it: a video that did not arrive, or cannot be written, is one that failed.
    """
    stored, reason = 0, "a video of its worker did not arrive"
    for name, data in files.items():
        if not _is_of(episode, name):
            continue
        try:
            run.videos.mkdir(exist_ok=True)
            write_once(run.videos / name, data)
            stored += 1
        except OSError as error:
            reason = describe_error(error)
    missing = max(0, told.written - stored)
    return attrs.evolve(
        told,
        written=stored,
        failed=told.failed + missing,
        first_error=told.first_error or (reason if missing else ""),
    )


def _is_of(episode: str, name: str) -> bool:
    return name.startswith(f"{episode}.") and name.endswith(_ENDS) and "/" not in name
