"""RoboCasa's own code on the stand-in kitchen: what holds at reset and at every step."""

import json

import attrs
import numpy as np
import pytest

from hylo_core.errors import DigestMismatch
from hylo_eval.envs.conformance import check_env
from hylo_eval.envs.robocasa.factory import make_robocasa_env
from hylo_eval.envs.robocasa.snapshots import snapshot_task
from hylo_eval.envs.robocasa.specs import TARGET
from hylo_eval.errors import EnvError, EnvUnready
from tests.hylo_eval.envs.robocasa.conftest import kitchen_task, reset

pytestmark = [pytest.mark.robocasa, pytest.mark.usefixtures("assets")]

NAVIGATE = kitchen_task("NavigateKitchen")


@pytest.fixture(scope="module")
def navigate(assets):
    """An environment of NavigateKitchen with the target's pose."""
    env = make_robocasa_env(NAVIGATE, privileged=True)
    yield env
    env.close()


def moving(step):
    """Some action of twelve entries, another at every step."""
    return 0.3 * np.sin(0.7 * step + np.arange(12))


def test_it_keeps_the_contract_of_environments(assets):
    """Spaces, purity of the reset, named slices, the gripper's sign, and all the other rules."""
    check_env(make_robocasa_env, kitchen_task("CloseDrawer"), horizon_steps=5, privileged=True).require()


def test_seven_entries_move_the_arm_alone(assets):
    """The layout ``arm``: base and torso stand still under any of its actions."""
    task = kitchen_task("TurnOnStove")
    env = make_robocasa_env(task, action="arm")
    try:
        before, _ = reset(env, task)
        for _ in range(3):
            after, _, terminated, truncated, info = env.step(np.ones(7))
            assert (info["success"], terminated, truncated) == (False, False, False)
        assert not np.array_equal(after["robot0_joint_pos"], before["robot0_joint_pos"])
        np.testing.assert_allclose(after["robot0_base_pos"], before["robot0_base_pos"], atol=1e-3)
    finally:
        env.close()


def test_the_instruction_names_the_target_and_seeds_differ(navigate):
    """Wording, target and start are drawn from the seed."""
    seen = {}
    for seed in (1, 2):
        observation, info = reset(navigate, NAVIGATE, seed)
        assert info["instruction"].startswith("Navigate to the ")
        seen[info["state_digest"]] = observation[TARGET].tolist()
    assert len(seen) == 2


def test_success_is_the_task_s_own_check_and_asking_leaves_no_mark(navigate):
    """A base that is put at its target has succeeded; the answer is the package's, at every step."""
    reset(navigate, NAVIGATE, 1)
    simulation = navigate._simulation
    inner = simulation.task_env
    inner.asked = 0

    def counting():
        inner.asked += 1
        return inner.asked > 3

    inner._check_success = counting
    try:
        assert simulation.check_success_unnoticed() is False
        assert inner.asked == 0
        # The package asks once for its reward, and evaluators once more after the step.
        answers = [navigate.step(np.zeros(12))[4]["success"] for _ in range(2)]
    finally:
        del inner._check_success
    assert answers == [False, True]


def test_the_base_moves_by_its_own_entries(navigate):
    """+1 forward moves the base the way it looks, +1 to the left at a right angle to it; the arm's entries do not."""
    for entry, expected in ((7, (0.0, 1.0)), (8, (-1.0, 0.0))):
        reset(navigate, NAVIGATE, 1)
        # It looks along +y, at the wall; away from the furniture first, so that nothing is in the way.
        for _ in range(8):
            navigate.step(np.array([0.0] * 7 + [-1.0, 0.0, 0.0, 0.0, 1.0]))
        start, *_ = navigate.step(np.zeros(12))
        action = np.zeros(12)
        action[[entry, 11]] = 1.0
        for _ in range(8):
            after, *_ = navigate.step(action)
        moved = after["robot0_base_pos"][:2] - start["robot0_base_pos"][:2]
        assert float(moved @ np.array(expected)) > 0.05
        assert abs(float(moved @ np.array(expected[::-1]))) < 0.05


def test_a_snapshot_of_a_trace_s_reset_is_set_up_again_in_another_env(navigate, tmp_path):
    """Same wording, same state, and the same episode under the same actions; whatever the seed."""
    first, info = reset(navigate, NAVIGATE, 2)
    steps = [navigate.step(moving(step)) for step in range(10)]
    document = json.loads(json.dumps(info["snapshot"]))
    (tmp_path / "scene.json").write_text(json.dumps(document))
    task = snapshot_task(NAVIGATE, document, "robocasa:scene.json")
    env = make_robocasa_env(task, privileged=True, benchmark_folder=str(tmp_path))
    try:
        again, restored = reset(env, task, 77)
        assert restored["instruction"] == info["instruction"]
        assert restored["state_digest"] == info["state_digest"]
        assert restored["model_digest"] == info["model_digest"]
        assert np.array_equal(again[TARGET], first[TARGET])
        for step, taken in enumerate(steps):
            observation, repeated = taken[0], env.step(moving(step))[0]
            for name in observation:
                np.testing.assert_array_equal(repeated[name], observation[name], err_msg=f"{name} at {step}")
    finally:
        env.close()


