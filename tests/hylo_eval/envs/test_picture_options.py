"""Options that only mean something with pictures."""

from __future__ import annotations

import pytest

from hylo_eval.envs.picture_options import check_picture_options
from hylo_eval.errors import EnvError


@pytest.mark.parametrize("value", [256, "upright"])
def test_without_pictures_their_options_are_refused(value: int | str) -> None:
    """Whatever they say; what was not given is no option."""
    check_picture_options({"camera_height": None, "orientation": None}, cameras=False)
    with pytest.raises(EnvError, match="camera_height changes nothing without pictures"):
        check_picture_options({"camera_height": value}, cameras=False)


@pytest.mark.parametrize(("side", "fits"), [(15, False), (16, True), (1024, True), (1025, False)])
def test_a_side_lies_within_its_bounds(side: int, fits: bool) -> None:
    """The bounds themselves are sizes."""
    if fits:
        check_picture_options({"camera_width": side}, cameras=True)
        return
    with pytest.raises(EnvError, match=f"camera_width must lie between 16 and 1024 pixels, not {side}"):
        check_picture_options({"camera_width": side}, cameras=True)
