"""How observations become trace members, and how the agent gets to see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hylo_core.canonical import describe
from hylo_core.trace import ArrayLayout
from hylo_eval.errors import EnvError
from hylo_eval.traces.encoding import picture_digest, split_observation

if TYPE_CHECKING:
    from hylo_core.spec import CameraSpec
    from hylo_eval.video.frames import FrameSink

_NO_ARRAY: tuple[Any, Any] = (None, None)


@lru_cache(maxsize=256)
def array_layout(shape: tuple[int, ...], dtype: str) -> ArrayLayout:
    """A layout, made once for all episodes: those of a task share theirs, and the writer knows it by identity."""
    return ArrayLayout(shape=shape, dtype=dtype)


@lru_cache(maxsize=256)
def _dtype_name(dtype: np.dtype[Any]) -> str:
    """``dtype.name``, cached: numpy builds the text at every access."""
    return dtype.name


class ObservationView:
    """Splits observations into numbers and pictures as the first observation of the episode lays them out.

    Args:
        observation: The observation ``reset`` returned.
        frames: Shown every observation that is split, the one of the reset first.

    Raises:
        EnvError: It is not a mapping from text to arrays, numbers or text.
    """

    def __init__(self, observation: Any, frames: FrameSink | None = None) -> None:
        if not isinstance(observation, Mapping):
            raise EnvError(f"an observation must be a mapping from text to arrays, not {type(observation).__name__}")
        self.layouts = {_key(key): _layout(key, value) for key, value in observation.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        self._frames = frames
        self._keys = frozenset(self.layouts)
        members = cast("Mapping[str, Any]", observation)
        self._arrays: dict[str, tuple[tuple[int, ...], Any]] = {
            key: (value.shape, value.dtype) for key, value in members.items() if type(value) is np.ndarray
        }
        self._numbers, self._pictures = split_observation(observation)  # pyright: ignore[reportUnknownArgumentType]
        self._finite = tuple(key for key, value in members.items() if _is_finite(value))

    def split(self, observation: Mapping[str, Any]) -> tuple[Mapping[str, Any], dict[str, str] | None]:
        """The members kept in the trace as they are, and digests of those kept out of it (None without any).

        Raises:
            EnvError: A key has come or gone since the reset, or a value has another shape or type than at the reset:
                what the start event says of the observations would be wrong.
        """
        if not isinstance(observation, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise EnvError(f"an observation must be a mapping from text to arrays, not {type(observation).__name__}")
        if observation.keys() != self._keys:  # pyright: ignore[reportUnnecessaryComparison]
            changed = sorted(self._keys ^ set(observation))
            raise EnvError(f"the observation's keys changed during the episode: {', '.join(changed)}")
        for key, value in observation.items():
            shape, dtype = self._arrays.get(key, _NO_ARRAY)
            # Identity is the fast common case; another dtype object is compared in full below.
            if type(value) is not np.ndarray or value.dtype is not dtype or value.shape != shape:
                self._check_layout(key, value)
        if self._frames is not None:
            self._frames.show(observation)
        if not self._pictures:
            return observation, None
        numbers = {key: observation[key] for key in self._numbers}
        return numbers, {key: picture_digest(observation[key]) for key in self._pictures}

    def diverged(self, observation: Mapping[str, Any]) -> list[str]:
        """The members that were finite at the reset and are no longer; what never was finite is meant to be so."""
        return [key for key in self._finite if not _is_finite(observation.get(key))]

    def _check_layout(self, key: str, value: Any) -> None:
        before, now = self.layouts[key], _layout(key, value)
        # A list of plain numbers has no dtype of its own: 0 may become 0.5.
        arrays = isinstance(value, (np.ndarray, np.generic)) or key in self._arrays
        if now.shape != before.shape or (now.dtype != before.dtype and (arrays or "text" in (now.dtype, before.dtype))):
            raise EnvError(
                f"the observation {key!r} was {before.dtype} of shape {before.shape} at the reset "
                f"and is {now.dtype} of shape {now.shape}"
            )


def check_cameras(layouts: Mapping[str, ArrayLayout], cameras: Sequence[CameraSpec]) -> None:
    """Hold the pictures of the first observation against what the environment declares of its cameras.

    Raises:
        EnvError: A camera is declared and not shown, or shown in another shape or type: what agents and the trace are
            told of the pictures would be wrong.
    """
    for camera in cameras:
        found = layouts.get(camera.name)
        declared = f"{camera.dtype} of shape {(camera.height, camera.width, camera.channels)}"
        if found is None:
            raise EnvError(f"the camera {camera.name!r} is declared as {declared} and is not among the observations")
        shapes: list[tuple[int, ...]] = [(camera.height, camera.width, camera.channels)]
        if camera.channels == 1:
            shapes.append((camera.height, camera.width))
        if tuple(found.shape) not in shapes or found.dtype != camera.dtype:
            raise EnvError(
                f"the camera {camera.name!r} is declared as {declared} and shows {found.dtype} of shape "
                f"{tuple(found.shape)}"
            )


def read_only(observation: Mapping[str, Any]) -> dict[str, Any]:
    """The observation as the agent gets it: the same memory, not writable."""
    shown: dict[str, Any] = {}
    for key, value in observation.items():
        if type(value) is np.ndarray:
            value = value.view()  # noqa: PLW2901 - the view is what is shown
            value.setflags(write=False)
        shown[key] = value
    return shown


def _is_finite(value: Any) -> bool:
    array = np.asarray(value)
    return array.dtype.kind != "f" or bool(np.isfinite(array).all())


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise EnvError(f"an observation's keys are text, not {describe(key)}")
    try:
        key.encode()
    except UnicodeEncodeError as error:
        raise EnvError(f"the observation's key {key!r} holds a lone surrogate, which UTF-8 cannot encode") from error
    return key


def _layout(key: Any, value: Any) -> ArrayLayout:
    if isinstance(value, str):
        return array_layout((), "text")
    array = np.asarray(value)
    if array.dtype.kind not in "fiub":
        raise EnvError(f"the observation {key!r} is a {type(value).__name__}, not an array of numbers or text")
    return array_layout(tuple(array.shape), _dtype_name(array.dtype))
