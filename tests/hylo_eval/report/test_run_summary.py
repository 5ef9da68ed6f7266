"""What a report says about a run, from its traces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hylo_eval import EvalError, read_evallog
from hylo_eval.report.episode_detail import MAX_POINTS, describe_episode
from hylo_eval.report.page_content import make_facts
from hylo_eval.report.run_record import read_run
from hylo_eval.report.run_summary import summarise_run
from hylo_eval.traces.layout import RunFolder
from hylo_eval.traces.reader import read_trace
from tests.episodes import benchmark, task
from tests.runs import edit_json, edit_samples, edit_trace, keys, unfinish, unit, write_run


def test_the_numbers_are_those_of_the_run(tmp_path: Path) -> None:
    """Rate, interval and coverage as the run itself says them; time to success counts failures up to the horizon."""
    result = write_run(tmp_path, "run", keys(0, 1, 2), bench=unit(5), agent_errors=(4,))
    summary = summarise_run(read_run(result.run))
    assert summary.success == result.summaries["success"]
    assert (summary.success.mean, summary.success.n_scored, summary.success.abstained) == (0.75, 4, {"agent_error": 1})
    # Three successes after two steps, one failure of ten steps.
    assert summary.times.restricted_mean == pytest.approx((3 * 2 + 10) / 4)
    assert len(summary.reply_seconds) == 3 * 2 + 10
    assert [score.name for score in summary.scores] == list(result.summaries)
    assert summary.contradictions == 0


def test_tasks_and_tags_have_rows_of_their_own(tmp_path: Path) -> None:
    """An episode counts under each tag of its task."""
    bench = unit(2, "unit/lift", "unit/push")
    summary = summarise_run(read_run(write_run(tmp_path, "run", keys(0, task_id="unit/lift"), bench=bench).run))
    assert {name: row.mean for name, row in summary.by_task.items()} == {"unit/lift": 0.5, "unit/push": 0.0}
    assert {name: row.mean for name, row in summary.by_tag.items()} == {"lift": 0.5, "push": 0.0, "unit": 0.25}


def test_interventions_are_counted_by_filter(tmp_path: Path) -> None:
    """An action above the bound is clipped at each of ten steps."""
    summary = summarise_run(read_run(write_run(tmp_path, "run", bench=unit(2), push=2.0).run))
    assert summary.interventions == {"bounds": (20, 2)}


def test_a_trace_that_is_lost_or_torn_abstains(tmp_path: Path) -> None:
    """With its reason; the others count."""
    run = write_run(tmp_path, "run", bench=unit(3)).run
    read_run(run).episodes[0].trace.unlink()  # pyright: ignore[reportOptionalMemberAccess]
    edit_trace(run.path, "unit/task#1", lambda text: "{" + text)
    summary = summarise_run(read_run(run))
    assert [episode.reason for episode in summary.episodes] == ["trace_unreadable", "trace_unreadable", ""]
    assert (summary.success.n_scored, summary.contradictions) == (1, 0)
    logged = next(score for score in summary.scores if score.name == "success")
    assert (logged.n_scored, logged.n_episodes, logged.n_left_out) == (1, 3, 2)


def _without_success(text: str) -> str:
    return text.replace('"success":true', '"success":false')


def test_a_trace_that_is_not_the_one_on_record_counts_for_nothing(tmp_path: Path) -> None:
    """It abstains and is named with both digests; the log's digest covers what no score shows, too."""
    run = write_run(tmp_path, "run", keys(0, 1, 2), bench=unit(3)).run
    recorded = {sample.key: sample.trace_sha256 for sample in read_evallog(run.evallog).samples}
    edit_trace(run.path, "unit/task#0", _without_success)
    edit_trace(run.path, "unit/task#1", lambda text: text.replace('"reward":', '"reward":1', 1))
    summary = summarise_run(read_run(run))
    assert [(episode.outcome, episode.reason) for episode in summary.episodes] == [
        ("abstained", "trace_unreadable"),
        ("abstained", "trace_unreadable"),
        ("success", ""),
    ]
    assert (summary.success.mean, summary.success.n_scored, summary.contradictions) == (1.0, 1, 0)
    # The log's own scores leave them out too, and say so.
    logged = next(score for score in summary.scores if score.name == "success")
    assert (logged.mean, logged.n_scored, logged.n_episodes, logged.n_left_out) == (1.0, 1, 3, 2)
    assert (
        "score success",
        ("100.0 % (mean of 1 of 3 in the log; 2 left out, whose traces were changed since or cannot be read)",),
    ) in make_facts([summary])
    for episode in summary.changed:
        there = read_trace(episode.record.trace or "", digests="trace").trace_sha256
        assert recorded[episode.record.key] != there
        assert episode.changes == (f"{recorded[episode.record.key]} is on record as its digest, the file has {there}",)


