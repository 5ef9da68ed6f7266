"""Whether a video is the one that was recorded: the end event of its episode's trace holds the digest of every one.

The digest of the trace covers that event, and stands in the queue and in the log. So a video that was changed, or
another episode's under the name of this one, is told by whoever believes the trace.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any, Final, cast

import attrs

from hylo_core.trace import EpisodeTrace
from hylo_eval.traces.writer import VIDEOS

_CHUNK_BYTES: Final = 1 << 20


@attrs.frozen
class FilmDigest:
    """What identifies a video.

    Attributes:
        sha256: ``sha256:`` and the digest of its bytes.
        size: In bytes.
    """

    sha256: str
    size: int


def digest_of_film(file: IO[bytes]) -> FilmDigest:
    """What identifies the video that is open, from its first byte to its last.

    Raises:
        OSError: It cannot be read.
    """
    file.seek(0)
    found, size = hashlib.sha256(), 0
    while part := file.read(_CHUNK_BYTES):
        found.update(part)
        size += len(part)
    return FilmDigest(f"sha256:{found.hexdigest()}", size)


def as_recorded(films: Mapping[str, FilmDigest]) -> dict[str, dict[str, Any]]:
    """Videos by file name, as the end event has them."""
    return {name: attrs.asdict(film) for name, film in films.items()}


def films_on_record(trace: EpisodeTrace) -> Mapping[str, FilmDigest] | None:
    """The videos that a trace vouches for, by file name; None where it is of a Hylo that recorded no digests."""
    if trace.end is None:
        return {}
    recorded: Any = trace.end.volatile.get(VIDEOS)
    if recorded is None:
        return None
    found: dict[str, FilmDigest] = {}
    for name, film in cast("Mapping[str, Any]", recorded).items() if isinstance(recorded, Mapping) else ():
        members = cast("Mapping[str, Any]", film) if isinstance(film, Mapping) else dict[str, Any]()
        sha256, size = members.get("sha256"), members.get("size")
        if isinstance(sha256, str) and type(size) is int:
            found[name] = FilmDigest(sha256, size)
    return found


def sort_out(videos: Iterable[Path], trace: EpisodeTrace) -> tuple[list[Path], list[str]]:
    """The videos that a trace vouches for, and of each of the others why it does not."""
    check, on_record = FilmCheck(), films_on_record(trace)
    doubts = {video: check.doubt(video, on_record) for video in videos}
    return [video for video, doubt in doubts.items() if not doubt], [doubt for doubt in doubts.values() if doubt]


@attrs.define
class FilmCheck:
    """Holds videos against what is on record of them, and reads each state of a file once.

    One for many looks at the same files: what a file had when it was read is known by its time of change, which nobody
    sets.
    """

    _known: dict[tuple[int, ...], FilmDigest] = attrs.field(init=False, factory=dict[tuple[int, ...], FilmDigest])

    def doubt(self, path: Path, on_record: Mapping[str, FilmDigest] | None) -> str:
        """Why a video is not the one that was recorded, in words; empty where it is, or no digest was recorded."""
        if on_record is None:
            return ""
        try:
            with path.open("rb") as file:
                return self.doubt_of(file, path.name, on_record)
        except OSError as error:
            return f"{path.name} cannot be read: {error.strerror}"

    def doubt_of(self, file: IO[bytes], name: str, on_record: Mapping[str, FilmDigest] | None) -> str:
        """The same of a file that is open, and stays the same file while it is read.

        Raises:
            OSError: It cannot be read.
        """
        if on_record is None:
            return ""
        recorded = on_record.get(name)
        if recorded is None:
            return f"{name} is not on record: its episode has no such video"
        seen = os.fstat(file.fileno())
        state = (seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns)
        if seen.st_size != recorded.size:
            return f"{name}: {recorded.size} bytes are on record, the file has {seen.st_size}"
        found = self._known.get(state)
        if found is None:
            found = self._known[state] = digest_of_film(file)
        if found != recorded:
            return f"{name}: {recorded.sha256} is on record as its digest, the file has {found.sha256}"
        return ""
