"""Re-scoring runs from their traces."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import orjson
import pytest

from hylo_core import Score
from hylo_eval import EvalError, evaluate, read_evallog, read_trace
from hylo_eval.compare.words import not_as_recorded
from hylo_eval.evallog import v01
from hylo_eval.evaluation.conclusion import Interrupted
from hylo_eval.evaluation.rescore import Refused, Rescoring, rescore
from hylo_eval.evaluation.rescore_plan import plan_rescoring
from hylo_eval.scoring.survival import summarise_times
from tests.episodes import FunctionAgent, ScriptedEnv, benchmark, task


class Half:
    """A scorer that declares itself binary and says a half."""

    name = "half"
    binary = True

    def score(self, trace: Any, task: Any) -> Score:
        return Score(0.5)


class Raising:
    """A scorer that raises what cannot be written."""

    name = "raising"

    def score(self, trace: Any, task: Any) -> Score:
        raise ValueError("\ud800")


class Dying:
    """A scorer that takes its process with it."""

    name = "dying"

    def score(self, trace: Any, task: Any) -> Score:
        os._exit(9)


HERE = "tests.hylo_eval.evaluation.test_rescore"


def run(root: Path, **options: Any) -> Path:
    """A run of two tasks with a retried attempt, an agent error and failures; its folder."""
    resets = iter(range(100))

    def on_reset() -> None:
        number = next(resets)
        if number == options.get("interrupt_at"):
            raise KeyboardInterrupt
        if number == 3:
            raise OSError("EGL_BAD_ALLOC")

    def act(observation: Any, replies: int) -> Any:
        if observation["position"][0] == 2.5 and replies == 2:
            raise ValueError("unseen object")
        return [0.25, 0.25]

    def factory(spec: Any) -> ScriptedEnv:
        return ScriptedEnv(spec, success_at=(4,) if spec.id == "b" else (), on_reset=on_reset)

    bench = benchmark(task("a"), task("b"))
    agent = FunctionAgent(act)
    try:
        result = evaluate(
            bench, "heldout", env_factory=factory, agent=agent, run_root=root, run_id=options.get("run_id")
        )
    except Interrupted as interrupt:
        result = interrupt.result
    return result.run.path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A whole run."""
    return run(tmp_path / "runs")


def outcome(*paths: Path, accept_modified: bool = False, workers: int = 1, **options: Any) -> Any:
    """Re-score; the only outcome, or the list of them."""
    plan = plan_rescoring(paths, **options)
    found = list(rescore(plan, accept_modified=accept_modified, workers=workers))
    return found[0] if len(found) == 1 else found


def traces(folder: Path) -> list[Path]:
    """The traces that count, in the log's order."""
    return [folder / sample.trace for sample in read_evallog(folder / "evallog.json").samples]


def test_with_the_runs_own_scorers_the_log_is_the_runs_own(folder: Path) -> None:
    """Byte for byte, attempts that do not count and stray files notwithstanding; the run itself stays as it was."""
    kept = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert len(list((folder / "episodes").iterdir())) == 9
    (folder / "episodes" / "stray.jsonl").write_bytes(traces(folder)[0].read_bytes())
    again = outcome(folder)
    assert isinstance(again, Rescoring)
    assert again.log_path == folder / "scores" / "rescore-1.json"
    assert again.log_path.read_bytes() == kept[folder / "evallog.json"]
    assert (again.complete, again.exit_code, dict(again.modified)) == (True, 0, {})
    assert dict(again.summaries["success"].abstained) == {"agent_error": 2}
    assert {path: path.read_bytes() for path in kept} == kept


def test_processes_give_the_same_log_and_details(tmp_path: Path) -> None:
    """Two workers, two runs: in order, whoever was first."""
    folders = [run(tmp_path / "runs", run_id=name) for name in ("one", "two")]
    outcome(tmp_path / "runs", name="alone", scorers=["success", "time_to_success"])
    outcome(tmp_path / "runs", name="together", scorers=["success", "time_to_success"], workers=2)
    for folder in folders:
        for ending in ("json", "jsonl"):
            alone, together = (folder / "scores" / f"{name}.{ending}" for name in ("alone", "together"))
            assert alone.read_bytes() == together.read_bytes()