def test_the_queue_vouches_for_traces_while_there_is_no_log(tmp_path: Path) -> None:
    """A run that goes on is checked as one that ended."""
    run = write_run(tmp_path, "run", keys(0, 1), bench=unit(2)).run
    edit_trace(run.path, "unit/task#0", _without_success)
    run.evallog.unlink()
    summary = summarise_run(read_run(run))
    assert [episode.record.key for episode in summary.changed] == ["unit/task#0"]
    assert summary.success.mean == 1.0


def test_an_older_log_has_the_traces_own_digest_to_go_by(tmp_path: Path) -> None:
    """Without a digest on record, the end event's digest of the behaviour and the episode's name are checked."""
    run = write_run(tmp_path, "run", keys(0, 1), bench=unit(3)).run
    edit_trace(run.path, "unit/task#0", _without_success)
    traces = {sample.key: run.path / sample.trace for sample in read_evallog(run.evallog).samples}
    traces["unit/task#2"].write_bytes(traces["unit/task#1"].read_bytes())
    edit_json(run.evallog, lambda log: [sample.pop("trace_sha256") for sample in log["samples"]])
    changed = {episode.record.key: episode.changes for episode in summarise_run(read_run(run)).changed}
    assert set(changed) == {"unit/task#0", "unit/task#2"}
    assert changed["unit/task#0"][0].startswith("its end event records behaviour sha256:")
    assert changed["unit/task#2"][0] == "unit/task#2 is on record as its instance, the file has unit/task#1"


def test_a_trace_whose_end_was_cut_off_is_changed(tmp_path: Path) -> None:
    """What was recorded had its end."""
    run = write_run(tmp_path, "run", keys(0), bench=unit(1)).run
    edit_trace(run.path, "unit/task#0", lambda text: "\n".join(text.splitlines()[:-1]) + "\n")
    [episode] = summarise_run(read_run(run)).changed
    assert (episode.outcome, episode.changes) == ("abstained", ("it has no end event any more",))


def test_a_log_that_contradicts_its_traces_is_counted(tmp_path: Path) -> None:
    """The traces are believed."""
    run = write_run(tmp_path, "run", bench=unit(3)).run
    forged = {"unit/task#0": 1.0}

    def forge(sample: Any) -> None:
        sample["scores"]["success"]["value"] = forged.get(sample["key"], sample["scores"]["success"]["value"])

    edit_samples(run.evallog, forge)
    summary = summarise_run(read_run(run))
    assert summary.contradictions == 1
    assert summary.success.mean == 0.0


def test_a_log_cannot_lead_out_of_its_run(tmp_path: Path) -> None:
    """A trace elsewhere is none of the run's."""
    other = write_run(tmp_path, "other", bench=unit(1)).run
    run = write_run(tmp_path, "run", bench=unit(1)).run
    stray = next(other.episodes.iterdir())
    edit_json(run.evallog, lambda log: log["samples"][0].update(trace=f"../other/episodes/{stray.name}"))
    assert summarise_run(read_run(run)).episodes[0].reason == "trace_missing"


