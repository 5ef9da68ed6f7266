"""Video of a run: what is kept, what a failure costs, and that nothing else changes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hylo_core.spec import EnvSpec, StateSpec
from hylo_core.trace import EpisodeEnd, EpisodeStatus
from hylo_eval import EvalError, read_trace
from hylo_eval.evaluation.conclusion import Interrupted
from hylo_eval.traces.layout import RunFolder, episode_id
from hylo_eval.video import encoder
from hylo_eval.video.encoder import EpisodeEncoder
from hylo_eval.video.reading import count_frames, find_videos, frame_rate_of, read_frames
from hylo_eval.video.recorder import VideoRecorder, frame_rate, keeps, make_recorder
from tests.episodes import task
from tests.pictures import write_picture_run

pytest.importorskip("av")


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    """Every encoder ends with its episode."""
    yield
    assert [thread.name for thread in threading.enumerate() if thread.name == "hylo-video"] == []


def files(root: Path, run_id: str) -> set[str]:
    """The names in a run's folder of videos."""
    folder = root / run_id / "videos"
    return {path.name for path in folder.iterdir()} if folder.is_dir() else set()


def test_every_episode_is_a_file_named_by_its_id_and_camera(tmp_path: Path) -> None:
    """And nothing else lies beside them."""
    result = write_picture_run(tmp_path, "run", won=(1,))
    assert files(tmp_path, "run") == {f"{episode_id(f'unit/task#{seed}', 1)}.front.mp4" for seed in range(3)}
    assert result.videos is not None
    assert (result.videos.written, result.videos.failed) == (3, 0)
    assert set(find_videos(result.run)) == {sample.episode_id for sample in result.log.samples}


def test_a_video_shows_the_reset_and_every_step_in_time(tmp_path: Path) -> None:
    """Eleven frames of ten steps, twenty a second; the level of each is the one that was drawn, though the array is one."""
    result = write_picture_run(tmp_path, "run", count=1)
    path = result.run.video(result.log.samples[0].episode_id, "front")
    assert frame_rate_of(path) == 20
    assert count_frames(path) == 11
    frames = list(read_frames(path))
    assert {frame.shape for frame in frames} == {(32, 48, 3)}
    # H.264 is lossy, and colour goes through limited-range YUV.
    assert [float(frame[..., 1].mean()) for frame in frames] == pytest.approx([20 * step for step in range(11)], abs=4)


def test_failures_are_all_that_did_not_succeed(tmp_path: Path) -> None:
    """The video of a success is removed when the episode is over."""
    result = write_picture_run(tmp_path, "run", won=(0, 2), video="failures")
    assert files(tmp_path, "run") == {f"{episode_id('unit/task#1', 1)}.front.mp4"}
    assert result.videos is not None
    assert result.videos.words() == "videos: 1 written"


def test_video_changes_no_behaviour(tmp_path: Path) -> None:
    """The behaviour digests with and without are the same, so are the digests of the pictures in them."""
    runs = [
        write_picture_run(tmp_path / choice, "run", won=(1,), video=choice) for choice in ("none", "failures", "all")
    ]
    assert runs[0].videos is None
    digests = [[read_trace(run.run.path / sample.trace).behaviour_sha256 for sample in run.log.samples] for run in runs]
    assert len(digests[0]) == 3
    assert digests[0] == digests[1] == digests[2]


def test_what_cannot_be_encoded_costs_no_episode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Outcomes and scores stay; it is counted, and no file is left that looks finished."""

    def write(self: Any, picture: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(encoder.CameraFile, "write", write)
    result = write_picture_run(tmp_path, "run", won=(1,))
    assert [sample.value("success") for sample in result.log.samples] == [0.0, 1.0, 0.0]
    assert result.exit_code == 0
    assert result.videos is not None
    assert (result.videos.written, result.videos.failed) == (0, 3)
    assert "No space left on device" in result.videos.words()
    assert files(tmp_path, "run") == set()


def test_the_reason_is_what_went_wrong_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not what its removal stumbled over afterwards."""

    def write(self: Any, picture: Any) -> None:
        raise OSError(28, "No space left on device")

    def discard(self: Any) -> None:
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(encoder.CameraFile, "write", write)
    monkeypatch.setattr(encoder.CameraFile, "discard", discard)
    sink = EpisodeEncoder(lambda camera: tmp_path / f"{camera}.mp4", rate=Fraction(10))
    sink.show({"front": np.zeros((16, 16, 3), np.uint8)})
    assert sink.close(keep=True).errors == {"front": "OSError: [Errno 28] No space left on device"}


