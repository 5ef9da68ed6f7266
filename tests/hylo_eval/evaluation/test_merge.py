"""Joining runs of parts: the result is the run they are parts of, or a refusal that says why not."""

from __future__ import annotations

import contextlib
import json
import shutil
from pathlib import Path
from typing import Any

import attrs
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hylo_eval.errors import EvalError
from hylo_eval.evaluation.activity import ActivityReport
from hylo_eval.evaluation.conclusion import EvalResult
from hylo_eval.evaluation.merge import Merged, merge, plan_merge
from hylo_eval.queue import Ending, Owner, RunQueue, State
from hylo_eval.queue import settings as queue_settings
from hylo_eval.scoring.counts import Steps
from hylo_eval.scoring.success import Success
from hylo_eval.traces.layout import RunFolder
from tests.runs import edit_json, keys, unit, write_run

TASKS = ("unit/a", "unit/b", "unit/c")
WON = {*keys(0, 3, 4, task_id="unit/a"), *keys(1, 2, task_id="unit/b"), *keys(5, task_id="unit/c")}
BENCHMARK = "tests.hylo_eval.evaluation.test_merge:three_tasks"


def three_tasks():
    """Three tasks of six seeds."""
    return unit(6, *TASKS)


def run_part(root: Path, shard: str | None, run_id: str | None = None, **options: Any) -> EvalResult:
    """Run one part of the benchmark, or all of it."""
    given: dict[str, Any] = {
        "bench": three_tasks(),
        "plan": {"shard": shard} if shard else None,
        "manifest": {"name": "agent", "version": "1"},
        "scorers": [Success(), Steps()],
    }
    return write_run(root, run_id or f"part-{(shard or 'whole').replace('/', '-of-')}", WON, **{**given, **options})


def merge_runs(root: Path, *parts: RunFolder, into: str = "merged", **options: Any) -> Merged:
    """Merge parts under the run root."""
    link = options.pop("link", False)
    return merge(plan_merge(parts, benchmark=BENCHMARK, **options), RunFolder.at(root, into), link=link)


def document(result: EvalResult) -> dict[str, Any]:
    """What the log says of behaviour: without the name of its run, clocks, and digests that cover clocks."""
    log = json.loads(result.log_path.read_bytes())
    stats = {name: log["stats"][name] for name in ("total_steps", "statuses", "initial_states", "disagreements")}
    samples = [{name: value for name, value in item.items() if name != "trace_sha256"} for item in log["samples"]]
    benchmark, agent = log["eval"]["benchmark"], log["eval"]["agent"]
    told = {"status": log["status"], "benchmark": benchmark, "agent": agent, "scorers": log["eval"]["scorers"]}
    return {**told, "results": log["results"], "stats": stats, "samples": samples}


def behaviours(run: RunFolder) -> dict[str, str]:
    """The behaviour digest of every episode that has its outcome."""
    with contextlib.closing(RunQueue.open(run.queue)) as queue:
        return {item.key: item.outcome.behaviour_sha256 for item in queue.results() if item.outcome}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A whole run, and its three parts; not to be changed."""
    root = tmp_path_factory.mktemp("runs")
    parts = [run_part(root, f"{number}/3").run for number in (1, 2, 3)]
    return run_part(root, None), parts


@pytest.fixture
def parts(runs, tmp_path):
    """The three parts, to be spoilt."""
    for part in runs[1]:
        shutil.copytree(part.path, tmp_path / part.run_id)
    return [RunFolder(tmp_path / part.run_id) for part in runs[1]]


def reopen(run: RunFolder) -> RunQueue:
    """The queue of a part, to be written."""
    with contextlib.closing(RunQueue.open(run.queue)) as queue:
        config = queue.config
    return RunQueue.open(run.queue, config=config)


def test_all_parts_make_the_run_they_are_parts_of(runs, tmp_path):
    """The log, the manifest's identity and the behaviour of every episode; in whatever order they are named."""
    whole, parts = runs
    merged = merge_runs(tmp_path, parts[2], parts[0], parts[1])
    assert merged.missing == ()
    assert merged.result.exit_code == 0
    assert document(merged.result) == document(whole)
    assert behaviours(merged.result.run) == behaviours(whole.run)
    made, one = (json.loads(run.manifest.read_text()) for run in (merged.result.run, whole.run))
    for name in ("config_digest", "tasks_digest", "selection", "benchmark", "agent", "env", "scorers", "versions"):
        assert made[name] == one[name], name
    assert made["run_id"] == "merged"
    assert [part["shard"] for part in made["merged"]] == ["1/3", "2/3", "3/3"]