def test_details_hold_what_the_log_cannot(folder: Path) -> None:
    """Explanations and metadata, enough for a survival curve without the traces."""
    again = outcome(folder, scorers=["time_to_success"], name="times")
    header, *lines = map(json.loads, again.details_path.read_text().splitlines())
    assert header["scorers"] == ["hylo_eval.scoring.time_to_success:TimeToSuccess"]
    assert (header["schema"], header["run_id"], header["source"]) == (
        "hylo.rescoring/v0.1",
        folder.name,
        "evallog.json",
    )
    assert [line["key"] for line in lines] == [sample.key for sample in again.log.samples]
    times = summarise_times(Score.from_dict(line["scores"]["time_to_success"]) for line in lines)
    assert (times.n_episodes, times.n_successes, times.horizon) == (6, 3, 10.0)
    assert times.restricted_mean == again.summaries["time_to_success"].mean == 7.5


def test_nothing_is_written_over(folder: Path) -> None:
    """A taken name is refused with a free one before a trace is read; without a name, the next is taken."""
    outcome(folder, name="mine")
    before = (folder / "scores" / "mine.json").read_bytes()
    with pytest.raises(EvalError, match=r"called 'mine' already; nothing is written over\n  fix: --name mine-2"):
        outcome(folder, name="mine", scorers=["steps"])
    assert (folder / "scores" / "mine.json").read_bytes() == before
    assert [outcome(folder).log_path.name for _ in range(2)] == ["rescore-1.json", "rescore-2.json"]


def test_of_two_that_write_at_once_the_second_is_refused(folder: Path) -> None:
    """The name was free when it was planned."""
    plans = [plan_rescoring([folder], name="mine") for _ in range(2)]
    first, second = (next(rescore(plan, workers=1)) for plan in plans)
    assert isinstance(first, Rescoring)
    assert isinstance(second, Refused)
    assert "written by somebody else meanwhile" in str(second.error)
    assert sorted(path.name for path in (folder / "scores").iterdir()) == ["mine.json", "mine.jsonl"]


def change_reward(paths: list[Path]) -> None:
    """A number in the middle of a trace."""
    paths[0].write_bytes(paths[0].read_bytes().replace(b'"reward":0.5', b'"reward":0.75', 1))


def swap(paths: list[Path]) -> None:
    """Two traces, each true to itself."""
    first, second = paths[0].read_bytes(), paths[1].read_bytes()
    paths[0].write_bytes(second)
    paths[1].write_bytes(first)


def forget_digest(paths: list[Path]) -> None:
    """An end event that vouches for nothing."""
    head, _, _ = paths[0].read_bytes().rpartition(b',"behaviour_sha256"')
    paths[0].write_bytes(head + b"}}\n")


def forge(paths: list[Path]) -> None:
    """Another number, and a behaviour digest computed anew, so that the trace vouches for itself again."""
    change_reward(paths)
    trace = read_trace(paths[0])
    assert trace.end is not None
    written = trace.end.volatile["behaviour_sha256"]
    paths[0].write_bytes(paths[0].read_bytes().replace(written.encode(), trace.behaviour_sha256.encode()))


def change_clock(paths: list[Path]) -> None:
    """A duration, which no digest of behaviour covers."""
    paths[0].write_bytes(re.sub(rb'"step_seconds":[^,}]+', b'"step_seconds":5.0', paths[0].read_bytes(), count=1))


def append_success(paths: list[Path]) -> None:
    """A second success member where the digest does not look."""
    lines = paths[0].read_bytes().splitlines(keepends=True)
    lines[-2] = lines[-2].rstrip()[:-1] + b',"success":true}\n'
    paths[0].write_bytes(b"".join(lines))


