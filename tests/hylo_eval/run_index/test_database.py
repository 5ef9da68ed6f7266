"""The index of a run root: what is in it, when it is read again, and what breaks nothing."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from hylo_eval import EvalError, read_evallog
from hylo_eval.evaluation.rescore import rescore
from hylo_eval.evaluation.rescore_plan import plan_rescoring
from hylo_eval.run_index.database import INDEX_NAME, Refreshed, open_index
from tests.runs import edit_json, keys, unit, write_run


def refresh(root: Path, **options: Any) -> Refreshed:
    """Bring the index up to date."""
    with open_index(root, **options) as index:
        return index.refresh()


def rows(root: Path, query: str) -> list[tuple[Any, ...]]:
    """What any SQLite tool reads."""
    connection = sqlite3.connect(root / INDEX_NAME)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def dump(root: Path) -> list[str]:
    """The whole content of the index."""
    connection = sqlite3.connect(root / INDEX_NAME)
    try:
        return sorted(connection.iterdump())
    finally:
        connection.close()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two runs, one of them with an agent error and scored twice, and folders that are no runs."""
    write_run(tmp_path, "one", keys(0, 1), agent_errors=(2,), bench=unit(3))
    write_run(tmp_path, "two", keys(0), bench=unit(2))
    list(rescore(plan_rescoring([tmp_path / "one"], scorers=["steps"], name="again"), workers=1))
    (tmp_path / "comparisons").mkdir()
    (tmp_path / "notes.txt").write_text("no run")
    return tmp_path


def test_a_row_a_run_a_sample_and_a_score(root: Path) -> None:
    """As the logs say it; abstentions are null with a reason."""
    assert refresh(root).n_runs == 2
    log = read_evallog(root / "one" / "evallog.json")
    assert rows(
        root, "select run_id, status, n_episodes, n_scored, scorer, mean, binary from runs order by run_id"
    ) == [
        ("one", "complete", 3, 2, "success", 1.0, 1),
        ("two", "complete", 2, 2, "success", 0.5, 1),
    ]
    found = rows(root, "select key, episode_id, status, steps, trace_sha256 from samples where run_id = 'one'")
    assert found == [(s.key, s.episode_id, s.status, s.steps, s.trace_sha256) for s in log.samples]
    silent = "select value, reason from scores where sample_id = 'one/unit/task#2' and scorer = 'success'"
    assert rows(root, silent) == [(None, "agent_error")]
    again = "select scorer, mean, n_scored from means where run_id = 'one' and scoring = 'again'"
    assert rows(root, again) == [("steps", 2.0, 2)]


def test_the_tables_are_tied_by_foreign_keys_that_hold(root: Path) -> None:
    """So that Datasette links a sample to its run."""
    refresh(root)
    tied = {name: rows(root, f"pragma foreign_key_list({name})")[0][2:5] for name in ("samples", "scores", "means")}
    assert tied == {
        "samples": ("runs", "run_id", "run_id"),
        "scores": ("samples", "sample_id", "id"),
        "means": ("runs", "run_id", "run_id"),
    }
    assert rows(root, "pragma foreign_key_check") == []


def test_only_what_changed_is_read_and_the_result_is_that_of_a_rebuild(root: Path) -> None:
    """A run that is new, changed, or gone."""
    refresh(root)
    assert refresh(root).n_read == 0
    write_run(root, "three", bench=unit(1))
    list(rescore(plan_rescoring([root / "two"], name="later"), workers=1))
    assert refresh(root) == Refreshed(n_runs=3, n_read=2, n_removed=0, n_broken=0)
    (root / "one").rename(root.parent / "elsewhere")
    assert refresh(root) == Refreshed(n_runs=2, n_read=0, n_removed=1, n_broken=0)
    by_parts = dump(root)
    refresh(root, rebuild=True)
    assert dump(root) == by_parts
    assert not list(root.glob(".index*"))


def spoil_log(run: Path) -> None:
    (run / "evallog.json").write_text("{")