def test_evidence_of_a_merged_run_is_accepted(runs, tmp_path):
    """Comparisons read every trace again and check it against log and manifest."""
    from hylo_eval.evaluation.comparing.evidence import read_evidence

    evidence = read_evidence(merge_runs(tmp_path, *runs[1]).result.run)
    assert evidence.faults == ()
    assert evidence.finished


@given(named=st.sets(st.integers(1, 3), min_size=1), redone=st.sets(st.sampled_from(range(18)), max_size=4))
@settings(max_examples=8, deadline=None)
def test_whatever_is_missing_is_listed_and_can_be_run(runs, tmp_path_factory, named, redone):
    """A merged run that is continued has the log of one run of the whole but for the number of its attempts."""
    whole, parts = runs
    root = tmp_path_factory.mktemp("merge")
    chosen = []
    lost = []
    order = [sample.key for sample in whole.log.samples]
    for number in named:
        run = RunFolder(root / f"p{number}")
        shutil.copytree(parts[number - 1].path, run.path)
        chosen.append(run)
        with contextlib.closing(reopen(run)) as queue:
            lost += [order[index] for index in redone if queue.demote(order[index], "to be run again")]
    merged = merge_runs(root, *chosen)
    brought = {key for run in chosen for key in behaviours(run)}
    assert {key for item in merged.missing for key in item.keys} == set(order) - brought
    assert merged.result.complete == (brought == set(order))
    assert merged.result.exit_code == (0 if merged.result.complete else 3)
    continued = run_part(root, None, "merged")
    assert continued.complete
    again = document(continued)["samples"]
    assert [sample["scores"] for sample in again] == [sample["scores"] for sample in document(whole)["samples"]]
    assert behaviours(continued.run) == behaviours(whole.run)
    # Numbers of attempts are never given twice, in whichever folder they were used.
    assert {sample["key"] for sample in again if sample["episode_id"].endswith(".2")} == set(lost)


def test_a_prefix_is_divided_too(tmp_path):
    """--max-episodes says what is run, --shard which part of that."""
    plan = {"max_episodes": 7}
    whole = run_part(tmp_path, None, plan=plan)
    parts = [run_part(tmp_path, None, f"p{n}", plan={**plan, "shard": f"{n}/2"}).run for n in (1, 2)]
    merged = merge_runs(tmp_path, *parts)
    assert merged.missing == ()
    assert document(merged.result) == document(whole)


def test_a_damaged_trace_is_left_out_and_its_episode_runs_again(runs, parts, tmp_path):
    """Named with what is wrong; the attempt stays on record."""
    whole = runs[0]
    with contextlib.closing(RunQueue.open(parts[0].queue)) as queue:
        first, second, third, *_ = [item for item in queue.results() if item.outcome]
    path = parts[0].path / first.outcome.trace
    path.write_bytes(path.read_bytes().replace(b'"reward":0.5', b'"reward":0.6', 1))
    (parts[0].path / second.outcome.trace).unlink()
    link = parts[0].path / third.outcome.trace
    link.rename(link.with_suffix(".kept"))
    link.symlink_to(link.with_suffix(".kept"))
    merged = merge_runs(tmp_path, *parts)
    assert [item.keys for item in merged.missing] == [(first.key,), (second.key,), (third.key,)]
    assert "does not have the digest on record" in merged.missing[0].reason
    assert "is missing in" in merged.missing[1].reason
    run = merged.result.run
    assert not (run.path / first.outcome.trace).exists()
    with contextlib.closing(RunQueue.open(run.queue)) as queue:
        assert {item.key: item.ending for item in queue.attempts()}[first.key] is Ending.DEMOTED
    continued = run_part(tmp_path, None, "merged")
    assert continued.complete
    assert behaviours(run) == behaviours(whole.run)


