"""Videos of another machine: what arrives is written, what does not is counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from hylo_eval.evaluation.workers import carried_videos
from hylo_eval.evaluation.workers.carried_videos import store_videos, take_videos
from hylo_eval.traces.layout import RunFolder
from hylo_eval.video.recorder import VideoTally

EPISODE = "reach-3-0123456789.2"


@pytest.fixture
def there(tmp_path: Path) -> RunFolder:
    """The folder of a worker elsewhere, with two videos of an episode and what another left."""
    run = RunFolder(tmp_path / "there")
    run.videos.mkdir(parents=True)
    for name in (f"{EPISODE}.front.mp4", f"{EPISODE}.wrist.mp4", f"{EPISODE}.wrist.mp4.partial", "lost.1.front.mp4"):
        (run.videos / name).write_bytes(name.encode())
    return run


@pytest.fixture
def here(tmp_path: Path) -> RunFolder:
    """The folder of the run, without videos so far."""
    run = RunFolder(tmp_path / "here")
    run.path.mkdir()
    return run


def test_the_videos_of_an_episode_are_moved(there: RunFolder, here: RunFolder) -> None:
    """Those that are finished, under their names; nothing stays behind."""
    files = take_videos(there, EPISODE)
    assert list(there.videos.iterdir()) == []
    told = VideoTally(written=2, failed=1, first_error="no such codec")
    assert store_videos(here, EPISODE, files, told) == told
    assert {path.name: path.read_text() for path in here.videos.iterdir()} == {
        name: name for name in (f"{EPISODE}.front.mp4", f"{EPISODE}.wrist.mp4")
    }


def test_where_nothing_is_recorded_nothing_is_made(here: RunFolder) -> None:
    """A run without videos has no folder for them."""
    assert take_videos(here, EPISODE) == {}
    assert store_videos(here, EPISODE, {}, VideoTally()) == VideoTally()
    assert not here.videos.exists()


def test_a_video_that_is_too_long_stays_away_and_is_counted(
    there: RunFolder, here: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would fill the memory of two machines."""
    monkeypatch.setattr(carried_videos, "MAX_VIDEO_BYTES", 10)
    tally = store_videos(here, EPISODE, take_videos(there, EPISODE), VideoTally(written=2))
    assert (tally.written, tally.failed) == (0, 2)
    assert tally.first_error == "a video of its worker did not arrive"


def test_a_video_that_cannot_be_written_is_counted_and_raises_nothing(here: RunFolder) -> None:
    """The outcome of its episode stands whatever becomes of the video."""
    here.videos.touch()
    tally = store_videos(here, EPISODE, {f"{EPISODE}.front.mp4": b"x"}, VideoTally(written=1))
    assert (tally.written, tally.failed) == (0, 1)
    assert "File exists" in tally.first_error or "Not a directory" in tally.first_error


@pytest.mark.parametrize(
    "name", [f"{EPISODE}.x/../../../evil.mp4", "../evil.mp4", "other.1.front.mp4", f"{EPISODE}.sh"]
)
def test_a_name_that_is_no_videos_is_not_written(here: RunFolder, name: str) -> None:
    """What comes from another machine names no other file than one of this episode's videos."""
    tally = store_videos(here, EPISODE, {name: b"x"}, VideoTally(written=1))
    assert (tally.written, tally.failed) == (0, 1)
    assert not here.videos.exists()
