"""The pictures of an environment are those it declares."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hylo_core.spec import CameraSpec
from hylo_eval.errors import EnvError
from hylo_eval.rollout.observe import ObservationView, check_cameras
from tests.pictures import write_picture_run

CAMERA = CameraSpec(name="front", height=4, width=6)


@pytest.mark.parametrize(
    ("picture", "shown"),
    [
        (np.zeros((6, 4, 3), np.uint8), "shows uint8 of shape (6, 4, 3)"),
        (np.zeros((4, 6), np.uint8), "shows uint8 of shape (4, 6)"),
        (np.zeros((4, 6, 4), np.uint8), "shows uint8 of shape (4, 6, 4)"),
        (np.zeros((4, 6, 3), np.float32), "shows float32 of shape (4, 6, 3)"),
    ],
)
def test_a_camera_of_another_shape_or_type_is_refused(picture: np.ndarray, shown: str) -> None:
    """The sentence has both."""
    layouts = ObservationView({"front": picture}).layouts
    with pytest.raises(EnvError) as caught:
        check_cameras(layouts, [CAMERA])
    assert str(caught.value) == f"the camera 'front' is declared as uint8 of shape (4, 6, 3) and {shown}"


def test_a_camera_that_is_declared_and_not_shown_is_refused() -> None:
    """An agent would wait for it."""
    with pytest.raises(EnvError, match="is not among the observations"):
        check_cameras(ObservationView({"state": np.zeros(2)}).layouts, [CAMERA])


def test_one_channel_may_have_an_axis_of_its_own_or_none() -> None:
    """Both are a grey picture; what nobody declares may be anything."""
    grey = CameraSpec(name="front", height=4, width=6, channels=1, colour_order="none")
    for shape in ((4, 6), (4, 6, 1)):
        check_cameras(ObservationView({"front": np.zeros(shape, np.uint8), "mask": np.zeros((9, 9))}).layouts, [grey])


def test_an_episode_whose_pictures_are_not_those_declared_is_an_env_error(tmp_path: Path) -> None:
    """At the reset, before any action."""
    pytest.importorskip("av")
    result = write_picture_run(tmp_path, "run", count=1, declared=(48, 32))
    (sample,) = result.log.samples
    assert (sample.status, sample.steps) == ("env_error", 0)
    assert "declared as uint8 of shape (48, 32, 3)" in sample.scores["success"].explanation
