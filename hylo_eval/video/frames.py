"""What an episode shows of its observations, and which of them are pictures a video can hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class FrameSink(Protocol):
    """Looks at every observation of an episode, the one of the reset first.

    It never raises, never changes an observation and keeps none of its memory: simulators draw into the same array
    again.
    """

    def show(self, observation: Mapping[str, Any]) -> None:
        """Look at one observation, as the environment gave it."""
        ...


def frames_of(observation: Mapping[str, Any]) -> dict[str, NDArray[np.uint8]]:
    """The pictures of an observation by camera: uint8, shape (height, width), (height, width, 1) or (height, width, 3).

    What has another shape or type (a mask of floats, a stack of frames) is no frame of a video and is left out.
    """
    import numpy as np

    found: dict[str, NDArray[np.uint8]] = {}
    for key, value in observation.items():
        if not isinstance(value, np.ndarray):
            continue
        picture = cast("NDArray[np.uint8]", value)
        flat = picture.ndim == 2 or (picture.ndim == 3 and picture.shape[2] in (1, 3))
        if picture.dtype == np.uint8 and flat and picture.size and min(picture.shape[:2]) > 1:
            found[key] = picture
    return found
