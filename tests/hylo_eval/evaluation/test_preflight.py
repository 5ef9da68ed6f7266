"""What is refused before a run begins."""

from __future__ import annotations

from pathlib import Path

import pytest

from hylo_core.spec import AgentSpec, CameraSpec, EnvSpec, StateSpec, compare_specs
from hylo_eval.errors import EvalError
from hylo_eval.evaluation.preflight import refuse_mismatch

POSE = StateSpec(name="pose", shape=(4,), privileged=True)
JOINTS = StateSpec(name="joints", shape=(7,))
CAMERA = CameraSpec(name="front", height=8, width=8)
GENERAL = "mend what the agent's spec declares, or run an agent that is made for this environment"

ENVS = """
def switched(task, *, privileged: bool = False, cameras: bool = False): ...
def plain(task): ...
"""


@pytest.fixture(autouse=True)
def envs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two factories, one with switches for what is observed."""
    (tmp_path / "envs_that_show_more.py").write_text(ENVS, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.parametrize(
    ("agent", "factory", "options", "fix"),
    [
        (AgentSpec(state=(POSE,)), "switched", {}, "--env-arg privileged=true"),
        (AgentSpec(state=(POSE,)), "switched", {"privileged": False}, "--env-arg privileged=true"),
        (AgentSpec(cameras=(CAMERA,)), "switched", {}, "--env-arg cameras=true"),
        (
            AgentSpec(cameras=(CAMERA,), state=(POSE,)),
            "switched",
            {},
            "--env-arg privileged=true --env-arg cameras=true",
        ),
        (AgentSpec(state=(POSE,)), "switched", {"privileged": True}, GENERAL),
        (AgentSpec(state=(POSE, JOINTS)), "switched", {}, GENERAL),
        (AgentSpec(state=(POSE,)), "plain", {}, GENERAL),
    ],
)
def test_an_observation_that_an_option_would_show_names_the_option(
    agent: AgentSpec, factory: str, options: dict[str, bool], fix: str
) -> None:
    """And only where that is all that is wrong."""
    env = EnvSpec()
    ref = {"ref": f"envs_that_show_more:{factory}", "options": options}
    with pytest.raises(EvalError, match="agent and environment do not fit") as caught:
        refuse_mismatch(compare_specs(env, agent), agent, ref)
    assert caught.value.fix == fix


def test_an_env_that_is_an_object_has_no_options() -> None:
    """Nothing is loaded for it."""
    agent = AgentSpec(state=(POSE,))
    with pytest.raises(EvalError) as caught:
        refuse_mismatch(compare_specs(EnvSpec(), agent), agent, {})
    assert caught.value.fix == GENERAL
