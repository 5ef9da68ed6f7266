"""The published protocol."""

import pytest

from hylo_eval.envs.libero.suites import HORIZONS, SETTLE_ACTION, TASK_COUNTS, horizon, instruction_from_name
from hylo_eval.errors import EnvError


@pytest.mark.parametrize(
    ("name", "instruction"),
    [
        ("pick_up_the_milk_and_place_it_in_the_basket", "pick up the milk and place it in the basket"),
        ("KITCHEN_SCENE10_close_the_top_drawer_of_the_cabinet", "close the top drawer of the cabinet"),
        (
            "LIVING_ROOM_SCENE2_put_both_the_cream_cheese_box_and_the_butter_in_the_basket",
            "put both the cream cheese box and the butter in the basket",
        ),
        (
            "STUDY_SCENE1_pick_up_the_book_and_place_it_in_the_back_compartment_of_the_caddy",
            "pick up the book and place it in the back compartment of the caddy",
        ),
    ],
)
def test_instruction_is_the_file_name_without_its_scene(name, instruction):
    """Public runners send the words of the file name, one-digit and two-digit scenes alike."""
    assert instruction_from_name(name) == instruction


def test_horizons_are_the_published_ones():
    """OpenVLA's and openpi's step limits; 130 tasks in five suites."""
    assert dict(HORIZONS) == {
        "libero_spatial": 220,
        "libero_object": 280,
        "libero_goal": 300,
        "libero_10": 520,
        "libero_90": 400,
    }
    assert sum(TASK_COUNTS.values()) == 130
    with pytest.raises(EnvError, match="libero_100"):
        horizon("libero_100")


def test_settling_stands_still_with_the_gripper_open():
    """The published settling action: no motion, -1 at the gripper."""
    assert SETTLE_ACTION == (0, 0, 0, 0, 0, 0, -1)
