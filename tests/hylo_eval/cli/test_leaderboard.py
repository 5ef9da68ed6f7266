"""``hylo-eval leaderboard``: never a bare ranking."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.runs import edit_manifest, edit_trace, keys, unit, write_run


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Three agents on twelve instances, with 2, 9 and 10 successes; one of the ten is an agent error instead."""
    write_run(tmp_path, "low", keys(0, 1), bench=unit(12))
    write_run(tmp_path, "high", keys(*range(10)), bench=unit(12), agent_errors=(9,))
    write_run(tmp_path, "good", keys(*range(9)), bench=unit(12))
    return tmp_path


@pytest.fixture
def leaderboard(hylo: Any, root: Path) -> Any:
    """Call ``leaderboard``."""
    return lambda *arguments: hylo("leaderboard", *(arguments or ("low", "high", "good")), "--run-root", root)


def test_groups_come_with_the_ranking(leaderboard: Any) -> None:
    """Seven straight wins, 2/128 times three: told apart; the two others are equal, the error counts as a failure."""
    done = leaderboard()
    assert done.code == 0, done.err
    rows = [line.split() for line in done.out.splitlines() if " 1 " in line and "/12" in line]
    assert [row[:7] for row in rows] == [
        ["high", "1", "high", "a", "1", "to", "2"],
        ["good", "1", "good", "a", "1", "to", "2"],
        ["low", "1", "low", "b", "3", "16.7", "%"],
    ]
    assert "agents that share a letter were not told apart" in done.out


def test_the_record_is_the_printed_document(leaderboard: Any, root: Path) -> None:
    """Everybody on it was a candidate: the next gate at this split counts them."""
    printed = leaderboard("low", "high", "good", "--json").json
    [path] = (root / "comparisons").iterdir()
    assert json.loads(path.read_text()) == printed
    assert [item["letters"] for item in printed["standings"]] == ["a", "a", "b"]
    assert [test["told_apart"] for test in printed["tests"]] == [True, True, False]
    assert [run["run_id"] for run in printed["runs"]] == ["low", "high", "good"]


def test_the_gate_counts_who_was_on_the_leaderboard(leaderboard: Any, hylo: Any, root: Path) -> None:
    """Three candidates were tried on this split."""
    leaderboard()
    done = hylo("gate", "high", "low", "--mode", "improve", "--run-root", root)
    assert "looks at this split on record before this one: 1, of them gates: 0;" in done.out
    assert "this one included: 3" in done.out


def test_runs_that_are_not_comparable_are_refused_by_name(leaderboard: Any, root: Path) -> None:
    """Another simulator version, and which two runs it is about."""
    edit_manifest(root / "good", lambda manifest: manifest["versions"].update(mujoco="3.2.7"))
    done = leaderboard()
    assert done.code == 2
    assert "versions: low (as candidate) and good (as parent): candidate against parent: mujoco" in done.err
    done = leaderboard("low", "high", "good", "--allow", "versions")
    assert done.code == 0, done.err
    assert "versions: candidate against parent: mujoco" in done.out


@pytest.mark.parametrize("agent", ["low", "good"])
def test_training_on_the_split_is_refused_on_every_side(hylo: Any, tmp_path: Path, agent: str) -> None:
    """Whichever place a run was named at."""
    for name in ("low", "good"):
        manifest = {"name": name, "version": "1", "trained_on": ["unit/heldout"] if name == agent else []}
        write_run(tmp_path, name, bench=unit(3), manifest=manifest)
    arguments = ("leaderboard", "low", "good", "--run-root", tmp_path)
    assert "trained-on" in hylo(*arguments).err
    assert hylo(*arguments, "--allow", "trained-on").code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("low",), "name 2 to 40 runs, not 1"),
        (("low", "low"), "two of the runs are called low"),
        (("low", "hihg"), "there is no run 'hihg'; did you mean 'high'?"),
        (("low", "good", "--json", "--markdown", "-"), "both want standard output"),
        (("low", "good", "--metric", "steps"), "runs are ranked by a metric of 0 and 1"),
        (("low", "good", "--alpha", "2"), "alpha: must lie in (0, 1)"),
        (("low", "comparisons\x1b[2J"), "there is no run"),
    ],
)
def test_bad_usage_ends_with_2(leaderboard: Any, arguments: tuple[str, ...], message: str) -> None:
    """One sentence."""
    done = leaderboard(*arguments)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert "\x1b" not in done.err


def test_a_tampered_trace_is_refused(leaderboard: Any, root: Path) -> None:
    """As everywhere; the log alone shows nothing, and says so."""
    edit_trace(root / "good", "unit/task#3", lambda text: text.replace('"reward":0.5', '"reward":1.5', 1))
    assert leaderboard().code == 2
    done = leaderboard("low", "high", "good", "--log-only")
    assert done.code == 0
    assert "not read (log only)" in done.out


def test_markdown_is_a_page_in_which_names_stay_text(hylo: Any, tmp_path: Path) -> None:
    """No HTML, no control code."""
    for name in ("a", "b"):
        write_run(tmp_path, name, bench=unit(2), manifest={"name": "<b>\x1b[2J|", "version": "1"})
    done = hylo("leaderboard", "a", "b", "--run-root", tmp_path, "--markdown", "-")
    assert done.out.startswith("## Leaderboard\n")
    assert "<b>" not in done.out
    assert "\x1b" not in done.out
