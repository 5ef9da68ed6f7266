"""What a manifest records of the interpreter that the episodes run in."""

from __future__ import annotations

import pytest

from hylo_eval.evaluation.manifest import build_manifest
from tests.hylo_eval.evaluation.setups import plan, setup

INSTALLED = {"numpy": "2.0.0", "scipy": "1.14.0", "gymnasium": "1.2.0", "mujoco": "3.9.0", "torch": "2.9.0", "x": "1"}


@pytest.mark.parametrize(
    ("ref", "recorded"),
    [
        ("hylo_eval.envs.reach:ReachEnv", {"numpy", "gymnasium", "torch", "scripted"}),
        ("hylo_eval.envs.fetch:FetchEnv", {"numpy", "scipy", "gymnasium", "mujoco", "torch", "scripted"}),
        ("somebodys.envs:Env", {"numpy", "scipy", "gymnasium", "mujoco", "torch", "scripted"}),
    ],
)
def test_the_versions_are_of_what_the_family_uses(ref: str, recorded: set[str]) -> None:
    """Runs of a point robot from two virtual environments are comparable, whichever MuJoCo lies in them."""
    made = setup(env_ref={"ref": ref, "options": {}}, interpreter={"packages": INSTALLED})
    manifest = build_manifest(plan(), made, run_id="mine", scorers=["success"])
    assert set(manifest["versions"]) == recorded
    assert manifest["interpreter"]["packages"]["mujoco"] == "3.9.0"
