"""``hylo-eval gate --sequential``: looks at runs that go on, and what keeps them honest."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from hylo_eval import plan_run
from tests.runs import edit_json, keys, unit, write_run

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


def take_away(run: Path, missing: Collection[str]) -> dict[Path, str]:
    """Make a run look as it did before these episodes ended: no log yet, no trace of them."""
    log = json.loads((run / "evallog.json").read_text())
    (run / "evallog.json").rename(run.parent / f"{run.name}.log")
    gone = {}
    for sample in log["samples"]:
        if sample["key"] in missing:
            path = run / sample["trace"]
            gone[path] = path.read_text()
            path.rename(path.with_name(f"{path.name}.partial"))
    return gone


def test_the_declared_order_is_on_record(root: Path) -> None:
    """One key a line, and the manifest has its digest."""
    assert json.loads((root / "new" / "order.json").read_text()) == ORDER


def test_a_run_that_goes_on_is_looked_at_up_to_its_first_missing_episode(gate: Any, root: Path) -> None:
    """Undecided, then decided: each look is a record, the rule is declared at the first."""
    gone = take_away(root / "new", ORDER[4:5] + ORDER[9:])
    early = gate("--sequential")
    assert early.code == 3, early.out + early.err
    assert "undecided: 4 wins to 0 in the first 4 of 12 declared pairs" in early.out
    assert "4 finished pairs that come after one that is missing" in early.out
    [declared] = (root / "new" / "sequential").iterdir()
    before = declared.read_text()
    for path, text in gone.items():
        path.write_text(text)
    late = gate("--sequential", "--json")
    assert late.code == 0, late.out + late.err
    assert (late.json["look"]["decided_at"], late.json["look"]["state"]) == (7, "candidate better")
    assert late.json["declared_at"] == json.loads(before)["declared_at"]
    assert late.json["ledger"]["looks"] == 1
    assert declared.read_text() == before
    assert len(list((root / "comparisons").iterdir())) == 2


def test_a_try_that_the_infrastructure_spoilt_is_no_outcome_while_tries_are_left(gate: Any, root: Path) -> None:
    """Its pair is still missing; after the last try it is an abstention."""
    write_run(root, "shaky", keys(*range(9)), bench=BENCH, broken={ORDER[8]})
    take_away(root / "shaky", ())
    assert gate("--sequential", "--json", pair=("shaky", "old")).json["look"]["n_looked"] == 12
    edit_json(root / "shaky" / "manifest.json", lambda manifest: manifest.update(max_attempts=3))
    assert gate("--sequential", "--json", pair=("shaky", "old")).json["look"]["n_looked"] == 8


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
    [("{", "is not JSON"), ('["a"]', "is no declaration"), ('{"schema": "x\\u001b[2J"}', "is no declaration")],
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


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[", "is not JSON"),
        ("[1]", "must be a list of instance keys"),
        ('["unit/task#0"]', "is not the order that was declared"),
    ],
)
def test_an_order_that_was_not_declared_is_refused(gate: Any, root: Path, content: str, message: str) -> None:
    """The manifest has the digest of the one that was."""
    take_away(root / "new", ORDER[4:])
    (root / "new" / "order.json").write_text(content)
    done = gate("--sequential")
    assert done.code == 2
    assert message in done.err


def test_without_an_order_an_unfinished_run_cannot_be_looked_at(gate: Any, root: Path) -> None:
    """Which episodes are missing would be a guess; the other run's order is as good, as both declared the same."""
    take_away(root / "new", ORDER[4:])
    take_away(root / "old", ORDER[4:])
    (root / "new" / "order.json").unlink()
    assert gate("--sequential").code == 3
    (root / "old" / "order.json").unlink()
    done = gate("--sequential")
    assert done.code == 2
    assert "the declared order of these runs is not on record" in done.err


def test_stray_files_are_no_episodes(gate: Any, root: Path) -> None:
    """A copied trace under another name, a torn one, a folder: none moves the prefix."""
    gone = take_away(root / "new", ORDER[4:5])
    [text] = gone.values()
    episodes = root / "new" / "episodes"
    (episodes / "copy.1.jsonl").write_text(text)
    next(iter(gone)).write_text(text[: len(text) // 2])
    (episodes / "folder.1.jsonl").mkdir()
    assert gate("--sequential", "--json").json["look"]["n_looked"] == 4