@pytest.mark.parametrize(
    ("spoil", "count", "message"),
    [
        (change_reward, 1, "a#0: behaviour digest is sha256:"),
        (swap, 2, "a#0: key is a#1, a#0 is on record"),
        (forget_digest, 1, "none is on record"),
        (forge, 1, "a#0: trace digest is sha256:"),
        (change_clock, 1, "a#0: trace digest is sha256:"),
        (append_success, 1, "a#0: behaviour digest is sha256:"),
    ],
)
def test_a_modified_trace_is_refused_or_said(folder: Path, spoil: Any, count: int, message: str) -> None:
    """Refused without a file left; with ``accept_modified`` it is scored, and log and details say so."""
    spoil(traces(folder))
    refused = outcome(folder)
    assert isinstance(refused, Refused)
    assert refused.exit_code == 2
    assert f"{not_as_recorded(count)}:" in str(refused.error)
    assert message in str(refused.error)
    assert list((folder / "scores").iterdir()) == []
    accepted = outcome(folder, accept_modified=True)
    assert len(accepted.modified) == count
    written = read_evallog(accepted.log_path)
    assert written.results.n_modified == sum(bool(sample.differences) for sample in written.samples) == count
    lines = [json.loads(line) for line in accepted.details_path.read_text().splitlines()]
    assert lines[0]["accept_modified"] is True
    assert sum(bool(line["differences"]) for line in lines[1:]) == count


def test_missing_torn_and_broken_traces_are_abstentions_with_reasons(folder: Path) -> None:
    """Never a crash, never a number; the run is incomplete."""
    missing, torn, headless, broken, *_ = traces(folder)
    missing.unlink()
    torn.write_bytes(torn.read_bytes()[:-40])
    headless.write_bytes(headless.read_bytes()[:50])
    broken.write_bytes(broken.read_bytes().replace(b'"index":0', b'"index":1', 1))
    again = outcome(folder)
    assert dict(again.summaries["success"].abstained) == {
        "agent_error": 1,
        "trace_missing": 1,
        "trace_unreadable": 2,
        "unfinished": 1,
    }
    assert again.exit_code == 3
    assert [sample.value("steps") for sample in again.log.samples[:4]] == [None] * 4
    assert "line 3: index: step 1 stands where step 0 belongs" in again.details_path.read_text()


def test_an_interrupted_run_is_scored_as_far_as_it_came(tmp_path: Path) -> None:
    """From the partial log, which the outcome says."""
    folder = run(tmp_path, interrupt_at=6)
    again = outcome(folder)
    assert again.source == folder / "evallog.partial.json"
    assert again.log_path.read_bytes() == again.source.read_bytes()
    assert (again.complete, again.exit_code) == (False, 3)


def test_one_run_that_is_refused_does_not_cost_the_others(tmp_path: Path) -> None:
    """A folder of runs, one of them without a log and one modified."""
    good, bad, crashed = (run(tmp_path, run_id=name) for name in ("a-good", "b-bad", "c-crashed"))
    change_reward(traces(bad))
    (crashed / "evallog.json").unlink()
    (tmp_path / "comparisons").mkdir()
    outcomes = outcome(tmp_path)
    refused = {item.run.path: str(item.error) for item in outcomes if isinstance(item, Refused)}
    assert refused.keys() == {bad, crashed}
    assert "has no log, so nobody knows which episodes count" in refused[crashed]
    assert [item.run.path for item in outcomes if isinstance(item, Rescoring)] == [good]


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda lines: [*lines[:2], *lines[1:]], "lists .* twice"),
        (lambda lines: [*lines[:2], *lines[1:2], *lines[3:]], "lists .* twice"),
        (lambda lines: [lines[0], *lines[2:]], "episodes, and its header says"),
    ],
    ids=["copied", "copied over another", "removed"],
)
def test_a_log_that_lists_an_episode_twice_or_has_lost_some_is_refused(folder: Path, edit: Any, said: str) -> None:
    """The traces of the others are whole: without its failures the run would have another mean, in silence."""
    path = folder / "evallog.json"
    path.write_text("".join(edit(path.read_text().splitlines(keepends=True))))
    (outcome,) = rescore(plan_rescoring([folder], name="edited"))
    assert isinstance(outcome, Refused)
    assert re.search(said, str(outcome.error))
    assert not list((folder / "scores").glob("*"))


