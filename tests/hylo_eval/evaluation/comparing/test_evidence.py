"""From run folders to evidence: what is read, and what contradicts itself."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from hylo_core.errors import HyloError
from hylo_core.task import TaskSpec
from hylo_eval import EvalError, evaluate, read_trace
from hylo_eval.compare.evidence import RunEvidence
from hylo_eval.evaluation.comparing.evidence import read_evidence
from hylo_eval.traces.finding import find_run
from tests.episodes import FunctionAgent, ScriptedEnv
from tests.runs import edit_json, edit_trace, keys, unfinish, unit, write_run


def read(root: Path, run_id: str = "a", **options: Any) -> RunEvidence:
    """The evidence of a run."""
    return read_evidence(find_run(run_id, root), **options)


def test_a_run_is_read_back_from_its_traces(tmp_path: Path) -> None:
    """Scores, reasons by who is to blame, tags, starts."""
    write_run(tmp_path, "a", keys(0, 1), agent_errors=(2,), broken=keys(3), bench=unit(5))
    found = read(tmp_path)
    assert (found.finished, found.traces_read, found.faults) == (True, True, ())
    scores = {key: outcome.scores["success"] for key, outcome in found.outcomes.items()}
    assert scores == {
        "unit/task#0": 1.0,
        "unit/task#1": 1.0,
        "unit/task#2": None,
        "unit/task#3": None,
        "unit/task#4": 0.0,
    }
    reasons = {key: outcome.reasons.get("success") for key, outcome in found.outcomes.items()}
    assert (reasons["unit/task#2"], reasons["unit/task#3"], reasons["unit/task#4"]) == ("agent_error", "infra", None)
    assert found.outcomes["unit/task#0"].tags == ("unit", "task")
    start = found.outcomes["unit/task#4"].start
    assert start is not None
    assert (start.state, start.instruction) == ("sha256:4", "go")
    assert found.outcomes["unit/task#3"].start is None
    assert found.outcomes["unit/task#4"].scores["steps"] == 10.0


def test_metrics_that_were_not_scored_are_read_from_the_traces(tmp_path: Path) -> None:
    """Scorers are pure, so nothing but the trace is needed."""
    from hylo_eval.scoring.success import Success

    write_run(tmp_path, "a", keys(0), bench=unit(2), scorers=[Success()])
    assert [outcome.scores["steps"] for outcome in read(tmp_path).outcomes.values()] == [2.0, 10.0]
    assert "steps" not in read(tmp_path, traces=False).outcomes["unit/task#0"].scores


def test_the_log_alone_tells_reasons_by_status(tmp_path: Path) -> None:
    """No trace is needed, and none is looked at."""
    write_run(tmp_path, "a", keys(0), agent_errors=(1,), broken=keys(2), bench=unit(3))
    for trace in (tmp_path / "a" / "episodes").iterdir():
        trace.unlink()
    found = read(tmp_path, traces=False)
    assert (found.traces_read, found.faults) == (False, ())
    assert [outcome.reasons.get("success") for outcome in found.outcomes.values()] == [None, "agent_error", "infra"]
    assert len(read(tmp_path).faults) == 3


def test_a_run_is_found_by_folder_log_or_id(tmp_path: Path) -> None:
    """And a mistyped id suggests the near one."""
    write_run(tmp_path, "parent", bench=unit(1))
    for name in ("parent", str(tmp_path / "parent"), str(tmp_path / "parent" / "evallog.json")):
        assert find_run(name, tmp_path).path == tmp_path / "parent"
    with pytest.raises(EvalError, match="there is no run 'parrent'; did you mean 'parent'"):
        find_run("parrent", tmp_path)


KEY = "unit/task#1"


def forge(run: Path) -> None:
    """Change a reward, and compute the behaviour digest anew so that the trace vouches for itself again."""
    path = edit_trace(run, KEY, lambda text: text.replace('"reward":0.5', '"reward":0.9'))
    trace = read_trace(path)
    assert trace.end is not None
    recorded = trace.end.volatile["behaviour_sha256"]
    path.write_text(path.read_text().replace(recorded, trace.behaviour_sha256))
    again = read_trace(path)
    assert again.end is not None
    assert again.end.volatile["behaviour_sha256"] == again.behaviour_sha256


TAMPERED = [
    (lambda run: edit_trace(run, KEY, lambda text: text.replace('"reward":0.5', '"reward":0.9')), "behaviour digest sha256:"),
    (lambda run: edit_trace(run, KEY, lambda text: text[: text.rindex('{"type":"episode_end"')]), "it has no end event"),
    (lambda run: edit_trace(run, KEY, lambda text: text.replace('"index":1', '"index":7')), "has an unreadable trace"),
    (lambda run: edit_trace(run, KEY, lambda text: re.sub(r',"behaviour_sha256":"[^"]+"', "", text)), "its end event records None"),
    (
        lambda run: edit_trace(run, KEY, lambda text: re.sub(r'"act_seconds":[0-9.e-]+', '"act_seconds":9.5', text)),
        "the log records latency_p95",
    ),
    (
        lambda run: edit_trace(run, KEY, lambda text: re.sub(r'"step_seconds":[0-9.e-]+', '"step_seconds":9.5', text)),
        "the log records trace digest sha256:",
    ),
    (forge, "the log records trace digest sha256:"),
    (
        lambda run: edit_json(run / "evallog.json", lambda log: log["samples"][1]["scores"]["success"].update(value=1.0)),
        "the log records success 1, the trace says 0",
    ),
    (
        lambda run: edit_json(run / "evallog.json", lambda log: log["samples"][1].update(status="env_error")),
        "the run records status 'env_error', the trace 'completed'",
    ),
    (
        lambda run: edit_json(run / "evallog.json", lambda log: log["samples"][1].update(trace=log["samples"][0]["trace"])),
        "the run records instance 'unit/task#1', the trace 'unit/task#0'",
    ),
    (
        lambda run: edit_json(run / "evallog.json", lambda log: log["samples"][1].update(trace="../b/episodes/x.jsonl")),
        "names the trace '../b/episodes/x.jsonl', which is not in its folder",
    ),
    (lambda run: edit_json(run / "evallog.json", lambda log: log["samples"].pop()), "planned 3 episodes, but its log holds 2"),
    (
        lambda run: edit_json(run / "manifest.json", lambda manifest: manifest["selection"].update(keys_digest="sha256:0")),
        "holds other instances than were planned",
    ),
    (
        lambda run: edit_json(run / "evallog.json", lambda log: log["samples"].append(log["samples"][0])),
        "lists unit/task#0 twice",
    ),
    (
        lambda run: edit_json(run / "manifest.json", lambda manifest: manifest["versions"].update(scripted="2")),
        "the manifest records scripted 2, the trace 1",
    ),
    (
        lambda run: edit_json(run / "manifest.json", lambda manifest: manifest.update(renderer="egl")),
        "the run records renderer 'egl', the trace 'none'",
    ),
    (
        lambda run: edit_json(run / "manifest.json", lambda manifest: manifest["agent"].update(version="9")),
        "records agent a 9 in its manifest and a 1 in its log",
    ),
    (
        lambda run: edit_json(run / "manifest.json", lambda manifest: manifest["benchmark"].update(digest="sha256:0")),
        "records benchmark unit/heldout (sha256:0) in its manifest",
    ),
    (
        lambda run: edit_json(run / "manifest.json", lambda m: m.update(tasks_digest="sha256:0")),
        "ran other tasks than its manifest says",
    ),
    (
        lambda run: edit_json(run / "manifest.json", lambda m: m["agent"].update(trained_on=["x/train"])),
        "the run records trained_on ('x/train',), the trace ()",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("tamper", "sentence"), TAMPERED)
def test_what_was_changed_afterwards_is_a_fault_with_a_sentence(tmp_path: Path, tamper: Any, sentence: str) -> None:
    """Whichever file was touched, another one tells."""
    write_run(tmp_path, "a", keys(0), bench=unit(3))
    assert not read(tmp_path).faults
    tamper(tmp_path / "a")
    assert any(sentence in fault for fault in read(tmp_path).faults), read(tmp_path).faults


def test_an_environment_that_could_not_be_made_is_no_fault(tmp_path: Path) -> None:
    """Its trace knows neither versions nor renderer."""

    def factory(spec: TaskSpec) -> ScriptedEnv:
        if made:
            raise OSError("no device")
        made.append(spec.id)
        return ScriptedEnv(spec)

    made: list[str] = []
    bench = unit(2, "unit/first", "unit/second")
    evaluate(
        bench, "heldout", env_factory=factory, agent=FunctionAgent(), run_root=tmp_path, run_id="a", max_attempts=1
    )
    found = read(tmp_path)
    assert not found.faults
    assert [outcome.reasons.get("success") for outcome in found.outcomes.values()] == [None, None, "infra", "infra"]


def test_an_unfinished_run_is_read_and_says_so(tmp_path: Path) -> None:
    """Its log may hold fewer episodes than were planned."""
    write_run(tmp_path, "a", bench=unit(4))
    unfinish(tmp_path / "a", 2)
    found = read(tmp_path)
    assert (found.finished, len(found.outcomes), found.faults) == (False, 2, ())


BROKEN = [
    (lambda run: (run / "manifest.json").unlink(), "cannot read the manifest"),
    (lambda run: (run / "manifest.json").write_text("{"), "manifest.json: is not JSON"),
    (lambda run: (run / "manifest.json").write_text("[]"), "manifest.json: is not a JSON object"),
    (lambda run: edit_json(run / "manifest.json", lambda m: m.update(schema="x")), "schema: must be 'hylo.manifest/v0.1', not 'x'"),
    (lambda run: edit_json(run / "manifest.json", lambda m: m.pop("tasks_digest")), "tasks_digest: must be of type str, not NoneType"),
    (lambda run: edit_json(run / "manifest.json", lambda m: m.update(versions={"mujoco": 3})), "versions: must hold texts"),
    (lambda run: edit_json(run / "manifest.json", lambda m: m["agent"].update(trained_on="unit")), "agent.trained_on: must be a list"),
    (lambda run: edit_json(run / "manifest.json", lambda m: m["benchmark"].update(split=3)), "benchmark"),
    (lambda run: (run / "evallog.json").unlink(), "holds no log"),
    (lambda run: (run / "evallog.json").write_text("{"), "evallog.json: is not JSON"),
]  # fmt: skip


@pytest.mark.parametrize(("damage", "message"), BROKEN)
def test_files_that_break_their_schema_are_errors_with_file_and_path(tmp_path: Path, damage: Any, message: str) -> None:
    """They are untrusted input."""
    write_run(tmp_path, "a", bench=unit(1))
    damage(tmp_path / "a")
    with pytest.raises(HyloError, match=re.escape(message)):
        read(tmp_path)


@pytest.mark.parametrize(
    ("ref", "version", "options"),
    [
        ("hylo_eval.envs.robocasa.factory:Robocasa", {"robocasa-assets": "sha256:1"}, {"size": 3}),
        ("hylo_eval.envs.robocasa.factory:Robocasa", {}, {"size": 3, "assets": "/here"}),
        ("kitchens:Kitchen", {"robocasa-assets": "sha256:1"}, {"size": 3, "assets": "/here"}),
    ],
)
def test_the_folder_of_assets_is_no_condition_where_their_digest_is_one(
    tmp_path: Path, ref: str, version: dict[str, str], options: dict[str, Any]
) -> None:
    """The family says which option is a place, and which digest makes it none; without one it is all that is known."""
    write_run(tmp_path, "a", keys(0), bench=unit(1))

    def change(manifest: dict[str, Any]) -> None:
        manifest["env"] |= {"ref": ref, "options": {"size": 3, "assets": "/here"}}
        manifest["versions"].update(version)

    edit_json(tmp_path / "a" / "manifest.json", change)
    assert read(tmp_path, traces=False).conditions.env["options"] == options


@pytest.mark.parametrize(("ref", "kept"), [("hylo_eval.envs.reach:ReachEnv", False), ("somebodys:Env", True)])
def test_what_a_family_does_not_use_is_no_condition_of_a_run(tmp_path: Path, *, ref: str, kept: bool) -> None:
    """Manifests record what is installed beside the simulator, and a point robot needs no MuJoCo."""
    write_run(tmp_path, "a", keys(0), bench=unit(1))

    def change(manifest: dict[str, Any]) -> None:
        manifest["env"]["ref"] = ref
        manifest["versions"].update(mujoco="3.3.0", numpy="2.0.0")

    edit_json(tmp_path / "a" / "manifest.json", change)
    versions = read(tmp_path, traces=False).conditions.versions
    assert versions["numpy"] == "2.0.0"
    assert ("mujoco" in versions) is kept
