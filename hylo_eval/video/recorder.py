"""Which episodes of a run are kept as video, and what became of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar

import attrs

from hylo_core.trace import SCORED, EpisodeEnd, EpisodeStatus
from hylo_eval.errors import EvalError
from hylo_eval.video.encoder import Encoded, EpisodeEncoder, require_encoder
from hylo_eval.video.films import as_recorded

if TYPE_CHECKING:
    from hylo_core.spec import EnvSpec
    from hylo_core.task import TaskSpec
    from hylo_eval.traces.layout import RunFolder
    from hylo_eval.video.frames import FrameSink

VideoChoice: TypeAlias = Literal["none", "failures", "all"]
"""Which episodes are kept as video."""

DEFAULT_RATE: Final = Fraction(10)
"""Frames a second where the environment does not say how many actions a second it takes."""


@attrs.define
class VideoTally:
    """How many videos there are, one a camera and episode.

    Attributes:
        written: Finished files.
        failed: Videos that could not be encoded.
        first_error: What went wrong with the first of those.
    """

    written: int = 0
    failed: int = 0
    first_error: str = ""

    def add(self, other: VideoTally) -> None:
        """Count what another tally has counted."""
        self.written += other.written
        self.failed += other.failed
        self.first_error = self.first_error or other.first_error

    def words(self) -> str:
        """The tally as one line; what went wrong may hold any text."""
        text = f"videos: {self.written} written"
        if self.failed:
            text += f", {self.failed} could not be encoded (the first: {self.first_error})"
        return text


Result = TypeVar("Result")


@attrs.define
class _Sink:
    """Shows an encoder what an episode shows, and has it keep the videos if the episode's end is one to be kept.

    Attributes:
        encoder: Of this episode alone.
        keeps: Whether the videos of an episode with such an end are kept.
        encoded: What became of them; nothing before the end.
    """

    encoder: EpisodeEncoder
    keeps: Callable[[EpisodeEnd], bool]
    encoded: Encoded | None = None

    def show(self, observation: Mapping[str, Any]) -> None:
        """As a :class:`hylo_eval.video.frames.FrameSink`."""
        self.encoder.show(observation)

    def finish(self, end: EpisodeEnd) -> Mapping[str, Any]:
        """As a :class:`hylo_eval.video.frames.FrameSink`."""
        return as_recorded(self.close(keep=self.keeps(end)).films)

    def close(self, *, keep: bool) -> Encoded:
        """Finish or remove the videos, once."""
        if self.encoded is None:
            self.encoded = self.encoder.close(keep=keep)
        return self.encoded


@attrs.define
class VideoRecorder:
    """Records the episodes of a run.

    Attributes:
        run: Where ``videos/<episode_id>.<camera>.mp4`` go.
        choice: Which episodes are kept; ``failures`` are all that did not succeed as their task defines it, errors
            included. An episode that the operator stopped is never kept.
        tally: What has become of the videos so far.
    """

    run: RunFolder
    choice: VideoChoice
    tally: VideoTally = attrs.field(factory=VideoTally)

    def record(
        self, run_episode: Callable[[FrameSink], Result], episode_id: str, task: TaskSpec, env_spec: EnvSpec
    ) -> Result:
        """Run an episode and record it; whatever goes wrong with the video, the result is the episode's own.

        Args:
            run_episode: Runs the episode, showing its observations to the sink.
            episode_id: What the files are named by.
            task: What the episode ran.
            env_spec: Says how many frames a second there are, and the order of the cameras' channels.
        """
        encoder = EpisodeEncoder(
            partial(self.run.video, episode_id),
            rate=frame_rate(env_spec),
            # A camera of depths in metres is none that a film could show, and no error.
            cameras={camera.name: camera.channels for camera in env_spec.cameras if camera.dtype == "uint8"},
            bgr=frozenset(camera.name for camera in env_spec.cameras if camera.colour_order == "bgr"),
        )
        sink = _Sink(encoder, lambda end: keeps(self.choice, end, task))
        try:
            return run_episode(sink)
        finally:
            encoded = sink.close(keep=False)
            self.tally.written += len(encoded.films)
            self.tally.failed += len(encoded.errors)
            self.tally.first_error = self.tally.first_error or next(iter(encoded.errors.values()), "")

    def take_tally(self) -> VideoTally:
        """What has been counted since it was asked for the last time."""
        tally, self.tally = self.tally, VideoTally()
        return tally


def keeps(choice: VideoChoice, end: EpisodeEnd, task: TaskSpec) -> bool:
    """Whether an episode's video is kept."""
    if end.status is EpisodeStatus.CANCELLED or choice == "none":
        return False
    at_end = task.success_at == "end"
    succeeded = end.status in SCORED and bool(end.success_at_end if at_end else end.success_once)
    return choice == "all" or not succeeded


def frame_rate(env_spec: EnvSpec) -> Fraction:
    """One frame an action, so that the video runs as fast as the simulated world."""
    hertz = env_spec.control_hz
    return Fraction(hertz).limit_denominator(1000) if hertz and 1 <= hertz <= 1000 else DEFAULT_RATE


def make_recorder(run: RunFolder, choice: VideoChoice, env_spec: EnvSpec) -> VideoRecorder | None:
    """The recorder of a run; None where nothing is to be recorded.

    Raises:
        EvalError: There is nothing to record here, or nothing to encode it with.
    """
    if choice == "none":
        return None
    if choice not in ("failures", "all"):
        raise EvalError(f"video must be 'none', 'failures' or 'all', not {choice!r}", fix="--video failures")
    require_encoder()
    if env_spec.state and not env_spec.cameras:
        raise EvalError(
            f"--video {choice} changes nothing: this environment shows no pictures",
            fix="ask it for pictures (--env-arg cameras=true, or image_size=256; hylo-eval list envs), or --video none",
        )
    return VideoRecorder(run, choice)
