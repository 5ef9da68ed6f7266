"""The story of a gate in CI, on real physics: two agents of known strength, a hundred pairs, every exit code."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mujoco")

from tests.runs import edit_json, edit_trace

pytestmark = pytest.mark.slow

BENCH = ("fetch_pick_and_place", "--split", "train", "--agent", "fetch-scripted")
PAIRS = 100


def hylo(root: Path, command: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a command as a job does: a process and its exit code."""
    line = [sys.executable, "-m", "hylo_eval", command, *map(str, arguments), "--run-root", str(root)]
    return subprocess.run(line, capture_output=True, text=True, check=False, timeout=600)


def gate(root: Path, candidate: str, parent: str, *options: object) -> subprocess.CompletedProcess[str]:
    """The gate of a pull request."""
    return hylo(root, "gate", candidate, parent, "--mode", "improve", *options)


def record(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The record that a gate names at its end."""
    return json.loads(Path(done.stdout.rpartition("record: ")[2].strip()).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A steady agent, run twice with seeds of its own, and one whose hand shakes."""
    folder = tmp_path_factory.mktemp("story") / "runs"
    for noise, options in ((0.2, ("--run-id", "steady", "--replicates", 2)), (0.5, ("--run-id", "shaky"))):
        done = hylo(folder, "run", *BENCH, "--agent-arg", f"noise={noise}", *options, "--workers", 2)
        assert done.returncode == 0, done.stderr
    return folder


def test_the_better_agent_passes_and_the_worse_one_fails(root: Path) -> None:
    """By the same pairs, seen from either side; who they are is said although both have one name."""
    passed = gate(root, "steady-r1", "shaky")
    assert passed.returncode == 0, passed.stdout + passed.stderr
    found = record(passed)
    assert found["comparison"]["n_pairs"] == PAIRS
    assert found["effect"]["candidate_rate"] > 0.9
    assert found["effect"]["parent_rate"] < 0.6
    assert found["p_value"] < 1e-9
    for label in ("fetch-scripted 1, noise=0.2 (run steady-r1)", "fetch-scripted 1, noise=0.5 (run shaky)"):
        assert label in passed.stdout
    failed = gate(root, "shaky", "steady-r1")
    assert failed.returncode == 1, failed.stdout + failed.stderr
    assert record(failed)["reverse_p_value"] == found["p_value"]
    assert "candidates that were tried on it, this one included: 2" in failed.stdout


def test_equal_agents_are_inconclusive_and_not_a_pass(root: Path) -> None:
    """One agent with two sets of random numbers; being no worse by 15 points can be shown of it, being better not."""
    done = gate(root, "steady-r2", "steady-r1")
    assert done.returncode == 3, done.stdout + done.stderr
    done = hylo(root, "gate", "steady-r2", "steady-r1", "--mode", "noninferior", "--margin", ".15")
    assert done.returncode == 0, done.stdout + done.stderr


def test_looking_early_decides_the_same(root: Path, tmp_path: Path) -> None:
    """And does not go with a fixed rule on the same two runs."""
    shutil.copytree(root, tmp_path / "runs", ignore=shutil.ignore_patterns("comparisons"))
    done = gate(tmp_path / "runs", "steady-r1", "shaky", "--sequential")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "decided after" in done.stdout
    assert gate(tmp_path / "runs", "steady-r1", "shaky").returncode == 2


def test_a_trace_that_was_touched_is_refused(root: Path, tmp_path: Path) -> None:
    """With the file and what does not match."""
    shutil.copytree(root, tmp_path / "runs")
    key = "fetch/pick_and_place#7"
    edit_trace(tmp_path / "runs" / "shaky", key, lambda text: text.replace('"reward":-1.0', '"reward":0.0', 1))
    done = gate(tmp_path / "runs", "steady-r1", "shaky")
    assert done.returncode == 2
    assert "traces: the parent's run has a trace that does not match: fetch-pick_and_place-7-" in done.stderr


def test_another_horizon_is_refused(root: Path) -> None:
    """With both values."""
    done = hylo(
        root, "run", *BENCH, "--agent-arg", "noise=0.2", "--run-id", "short", "--max-steps", 45, "--episodes", 2
    )
    assert done.returncode in (0, 3), done.stderr
    done = gate(root, "short", "shaky")
    assert done.returncode == 2
    assert "tasks: the candidate ran the tasks with max_steps=45, the parent with nothing changed" in done.stderr


def test_another_mujoco_is_refused(root: Path, tmp_path: Path) -> None:
    """With both versions, and a manifest that was only edited contradicts its traces besides."""
    shutil.copytree(root, tmp_path / "runs")
    manifest = tmp_path / "runs" / "steady-r1" / "manifest.json"
    edit_json(manifest, lambda found: found["versions"].update(mujoco="2.3.7"))
    done = gate(tmp_path / "runs", "steady-r1", "shaky")
    assert done.returncode == 2
    assert "versions: candidate against parent: mujoco 2.3.7 against " in done.stderr
    assert "the manifest records mujoco 2.3.7, the trace " in done.stderr
    done = gate(tmp_path / "runs", "steady-r1", "shaky", "--log-only")
    assert done.returncode == 2
    assert "versions: candidate against parent: mujoco 2.3.7 against " in done.stderr
