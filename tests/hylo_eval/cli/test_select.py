"""``hylo-eval select`` and the one confirmation of its choice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hylo_core import Benchmark
from tests.episodes import benchmark, task
from tests.runs import keys, write_run

BENCH: Benchmark = benchmark(
    task(), seeds=tuple(range(12)), splits={"validation": tuple(range(100, 110)), "heldout": tuple(range(12))}
)


def validated(root: Path, name: str, successes: int, **options: Any) -> None:
    """A run on validation with so many successes of ten."""
    write_run(root, name, keys(*range(100, 100 + successes)), bench=BENCH, split="validation", **options)


def held(root: Path, name: str, successes: int, agent: str) -> None:
    """A run of an agent on heldout, of twelve."""
    write_run(root, name, keys(*range(successes)), bench=BENCH, manifest={"name": agent, "version": "1"})


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Three agents on validation, two of them on heldout."""
    for name, successes in (("v1", 4), ("v2", 8), ("v3", 7)):
        validated(tmp_path, name, successes)
    held(tmp_path, "new", 9, "v2")
    held(tmp_path, "old", 2, "v1")
    return tmp_path


@pytest.fixture
def select(hylo: Any, root: Path) -> Any:
    """Call ``select``."""
    return lambda *arguments: hylo("select", *(arguments or ("v1", "v2", "v3")), "--run-root", root)


def chosen(select: Any) -> str:
    """The id of a selection."""
    return select("v1", "v2", "v3", "--json").json["id"]


def test_the_best_is_chosen_and_its_luck_is_said(select: Any) -> None:
    """With who was not told apart, and what to do next."""
    done = select()
    assert done.code == 0, done.err
    assert "chosen: v2 1 (run v2), 80.0 % of 10 episodes." in done.out
    assert "not told apart from it: v3, v1." in done.out
    # 19 of 30; the mean of the best of three binomials of ten.
    assert "the best of 3 equal agents with a true rate of 63.3 % shows 75.9 % by luck" in done.out
    assert "--confirms 2" in done.out


def test_a_tie_is_said(hylo: Any, tmp_path: Path) -> None:
    """The one named first is taken."""
    for name in ("a", "b"):
        validated(tmp_path, name, 5)
    done = hylo("select", "b", "a", "--run-root", tmp_path)
    assert "chosen: b 1" in done.out
    assert "a did as well; the one named first is taken." in done.out


def test_a_run_with_little_coverage_cannot_be_chosen(hylo: Any, tmp_path: Path) -> None:
    """Three successes of three that were scored; with nobody left, nothing is chosen and it ends with 3."""
    validated(tmp_path, "broken", 3, broken=keys(*range(103, 110)))
    validated(tmp_path, "whole", 5)
    done = hylo("select", "broken", "whole", "--run-root", tmp_path)
    assert "too little coverage to be chosen: broken." in done.out
    assert "chosen: whole 1" in done.out
    validated(tmp_path, "other", 3, broken=keys(*range(103, 110)))
    done = hylo("select", "broken", "other", "--run-root", tmp_path, "--json")
    assert (done.code, done.json["chosen"]) == (3, {})


def test_the_choice_has_one_confirmation(select: Any, hylo: Any, root: Path) -> None:
    """The same two runs may be looked at again, another heldout run of the agent may not."""
    record = chosen(select)
    gate = ("gate", "--mode", "improve", "--run-root", root, "--confirms", record)
    done = hylo(*gate, "new", "old")
    assert done.code == 0, done.err
    assert f"this is the one confirmation of selection {record}" in done.out
    assert hylo(*gate, "new", "old", "--json").json["confirms"] == record
    held(root, "again", 10, "v2")
    done = hylo(*gate, "again", "old")
    assert done.code == 2
    assert f"selection {record} has had its one confirmation" in done.err


def test_only_the_chosen_agent_is_confirmed(select: Any, hylo: Any, root: Path) -> None:
    """Not another one, not one that has changed since, not on validation, not by a record that is no selection."""
    record = chosen(select)
    gate = ("gate", "--mode", "improve", "--run-root", root, "--confirms")
    assert f"selection {record} did not choose v1 1" in hylo(*gate, record, "old", "new").err
    write_run(
        root, "changed", bench=BENCH, manifest={"name": "v2", "version": "1", "components": {"weights": "sha256:1"}}
    )
    assert "did not choose v2 1, or it has changed since" in hylo(*gate, record, "changed", "old").err
    assert "it cannot confirm itself" in hylo(*gate, record, "v2", "v1").err
    done = hylo(*gate, record[:-1], "new", "old")
    assert done.code == 2
    assert f"there is no selection '{record[:-1]}' on record; did you mean '{record}'" in done.err


def test_a_gate_without_it_is_reminded(select: Any, hylo: Any, root: Path) -> None:
    """Of the selection that the candidate won, or lost."""
    record = chosen(select)
    done = hylo("gate", "new", "old", "--mode", "improve", "--run-root", root)
    assert f"selection {record} chose the candidate: --confirms {record} makes a gate its confirmation" in done.out
    done = hylo("gate", "old", "new", "--mode", "improve", "--run-root", root)
    assert f"selection {record} did not choose the candidate, but another of its 3 agents" in done.out


def test_heldout_is_no_place_to_choose(select: Any, root: Path) -> None:
    """Nothing is written."""
    done = select("new", "old")
    assert done.code == 2
    assert "choosing there would leave nothing to confirm the choice on" in done.err
    assert not (root / "comparisons").exists()


def test_a_choice_that_cannot_be_recorded_is_none(select: Any, root: Path) -> None:
    """It could be made again until heldout likes it."""
    (root / "comparisons").write_text("")
    done = select()
    assert done.code == 2
    assert "cannot write" in done.err
    assert "chosen" not in done.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("v1",), "name 2 to 40 runs, not 1"),
        (("v1", "v2", "--min-coverage", "2"), "--min-coverage must lie in [0, 1], not 2"),
        (("v1", "old"), "split: v1 (as candidate) and old (as parent)"),
    ],
)
def test_bad_usage_ends_with_2(select: Any, arguments: tuple[str, ...], message: str) -> None:
    """One sentence."""
    done = select(*arguments)
    assert done.code == 2
    assert message in done.err


def test_the_record_names_all_that_took_part(select: Any, root: Path) -> None:
    """With the digest of the agent that was chosen."""
    printed = select("v1", "v2", "v3", "--json").json
    [path] = (root / "comparisons").iterdir()
    assert json.loads(path.read_text()) == printed
    assert (printed["kind"], printed["chosen"]["run_id"], len(printed["runs"])) == ("select", "v2", 3)
