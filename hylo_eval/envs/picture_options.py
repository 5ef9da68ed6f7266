"""Options that only mean something with pictures: the families that draw several cameras share their rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hylo_eval.errors import EnvError

SMALLEST_SIDE_PX: Final = 16
LARGEST_SIDE_PX: Final = 1024


def check_picture_options(options: Mapping[str, int | str | None], *, cameras: bool) -> None:
    """Refuse options of pictures that change nothing, and pictures of a size nobody can mean.

    Args:
        options: By name: sides of pictures in pixels (int), and other options of pictures (text); None where an option
            was not given.
        cameras: Whether the environment draws pictures.

    Raises:
        EnvError: An option is given without pictures, or a side is not in [16, 1024] pixels.
    """
    for name, value in options.items():
        if value is not None and not cameras:
            raise EnvError(
                f"{name} changes nothing without pictures", fix=f"--env-arg cameras=true, or leave {name} out"
            )
        if isinstance(value, int) and not SMALLEST_SIDE_PX <= value <= LARGEST_SIDE_PX:
            raise EnvError(f"{name} must lie between {SMALLEST_SIDE_PX} and {LARGEST_SIDE_PX} pixels, not {value}")
