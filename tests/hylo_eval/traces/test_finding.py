"""One way of naming a run: a folder, its log, or an id under the run root."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hylo_eval import EvalError
from hylo_eval.traces.finding import find_run, find_runs, is_run, root_option
from hylo_eval.traces.layout import RunFolder


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two runs in a run root, and a folder of the first one's name in the working directory that is no run."""
    for name in ("one", "two"):
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / "manifest.json").write_text("{}")
    (tmp_path / "runs" / "notes").mkdir()
    (tmp_path / "one").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path / "runs"


def test_a_run_is_found_by_folder_log_and_id(root: Path) -> None:
    """All three mean the same folder."""
    (root / "two" / "evallog.json").write_text("{}")
    for name in ("two", "runs/two", str(root / "two"), "runs/two/evallog.json"):
        assert find_run(name, root).path == root / "two"


def test_of_two_folders_of_one_name_the_run_is_meant(root: Path) -> None:
    """A folder that happens to be called like a run hides none; where neither is a run, the nearer one is."""
    assert find_run("one", root).path == root / "one"
    (root / "one" / "manifest.json").unlink()
    assert find_run("one", root).path == root.parent / "one"


def test_several_runs_are_named_one_by_one_or_by_the_folder_they_lie_in(root: Path) -> None:
    """Each once, in the order named."""
    assert [run.run_id for run in find_runs(["two", "runs"], root)] == ["two", "one"]
    assert [run.run_id for run in find_runs(["one"], root)] == ["one"]


@pytest.mark.parametrize("find", [find_run, lambda name, root: find_runs([name], root)])
def test_what_is_not_there_suggests_what_is_near(root: Path, find: Callable[[str, Path], object]) -> None:
    """Also of a name that no file can have."""
    with pytest.raises(EvalError, match=r"there is no run 'tow'; did you mean 'two'\?"):
        find("tow", root)
    with pytest.raises(EvalError, match="there is no run"):
        find("x\0y", root)


def test_a_folder_without_runs_is_none_of_several(root: Path) -> None:
    """Where one run is meant its files are missed later, each by its reader."""
    assert not is_run(root / "notes")
    with pytest.raises(EvalError, match="is no run folder and holds none"):
        find_runs(["notes"], root)


def test_a_command_says_where_a_run_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing for the folder that is looked in anyhow; any other in quotes where a shell would take it apart."""
    monkeypatch.chdir(tmp_path)
    options = [
        root_option(RunFolder(path)) for path in (tmp_path / "runs" / "a", tmp_path / "my runs" / "a", Path("/x/a"))
    ]
    assert options == ["", " --run-root 'my runs'", " --run-root /x"]
