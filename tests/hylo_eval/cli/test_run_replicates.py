"""``hylo-eval run --replicates``: the same instances again and again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hylo_core import derive_seed
from hylo_eval.traces.reader import read_trace
from tests.runs import edit_json

AGENT = """
import numpy as np
from hylo_core import AgentInfo, AgentSpec
from hylo_eval import Reply
from hylo_eval.agents.reach_scripted import ReachScripted


class Moody(ReachScripted):
    \"\"\"Gives up in every other episode, by its seed.\"\"\"

    def __init__(self):
        super().__init__()
        self.info = AgentInfo(name="moody", version="1")

    def open_episode(self, instance, instruction, seed):
        session = super().open_episode(instance, instruction, seed)
        return session if seed % 2 else Idle()


class Idle:
    def act(self, observation):
        return Reply(np.zeros(3))

    def close(self):
        pass
"""


@pytest.fixture
def run(hylo: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run the agent above in this process."""
    (tmp_path / "moody_agent.py").write_text(AGENT)
    monkeypatch.syspath_prepend(tmp_path)

    def call(*options: object) -> Any:
        return hylo(
            "run",
            "reach_fixed",
            "--agent",
            "moody_agent:Moody",
            "--workers",
            0,
            "--run-root",
            tmp_path / "runs",
            *options,
        )

    return call


def successes(run: Path) -> dict[str, float]:
    """Instance key -> success."""
    log = json.loads((run / "evallog.json").read_text())
    return {sample["key"]: sample["scores"]["success"]["value"] for sample in log["samples"]}


def test_each_repetition_is_a_run_with_seeds_of_its_own(run: Any, tmp_path: Path) -> None:
    """The scene's seed stays, the agent's is drawn from the key and the number, and the first is that of any run."""
    done = run("--replicates", 3, "--run-id", "night", "--episodes", 6)
    assert done.code == 0, done.err
    folders = [tmp_path / "runs" / f"night-r{number}" for number in (1, 2, 3)]
    for number, folder in enumerate(folders, start=1):
        manifest = json.loads((folder / "manifest.json").read_text())
        assert manifest.get("replicate") == (None if number == 1 else number)
        for key, value in successes(folder).items():
            seed = derive_seed(key, "agent" if number == 1 else f"agent/{number}")
            assert value == seed % 2
    [trace, *_] = sorted((folders[1] / "episodes").iterdir())
    start = read_trace(trace).start
    assert start.seeds == {"env": start.instance.seed, "agent": derive_seed(start.instance.key, "agent/2")}
    assert run("--run-id", "plain", "--episodes", 6).code == 0
    assert successes(tmp_path / "runs" / "plain") == successes(folders[0])


def test_the_variance_and_what_to_do_next_are_said(run: Any, hylo: Any, tmp_path: Path) -> None:
    """And the commands that are named take the runs as they are."""
    done = run("--replicates", 2, "--run-id", "night")
    assert "repetition 2 of 2: night-r2" in done.out
    assert "variance of success: scene " in done.out
    root = tmp_path / "runs"
    assert f"hylo-eval gate night PARENT --replicates 2 --mode improve --run-root {root}" in done.out
    noise = hylo("plan", "--noise", "night-r1", "night-r2", "--run-root", root)
    assert noise.code == 0, noise.err
    assert "both are the same repetition" not in noise.out
    assert hylo("run", "reach_fixed", "--agent", "reach-scripted", "--run-root", root, "--run-id", "good",
                "--replicates", 2, "--workers", 0).code == 0  # fmt: skip
    done = hylo("gate", "good", "night", "--replicates", 2, "--mode", "improve", "--run-root", root)
    assert done.code == 0, done.out + done.err
    assert "reach-scripted 1 (runs good-r1, good-r2)" in done.out
    assert "was given the same seeds more than once" not in done.out
    assert hylo("compare", "good", "night", "--replicates", 2, "--run-root", root).code == 0
    twice = hylo(
        "compare", "good-r1", "night-r1", "--replicate", "good-r2", "night-r2", "--run-root", root, "--json"
    ).json
    assert ["noise floor" in note for note in twice["replicated"]["notes"]] == [True]


def test_an_agent_without_chance_gains_nothing(hylo: Any, tmp_path: Path) -> None:
    """And the result says so."""
    done = hylo("run", "reach_fixed", "--agent", "reach-scripted", "--replicates", 2, "--episodes", 3, "--workers", 0,
                "--run-root", tmp_path, "--run-id", "calm")  # fmt: skip
    assert "success came out alike in every repetition of every instance" in done.out