def test_a_run_without_a_log_is_provisional(tmp_path: Path) -> None:
    """Its queue says which attempts count; a file that no row names is nobody's result, however it is called."""
    run = write_run(tmp_path, "run", keys(1), bench=unit(3)).run
    run.evallog.unlink()
    first = min(run.episodes.iterdir())
    first.with_name(first.name.replace(".1.jsonl", ".2.jsonl")).write_bytes(first.read_bytes())
    (run.episodes / "unit-task-9-0123456789.1.jsonl.partial").write_text("{")
    record = read_run(run)
    assert (record.provisional, record.finished, record.planned) == (True, False, 3)
    assert sorted(episode.key for episode in record.episodes) == ["unit/task#0", "unit/task#1", "unit/task#2"]
    assert [episode.episode_id[-2:] for episode in record.episodes] == [".1", ".1", ".1"]
    assert summarise_run(record).success.mean == pytest.approx(1 / 3)
    run.queue.unlink()
    with pytest.raises(EvalError, match="there is no queue"):
        read_run(run)


def test_a_run_that_was_continued_shows_more_than_its_old_partial_log(tmp_path: Path) -> None:
    """The queue has the newer episodes; where it has none, the log speaks."""
    run = write_run(tmp_path, "run", keys(1), bench=unit(3)).run
    unfinish(run.path, 2)
    record = read_run(run)
    assert (len(record.episodes), record.provisional, record.finished) == (3, True, False)
    run.queue.unlink()
    record = read_run(run)
    assert (len(record.episodes), record.provisional, record.finished) == (2, False, False)


def test_an_unfinished_run_knows_what_was_planned(tmp_path: Path) -> None:
    """Two of three episodes have an outcome."""
    run = write_run(tmp_path, "run", bench=unit(3)).run
    unfinish(run.path, 2)
    run.queue.unlink()
    record = read_run(run)
    assert (record.finished, record.provisional, len(record.episodes), record.planned) == (False, False, 2, 3)


def test_known_episodes_are_not_read_again(tmp_path: Path) -> None:
    """A run that goes on is read on from where it was."""
    run = write_run(tmp_path, "run", keys(0), bench=unit(2)).run
    known: dict[Path, Any] = {}
    first = summarise_run(read_run(run), known=known)
    for path in run.episodes.iterdir():
        path.write_text("no trace any more")
    assert summarise_run(read_run(run), known=known).success == first.success


def test_an_episode_is_found_by_key_id_or_the_end_of_a_key(tmp_path: Path) -> None:
    """And an end that several have is refused."""
    record = read_run(write_run(tmp_path, "run", bench=unit(3)).run)
    episode = record.episodes[1]
    assert record.episode("unit/task#1") == record.episode(episode.episode_id) == record.episode("#1") == episode
    with pytest.raises(EvalError, match="end of 3 keys"):
        record.episode("")
    with pytest.raises(EvalError, match="no episode"):
        record.episode("unit/task#8")


@pytest.mark.parametrize("content", ["[]", "{", ""])
def test_a_broken_manifest_is_an_error_that_names_it(tmp_path: Path, content: str) -> None:
    """A run folder without a manifest is none."""
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(EvalError, match=r"manifest\.json"):
        read_run(RunFolder(tmp_path))


def test_a_long_episode_is_shown_by_few_points(tmp_path: Path) -> None:
    """Every third of 601 steps, the first and the last among them; spans and events keep their own steps."""
    bench = benchmark(task(max_steps=601, stop_on_success=False), seeds=(0,))
    run = write_run(tmp_path, "run", keys(0), bench=bench, push=2.0).run
    (path,) = run.episodes.iterdir()
    detail = describe_episode(read_trace(path))
    assert (detail["steps"], detail["every"]) == (601, 3)
    assert len(detail["at"]) <= MAX_POINTS
    assert (detail["at"][:2], detail["at"][-1]) == ([0, 3], 600)
    assert [group["name"] for group in detail["actions"]] == [
        "proposed action",
        "applied action, after the safety filters",
    ]
    assert detail["actions"][0]["curves"][0]["values"][:2] == [2.0, 2.0]
    assert detail["actions"][1]["curves"][0]["values"][:2] == [1.0, 1.0]
    assert detail["states"][0]["name"] == "position"
    assert detail["success"] == [[1, 1]]
    assert (len(detail["safety"]), detail["n_safety"]) == (200, 601)