def test_an_encoder_that_stands_still_does_not_hold_the_episode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The queue is bounded; when it stays full the video is given up, and its file keeps the name of what is not whole."""
    gate = threading.Event()
    before = encoder.CameraFile.write

    def write(self: Any, picture: Any) -> None:
        gate.wait(30)
        before(self, picture)

    monkeypatch.setattr(encoder.CameraFile, "write", write)
    sink = EpisodeEncoder(lambda camera: tmp_path / f"{camera}.mp4", rate=Fraction(10), capacity=2, put_seconds=0.01)
    picture = np.zeros((16, 16, 3), np.uint8)
    for _ in range(5):
        sink.show({"front": picture})
    gate.set()
    encoded = sink.close(keep=True)
    assert encoded.films == {}
    assert encoded.errors == {"*": "the encoder was 0.01 s behind"}
    assert not (tmp_path / "front.mp4").exists()


def test_a_stopped_run_leaves_no_file_that_looks_finished(tmp_path: Path) -> None:
    """The episode that was stopped is no episode: its video is removed, the finished one stays."""
    steps = iter(range(1000))

    def on_step(index: int) -> None:
        if next(steps) == 14:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted):
        write_picture_run(tmp_path, "run", on_step=on_step)
    assert files(tmp_path, "run") == {f"{episode_id('unit/task#0', 1)}.front.mp4"}


def test_a_file_that_is_being_written_is_no_video(tmp_path: Path) -> None:
    """A killed worker leaves ``.partial``, which nobody takes for a video."""
    run = RunFolder(tmp_path)
    sink = EpisodeEncoder(lambda camera: run.video("episode", camera), rate=Fraction(10))
    # More than the encoder looks ahead, so that some of it is on disk.
    for level in range(120):
        sink.show({"front": np.full((16, 16, 3), level, np.uint8)})
    sink._send_end(10.0)
    assert [path.name for path in run.videos.iterdir()] == ["episode.front.mp4.partial"]
    assert find_videos(run) == {}
    sink.close(keep=True)
    assert set(find_videos(run)) == {"episode"}


@pytest.mark.parametrize("shape", [(16, 16, 3), (17, 15, 3), (20, 22), (21, 21, 1)])
def test_every_shape_of_picture_is_encoded(tmp_path: Path, shape: tuple[int, ...]) -> None:
    """An odd side becomes even by repeating the last row or column; grey stays grey."""
    sink = EpisodeEncoder(lambda camera: tmp_path / f"{camera}.mp4", rate=Fraction(10))
    sink.show({"front": np.full(shape, 200, np.uint8), "state": np.zeros(3)})
    encoded = sink.close(keep=True)
    assert encoded.errors == {}
    (frame,) = read_frames(tmp_path / "front.mp4")
    assert frame.shape == (shape[0] + shape[0] % 2, shape[1] + shape[1] % 2, 3)
    assert float(np.abs(frame.astype(int) - 200).max()) <= 3


def encode(tmp_path: Path, picture: Any, cameras: dict[str, int]) -> encoder.Encoded:
    """Three frames of one camera."""
    sink = EpisodeEncoder(lambda camera: tmp_path / f"{camera}.mp4", rate=Fraction(10), cameras=cameras)
    for _ in range(3):
        sink.show({"front": picture, "state": np.zeros(3)})
    return sink.close(keep=True)


@pytest.mark.parametrize(
    ("shape", "encoded"),
    [((1, 1, 3), (2, 2, 3)), ((1, 3, 1), (2, 4, 3)), ((1, 5), (2, 6, 3)), ((8, 8, 4), (8, 8, 3))],
)
def test_a_declared_camera_is_encoded_in_any_shape_that_has_pixels(
    tmp_path: Path, shape: tuple[int, ...], encoded: tuple[int, ...]
) -> None:
    """A single pixel, a row, and colour with an alpha channel, which is left out."""
    picture = np.full(shape, 200, np.uint8)
    if shape[-1] == 4:
        picture[..., 3] = 0
    done = encode(tmp_path, picture, {"front": shape[2] if len(shape) == 3 else 1})
    assert done.errors == {}
    frames = list(read_frames(tmp_path / "front.mp4"))
    assert [frame.shape for frame in frames] == [encoded] * 3
    assert float(np.abs(frames[0].astype(int) - 200).max()) <= 3


@pytest.mark.parametrize(
    ("picture", "reason"),
    [
        (np.zeros((0, 8, 3), np.uint8), "'front' has shape (0, 8, 3): no pixel"),
        (np.zeros((8, 8, 3), np.float32), "'front' is of float32; a video shows uint8"),
        (np.zeros((4, 8, 8, 3), np.uint8), "'front' has shape (4, 8, 8, 3); a video shows"),
        (np.zeros((8, 8, 2), np.uint8), "'front' has shape (8, 8, 2); a video shows"),
        ("no array", "'front' is a str, not an array"),
    ],
)
def test_what_a_declared_camera_shows_and_no_video_can_is_said(tmp_path: Path, picture: Any, reason: str) -> None:
    """Once a camera, and no file is left."""
    done = encode(tmp_path, picture, {"front": 3})
    assert done.films == {}
    assert list(done.errors) == ["front"]
    assert done.errors["front"].startswith(reason)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("shape", [(1, 1, 3), (8, 8, 4), (0, 8, 3), (1, 12)])
def test_an_episode_without_any_picture_says_what_it_showed(tmp_path: Path, shape: tuple[int, ...]) -> None:
    """Where nobody declares a camera, a row of bytes is none, and four channels may be four moments."""
    done = encode(tmp_path, np.zeros(shape, np.uint8), {})
    assert done.films == {}
    assert done.errors["*"].startswith(f"no observation is a picture that a video shows: 'front' has shape {shape}")


def test_an_episode_that_showed_nothing_has_no_video_to_fail(tmp_path: Path) -> None:
    """One whose environment could not be reset."""
    sink = EpisodeEncoder(lambda camera: tmp_path / f"{camera}.mp4", rate=Fraction(10), cameras={"front": 3})
    assert sink.close(keep=True).errors == {}


def test_a_run_says_that_its_cameras_cannot_be_shown(tmp_path: Path) -> None:
    """And its outcomes are what they were."""
    result = write_picture_run(tmp_path, "run", won=(1,), size=(0, 8), declared=False)
    assert [sample.value("success") for sample in result.log.samples] == [0.0, 1.0, 0.0]
    assert result.videos is not None
    assert "3 could not be encoded" in result.videos.words()
    assert "'front' has shape (0, 8, 3): no pixel" in result.videos.words()


def test_channels_in_another_order_are_shown_as_they_are(tmp_path: Path) -> None:
    """A camera that says its pictures are blue, green, red is encoded as such."""
    sink = EpisodeEncoder(lambda camera: tmp_path / f"{camera}.mp4", rate=Fraction(10), bgr=frozenset({"front"}))
    sink.show({"front": np.full((16, 16, 3), (255, 0, 0), np.uint8)})
    sink.close(keep=True)
    (frame,) = read_frames(tmp_path / "front.mp4")
    assert frame[..., 2].mean() > 200
    assert frame[..., 0].mean() < 50


def test_cameras_with_names_that_no_file_can_have_stay_apart(tmp_path: Path) -> None:
    """A slash leads nowhere, and two names that look alike as files are two files."""
    run = RunFolder(tmp_path)
    names = ["a/b", "a-b", "../a", "a.b"]
    paths = {run.video("episode", name) for name in names}
    assert len(paths) == 4
    assert {path.parent for path in paths} == {run.videos}


@pytest.mark.parametrize(
    ("status", "once", "at_end", "success_at", "failures"),
    [
        (EpisodeStatus.COMPLETED, True, False, "once", False),
        (EpisodeStatus.COMPLETED, True, False, "end", True),
        (EpisodeStatus.COMPLETED, True, True, "end", False),
        (EpisodeStatus.SAFETY_ABORT, False, None, "once", True),
        (EpisodeStatus.AGENT_ERROR, True, None, "once", True),
        (EpisodeStatus.ENV_ERROR, None, None, "once", True),
    ],
)
def test_what_a_failure_is(
    status: EpisodeStatus, once: bool | None, at_end: bool | None, success_at: Any, failures: bool
) -> None:
    """What the task calls success decides, and an error is a failure."""
    end = EpisodeEnd(status=status, steps=3, success_once=once, success_at_end=at_end)
    spec = task(success_at=success_at, stop_on_success=False)
    assert keeps("failures", end, spec) is failures
    assert keeps("all", end, spec) is True
    assert keeps("none", end, spec) is False


def test_the_rate_is_the_one_of_the_world() -> None:
    """One frame an action; ten a second where nobody says."""
    assert frame_rate(EnvSpec(control_hz=20.0)) == 20
    assert frame_rate(EnvSpec(control_hz=12.5)) == Fraction(25, 2)
    assert frame_rate(EnvSpec()) == 10


def test_video_without_pictures_is_refused(tmp_path: Path) -> None:
    """An option that changes nothing is no option; the text says which one would help."""
    blind = EnvSpec(state=(StateSpec(name="position", shape=(2,)),))
    with pytest.raises(EvalError, match="shows no pictures"):
        make_recorder(RunFolder(tmp_path), "all", blind)
    assert make_recorder(RunFolder(tmp_path), "none", blind) is None
    with pytest.raises(EvalError, match="'some'"):
        make_recorder(RunFolder(tmp_path), "some", blind)  # pyright: ignore[reportArgumentType]


def test_a_broken_video_is_an_error_that_names_it(tmp_path: Path) -> None:
    """A file of another kind under a video's name."""
    path = tmp_path / "episode.front.mp4"
    path.write_bytes(b"no video")
    with pytest.raises(EvalError, match=r"episode\.front\.mp4 cannot be read"):
        list(read_frames(path))


def test_the_recorder_gives_back_what_the_episode_came_to(tmp_path: Path) -> None:
    """Also when it raises: then nothing is kept."""
    recorder = VideoRecorder(RunFolder(tmp_path), "all")

    def broken(frames: Any) -> Any:
        frames.show({"front": np.zeros((16, 16, 3), np.uint8)})
        raise EvalError("the disk is full")

    with pytest.raises(EvalError, match="the disk is full"):
        recorder.record(broken, "episode", task(), EnvSpec())
    assert list((tmp_path / "videos").iterdir()) == []