def test_the_result_as_json(run: Any) -> None:
    """One document with all of them."""
    found = run("--replicates", 2, "--run-id", "night", "--json").json
    assert [Path(item["run"]).name for item in found["replicates"]] == ["night-r1", "night-r2"]
    assert found["exit_code"] == 0
    assert found["variance"]["n_scenes"] == len(
        json.loads((Path(found["replicates"][0]["run"]) / "evallog.json").read_text())["samples"]
    )


def test_one_repetition_alone_is_the_same_run(run: Any, tmp_path: Path) -> None:
    """As on a cluster; it is continued as itself, and as no other."""
    assert run("--replicates", 2, "--run-id", "night", "--episodes", 4).code == 0
    assert run("--replicate", 2, "--run-id", "alone", "--episodes", 4).code == 0
    root = tmp_path / "runs"
    assert successes(root / "alone") == successes(root / "night-r2")
    assert run("--replicate", 3, "--run-id", "alone", "--episodes", 4).code == 2
    kept = json.loads((root / "alone" / "manifest.json").read_text())["invocation"]["replicate"]
    assert kept == 2


def test_the_same_command_goes_on(run: Any, tmp_path: Path) -> None:
    """What is whole is not run again."""
    assert run("--replicates", 2, "--run-id", "night", "--episodes", 2).code == 0
    first = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "runs" / "night-r1" / "episodes").iterdir()}
    assert run("--replicates", 3, "--run-id", "night", "--episodes", 2).code == 0
    after = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "runs" / "night-r1" / "episodes").iterdir()}
    assert after == first
    assert (tmp_path / "runs" / "night-r3" / "evallog.json").exists()


def test_the_parts_of_a_repetition_make_that_repetition(run: Any, hylo: Any, tmp_path: Path) -> None:
    """And parts of two repetitions make none."""
    root = tmp_path / "runs"
    for part in (1, 2):
        assert run("--replicate", 2, "--shard", f"{part}/2", "--run-id", f"part-{part}", "--episodes", 6).code == 0
    done = hylo("merge", root / "part-1", root / "part-2", "--run-root", root, "-o", "whole")
    assert done.code == 0, done.err
    assert run("--replicate", 2, "--run-id", "alone", "--episodes", 6).code == 0
    assert successes(root / "whole") == successes(root / "alone")
    assert json.loads((root / "whole" / "manifest.json").read_text())["replicate"] == 2
    assert "repetition: 2" in hylo("show", "whole", "--run-root", root).out
    assert run("--replicate", 3, "--shard", "2/2", "--run-id", "other", "--episodes", 6).code == 0
    done = hylo("merge", root / "part-1", root / "other", "--run-root", root, "-o", "mixed")
    assert done.code == 2
    assert "replicate: 2 there, 3 here" in done.err


def test_the_name_of_all_repetitions_is_no_run(run: Any, hylo: Any, tmp_path: Path) -> None:
    """With how it is used."""
    assert run("--replicates", 2, "--run-id", "night", "--episodes", 2).code == 0
    done = hylo("compare", "night", "night-r1", "--run-root", tmp_path / "runs")
    assert done.code == 2
    assert (
        "it was run in repetitions: name one, night-r1; compare and gate take all of them with --replicates K"
        in done.err
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--replicates", 1), "--replicates must be at least 2, not 1"),
        (("--replicates", 2, "--replicate", 1), "--replicate names one repetition, --replicates runs all of them"),
        (("--replicates", 2, "--budget", "1m"), "--budget is the time of one run"),
        (("--replicates", 2, "--resume", "night"), "--resume continues one run"),
        (("--replicates", 2, "--run-id", "../x"), "is no run id"),
        (("--replicate", 0), "--replicate must be at least 1, not 0"),
    ],
)
def test_what_repetitions_do_not_go_with_is_refused(run: Any, tmp_path: Path, options: Any, message: str) -> None:
    """Before anything is written."""
    done = run(*options)
    assert done.code == 2
    assert message in done.err
    assert not (tmp_path / "runs").exists()


def test_same_seeds_are_said(run: Any, hylo: Any, tmp_path: Path) -> None:
    """Two runs of one repetition hold no variance of the policy."""
    for name in ("a", "b", "c", "d"):
        assert run("--run-id", name, "--episodes", 3).code == 0
    done = hylo("compare", "a", "b", "--replicate", "c", "d", "--run-root", tmp_path / "runs")
    assert "the candidate was given the same seeds more than once (a is repetition 1, c is repetition 1)" in done.out
    edit_json(tmp_path / "runs" / "c" / "manifest.json", lambda manifest: manifest.update(replicate="2"))
    assert "replicate: must be of type int" in hylo("compare", "a", "c", "--run-root", tmp_path / "runs").err
