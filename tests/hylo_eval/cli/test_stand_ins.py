"""Whatever shows a number says what only stood in for the real thing: in words and as JSON."""

from __future__ import annotations

from html import unescape
from pathlib import Path
from typing import Any

import pytest

from tests.runs import keys, unit, write_run

STAND_IN = "robocasa-assets stand-in assets sha256:2"
SAID = f"ran on stand-ins ({STAND_IN}): this says nothing about the real thing"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two runs on a kitchen of boxes."""
    for run_id, won in (("a", keys(0, 1)), ("b", keys(0))):
        versions = {"mujoco": "3.3.1", "robocasa-assets": STAND_IN.partition(" ")[2]}
        write_run(tmp_path, run_id, won, bench=unit(3), versions=versions)
    return tmp_path


def one_line(text: str) -> str:
    """A text without its line breaks."""
    return " ".join(text.split())


@pytest.mark.parametrize(
    "command", [("leaderboard", "a", "b"), ("rescore", "a"), ("status", "a"), ("ls",), ("show", "a")]
)
def test_the_terminal_says_it(hylo: Any, root: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]) -> None:
    """Once for all runs that have it in common."""
    monkeypatch.setenv("COLUMNS", "500")
    done = hylo(*command, "--run-root", root)
    assert done.code == 0, done.err
    assert one_line(done.out).count(SAID) == (2 if command == ("ls",) else 1)


def test_json_names_it(hylo: Any, root: Path) -> None:
    """Run by run, and where several runs are ranked as a sentence, too."""
    assert hylo("status", "a", "--run-root", root, "--json").json["stand_ins"] == [STAND_IN]
    (rescored,) = hylo("rescore", "a", "--run-root", root, "--json").json["runs"]
    assert rescored["stand_ins"] == [STAND_IN]
    assert [row["stand_ins"] for row in hylo("ls", "--run-root", root, "--json").json] == [f"the run {SAID}"] * 2
    board = hylo("leaderboard", "a", "b", "--run-root", root, "--json").json
    assert [run["stand_ins"] for run in board["runs"]] == [[STAND_IN], [STAND_IN]]
    assert board["notes"] == [f"a, b {SAID}"]


def test_reports_for_other_tools_say_it(hylo: Any, root: Path, tmp_path: Path) -> None:
    """Markdown, the verdict's case of JUnit, and the suite of a log as JUnit."""
    markdown, junit, exported = (tmp_path / name for name in ("board.md", "gate.xml", "log.xml"))
    assert hylo("leaderboard", "a", "b", "--run-root", root, "--markdown", markdown).code == 0
    gate = hylo("gate", "a", "b", "--mode", "noninferior", "--margin", "0.9", "--run-root", root, "--junit", junit)
    assert gate.code in (0, 1, 3)
    assert hylo("export", "a", "--to", "junit", "-o", exported, "--run-root", root).code == 0
    assert SAID in unescape(markdown.read_text(encoding="utf-8"))
    assert f"both sides {SAID}" in junit.read_text(encoding="utf-8")
    assert f"the run {SAID}" in exported.read_text(encoding="utf-8")


def test_nothing_is_said_of_the_real_thing(hylo: Any, tmp_path: Path) -> None:
    """Only what stood in is named."""
    write_run(tmp_path, "real", bench=unit(2), versions={"robocasa-assets": "sha256:2"})
    for command in (("rescore", "real"), ("status", "real"), ("ls",)):
        assert "stand-in" not in hylo(*command, "--run-root", tmp_path).out
    assert hylo("status", "real", "--run-root", tmp_path, "--json").json["stand_ins"] == []
