"""A grade that was changed by hand, before every command that reads it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from hylo_eval.evaluation.grade_run import grade_run
from hylo_eval.report.recorded import read_believed, read_with_changes
from hylo_eval.report.run_record import read_run
from hylo_eval.report.run_summary import summarise_run
from hylo_eval.traces.layout import RunFolder
from tests.graded import SayingGrader
from tests.runs import edit_json, edit_trace, keys, unit, write_run

KEY = "unit/task#0"
WRONG = f"sha256:{'0' * 64}"


def _other_grade(text: str) -> str:
    head, _, grade = text.rstrip("\n").rpartition("\n")
    grade = re.sub(r'"prev_sha256":"[^"]*"', f'"prev_sha256":"{WRONG}"', grade)
    grade = grade.replace('"value":1.0', '"value":0.0')
    return f"{head}\n{grade}\n"


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    """A graded run of three episodes; the grade of the first was edited, and names other bytes."""
    found = write_run(tmp_path, "run", keys(0, 1), bench=unit(3)).run
    grade_run(found, SayingGrader())
    edit_trace(found.path, KEY, _other_grade)
    return found


def test_rescore_refuses_it_or_says_so(hylo: Any, run: RunFolder) -> None:
    """As for every other changed trace: the run is refused, and with ``--accept-modified`` the log says it."""
    refused = hylo("rescore", run.path, "--scorer", "graded_success")
    assert refused.code == 2
    assert f"1 trace is not the one that was recorded:\n  {KEY}: line" in refused.err
    assert f"the grade names {WRONG}, but the bytes before it have sha256:" in " ".join(refused.err.split())
    accepted = hylo("rescore", run.path, "--scorer", "graded_success", "--accept-modified")
    assert "1 trace is not the one that was recorded" in accepted.out
    log = json.loads((run.path / "scores" / "rescore-1.json").read_text())
    assert log["results"]["n_modified"] == 1


@pytest.mark.parametrize("on_record", [True, False], ids=["digest on record", "an older log"])
def test_a_report_does_not_believe_it(run: RunFolder, on_record: bool) -> None:
    """It abstains from the episode and names the line; nothing else about the file differs."""
    if not on_record:
        edit_json(run.evallog, lambda log: [sample.pop("trace_sha256") for sample in log["samples"]])
    summary = summarise_run(read_run(run))
    assert [episode.reason for episode in summary.episodes] == ["trace_unreadable", "", ""]
    [episode] = summary.changed
    assert len(episode.changes) == 1
    assert re.match(rf"line \d+: the grade names {WRONG}, but", episode.changes[0])
    assert read_believed(episode.record) == (None, episode.changes[0])
    assert episode.record.trace is not None
    assert read_with_changes(episode.record, episode.record.trace)[1] == episode.changes


def test_show_says_it(hylo: Any, run: RunFolder) -> None:
    """Beside what stands in the file, as for every other changed trace."""
    done = hylo("show", KEY, "--run-root", run.path.parent)
    said = " ".join(done.out.split())
    assert done.code == 0
    assert "problem: the grades of the trace, or what they judge, were changed: line" in said
    assert "grades: saying: 0.0" in said
    assert "problem" not in hylo("show", "unit/task#1", "--run-root", run.path.parent).out


def test_it_is_graded_no_further(run: RunFolder) -> None:
    """A grade after it would chain to bytes that nobody vouches for."""
    before = {path: path.read_bytes() for path in run.episodes.iterdir()}
    grading = grade_run(run, SayingGrader(name="another"))
    refused = [episode for episode in grading.episodes if episode.state == "refused"]
    assert [episode.key for episode in refused] == [KEY]
    assert WRONG in refused[0].reason
    assert [path for path, data in before.items() if path.read_bytes() == data] == [
        path for path in before if WRONG.encode() in before[path]
    ]


def test_a_comparison_takes_no_such_run(hylo: Any, run: RunFolder, tmp_path: Path) -> None:
    """The trace is named with its line."""
    write_run(tmp_path, "parent", keys(1), bench=unit(3))
    done = hylo("compare", "run", "parent", "--run-root", tmp_path)
    assert done.code == 2
    said = " ".join(done.err.split())
    assert "has a trace that does not match" in said
    assert re.search(r"jsonl: line \d+: the grade names sha256:0+", said)
