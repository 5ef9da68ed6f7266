"""Repeated runs in ``hylo-eval compare`` and ``gate``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.runs import keys, unit, write_run


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two repetitions: the candidate wins eight of twelve instances in each, the parent another one in each."""
    for place in (1, 2):
        for agent, won in (("new", keys(*range(8))), ("old", keys(7 + place))):
            write_run(tmp_path, f"{agent}-{place}", won, bench=unit(12), manifest={"name": agent, "version": "1"})
    return tmp_path


@pytest.fixture
def call(hylo: Any, root: Path) -> Any:
    """Call a command on the first repetition and the second."""

    def run(command: str, *options: str, second: tuple[str, str] = ("new-2", "old-2")) -> Any:
        return hylo(command, "new-1", "old-1", "--replicate", *second, "--run-root", root, *options)

    return run


def test_a_gate_decides_over_instances(call: Any) -> None:
    """Eight differences of 2 and two of -1: of 1024 flips, 1 + 2 + 1 + 8 have a sum of 14 or more."""
    done = call("gate", "--mode", "improve")
    assert done.code == 0, done.out + done.err
    assert "the candidate is better over 12 instances in 2 repetitions: p = 0.0117" in done.out
    assert "Pass if the exact one-sided sign-flip p-value for a better candidate, over instances" in done.out
    assert "McNemar" not in done.out
    assert "100.0 % of it lies in the scenes" in done.out
    assert "noise floor: the parent run twice disagreed in 2 of 12 pairs" in done.out
    found = call("gate", "--mode", "improve", "--json").json
    assert found["p_value"] == 12 / 1024
    assert [item["candidate"]["run_id"] for item in found["repetitions"]] == ["new-2"]
    assert found["replicated"]["parent_variance"]["policy"] > 0


def test_a_comparison_shows_all_repetitions_and_each(call: Any) -> None:
    """With what the claim is about."""
    done = call("compare")
    assert done.code == 0, done.err
    assert "instances              12, in 2 repetitions, 24 pairs" in done.out
    assert "these instances, over repetitions: each instance counts once" in done.out
    assert "noise floor: the parent run twice disagreed in 2 of 12 pairs" in done.out
    rows = [line.split()[:4] for line in done.out.splitlines() if line.startswith(("1  ", "2  "))]
    assert rows == [["1", "8", "1", "12"], ["2", "8", "1", "12"]]
    assert call("compare", "--json").json["replicated"]["cluster"]["n_pairs"] == 24
    assert "### over repetitions" in call("compare", "--markdown", "-").out


@pytest.mark.parametrize(
    ("command", "options", "message"),
    [
        ("gate", ("--mode", "noninferior", "--margin", ".1"), "repetitions decide mode improve only"),
        ("gate", ("--mode", "no-regression", "--margin", ".1"), "repetitions decide mode improve only"),
        ("gate", ("--mode", "improve", "--sequential"), "repetitions decide after the last episode only"),
        ("compare", ("--metric", "steps"), "--replicate compares a metric of 0 and 1, and steps is none"),
        ("compare", ("--by", "task"), "--by changes nothing with --replicate"),
        ("compare", ("--figure", "x.svg"), "a figure shows one pair of runs"),
    ],
)
def test_what_repetitions_do_not_go_with_is_refused(
    call: Any, command: str, options: tuple[str, ...], message: str
) -> None:
    """With 2 and a sentence."""
    done = call(command, *options)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert "\n  fix: leave " in done.err or "\n  fix: --mode improve" in done.err


def test_a_repetition_of_other_agents_is_refused_and_on_record(call: Any, root: Path) -> None:
    """As evidence that is not comparable."""
    done = call("gate", "--mode", "improve", second=("old-2", "new-2"))
    assert done.code == 2
    assert "replicates: repetition 2 of the candidate (old-2) is of another agent: old 1, the first new 1" in done.err
    assert len(list((root / "comparisons").iterdir())) == 1
    assert "a run takes part twice" in call("compare", second=("new-1", "old-2")).err
