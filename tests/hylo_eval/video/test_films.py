"""Whether a video is the one that was recorded."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import attrs
import pytest

from hylo_core.trace import EpisodeTrace
from hylo_eval import read_trace
from hylo_eval.video.films import FilmCheck, FilmDigest, films_on_record, sort_out
from tests.answered import answered
from tests.pictures import write_picture_run

GOLDEN = Path(__file__).parents[2] / "golden" / "trace-v0.1.jsonl"


def film(content: bytes) -> FilmDigest:
    """What identifies a content."""
    return FilmDigest(f"sha256:{hashlib.sha256(content).hexdigest()}", len(content))


def saying(videos: object) -> EpisodeTrace:
    """A trace whose end event says this of its videos."""
    trace = answered("x")
    assert trace.end is not None
    return attrs.evolve(trace, end=attrs.evolve(trace.end, volatile={"videos": videos}))


def test_a_trace_holds_the_digests_of_its_videos(tmp_path: Path) -> None:
    """Of those that are kept; the digest of the trace covers them."""
    pytest.importorskip("av")
    result = write_picture_run(tmp_path, "run", won=(1,), video="failures")
    for sample in result.log.samples:
        trace = read_trace(result.run.path / sample.trace)
        assert trace.trace_sha256 == sample.trace_sha256
        path = result.run.video(sample.episode_id, "front")
        kept = {path.name: film(path.read_bytes())} if sample.seed != 1 else {}
        assert films_on_record(trace) == kept


def test_an_episode_without_video_says_so(tmp_path: Path) -> None:
    """So that one that is put beside it later is not taken for its own."""
    result = write_picture_run(tmp_path, "run", count=1, video="none")
    assert films_on_record(read_trace(result.run.path / result.log.samples[0].trace)) == {}


def test_a_trace_of_an_older_release_says_nothing_of_videos(tmp_path: Path) -> None:
    """What lies beside it is shown as it always was."""
    trace = read_trace(GOLDEN)
    assert films_on_record(trace) is None
    (tmp_path / "a.mp4").write_bytes(b"old")
    assert sort_out([tmp_path / "a.mp4"], trace) == ([tmp_path / "a.mp4"], [])


@pytest.mark.parametrize(
    "videos",
    [
        [],
        "a.mp4",
        3,
        {"a.mp4": "sha256:0"},
        {"a.mp4": {"sha256": 3, "size": 3}},
        {"a.mp4": {"sha256": "", "size": True}},
    ],
)
def test_a_record_that_is_none_vouches_for_nothing(videos: object) -> None:
    """A trace is untrusted: it may say anything."""
    assert films_on_record(saying(videos)) == {}


def test_a_trace_without_end_vouches_for_nothing() -> None:
    """Its episode was lost before a video was whole."""
    assert films_on_record(attrs.evolve(answered("x"), end=None)) == {}


def test_only_the_recorded_bytes_are_believed(tmp_path: Path) -> None:
    """Each doubt names the file and what is wrong with it."""
    path, record = tmp_path / "a.mp4", {"a.mp4": film(b"recorded")}
    check = FilmCheck()
    assert "cannot be read: No such file" in check.doubt(path, record)
    path.write_bytes(b"recorded")
    assert check.doubt(path, record) == ""
    assert check.doubt(path, None) == ""
    assert check.doubt(path, {"b.mp4": film(b"recorded")}) == "a.mp4 is not on record: its episode has no such video"
    path.write_bytes(b"longer than it")
    assert check.doubt(path, record) == "a.mp4: 8 bytes are on record, the file has 14"
    path.write_bytes(b"otherdoc")
    assert check.doubt(path, record).startswith(f"a.mp4: {record['a.mp4'].sha256} is on record as its digest")


def test_what_was_read_once_is_read_again_when_it_was_changed(tmp_path: Path) -> None:
    """Also where somebody gives it back its old time and size."""
    path, record = tmp_path / "a.mp4", {"a.mp4": film(b"recorded")}
    path.write_bytes(b"recorded")
    check = FilmCheck()
    assert check.doubt(path, record) == ""
    before = path.stat()
    (tmp_path / "other").write_bytes(b"otherdoc")
    (tmp_path / "other").replace(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert check.doubt(path, record) != ""
