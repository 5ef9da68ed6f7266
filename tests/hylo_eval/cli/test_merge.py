"""``hylo-eval merge`` with ``run --shard`` before it and ``run --resume`` after it."""

from __future__ import annotations

import json

import attrs
import pytest

from hylo_eval import read_evallog
from hylo_eval.numerals import counted

RUN = ("run", "reach_fixed", "--agent", "reach-scripted", "--episodes", "5", "--workers", "0", "--scorer", "success")


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path / "runs"


def untimed(log):
    """The samples without the digest of their traces, which covers clocks."""
    return [attrs.evolve(sample, trace_sha256="") for sample in log.samples]


def test_parts_become_one_run(hylo, root):
    """What is missing is listed with 3, runs with --resume, and the log is that of one run."""
    assert hylo(*RUN, "--run-id", "whole").code == 0
    for number in (1, 2, 3):
        assert hylo(*RUN, "--run-id", f"part{number}", "--shard", f"{number}/3").code == 0
    done = hylo("merge", "part3", "part1", "-o", "merged")
    assert done.code == 3
    lines = done.out.splitlines()
    missing = [sample.key for sample in read_evallog(root / "part2" / "evallog.json").samples]
    assert f"missing: {counted(len(missing), 'episode')}" in lines
    assert lines[-2].startswith("  part 2/3, this part was not named: testing/reach_fixed#")
    assert lines[-1] == "to run them: hylo-eval run --resume merged"
    assert hylo("run", "--resume", "merged", "--workers", "0").code == 0
    done = hylo("merge", "part1", "part2", "runs/part3", "-o", "elsewhere/all", "--json")
    assert done.code == 0
    assert done.json["missing"] == []
    assert done.json["complete"] is True
    whole = read_evallog(root / "whole" / "evallog.json")
    for log in (root / "merged" / "evallog.json", root.parent / "elsewhere" / "all" / "evallog.json"):
        assert untimed(read_evallog(log)) == untimed(whole)
        assert read_evallog(log).results == whole.results
    assert "5 of 5 episodes have an outcome: 5 done" in hylo("status", "merged").out.splitlines()


def test_what_cannot_be_merged_ends_with_2_and_writes_nothing(hylo, root):
    """Each difference on a line; names that name nothing, and names that are none."""
    assert hylo(*RUN, "--run-id", "a", "--shard", "1/2").code == 0
    assert hylo(*RUN, "--run-id", "b", "--shard", "2/2", "--agent-arg", "speed=0.1").code == 0
    done = hylo("merge", "a", "b", "-o", "m")
    assert done.code == 2
    assert "  agent.options.speed: nothing there, 0.1 here" in done.err
    assert hylo("merge", "a", "none", "-o", "m").code == 2
    assert "is no run id" in hylo("merge", "a", "-o", "runs/..").err
    assert "nothing is written over" in hylo("merge", "a", "-o", "b").err
    assert sorted(path.name for path in root.iterdir()) == ["a", "b"]


def test_the_manifest_of_a_merged_run_says_how_to_call_the_whole(hylo, root):
    """Or --resume would run a part."""
    assert hylo(*RUN, "--run-id", "a", "--shard", "1/1").code == 0
    assert hylo("merge", "a", "-o", "m", "--link").code == 0
    manifest = json.loads((root / "m" / "manifest.json").read_text())
    assert "shard" not in manifest["invocation"]
    assert manifest["invocation"]["episodes"] == 5
    trace = next((root / "a" / "episodes").iterdir())
    assert (root / "m" / "episodes" / trace.name).samefile(trace)
