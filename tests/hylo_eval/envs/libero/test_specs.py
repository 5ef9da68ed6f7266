"""What the environment says of itself."""

import numpy as np
import pytest

from hylo_eval.envs.libero.specs import ACTION, env_spec, is_kept, turn

PICTURE = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)


def test_turning():
    """``flipped`` is the picture as it comes; the others reverse rows, or rows and columns."""
    np.testing.assert_array_equal(turn(PICTURE, "flipped"), PICTURE)
    np.testing.assert_array_equal(turn(PICTURE, "upright"), PICTURE[::-1])
    np.testing.assert_array_equal(turn(PICTURE, "rotated_180"), np.rot90(PICTURE, 2))


@pytest.mark.parametrize("orientation", ["flipped", "upright", "rotated_180"])
def test_turning_is_its_own_inverse_and_copies(orientation):
    """Turning twice gives the picture back, and no result shares memory with the simulator's buffer."""
    turned = turn(PICTURE, orientation)
    np.testing.assert_array_equal(turn(turned, orientation), PICTURE)
    assert turned.flags.c_contiguous
    assert not np.shares_memory(turned, PICTURE)


def test_concatenations_and_privileged_poses_are_left_out():
    """robosuite's ``*-state`` keys repeat the others; poses of objects only go to privileged agents."""
    assert not is_kept("robot0_proprio-state", privileged=True)
    assert is_kept("milk_1_pos", privileged=True)
    assert not is_kept("milk_1_pos", privileged=False)
    assert is_kept("agentview_image", privileged=False)
    assert is_kept("robot0_eef_pos", privileged=False)


def test_spec_names_every_observation():
    """Pictures become cameras with their orientation, the rest states; poses of objects are marked privileged."""
    observation = {
        "robot0_eef_pos": np.zeros(3),
        "agentview_image": PICTURE,
        "milk_1_pos": np.zeros(3),
        "milk_1_to_robot0_eef_quat": np.zeros(4, dtype=np.float32),
    }
    spec = env_spec(observation, "upright", "bddl_file_name")
    assert [(item.name, item.height, item.width, item.orientation) for item in spec.cameras] == [
        ("agentview_image", 2, 3, "upright")
    ]
    assert [(item.name, item.privileged, item.frame, item.dtype) for item in spec.state] == [
        ("robot0_eef_pos", False, "world", "float64"),
        ("milk_1_pos", True, "world", "float64"),
        ("milk_1_to_robot0_eef_quat", True, "eef", "float32"),
    ]
    assert spec.control_hz == 20
    assert spec.step_seconds == pytest.approx(0.05)


def test_action_is_said_in_full():
    """Seven numbers, each with mode, unit, frame and bounds; the gripper closes at +1."""
    assert [(item.start, item.stop) for item in ACTION] == [(0, 3), (3, 6), (6, 7)]
    assert all("unknown" not in (item.mode, item.unit, item.frame, item.gripper) for item in ACTION)
    assert ACTION[1].rotation == "axis_angle"
    assert ACTION[2].gripper == "positive_closes"