def spoil_manifest(run: Path) -> None:
    (run / "manifest.json").write_text("[]")


def lose_manifest(run: Path) -> None:
    (run / "manifest.json").unlink()


def lose_log(run: Path) -> None:
    (run / "evallog.json").unlink()


@pytest.mark.parametrize(
    ("damage", "status", "problem"),
    [
        (spoil_log, "broken", "evallog.json: is not JSON: unexpected end of data: line 1 column 2 (char 1)"),
        (spoil_manifest, "broken", "manifest.json: is not a JSON object"),
        (lose_manifest, "broken", "there is no manifest.json"),
        (lose_log, "unfinished", ""),
    ],
)
def test_a_broken_run_is_listed_with_what_is_wrong(root: Path, damage: Any, status: str, problem: str) -> None:
    """And the others are there all the same."""
    damage(root / "two")
    refresh(root)
    assert rows(root, "select run_id, status, problem from runs order by run_id") == [
        ("one", "complete", ""),
        ("two", status, problem),
    ]


def contradict(path: Path) -> None:
    """Change the mean that a log's header says."""
    edit_json(path, lambda log: log["results"]["overall"]["steps"].update(mean=99.0))


def test_a_log_that_contradicts_itself_is_flagged_and_its_mean_is_shown_nowhere(root: Path) -> None:
    """Of the run's own log and of a later scoring."""
    contradict(root / "two" / "evallog.json")
    contradict(root / "one" / "scores" / "again.json")
    refresh(root)
    said = "results.overall.steps.mean: is 99.0, but its samples give 6.0; one was changed later"
    assert rows(root, "select status, problem, mean from runs where run_id = 'two'") == [
        ("broken", f"evallog.json: {said}", None)
    ]
    again = "scores/again.json: results.overall.steps.mean: is 99.0, but its samples give 2.0; one was changed later"
    assert rows(root, "select mean, problem from means where scoring = 'again'") == [(None, again)]
    assert rows(root, "select * from means where mean = 99.0") == []


def test_a_damaged_scoring_is_a_row_that_says_so(root: Path) -> None:
    """The run itself is whole."""
    (root / "one" / "scores" / "again.json").write_text("{")
    refresh(root)
    found = rows(root, "select problem from means where scoring = 'again'")
    assert found == [("scores/again.json: is not JSON: unexpected end of data: line 1 column 2 (char 1)",)]


def test_a_folder_may_have_any_bytes_as_its_name(root: Path) -> None:
    """File systems hold bytes that are no text."""
    (root / "two").rename(os.fsdecode(os.fsencode(root) + b"/\xff\xfe"))
    assert refresh(root).n_runs == 2
    assert refresh(root).n_read == 0


@pytest.mark.parametrize("content", [b"", b"no database at all, but long enough to be read as one" * 100])
def test_a_damaged_index_is_made_anew(root: Path, content: bytes) -> None:
    """It holds nothing of its own."""
    (root / INDEX_NAME).write_bytes(content)
    assert refresh(root).n_runs == 2
    assert len(rows(root, "select * from runs")) == 2


def test_an_index_of_another_version_is_made_anew(root: Path) -> None:
    """Its tables may be other ones."""
    refresh(root)
    connection = sqlite3.connect(root / INDEX_NAME)
    connection.execute("drop table scores")
    connection.execute("pragma user_version = 99")
    connection.commit()
    connection.close()
    refresh(root)
    assert rows(root, "select count(*) from scores") == [(5 * 4,)]


def test_where_nothing_can_be_written_the_index_is_in_memory_or_refused(root: Path) -> None:
    """A folder stands where the file belongs; a run root that is not there is one sentence."""
    (root / INDEX_NAME).mkdir()
    with open_index(root, in_memory_if_unwritable=True) as index:
        assert index.refresh().n_runs == 2
    with pytest.raises(EvalError, match="cannot write the index"):
        refresh(root)
    with pytest.raises(EvalError, match="there is no run root"):
        refresh(root / "none")
