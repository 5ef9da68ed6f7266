"""Environment and agent specs, and what counts as a mismatch."""

from __future__ import annotations

import attrs

from hylo_core import ActionSlice, AgentSpec, CameraSpec, EnvSpec, ImagePreparation, StateSpec, compare_specs

ARM = ActionSlice(name="eef_position", start=0, stop=3, mode="delta", unit="m", frame="base")
GRIPPER = ActionSlice(
    name="gripper", start=3, stop=4, mode="absolute", unit="normalised", frame="eef", gripper="positive_closes"
)
CAMERA = CameraSpec(name="agentview", height=256, width=256, orientation="upright")
ENV = EnvSpec(action=(ARM, GRIPPER), control_hz=20, cameras=(CAMERA,), state=(StateSpec(name="eef", shape=(3,)),))
PREPARED = ImagePreparation(crop="none", resize="lanczos3_224x224", antialias="yes", padding="none")
AGENT = AgentSpec(action=(ARM, GRIPPER), control_hz=20, cameras=(CAMERA,), image_preparation=PREPARED)


def test_specs_that_agree_have_no_difference() -> None:
    """Equal and known on both sides is silence."""
    assert compare_specs(ENV, AGENT) == ()


def test_an_inverted_gripper_is_a_mismatch() -> None:
    """The fault that runs to completion with wrong numbers is named by its path."""
    inverted = attrs.evolve(AGENT, action=(ARM, attrs.evolve(GRIPPER, gripper="positive_opens")))
    (difference,) = compare_specs(ENV, inverted)
    assert difference.severity == "mismatch"
    assert str(difference) == (
        "action.gripper.gripper: the environment has positive_closes, the agent expects positive_opens"
    )


def test_other_slices_rates_and_orientations_are_mismatches() -> None:
    """Each by its own path."""
    flipped = attrs.evolve(CAMERA, orientation="flipped")
    agent = AgentSpec(action=(ARM,), control_hz=10, cameras=(flipped,), image_preparation=PREPARED)
    found = {difference.path: difference.severity for difference in compare_specs(ENV, agent)}
    assert found == {"control_hz": "mismatch", "action": "mismatch", "cameras.agentview.orientation": "mismatch"}


def test_what_one_side_does_not_say_is_unknown_and_shown() -> None:
    """Unknown is no mismatch, and no silence either."""
    found = {difference.path: difference.severity for difference in compare_specs(ENV, AgentSpec())}
    assert found == {"control_hz": "unknown", "action": "unknown"}


def test_what_an_agent_does_not_say_of_its_pictures_is_shown() -> None:
    """The resize kernel nobody wrote down costs as much as a wrong one; an agent without cameras has none to tell."""
    told = attrs.evolve(PREPARED, antialias="unknown")
    for agent, expected in (
        (attrs.evolve(AGENT, image_preparation=None), ["image_preparation"]),
        (attrs.evolve(AGENT, image_preparation=told), ["image_preparation.antialias"]),
        (attrs.evolve(AGENT, normaliser_key="unknown"), ["normaliser_key"]),
        (attrs.evolve(AGENT, cameras=(), image_preparation=None), []),
    ):
        found = compare_specs(ENV, agent)
        assert [difference.path for difference in found] == expected
        assert {difference.severity for difference in found} <= {"unknown"}


def test_a_camera_that_is_not_there_is_a_mismatch() -> None:
    """The text lists what there is."""
    agent = attrs.evolve(AGENT, cameras=(CameraSpec(name="wrist", height=1, width=1),))
    (difference,) = compare_specs(ENV, agent)
    assert difference.env == "none of that name (there is agentview)"


def test_the_action_size_is_the_end_of_the_last_slice() -> None:
    """None where the slices are unknown."""
    assert ENV.action_size == 4
    assert EnvSpec().action_size is None
