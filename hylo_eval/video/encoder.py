"""One camera of one episode as an MP4 file, and the thread that encodes while the episode goes on."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs

from hylo_core.errors import describe_error
from hylo_eval.errors import EvalError
from hylo_eval.installing import install_command
from hylo_eval.traces.files import name_once
from hylo_eval.video.films import FilmDigest, digest_of_film
from hylo_eval.video.frames import frames_of, nothing_shown, picture_problem

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PARTIAL: Final = ".partial"
QUEUED_OBSERVATIONS: Final = 64
"""Observations that wait for the encoder; with two cameras of 256 x 256 pixels, 25 MB."""
PUT_SECONDS: Final = 30.0
"""How long an episode waits for an encoder that does not keep up before it goes on without video."""
CLOSE_SECONDS: Final = 20.0
"""How long a finished episode waits for a place in the queue, and then for the frames in it: together less than the
deadline of the phase in which it does."""

_ENCODING: Final = {"crf": "20", "preset": "veryfast"}


def require_encoder() -> Any:
    """PyAV, with an H.264 encoder.

    Raises:
        EvalError: It is not installed here, or was built without that encoder.
    """
    try:
        import av
    except ImportError as error:
        raise EvalError(
            f"video needs PyAV, which is not installed here ({error})",
            fix=f"{install_command('hylo-eval[video]')}, or --video none",
        ) from error
    module: Any = av
    if "libx264" not in module.codecs_available:
        raise EvalError("this PyAV cannot encode H.264", fix=install_command("--force-reinstall", "av"))
    return module


class CameraFile:
    """Encodes one camera into ``<path>.partial``; :meth:`finish` gives the file its name.

    H.264 in MP4 (``yuv420p``, which every browser plays). An odd height or width is made even by repeating the last row
    or column, so that even a single pixel is a video; nothing else is changed.

    Args:
        path: The file's final name.
        rate: Frames a second.
        pixels: ``rgb24``, ``bgr24`` or ``gray``.
        shape: Height and width of every frame, in pixels.
    """

    def __init__(self, path: Path, *, rate: Fraction, pixels: str, shape: tuple[int, int]) -> None:
        av = require_encoder()
        self._path = path
        self._partial = path.with_name(path.name + PARTIAL)
        self._pixels = pixels
        self._frame: Any = av.VideoFrame
        self._container: Any = av.open(str(self._partial), "w", format="mp4", options={"movflags": "faststart"})
        self._stream: Any = self._container.add_stream("libx264", rate=rate, options=dict(_ENCODING))
        self._stream.height, self._stream.width = (side + side % 2 for side in shape)
        self._stream.pix_fmt = "yuv420p"
        # The simulator and the policy need the processors more.
        self._stream.codec_context.thread_count = 1
        self._open = True

    def write(self, picture: NDArray[np.uint8]) -> None:
        """Encode one frame; its shape is that of the first."""
        import numpy as np

        height, width = picture.shape[:2]
        if height % 2 or width % 2:
            rest = ((0, 0),) * (picture.ndim - 2)
            picture = np.pad(picture, ((0, height % 2), (0, width % 2), *rest), mode="edge")
        frame = self._frame.from_ndarray(np.ascontiguousarray(picture), format=self._pixels)
        for packet in self._stream.encode(frame):
            self._container.mux(packet)

    def finish(self) -> None:
        """Write what is buffered, close the file and give it its name."""
        for packet in self._stream.encode():
            self._container.mux(packet)
        self._close()
        name_once(self._partial, self._path)

    def discard(self) -> None:
        """Close and remove the file."""
        try:
            self._close()
        finally:
            self._partial.unlink(missing_ok=True)

    def _close(self) -> None:
        if self._open:
            self._open = False
            self._container.close()


@attrs.frozen(kw_only=True)
class Encoded:
    """What became of an episode's cameras.

    Attributes:
        films: The finished videos by file name.
        errors: Camera to what went wrong; ``*`` where it was no single camera.
    """

    films: Mapping[str, FilmDigest] = attrs.field(factory=dict[str, FilmDigest])
    errors: Mapping[str, str] = attrs.field(factory=dict[str, str])


class EpisodeEncoder:
    """Encodes the cameras of one episode in a thread of its own.

    What goes wrong ends the video, never the episode: it is kept in :class:`Encoded`. No frame is left out of a video:
    a full queue makes the episode wait, and one that stays full ends its video.

    Args:
        paths: From camera to the file's final name.
        rate: Frames a second.
        cameras: Declared cameras and their number of channels: what a video cannot show of them is an error.
        bgr: Cameras whose channels are blue, green, red.
        capacity: Observations that may wait.
        put_seconds: How long the episode waits for a place in the queue.
    """

    def __init__(
        self,
        paths: Callable[[str], Path],
        *,
        rate: Fraction,
        cameras: Mapping[str, int] | None = None,
        bgr: frozenset[str] = frozenset(),
        capacity: int = QUEUED_OBSERVATIONS,
        put_seconds: float = PUT_SECONDS,
    ) -> None:
        self._paths = paths
        self._rate = rate
        self._cameras = dict(cameras or {})
        self._bgr = bgr
        self._problems: dict[str, str] = {}
        self._pictureless = ""
        self._put_seconds = put_seconds
        self._queue: queue.Queue[dict[str, Any] | None] = queue.Queue(maxsize=capacity)
        self._files: dict[str, CameraFile] = {}
        self._errors: dict[str, str] = {}
        self._gave_up = False
        self._thread = threading.Thread(target=self._encode_all, name="hylo-video", daemon=True)
        self._thread.start()

    def show(self, observation: Mapping[str, Any]) -> None:
        """Copy the pictures and queue them."""
        if self._gave_up:
            return
        frames = {camera: picture.copy() for camera, picture in frames_of(observation, self._cameras).items()}
        for camera in self._cameras.keys() - frames.keys() - self._problems.keys():
            self._problems[camera] = f"{camera!r} {picture_problem(observation.get(camera))}"
        self._pictureless = "" if frames else nothing_shown(observation)
        try:
            if frames:
                self._queue.put(frames, timeout=self._put_seconds)
        except queue.Full:
            self._give_up(f"the encoder was {self._put_seconds:g} s behind")

    def close(self, *, keep: bool) -> Encoded:
        """Wait for the frames that are queued, then keep the files or remove them."""
        # An encoder that was given up on is not waited for a second time.
        self._send_end(1.0 if self._gave_up else CLOSE_SECONDS)
        if self._thread.is_alive():
            # It may still write; its files keep the name that says they are not whole.
            self._give_up("the encoder did not come to an end")
            return Encoded(errors=dict(self._errors))
        return self._conclude(keep=keep and not self._gave_up)

    def _send_end(self, seconds: float) -> None:
        with contextlib.suppress(queue.Full):
            self._queue.put(None, timeout=seconds)
            self._thread.join(seconds)

    def _conclude(self, *, keep: bool) -> Encoded:
        finished: dict[str, FilmDigest] = {}
        self._errors |= self._problems
        if keep and not (self._files or self._errors) and self._pictureless:
            self._errors["*"] = self._pictureless
        for camera, file in self._files.items():
            whole = keep and camera not in self._errors
            try:
                if whole:
                    file.finish()
                    with self._paths(camera).open("rb") as film:
                        finished[self._paths(camera).name] = digest_of_film(film)
                else:
                    file.discard()
            except Exception as error:  # noqa: BLE001 - FFmpeg's bindings raise anything; no outcome hangs on it
                self._errors.setdefault(camera, describe_error(error))  # what went wrong first is the reason
        return Encoded(films=finished, errors=dict(self._errors))

    def _give_up(self, reason: str) -> None:
        self._gave_up = True
        self._errors["*"] = reason

    def _encode_all(self) -> None:
        while (frames := self._queue.get()) is not None:
            for camera, picture in frames.items():
                if camera not in self._errors and not self._gave_up:
                    self._encode(camera, picture)

    def _encode(self, camera: str, picture: NDArray[np.uint8]) -> None:
        try:
            file = self._files.get(camera)
            if file is None:
                grey = picture.ndim == 2 or picture.shape[2] == 1
                pixels = "gray" if grey else "bgr24" if camera in self._bgr else "rgb24"
                path = self._paths(camera)
                path.parent.mkdir(exist_ok=True)
                height, width = picture.shape[:2]
                file = CameraFile(path, rate=self._rate, pixels=pixels, shape=(height, width))
                self._files[camera] = file
            file.write(picture[..., 0] if picture.ndim == 3 and picture.shape[2] == 1 else picture)
        except Exception as error:  # noqa: BLE001 - as above; the thread must go on to empty the queue
            self._errors[camera] = describe_error(error)