def test_failed_and_lost_attempts_come_along(tmp_path, monkeypatch):
    """Their numbers and their count: an episode does not get more tries because it was merged."""
    monkeypatch.setattr(queue_settings, "MOST_LOSSES", 1)
    part = run_part(tmp_path, "1/1").run
    with contextlib.closing(reopen(part)) as queue:
        first, second = [item.key for item in queue.results()][:2]
        for key in (first, second):
            queue.demote(key, "to be run again")
        owner = attrs.evolve(Owner.here(), started=1)
        held = queue.claim(owner, in_order=True)
        assert (held.key, held.attempt) == (first, 2)
    merged = merge_runs(tmp_path, part)
    with contextlib.closing(RunQueue.open(merged.result.run.queue)) as queue:
        results = {item.key: item for item in queue.results()}
        attempts = [item for item in queue.attempts() if item.key == first]
    # One loss is allowed here, and the attempt was under way when its process died.
    assert [(item.attempt, item.ending) for item in attempts] == [(1, Ending.DEMOTED), (2, Ending.ABSTAINED)]
    assert attempts[1].outcome.status == "worker_lost"
    assert attempts[1].owner == owner.id
    assert results[first].state is State.ABSTAINED
    assert (results[second].state, results[second].attempt) == (State.PENDING, 1)
    assert merged.result.exit_code == 3


def test_traces_are_copied_or_linked(runs, tmp_path):
    """A copy is its own file; a link is the same one."""
    for link in (False, True):
        merged = merge_runs(tmp_path, *runs[1], into=f"link-{link}", link=link)
        trace = merged.result.run.path / merged.result.log.samples[0].trace
        source = next(part.path / "episodes" / trace.name for part in runs[1] if (part.episodes / trace.name).exists())
        assert trace.samefile(source) is link
        assert trace.read_bytes() == source.read_bytes()


def test_videos_come_with_their_traces(parts, tmp_path):
    """One whose episode is not there stays where it is."""
    trace = next(parts[0].episodes.iterdir()).name.removesuffix(".jsonl")
    folder = parts[0].path / "videos"
    folder.mkdir()
    for name in (f"{trace}.wrist.mp4", "lost-0123456789.1.wrist.mp4", "notes.txt"):
        (folder / name).write_text("film")
    run = merge_runs(tmp_path, *parts).result.run
    assert [path.name for path in (run.path / "videos").iterdir()] == [f"{trace}.wrist.mp4"]


def refusal(root: Path, *parts: RunFolder, **options: Any) -> EvalError:
    """Why a merge is refused; nothing is left behind."""
    before = sorted(root.iterdir())
    with pytest.raises(EvalError) as refused:
        merge_runs(root, *parts, **options)
    assert sorted(root.iterdir()) == before
    return refused.value


def test_a_part_that_stands_twice_is_refused(parts, tmp_path):
    """Under two names, too: nothing is counted twice."""
    shutil.copytree(parts[0].path, tmp_path / "copy")
    text = str(refusal(tmp_path, *parts, RunFolder(tmp_path / "copy")))
    assert "part 1/3 stands twice: " in text


def test_parts_of_different_divisions_are_refused(parts, tmp_path):
    """1/3 and 2/4 share episodes."""
    other = run_part(tmp_path, "2/4").run
    assert "they divide a run in different ways" in str(refusal(tmp_path, *parts, other))


def test_a_whole_run_is_no_part(runs, tmp_path):
    """It needs no merging."""
    assert "is a run of its own and no part of one" in str(refusal(tmp_path, runs[0].run))


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"manifest": {"name": "agent", "version": "2"}}, "  agent.version: '1' there, '2' here"),
        ({"versions": {"scripted": "2"}}, "  simulator.versions.scripted: '1' there, '2' here"),
        ({"renderer": "osmesa"}, "  renderer: 'none' there, 'osmesa' here"),
        ({"plan": {"shard": "2/3", "episodes": 4}}, "  selection.episodes: nothing there, 4 here"),
        ({"plan": {"shard": "2/3", "max_steps": 5}}, "  overrides.max_steps: nothing there, 5 here"),
        ({"bench": unit(5, *TASKS)}, "  benchmark.digest: "),
        ({"scorers": [Success()]}, "  scorers[1]: 'steps' there, nothing here"),
        ({"safety": []}, "  safety[0]: "),
    ],
)
def test_parts_that_were_run_differently_are_refused_line_by_line(parts, tmp_path, options, line):
    """Each difference on a line, with the value on either side."""
    other = run_part(tmp_path, "2/3", "other", **options).run
    text = str(refusal(tmp_path, parts[0], other))
    assert f"{other.path} was not run as {parts[0].path} was:" in text
    assert line in text


def test_a_difference_of_machines_that_no_configuration_holds_is_refused(parts, tmp_path):
    """Two versions of numpy are two experiments."""
    edit_json(parts[1].manifest, lambda manifest: manifest["versions"].update(numpy="0.1"))
    assert "versions.numpy" in str(refusal(tmp_path, *parts))


