"""``hylo-eval video``: what was recorded, one by one and at one sight."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hylo_eval.report.wall import arrange, sample_frames
from hylo_eval.traces.layout import RunFolder
from hylo_eval.video.reading import count_frames, read_frames
from tests.pictures import swap_films, write_picture_run
from tests.runs import edit_trace, write_run

pytest.importorskip("av")
pytest.importorskip("PIL")


@pytest.fixture
def video(hylo: Any, tmp_path: Path) -> Any:
    """A run of three episodes with video; the one of seed 1 succeeds after two steps."""
    write_picture_run(tmp_path, "run", won=(1,))
    return lambda *options, run="run": hylo("video", run, "--run-root", tmp_path, *options)


def picture(path: Path) -> Any:
    """A picture, its file closed."""
    from PIL import Image

    with Image.open(path) as opened:
        return opened.copy()


def test_it_lists_what_there_is(video: Any) -> None:
    """One line a video, with its outcome."""
    lines = video().out.splitlines()
    assert lines[0].split() == ["episode", "outcome", "camera", "file"]
    assert [line.split()[:3] for line in lines[1:]] == [
        ["unit/task#0", "failure", "front"],
        ["unit/task#1", "success", "front"],
        ["unit/task#2", "failure", "front"],
    ]


def test_failures_alone(video: Any) -> None:
    """Without the success."""
    assert [line.split()[0] for line in video("--failures").out.splitlines()[1:]] == ["unit/task#0", "unit/task#2"]


def test_a_grid_is_a_sheet_and_a_wall(video: Any, tmp_path: Path) -> None:
    """Three rows of eight pictures, and a film of two by two tiles as long as the longest video."""
    done = video("--grid")
    assert done.code == 0, done.err
    sheet = picture(tmp_path / "run" / "contact-sheet.front.png")
    # Tiles of 160 columns keep the proportions of 32 x 48; a frame of 3 pixels and a label of 16 are added.
    height = round(32 * 160 / 48)
    assert sheet.size == (8 * 160 + 6, 3 * (height + 22))
    wall = tmp_path / "run" / "wall.front.mp4"
    assert count_frames(wall) == 11
    first = next(read_frames(wall))
    assert first.shape[:2] == (2 * (height + 22), 2 * 166)


def test_frames_have_the_colour_of_their_outcome(video: Any, tmp_path: Path) -> None:
    """Blue for the success of the second row, orange for the failures."""
    video("--grid", "-o", tmp_path / "pictures")
    sheet = picture(tmp_path / "pictures" / "contact-sheet.front.png")
    row = sheet.size[1] // 3
    assert [sheet.getpixel((1, index * row + 30)) for index in range(3)] == [(213, 94, 0), (0, 114, 178), (213, 94, 0)]


def test_an_episode_whose_trace_was_changed_is_in_no_picture(video: Any, tmp_path: Path) -> None:
    """Its line says so in place of an outcome; the sheet has a row less; where none is left it is refused."""

    def changed(text: str) -> str:
        return text.replace('"reward":', '"reward":1', 1)

    edit_trace(tmp_path / "run", "unit/task#1", changed)
    listed = video()
    assert listed.out.splitlines()[2].split()[:4] == ["unit/task#1", "trace", "changed", "front"]
    assert listed.err.startswith("unit/task#1: nothing vouches for its videos")
    assert "2 episodes, camera front" in video("--grid", "-o", tmp_path / "two").out
    for number in (0, 2):
        edit_trace(tmp_path / "run", f"unit/task#{number}", changed)
    none = video("--grid", "-o", tmp_path / "none")
    assert none.code == 2
    assert "none of these videos is shown" in none.err
    assert not (tmp_path / "none").exists()


def test_another_episodes_video_is_in_no_picture(video: Any, tmp_path: Path) -> None:
    """The line of the episode under whose name it lies says so; what is left is shown."""
    swap_films(RunFolder(tmp_path / "run"), shown=1, under=2)
    listed = video()
    assert [line.split()[1:3] for line in listed.out.splitlines()[1:]] == [
        ["failure", "front"],
        ["success", "front"],
        ["video", "changed"],
    ]
    assert listed.err.startswith("unit/task#2: not the video that was recorded: ")
    assert "2 episodes, camera front" in video("--grid", "-o", tmp_path / "two").out


def test_nothing_is_written_over(video: Any) -> None:
    """The second call says which file is in its way."""
    assert video("--grid").code == 0
    again = video("--grid")
    assert again.code == 2
    assert "contact-sheet.front.png exists already" in again.err


@pytest.mark.parametrize(
    ("options", "words"),
    [(("--camera", "rear"), "the cameras are front"), (("--output", "elsewhere"), "changes nothing without --grid")],
)
def test_options_that_change_nothing_are_refused(video: Any, options: tuple[str, ...], words: str) -> None:
    """A camera there is none of, and a folder for nothing."""
    done = video(*options)
    assert done.code == 2
    assert words in done.err


def test_a_run_without_video_says_how_to_get_some(hylo: Any, tmp_path: Path) -> None:
    """And ends with 2."""
    write_run(tmp_path, "blind")
    done = hylo("video", "blind", "--run-root", tmp_path)
    assert done.code == 2
    assert "--video all" in done.err


def test_sampled_frames_are_the_first_the_last_and_between(video: Any, tmp_path: Path) -> None:
    """Of eleven levels 0, 20, ... 200 three are 0, 100 and 200."""
    video()
    (path,) = (tmp_path / "run" / "videos").glob("*task-0-*.mp4")
    levels = [float(frame[..., 1].mean()) for frame in sample_frames(path, 3, width=48)]
    assert levels == pytest.approx([0, 100, 200], abs=4)


def test_five_tiles_take_three_columns_and_two_rows() -> None:
    """Nearly a square; the empty cell is dark."""
    import numpy as np

    wall = arrange([np.full((4, 6, 3), 200, np.uint8)] * 5)
    assert wall.shape == (8, 18, 3)
    assert wall[7, 17].tolist() == [24, 24, 24]
