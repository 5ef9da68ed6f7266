"""What an episode shows of its observations, and which of them are pictures a video can hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from hylo_core.trace import EpisodeEnd

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_TOLD: Final = 3
"""Observations that a sentence names."""


class FrameSink(Protocol):
    """Looks at every observation of an episode, the one of the reset first.

    It never raises, never changes an observation and keeps none of its memory: simulators draw into the same array
    again.
    """

    def show(self, observation: Mapping[str, Any]) -> None:
        """Look at one observation, as the environment gave it."""
        ...

    def finish(self, end: EpisodeEnd) -> Mapping[str, Any]:
        """Take note that the episode has ended, and how; gives what its trace is to say of the videos."""
        ...


CHANNELS: Final = (1, 3, 4)
"""Grey, colour, and colour with an alpha channel, which a video leaves out."""


def frames_of(observation: Mapping[str, Any], cameras: Mapping[str, int]) -> dict[str, NDArray[np.uint8]]:
    """The pictures of an observation by camera: uint8, shape (height, width), (height, width, 1) or (height, width, 3).

    Of a declared camera with four channels the fourth is left out. What nobody declares is a picture when its shape
    says so: a row of bytes, a mask of floats or a stack of frames is none.

    Args:
        observation: As the environment gave it.
        cameras: Declared cameras and their number of channels.
    """
    found: dict[str, NDArray[np.uint8]] = {}
    for key, value in observation.items():
        if picture_problem(value):
            continue
        picture = cast("NDArray[np.uint8]", value)
        channels = 1 if picture.ndim == 2 else picture.shape[2]
        if key in cameras:
            found[key] = picture[..., :3] if channels == 4 else picture
        elif channels != 4 and min(picture.shape[:2]) > 1:
            found[key] = picture
    return found


def picture_problem(value: Any) -> str:
    """Why a video cannot show a value; empty where it can."""
    import numpy as np

    if not isinstance(value, np.ndarray):
        return f"is a {type(value).__name__}, not an array"
    array = cast("NDArray[np.uint8]", value)
    if array.dtype != np.uint8:
        return f"is of {array.dtype}; a video shows uint8"
    if array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[2] not in CHANNELS):
        return f"has shape {array.shape}; a video shows (height, width), or that with 1, 3 or 4 channels"
    return "" if array.size else f"has shape {array.shape}: no pixel"


def nothing_shown(observation: Mapping[str, Any]) -> str:
    """Why an episode's observations gave no video at all, naming what comes nearest to a picture."""
    import numpy as np

    arrays: list[tuple[str, Any]] = [
        (key, value) for key, value in observation.items() if isinstance(value, np.ndarray) and value.ndim > 1
    ]
    told = [f"{key!r} {picture_problem(value) or _undeclared(value)}" for key, value in arrays[:_TOLD]]
    return f"no observation is a picture that a video shows{': ' if told else ''}{'; '.join(told)}"


def _undeclared(picture: NDArray[np.uint8]) -> str:
    return f"has shape {picture.shape}, which only the specification of a camera makes a picture"
