"""The line that says under which settings a number came about."""

from __future__ import annotations

from typing import Any

import pytest

from hylo_eval.cli.run_settings import settings_line
from hylo_eval.evaluation.manifest import write_manifest
from hylo_eval.traces.manifest import read_manifest

PLAIN: dict[str, Any] = {
    "selection": {"instances": 100, "keys_digest": "sha256:1"},
    "overrides": {},
    "agent": {"name": "a", "options": {}},
    "env": {"options": {"reward": "sparse"}},
    "invocation": {"benchmark": "reach_fixed"},
    "execution": {"workers": 1},
}

CHANGES = [
    ({"selection": {"episodes": 3, "instances": 3}}, "episodes=3"),
    ({"selection": {"tasks": ["a/b", "a/c"], "max_episodes": 5}}, "tasks=a/b+a/c, max_episodes=5"),
    ({"selection": {"key": "a/b#7"}}, "key=a/b#7"),
    ({"selection": {"shard": "1/4"}}, "shard=1/4"),
    ({"overrides": {"max_steps": 30}}, "max_steps=30"),
    ({"replicate": 2}, "replicate=2"),
    ({"execution": {"workers": 8}}, "workers=8"),
    ({"agent": {"options": {"noise": 0.5, "path": None}}}, "agent noise=0.5, agent path=null"),
    ({"invocation": {"env_arg": {"cameras": "true"}}}, "env cameras=true"),
    ({"invocation": {"safety": ["none"]}}, "safety=none"),
    ({"invocation": None}, "env reward=sparse"),
    ({"agent": {"options": {"weights": "w" * 99}}}, f"agent weights={'w' * 59}…"),
]


@pytest.mark.parametrize(("changes", "said"), CHANGES)
def test_what_differs_from_the_benchmark_is_said(changes: dict[str, Any], said: str) -> None:
    """Each setting that decides the number, by the name it is given with."""
    assert settings_line({**PLAIN, **changes}) == f"settings: {said}"


def test_a_run_as_it_is_defined_says_so() -> None:
    """A reader need not guess whether the line is missing or empty."""
    assert settings_line(PLAIN) == "settings: as the benchmark defines them"


def test_a_damaged_manifest_says_nothing_it_does_not_hold() -> None:
    """The log that it stands in is untrusted; it stays one line."""
    damaged = {"selection": [], "agent": {"options": "all"}, "execution": 3, "overrides": {"max\nsteps": "1\x1b[2J"}}
    assert settings_line(damaged) == "settings: max\\nsteps=1\\x1b[2J"


def test_run_and_rescore_print_it(hylo: Any, tmp_path: Any) -> None:
    """Below the line that names benchmark, split and agent."""
    given = ("--episodes", "2", "--max-steps", "50", "--agent-arg", "speed=0.2", "--workers", "0")
    done = hylo("run", "reach_fixed", "--agent", "reach-scripted", *given, "--run-root", tmp_path, "--run-id", "short")
    said = "settings: episodes=2, max_steps=50, workers=0, agent speed=0.2"
    assert done.out.splitlines()[1] == said, done.err
    again = hylo("rescore", "short", "--run-root", tmp_path, "--workers", "1")
    assert again.out.splitlines()[1] == said, again.err


def test_status_says_what_differs_and_nothing_of_a_run_as_it_is_defined(hylo: Any, tmp_path: Any) -> None:
    """Below its first line, as the display of the run has it while it goes on."""
    for run_id, given in (("plain", ()), ("short", ("--max-steps", "50"))):
        hylo(
            *("run", "reach_fixed", "--agent", "zero", "--key", "testing/reach_fixed#10000", *given),
            *("--workers", "0", "--run-root", tmp_path, "--run-id", run_id),
        )
    folder = tmp_path / "plain"
    lines = hylo("status", tmp_path / "short").out.splitlines()
    assert lines[1] == "settings: key=testing/reach_fixed#10000, max_steps=50, workers=0"
    manifest = read_manifest(folder / "manifest.json")
    del manifest["selection"]["key"], manifest["execution"]["workers"]
    write_manifest(manifest, folder / "manifest.json")
    assert "settings" not in hylo("status", folder).out