def test_a_snapshot_restores_sampled_objects(assets, tmp_path):
    """Which objects, and where they lie, is in the snapshot and not in the seed."""
    task = kitchen_task("PickPlaceCounterToCabinet")
    env = make_robocasa_env(task)
    try:
        _, info = reset(env, task, 5)
    finally:
        env.close()
    (tmp_path / "scene.json").write_text(json.dumps(info["snapshot"]))
    again = snapshot_task(task, info["snapshot"], "robocasa:scene.json")
    env = make_robocasa_env(again, benchmark_folder=str(tmp_path))
    try:
        _, restored = reset(env, again, 6)
    finally:
        env.close()
    assert (restored["instruction"], restored["state_digest"]) == (info["instruction"], info["state_digest"])


@pytest.mark.parametrize(
    ("ep_meta", "sentence"),
    [
        (lambda meta: {}, "leaves ep_meta.[a-z_]+ open"),
        (lambda meta: {**meta, "fixture_refs": {"target_fixture": "nosuch"}}, "in ep_meta.fixture_refs"),
    ],
)
def test_a_snapshot_that_leaves_the_scene_open_is_refused(navigate, tmp_path, ep_meta, sentence):
    """The package would draw another target from the seed, under the same state."""
    _, info = reset(navigate, NAVIGATE, 2)
    document = json.loads(json.dumps(info["snapshot"]))
    document["ep_meta"] = ep_meta(document["ep_meta"])
    (tmp_path / "scene.json").write_text(json.dumps(document))
    task = snapshot_task(NAVIGATE, document, "robocasa:scene.json")
    env = make_robocasa_env(task, benchmark_folder=str(tmp_path))
    try:
        with pytest.raises(EnvError, match=sentence):
            reset(env, task, 3)
    finally:
        env.close()


def test_a_kitchen_that_lacks_an_asset_is_an_environment_error_that_names_the_file(assets):
    """The style of layout 3 was never written."""
    task = kitchen_task("OpenDrawer", layout=3)
    env = make_robocasa_env(task)
    try:
        with pytest.raises(EnvUnready, match="layout003") as error:
            reset(env, task)
        assert "download_kitchen_assets" in error.value.fix
    finally:
        env.close()


@pytest.mark.parametrize(
    ("raised", "message"),
    [
        # The package divides by the number of instances: what it says of it tells nobody what to do.
        (ValueError("Probabilities contain NaN"), "no instance in the registries objaverse, lightwheel"),
        (PermissionError(13, "Permission denied", "/assets/objects/1_2_3.xml"), "writes a file beside every object"),
        (RuntimeError("Ran _load_model() 50 times"), "cannot be set up: RuntimeError"),
    ],
)
def test_what_the_package_raises_at_reset_is_an_environment_error_in_words(navigate, monkeypatch, raised, message):
    """Objects without instances, a folder that cannot be written to, a scene that cannot be placed."""
    task = kitchen_task("PickPlaceCounterToCabinet")
    env = make_robocasa_env(task)

    def broken():
        raise raised

    try:
        monkeypatch.setattr(env._simulation.task_env, "reset", broken)
        with pytest.raises(EnvError, match=message):
            reset(env, task)
    finally:
        env.close()


def test_assets_are_pinned_by_their_digest(assets):
    """Others than those asked for are refused; the digest in use stands among the versions."""
    env = make_robocasa_env(NAVIGATE)
    env.close()
    label = env.versions["robocasa-assets"]
    assert label.startswith("stand-in assets sha256:")
    make_robocasa_env(NAVIGATE, assets_sha256=label.removeprefix("stand-in assets ")).close()
    with pytest.raises(DigestMismatch):
        make_robocasa_env(NAVIGATE, assets_sha256="sha256:" + "0" * 64)


@pytest.mark.parametrize("text", ["", "0" * 64, "sha256:" + "0" * 63, "sha256:" + "G" * 64, "stand-in assets sha256:0"])
def test_what_is_no_digest_is_told_from_a_digest_of_others(text):
    """The assets are not even looked at."""
    with pytest.raises(EnvError, match="must be sha256: and 64 hex digits"):
        make_robocasa_env(NAVIGATE, assets_sha256=text)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"camera_height": 64}, "changes nothing without pictures"),
        ({"orientation": "flipped"}, "changes nothing without pictures"),
        ({"cameras": True, "camera_width": 8}, "between 16 and 1024"),
        ({"cameras": True}, "switches drawing off"),
        ({"assets": ""}, "must name a folder"),
    ],
)
def test_options_that_change_nothing_or_cannot_be_are_refused(options, message, monkeypatch):
    """The error says which, and what to do."""
    monkeypatch.setenv("MUJOCO_GL", "disable")
    with pytest.raises(EnvError, match=message):
        make_robocasa_env(NAVIGATE, **options)


def test_privileged_is_refused_where_there_is_no_target():
    """A stove has no pose that the robot is wanted at."""
    with pytest.raises(EnvError, match="only NavigateKitchen"):
        make_robocasa_env(kitchen_task("TurnOnStove"), privileged=True)


def test_a_fixture_narrows_a_door_task(assets):
    """The old single door is a cabinet with one door."""
    task = attrs.evolve(kitchen_task("OpenCabinet", fixture="CABINET_SINGLE_DOOR"), id="robocasa_0x/OpenSingleDoor")
    env = make_robocasa_env(task)
    try:
        _, info = reset(env, task)
        assert info["instruction"] == "Open the cabinet door."
    finally:
        env.close()
