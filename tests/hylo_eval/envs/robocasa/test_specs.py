"""The action's slices and the observations, as the environment declares them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hylo_eval.envs.robocasa.simulation import ACTION_SIZE, ACTION_SLICES, PictureSize
from hylo_eval.envs.robocasa.specs import ACTIONS, TARGET, env_spec, observation_space, whole_action


def test_the_slices_are_the_controllers_entries_in_their_order():
    """Arm 0:6, gripper 6, base 7:10, torso 10, mode 11: a permutation of them runs, and only the numbers are wrong."""
    named = {item.name: (item.start, item.stop) for item in ACTIONS["mobile"]}
    assert named == {
        "eef_position": (0, 3),
        "eef_rotation": (3, 6),
        "gripper": (6, 7),
        "base": (7, 10),
        "torso": (10, 11),
        "base_mode": (11, 12),
    }
    assert ACTION_SLICES == {"right": (0, 6), "right_gripper": (6, 7), "base": (7, 10), "torso": (10, 11)}
    assert ACTION_SIZE == 12
    assert ACTIONS["arm"] == ACTIONS["mobile"][:3]


@given(st.lists(st.floats(-1, 1), min_size=7, max_size=7))
def test_seven_entries_leave_base_and_torso_at_rest(entries):
    """The rest is zero velocity, no change of height, and the mode of the arm."""
    action = np.array(entries)
    whole = whole_action(action, "arm")
    assert whole[:7].tolist() == entries
    assert whole[7:].tolist() == [0.0, 0.0, 0.0, 0.0, -1.0]


def test_the_robot_gets_an_array_of_its_own():
    """The base's controller turns the velocities in place, in the array it is given."""
    action = np.zeros(12)
    action.setflags(write=False)
    whole = whole_action(action, "mobile")
    whole[7] = 1.0
    assert action[7] == 0.0


def test_every_observation_is_named_with_its_size():
    """Cameras and the privileged pose only where they were asked for."""
    plain = env_spec("mobile", None, "upright", privileged=False)
    assert not plain.cameras
    assert TARGET not in observation_space(plain).spaces
    whole = env_spec("arm", PictureSize(48, 64), "flipped", privileged=True)
    assert whole.action_size == 7
    assert [(item.name, item.height, item.width, item.orientation) for item in whole.cameras] == [
        ("robot0_agentview_left_image", 48, 64, "flipped"),
        ("robot0_agentview_right_image", 48, 64, "flipped"),
        ("robot0_eye_in_hand_image", 48, 64, "flipped"),
    ]
    assert [item.name for item in whole.state if item.privileged] == [TARGET]
    assert observation_space(whole).spaces["robot0_eye_in_hand_image"].shape == (48, 64, 3)