def test_other_code_needs_a_word(parts, runs, tmp_path, monkeypatch):
    """And is on record then."""
    monkeypatch.setattr("hylo_eval.evaluation.manifest.source_digest", lambda: "sha256:other")
    other = run_part(tmp_path, "2/3", "other").run
    monkeypatch.undo()
    error = refusal(tmp_path, parts[0], other, parts[2])
    assert "hylo.source_digest" in str(error)
    assert error.fix == "--allow-code-change merges them and records it"
    merged = merge_runs(tmp_path, parts[0], other, parts[2], allow_code_change=True)
    assert document(merged.result) == document(runs[0])
    recorded = json.loads(merged.result.run.manifest.read_text())["merged"]
    assert recorded[1]["hylo"]["source_digest"] == "sha256:other"


def test_a_part_with_foreign_episodes_is_refused(parts, tmp_path):
    """Its queue says part 1 and holds what is of part 2."""
    import sqlite3

    with contextlib.closing(sqlite3.connect(parts[0].queue)) as connection:
        (key,) = connection.execute("SELECT key FROM items LIMIT 1").fetchone()
        connection.execute("UPDATE items SET key = 'unit/a#999' WHERE key = ?", (key,))
        connection.commit()
    text = str(refusal(tmp_path, *parts))
    assert "'unit/a#999' does not belong to it (1 in all)" in text


def test_a_part_that_is_worked_on_is_refused(parts, tmp_path):
    """What it does now would be lost."""
    with ActivityReport(parts[1], Owner.here()) as report:
        report.refresh(list)
        assert "works on" in str(refusal(tmp_path, *parts))
    assert merge_runs(tmp_path, *parts).result.complete


def test_another_benchmark_is_refused(parts, tmp_path):
    """The one named must be the one that was run."""
    with pytest.raises(EvalError, match="the benchmark here is not the one of"):
        plan_merge(parts, benchmark="tests.runs:unit")
    with pytest.raises(EvalError, match="does not say which benchmark it ran"):
        plan_merge(parts)
    with pytest.raises(EvalError, match="cannot be loaded here"):
        plan_merge(parts, benchmark="gone.toml")


def test_nothing_is_written_over(parts, tmp_path):
    """Not even an empty folder."""
    (tmp_path / "merged").mkdir()
    assert "exists already; nothing is written over" in str(refusal(tmp_path, *parts))


def test_the_whole_does_not_go_into_a_part(parts, tmp_path):
    """A run inside another's folder is found by nobody, and goes when the part does; so does a way around by a link."""
    (tmp_path / "link").symlink_to(parts[0].path)
    for folder in (parts[0].path, parts[0].path / "episodes", tmp_path / "link"):
        with pytest.raises(EvalError, match="lies inside the part"):
            merge(plan_merge(parts, benchmark=BENCHMARK), RunFolder(folder / "whole"))
    assert not list(tmp_path.rglob("whole"))


def test_a_failure_in_the_middle_leaves_nothing(parts, tmp_path, monkeypatch):
    """The folder gets its name when everything is in it."""

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("hylo_eval.evaluation.merge.shutil.copyfile", full)
    assert "No space left on device" in str(refusal(tmp_path, *parts))


def test_nothing_that_ended_can_be_merged_too(tmp_path):
    """Parts that were stopped before their first episode make a run that can be run."""
    part = run_part(tmp_path, "1/2").run
    with contextlib.closing(reopen(part)) as queue:
        for item in list(queue.results()):
            queue.demote(item.key, "to be run again")
    merged = merge_runs(tmp_path, part)
    assert sum(len(item.keys) for item in merged.missing) == 18
    assert merged.result.log_path.name == "evallog.partial.json"
    assert merged.result.exit_code == 3


def test_outcomes_that_contradict_their_queue_are_refused(parts, tmp_path):
    """A row that says done without the attempt that did it is no result."""
    import sqlite3

    with contextlib.closing(sqlite3.connect(parts[0].queue)) as connection:
        connection.execute("UPDATE attempts SET ending = 'retried' WHERE id = 1")
        connection.commit()
    assert "contradicts itself" in str(refusal(tmp_path, *parts))


def test_the_log_of_a_merge_is_whole_json(runs, tmp_path):
    """And names its own run."""
    log = orjson.loads(merge_runs(tmp_path, *runs[1]).result.log_path.read_bytes())
    assert log["eval"]["run_id"] == "merged"
