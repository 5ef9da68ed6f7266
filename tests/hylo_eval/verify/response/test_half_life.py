"""The half-life: explicit, from the first usable image size, or 32."""

import math

import pytest

from hylo_eval.verify.response.half_life import resolve_half_life_px, usable_image_size


@pytest.mark.parametrize(
    ("candidate", "size"),
    [
        ([640, 480], (640, 480)),
        ((640, 480.0), (640, 480)),
        ([[640, 480], [1, 1]], (640, 480)),
        ([[0, 0], [640, 480]], (640, 480)),
        ("[640, 480]", (640, 480)),
        ({"width": 640, "height": 480}, (640, 480)),
        ({"w": 640, "image_height": 480}, (640, 480)),
        ({"canvas_size": {"w": 640, "h": 480}}, (640, 480)),
        ({"image_size": [0, 0], "img_size": "[640, 480]"}, (640, 480)),
        ({"image_size": [640, 480], "width": 9, "height": 9}, (640, 480)),
        ([720, 1280, 3], None),
        ("1280x720", None),
        ([0, 480], None),
        ([-640, 480], None),
        ([math.inf, 480], None),
        ([True, 480], None),
        (["640", "480"], None),
        ({"width": 0, "w": 640, "height": 480}, None),
        (640, None),
        (None, None),
        ([], None),
    ],
)
def test_usable_size(candidate, size):
    """A size is a pair of positive finite numbers, wherever it stands."""
    assert usable_image_size(candidate) == size


def test_size_that_holds_itself_is_none():
    """Nesting is bounded."""
    endless = []
    endless.append(endless)
    assert usable_image_size(endless) is None


@pytest.mark.parametrize(
    ("candidates", "half_life"),
    [
        ([[1200, 900]], 52.5),  # 0.035 of a diagonal of 1500
        ([[300, 400]], 20.0),
        ([[3000, 4000]], 80.0),
        ([[1e308, 1e308]], 80.0),
        (["1200x900", None, {"image_size": [1200, 900]}, [3000, 4000]], 52.5),
        ([None, None], 32.0),
    ],
)
def test_half_life_of_an_image(candidates, half_life):
    """0.035 of the diagonal, held in [20, 80]; the first usable size counts; 32 without one."""
    assert resolve_half_life_px(None, candidates) == pytest.approx(half_life, abs=1e-12)


def test_explicit_half_life_is_not_clamped():
    """An explicit value wins as it is."""
    assert resolve_half_life_px(3.0, [[640, 480]]) == 3.0