@pytest.mark.parametrize(
    "trace", ["../../secret.jsonl", "/etc/passwd", "episodes/..", "episodes/a/b.jsonl", "manifest.json", ""]
)
def test_a_log_does_not_lead_out_of_its_folder(folder: Path, trace: str) -> None:
    """Logs are untrusted."""
    document = json.loads((folder / "evallog.json").read_text())
    document["samples"][0]["trace"] = trace
    (folder / "evallog.json").write_bytes(orjson.dumps(document))
    assert "which is no file of episodes/" in str(outcome(folder).error)


def test_a_scorer_of_somebody_elses_harms_only_itself(folder: Path) -> None:
    """One that raises abstains, and so does one whose numbers contradict its declaration."""
    again = outcome(folder, scorers=["success", f"{HERE}:Raising"])
    assert dict(again.summaries["raising"].abstained) == {"scorer_error": 8}
    assert again.summaries["success"].n_scored == 6
    half = outcome(folder, scorers=["success", f"{HERE}:Half"])
    assert half.summaries["half"].n_scored == 0
    assert half.summaries["half"].abstained["scorer_error"] > 0


def test_a_scorer_of_somebody_elses_is_found_by_the_reference_in_the_log(tmp_path: Path) -> None:
    """Without being named again; the new log is the old one."""
    bench = benchmark(task("a"))
    scorers = [Raising(), Half()]
    result = evaluate(
        bench, "heldout", env_factory=ScriptedEnv, agent=FunctionAgent(), run_root=tmp_path, scorers=scorers
    )
    again = outcome(result.run.path)
    assert list(again.summaries) == ["raising", "half"]
    assert again.log_path.read_bytes() == result.log_path.read_bytes()


def test_a_log_of_v01_is_scored_again_into_v02(folder: Path) -> None:
    """Its scorers by their short names, manifest and digests filled in."""
    native = read_evallog(folder / "evallog.json")
    v01.write_evallog(v01.flatten(native), folder / "evallog.json")
    again = outcome(folder)
    assert again.log.samples == native.samples
    assert again.log.eval == native.eval
    assert again.log.results == native.results
    change_reward(traces(folder))
    assert "behaviour digest is" in str(outcome(folder).error)


def test_a_process_that_dies_is_a_refusal_not_a_hang(folder: Path) -> None:
    """A scorer that crashes in native code costs this run its new log, and says how to find out."""
    refused = outcome(folder, scorers=[f"{HERE}:Dying"], workers=2)
    assert "a process died while it scored traces\n  fix: --workers 1 shows where" in str(refused.error)
    assert list((folder / "scores").iterdir()) == []


def test_a_stop_leaves_no_half_written_log(folder: Path) -> None:
    """Asked after every episode."""
    with pytest.raises(KeyboardInterrupt):
        list(rescore(plan_rescoring([folder]), workers=1, stop=lambda: True))
    assert list((folder / "scores").iterdir()) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scorers": ["sucess"]}, "there is no scorer 'sucess'; did you mean 'success'"),
        ({"scorers": ["steps", "steps"]}, "two scorers are called 'steps'"),
        ({"name": "../evallog"}, "is no name of a scoring"),
    ],
)
def test_what_is_refused_is_refused_before_anything_is_written(folder: Path, options: Any, message: str) -> None:
    """Also a path that is no run."""
    with pytest.raises(EvalError, match=message):
        outcome(folder, **options)
    with pytest.raises(EvalError, match="is no run folder and holds none"):
        outcome(folder / "episodes")
    with pytest.raises(EvalError, match="there is no run"):
        outcome(folder / "none")
    assert not (folder / "scores").exists()


def test_a_scorer_the_log_names_and_nobody_knows_has_to_be_named(folder: Path) -> None:
    """A third party's scorer by its reference."""
    document = json.loads((folder / "evallog.json").read_text())
    document["eval"]["scorers"] = {"mine": {"ref": "", "binary": None, "unit": ""}}
    (folder / "evallog.json").write_bytes(orjson.dumps(document))
    assert "there is no scorer 'mine'" in str(outcome(folder).error)
    assert isinstance(outcome(folder, scorers=["success"]), Rescoring)
