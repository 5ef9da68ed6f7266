"""Frames of recorded videos for another viewer."""

from __future__ import annotations

from pathlib import Path

import pytest

from hylo_eval import EvalError
from hylo_eval.exchange.inspect_robots_frames import FRAMES_A_VIDEO, write_frames
from hylo_eval.exchange.source import load_source
from tests.pictures import swap_films, write_picture_run
from tests.runs import edit_trace

pytest.importorskip("av")


def test_every_video_gives_frames(tmp_path: Path) -> None:
    """Eight of each, and a message for each episode that names them."""
    run = write_picture_run(tmp_path, "run", count=2).run
    messages = write_frames(load_source(run), tmp_path / "frames")
    assert set(messages) == {"unit/task#0", "unit/task#1"}
    assert len(list((tmp_path / "frames").iterdir())) == 2 * FRAMES_A_VIDEO


def test_another_episodes_video_gives_none(tmp_path: Path) -> None:
    """The export is refused with the episode under whose name it lies, and what to do."""
    run = write_picture_run(tmp_path, "run", count=2).run
    changed = swap_films(run, shown=0, under=1)
    with pytest.raises(EvalError, match=f"nothing vouches for a video of unit/task#1: {changed.name}: ") as caught:
        write_frames(load_source(run), tmp_path / "frames")
    assert "remove the video" in caught.value.fix
    changed.unlink()
    assert set(write_frames(load_source(run), tmp_path / "frames")) == {"unit/task#0"}


def test_a_changed_trace_vouches_for_no_video(tmp_path: Path) -> None:
    """It could name any digest."""
    run = write_picture_run(tmp_path, "run", count=2).run
    edit_trace(run.path, "unit/task#1", lambda text: text.replace('"reward":', '"reward":1', 1))
    with pytest.raises(EvalError, match=r"nothing vouches for a video of unit/task#1: .* is on record as its digest"):
        write_frames(load_source(run), tmp_path / "frames")
    assert not (tmp_path / "frames").exists()
