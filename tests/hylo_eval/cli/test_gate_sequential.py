"""``hylo-eval gate --sequential``: looks at runs that go on, and what keeps them honest."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from hylo_eval import plan_run
from hylo_eval.queue import RunQueue
from tests.runs import keys, unfinish, unit, write_run

BENCH = unit(12)
ORDER = [instance.key for instance in plan_run(BENCH, "heldout").instances]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A run root with a candidate that wins nine of twelve pairs and loses none."""
    write_run(tmp_path / "runs", "new", keys(*range(9)), bench=BENCH)
    write_run(tmp_path / "runs", "old", bench=BENCH)
    return tmp_path / "runs"


@pytest.fixture
def gate(hylo: Any, root: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Call ``gate`` on two runs."""
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    return lambda *options, pair=("new", "old"): hylo("gate", *pair, "--mode", "improve", "--run-root", root, *options)


def take_away(run: Path, missing: Collection[str]) -> bytes:
    """Make a run look as it did before these episodes ended: no log yet, no row that has them; returns the queue."""
    whole = (run / "queue.db").read_bytes()
    (run / "evallog.json").rename(run.parent / f"{run.name}.log")
    with RunQueue.open(run / "queue.db") as stored:
        config = stored.config
    with RunQueue.open(run / "queue.db", config=config) as queue:
        for key in missing:
            assert queue.demote(key, "not yet")
    return whole


def test_a_run_that_goes_on_is_looked_at_up_to_its_first_missing_episode(gate: Any, root: Path) -> None:
    """Undecided, then decided: each look is a record, the rule is declared at the first."""
    whole = take_away(root / "new", ORDER[4:5] + ORDER[9:])
    early = gate("--sequential")
    assert early.code == 3, early.out + early.err
    assert "undecided: 4 wins to 0 in the first 4 of 12 declared pairs" in early.out
    assert "4 finished pairs that come after one that is missing" in early.out
    [declared] = (root / "new" / "sequential").iterdir()
    before = declared.read_text()
    (root / "new" / "queue.db").write_bytes(whole)
    late = gate("--sequential", "--json")
    assert late.code == 0, late.out + late.err
    assert (late.json["look"]["decided_at"], late.json["look"]["state"]) == (7, "candidate better")
    assert late.json["declared_at"] == json.loads(before)["declared_at"]
    assert late.json["ledger"]["looks"] == 1
    assert declared.read_text() == before
    assert len(list((root / "comparisons").iterdir())) == 2


def test_a_stopped_run_that_goes_on_again_is_read_from_its_queue(gate: Any, root: Path) -> None:
    """The log of its stop says less than is known."""
    unfinish(root / "new", 4)
    assert gate("--sequential", "--json").json["look"]["n_looked"] == 12


def test_an_episode_the_infrastructure_spoilt_for_good_is_an_abstention(gate: Any, root: Path) -> None:
    """Its pair is looked at and says nothing."""
    write_run(root, "shaky", keys(*range(9)), bench=BENCH, broken={ORDER[8]})
    take_away(root / "shaky", ())
    assert gate("--sequential", "--json", pair=("shaky", "old")).json["look"]["n_looked"] == 12


def test_fixed_and_sequential_rules_are_not_mixed(gate: Any, root: Path) -> None:
    """Whichever came first, and whichever side is the candidate."""
    assert gate("--sequential").code == 0
    for pair in (("new", "old"), ("old", "new")):
        done = gate(pair=pair)
        assert done.code == 2
        assert "these two runs are looked at under a sequential rule" in done.err
    write_run(root, "other", keys(1), bench=BENCH)
    assert gate(pair=("other", "old")).code == 3
    done = gate("--sequential", pair=("other", "old"))
    assert done.code == 2
    assert "were judged by a fixed rule already (comparisons/" in done.err
    assert not (root / "other" / "sequential").exists()


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (("--alpha", "0.1"), "alpha 0.05, now 0.1"),
        (("--agent-errors", "abstain"), "agent_errors 'fail', now 'abstain'"),
        (("--no-safety-must-not-rise",), "safety_must_not_rise True, now False"),
        (("--allow", "state"), "allow [], now ['state']"),
    ],
)
def test_the_declared_rule_stays(gate: Any, option: tuple[str, ...], message: str) -> None:
    """A second look under a kinder rule is refused."""
    assert gate("--sequential").code == 0
    done = gate("--sequential", *option)
    assert done.code == 2
    assert f"the first look at these runs declared another rule: {message}" in done.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--intersect",), "intersect: a sequential rule looks at one declared order"),
        (("--max-latency-regression", "1"), "max_latency_regression: its interval is not valid at several looks"),
    ],
)
def test_what_is_not_valid_at_several_looks_is_refused(gate: Any, options: tuple[str, ...], message: str) -> None:
    """With 2, and nothing declared."""
    done = gate("--sequential", *options)
    assert done.code == 2
    assert message in done.err


def test_another_mode_cannot_be_sequential(hylo: Any, root: Path) -> None:
    """The e-process says who is better, not by how much."""
    done = hylo("gate", "new", "old", "--mode", "noninferior", "--margin", ".1", "--sequential", "--run-root", root)
    assert done.code == 2
    assert "sequential: decides mode improve only, not noninferior" in done.err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON"),
        ('["a"]', "is not a JSON object"),
        ('{"schema": "x\\u001b[2J"}', "schema: must be 'hylo.sequential/v0.1', not 'x"),
    ],
)
def test_a_broken_declaration_ends_with_2(gate: Any, root: Path, content: str, message: str) -> None:
    """One sentence, no control code."""
    gate("--sequential")
    [declared] = (root / "new" / "sequential").iterdir()
    declared.write_text(content)
    done = gate("--sequential")
    assert done.code == 2
    assert message in done.err
    assert "\x1b" not in done.err


def test_an_order_that_was_not_declared_is_refused(gate: Any, root: Path) -> None:
    """The manifest has the digest of the one that was."""
    take_away(root / "new", ORDER[4:])
    with contextlib.closing(sqlite3.connect(root / "new" / "queue.db")) as connection, connection:
        connection.execute("UPDATE items SET key = 'x' WHERE position = 3")
        connection.execute("UPDATE items SET key = ? WHERE position = 2", (ORDER[3],))
        connection.execute("UPDATE items SET key = ? WHERE position = 3", (ORDER[2],))
    done = gate("--sequential")
    assert done.code == 2
    assert "is not in the order that was declared" in done.err


def test_a_broken_queue_ends_with_2(gate: Any, root: Path) -> None:
    """One sentence that names the file."""
    take_away(root / "new", ORDER[4:])
    (root / "new" / "queue.db").write_bytes(b"not a database" * 1000)
    done = gate("--sequential")
    assert done.code == 2
    assert "queue.db" in done.err


def test_without_an_order_an_unfinished_run_cannot_be_looked_at(gate: Any, root: Path) -> None:
    """Which episodes are missing would be a guess; the other run's order is as good, as both declared the same."""
    for run in ("new", "old"):
        unfinish(root / run, 4)
    (root / "new" / "queue.db").unlink()
    assert gate("--sequential").code == 3
    (root / "old" / "queue.db").unlink()
    done = gate("--sequential")
    assert done.code == 2
    assert "the declared order of these runs is not on record" in done.err


def test_stray_files_are_no_episodes(gate: Any, root: Path) -> None:
    """A copied trace under another name, a torn one, a folder: none moves the prefix."""
    take_away(root / "new", ORDER[4:5])
    episodes = root / "new" / "episodes"
    [taken] = [
        path for path in episodes.iterdir() if path.name.startswith(ORDER[4].replace("/", "-").replace("#", "-") + "-")
    ]
    (episodes / "copy.1.jsonl").write_text(taken.read_text())
    taken.write_text(taken.read_text()[:2000])
    (episodes / "folder.1.jsonl").mkdir()
    assert gate("--sequential", "--json").json["look"]["n_looked"] == 4
