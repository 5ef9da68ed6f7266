"""Where the files of a run are."""

from __future__ import annotations

from pathlib import Path

import pytest

from hylo_eval.traces.layout import RunFolder, episode_id, partial_of, trace_name


def test_what_workers_print_lies_in_the_run(tmp_path: Path) -> None:
    """One file a place."""
    assert RunFolder(tmp_path).worker_log("worker-0") == tmp_path / "logs" / "worker-0.log"


def test_a_record_names_the_trace_where_it_is(tmp_path: Path) -> None:
    """The name in a record, taken from the run folder, is the trace of the episode id."""
    run, episode = RunFolder(tmp_path), episode_id("reach/a#3", 2)
    assert run.named_trace(trace_name(episode)) == run.trace(episode) == tmp_path / "episodes" / f"{episode}.jsonl"
    assert partial_of(run.trace(episode)) == tmp_path / "episodes" / f"{episode}.jsonl.partial"


@pytest.mark.parametrize(
    "name",
    [
        "",
        "episodes",
        "episodes/",
        "episodes/.",
        "episodes/..",
        "episodes/a/b.jsonl",
        "episodes/../secret.jsonl",
        "../episodes/a.jsonl",
        "/episodes/a.jsonl",
        "videos/a.jsonl",
        "episodes/a\0.jsonl",
    ],
)
def test_a_record_does_not_lead_out_of_the_run(tmp_path: Path, name: str) -> None:
    """A name that is no file of the folder of the traces is none of the run's."""
    assert RunFolder(tmp_path).named_trace(name) is None
