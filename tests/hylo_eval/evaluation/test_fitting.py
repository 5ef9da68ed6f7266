"""Whether agent and environment fit by what they declare."""

from __future__ import annotations

import gymnasium
import pytest

from hylo_core.spec import AgentSpec, CameraSpec, EnvSpec, StateSpec, compare_specs
from hylo_eval.errors import EvalError
from hylo_eval.evaluation.fitting import concerning_differences, refuse_mismatch

POSE = StateSpec(name="pose", shape=(4,), privileged=True)
JOINTS = StateSpec(name="joints", shape=(7,))
CAMERA = CameraSpec(name="front", height=8, width=8)
GENERAL = "mend what the agent's spec declares, or run an agent that is made for this environment"


@pytest.mark.parametrize(
    ("agent", "env", "options", "fix"),
    [
        (AgentSpec(state=(POSE,)), "robocasa", {}, "--env-arg privileged=true"),
        (AgentSpec(state=(POSE,)), "robocasa", {"privileged": False}, "--env-arg privileged=true"),
        (AgentSpec(cameras=(CAMERA,)), "robocasa", {}, "--env-arg cameras=true"),
        (
            AgentSpec(cameras=(CAMERA,), state=(POSE,)),
            "robocasa",
            {},
            "--env-arg privileged=true --env-arg cameras=true",
        ),
        (AgentSpec(state=(POSE,)), "robocasa", {"privileged": True}, GENERAL),
        (AgentSpec(state=(POSE, JOINTS)), "robocasa", {}, GENERAL),
        (AgentSpec(state=(POSE,)), "libero", {"privileged": False}, "--env-arg privileged=true"),
        (AgentSpec(state=(POSE,)), "libero", {}, GENERAL),
        (AgentSpec(cameras=(CAMERA,)), "reach", {}, GENERAL),
        (AgentSpec(cameras=(CAMERA,)), "somebodys_envs:Env", {}, GENERAL),
    ],
)
def test_an_observation_that_an_option_would_show_names_the_option(
    agent: AgentSpec, env: str, options: dict[str, bool], fix: str
) -> None:
    """And only where that is all that is wrong."""
    ref = {"ref": env, "options": options}
    with pytest.raises(EvalError, match="agent and environment do not fit") as caught:
        refuse_mismatch(compare_specs(EnvSpec(), agent), agent, ref)
    assert caught.value.fix == fix


def test_an_env_that_is_an_object_has_no_options() -> None:
    """Nothing is loaded for it."""
    agent = AgentSpec(state=(POSE,))
    with pytest.raises(EvalError) as caught:
        refuse_mismatch(compare_specs(EnvSpec(), agent), agent, {})
    assert caught.value.fix == GENERAL


def test_what_nobody_can_declare_of_an_answer_in_text_is_no_difference() -> None:
    """It has neither a rate nor slices; what is declared and differs is one all the same, and of robots all are."""
    silent = compare_specs(EnvSpec(), AgentSpec())
    assert {"control_hz", "action"} <= {item.path for item in silent}
    text, arm = gymnasium.spaces.Text(8), gymnasium.spaces.Box(-1.0, 1.0, (2,))
    assert {item.path for item in concerning_differences(text, silent)} == {item.path for item in silent} - {
        "control_hz",
        "action",
    }
    assert concerning_differences(arm, silent) == tuple(silent)
    wrong = compare_specs(EnvSpec(control_hz=10), AgentSpec(control_hz=20))
    assert "control_hz" in {item.path for item in concerning_differences(text, wrong)}
