"""The verdict layer as a pure scorer."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_core import EpisodeTrace, Score
from hylo_eval import EvalError, plugins
from hylo_eval.evaluation.making import make_scorer
from hylo_eval.scoring.aggregate import summarise_scorer
from hylo_eval.scoring.verdict import VerdictScorer, score_of
from hylo_eval.verify import candidate_spec, parse_spec
from hylo_eval.verify.verdict import Reward, Status
from tests.answered import answered, episode, step

SCHEMA = json.dumps({"type": "object", "required": ["grasp"], "properties": {"grasp": {"type": "integer"}}})
CALLS = [{"name": "move", "arguments": {"x": 0.5}}, {"name": "grasp", "arguments": {}}]
MODES: dict[str, tuple[dict[str, Any], str, str]] = {
    "exact": ({"expected": "left drawer"}, "Left  drawer", "right drawer"),
    "numeric": ({"expected": "0.25", "tolerance_abs": 0.01, "tolerance_rel": 0.0}, "about 0.255 m", "about 0.27 m"),
    "mcq": ({"expected": "B"}, "So it is B.\nAnswer: B", "Answer: C"),
    "ifeval": ({"constraints": [{"name": "keywords:existence", "params": {"keywords": ["cup"]}}]}, "a cup", "a mug"),
    "json-schema": ({}, '{"grasp": 3}', '{"grasp": "3"}'),
    "xml-elements": ({"required": ["mujoco"]}, "<mujoco/>", "<robot/>"),
    "csv-columns": ({"required": ["x"]}, "x,y\n1,2\n", "y,z\n1,2\n"),
    "structured_exact": ({"expected": {"object": "cup", "n": [1, 2]}}, '{"n": [1, 2], "object": "cup"}', '{"n": []}'),
    "predicted_action": ({"expected_calls": CALLS}, json.dumps(CALLS[::-1]), json.dumps(CALLS[:1])),
    "structure_closure": ({"prefix": '{"a": ', "expected": '{"a": 1}', "format": "json"}, "1}", "2}"),
}
"""A pure mode's parameters, an answer that is right and one that is wrong."""


def params(mode: str, **more: Any) -> dict[str, Any]:
    """A task's params with a mode's specification."""
    files = {"verifier_resources": {"schema.json": SCHEMA}} if mode == "json-schema" else {}
    return {"verifier": {"mode": mode, **MODES[mode][0]}, **files, **more}


def scored(trace: EpisodeTrace, scorer: VerdictScorer | None = None) -> Score:
    """The score under the task that the trace is about."""
    return (scorer or VerdictScorer()).score(trace, trace.instance)


@pytest.mark.parametrize("mode", MODES)
def test_a_right_answer_is_one_and_a_wrong_one_zero(mode, monkeypatch):
    """In every pure mode, from the task's own params, with no process, no socket and no file opened for it."""
    _, right, wrong = MODES[mode]
    scored(answered(right, params=params(mode)))  # modules and schemas are loaded once

    def forbidden(*_: object, **__: object) -> None:
        raise AssertionError("a scorer is pure")

    for owner, name in ((subprocess, "Popen"), (socket, "socket"), (Path, "open"), (Path, "read_bytes")):
        monkeypatch.setattr(owner, name, forbidden)
    hit, miss = (scored(answered(text, params=params(mode))) for text in (right, wrong))
    assert (hit.value, miss.value) == (1.0, 0.0)
    for score in (hit, miss):
        members = {name: score.metadata[name] for name in ("status", "mode", "source")}
        assert members == {"status": "scored", "mode": mode, "source": "action"}


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"mode": "mcq", "expected": "Z", "options": 4}, "Z"),
        ({"mode": "no_such_mode"}, "no_such_mode"),
        ({"mode": "mcq"}, "requires expected"),
        ({"mode": "mcq", "expected": "A", "color": 1}, "color"),
        ({"expected": "A"}, "mode"),
        ("mcq", "table"),
        ({"mode": "json-schema", "schema": "absent.json"}, "absent.json"),
        ({"mode": "predicted_action", "expected_calls": []}, "expected_calls"),
    ],
)
@pytest.mark.parametrize("status", ["completed", "safety_abort"])
def test_a_malformed_task_abstains_whatever_the_agent_did(table, message, status):
    """The task is to blame, so there is no number, and the message says what is wrong with it."""
    score = scored(answered("B", params={"verifier": table}, status=status))
    assert (score.value, score.metadata["status"], score.metadata["reason"]) == (None, "invalid_task", "invalid_task")
    assert message in score.explanation


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"verifier_source": "file:x"}, "answer source"),
        ({"verifier_source": 3}, "text"),
        ({"verifier_source": "reply_json:x"}, "decoded value"),
        ({"verifier_resources": ["x"]}, "table of texts"),
        ({"verifier_resources": {"x": 1}}, "table of texts"),
    ],
)
def test_members_beside_the_verifier_are_checked_too(more, message):
    """Nothing in the params is coerced or ignored."""
    score = scored(answered("B", params=params("mcq", **more)))
    assert (score.value, score.metadata["reason"]) == (None, "invalid_task")
    assert message in score.explanation


def test_a_task_without_a_verifier_is_not_scored():
    """A benchmark may mix tasks with and without one; no task is scored by nothing."""
    score = scored(answered("B"))
    assert (score.value, score.metadata["reason"]) == (None, "no_verifier")


IMPURE = {
    "math": {"expected": "1/2"},
    "reasoning-gym": {"dataset": "x"},
    "stdio": {"command": "./a"},
    "pytest": {},
    "junit": {"command": "x"},
    "gotest": {},
    "judge": {"references": ["x"]},
    "script": {"path": "x.sh"},
}


@pytest.mark.parametrize("mode", IMPURE)
def test_modes_with_a_child_or_a_network_are_refused_with_a_sentence(mode):
    """At construction where the spec is given, as an abstention where it comes from the task."""
    from hylo_eval.verify.spec import spec_from_table

    table = {"mode": mode, **IMPURE[mode]}
    with pytest.raises(EvalError, match=f"mode {mode} .*a scorer is pure.*VerdictGrader"):
        VerdictScorer(spec_from_table(table))
    score = scored(answered("B", params={"verifier": table}))
    assert (score.value, score.metadata["reason"]) == (None, "not_pure")
    assert "a scorer is pure" in score.explanation


@pytest.mark.parametrize(
    ("table", "schema"),
    [
        ({"format": "yaml"}, "{}"),
        ({"format": "toml"}, "{}"),
        ({}, '{"pattern": "a+"}'),
        ({}, '{"properties": {"x": {"uniqueItems": true}}}'),
        ({}, json.dumps({"description": "x" * 70_000})),
    ],
)
def test_schemas_that_need_a_deadline_are_refused(table, schema):
    """A linear schema over JSON is graded in process, nothing else is."""
    spec = candidate_spec("json-schema", table)
    with pytest.raises(EvalError, match="child process with a deadline"):
        VerdictScorer(spec, resources={"schema.json": schema.encode()})
    VerdictScorer(candidate_spec("json-schema", {}), resources={"schema.json": SCHEMA.encode()})


def test_no_document_is_too_long_to_be_scored():
    """An answer longer than the in-process limit of the mode gets its number, right or wrong, never an abstention."""
    long = "x" * 200_000
    right, wrong = json.dumps({"grasp": 1, "note": long}), json.dumps({"note": long})
    assert [scored(answered(text, params=params("json-schema"))).value for text in (right, wrong)] == [1.0, 0.0]


def test_a_given_spec_takes_the_place_of_the_tasks():
    """And its source too; the task's params are then not looked at."""
    spec = parse_spec('mode = "mcq"\nexpected = "C"\n')
    trace = episode(step(0, "no letter", reply={"parsed": {"answer": "C"}}), params=params("exact"))
    score = scored(trace, VerdictScorer(spec, source="reply:parsed.answer"))
    assert (score.value, score.metadata["source"]) == (1.0, "reply:parsed.answer")
    assert scored(trace, VerdictScorer(spec)).value == 0.0
    assert VerdictScorer(spec, name="letter").name == "letter"


def test_calls_and_values_are_taken_from_the_reply():
    """As decoded values, without a text in between."""
    reply = {"calls": CALLS, "state": {"object": "cup", "n": [1, 2]}}
    trace = episode(step(0, "x", reply=reply), params=params("predicted_action", verifier_source="reply_json:calls"))
    assert scored(trace).value == 1.0
    trace = episode(step(0, "x", reply=reply), params=params("structured_exact", verifier_source="reply_json:state"))
    assert scored(trace).value == 1.0
    trace = episode(step(0, "x", reply=reply), params=params("predicted_action", verifier_source="reply_json:state"))
    assert (scored(trace).value, scored(trace).metadata["reason"]) == (0.0, "invalid_function_calls")


def test_what_cannot_be_built_is_refused():
    """Options that would change nothing, specs of nothing, sources that do not fit."""
    with pytest.raises(EvalError, match="resources belong to a specification"):
        VerdictScorer(resources={})
    with pytest.raises(EvalError, match="not the specification of any mode"):
        VerdictScorer({"mode": "mcq"})
    with pytest.raises(EvalError, match="decoded value"):
        VerdictScorer(candidate_spec("mcq", {"expected": "A"}), source="reply_json:x")


@pytest.mark.parametrize(
    ("source", "reply", "value", "status", "reason"),
    [
        ("reply:answer", {"answer": None}, 0.0, "scored", "no_output"),
        ("reply:answer", {}, None, "infra_error", "not_recorded"),
        ("reply:answer", {"answer": 3}, None, "infra_error", "not_recorded"),
        ("observation:said", {}, None, "infra_error", "not_recorded"),
    ],
)
def test_a_missing_answer_is_the_agents_or_masked(source, reply, value, status, reason):
    """A null is a failed attempt; a trace without the member says nothing about the agent."""
    score = scored(episode(step(0, "x", reply=reply), params=params("mcq", verifier_source=source)))
    assert (score.value, score.metadata["status"], score.metadata["reason"]) == (value, status, reason)


@pytest.mark.parametrize(
    ("status", "value", "reason", "category"),
    [
        ("safety_abort", 0.0, "safety_abort", None),
        ("sim_unstable", 0.0, "sim_unstable", None),
        ("agent_error", None, "agent_error", "agent"),
        ("env_error", None, "infra", "unknown"),
        ("timeout", None, "infra", "unknown"),
        ("cancelled", None, "cancelled", "unknown"),
        (None, None, "unfinished", None),
    ],
)
def test_an_episodes_end_decides_before_its_answer(status, value, reason, category):
    """The right answer in an aborted episode is a failure, in a broken one nothing."""
    score = scored(answered("B", params=params("mcq"), status=status))
    assert (score.value, score.metadata["reason"], score.metadata.get("category")) == (value, reason, category)
    if category:
        assert score.metadata["status"] == "infra_error"


def test_a_missing_extra_is_the_machines_fault(monkeypatch):
    """The abstention counts as infrastructure and names the extra."""
    from hylo_eval.verify import schema_documents

    schema_documents.compiled_from_text.cache_clear()
    unseen = {"verifier": {"mode": "json-schema"}, "verifier_resources": {"schema.json": '{"minProperties": 1}'}}
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    score = scored(answered("{}", params=unseen))
    assert (score.value, score.metadata["status"], score.metadata["reason"]) == (None, "infra_error", "infra")
    assert "hylo-eval[schema]" in score.explanation
    assert summarise_scorer(VerdictScorer(), [score]).n_infrastructure == 1


@given(st.sampled_from(sorted(MODES)), st.text(st.characters(), max_size=40))
def test_no_answer_escapes_its_number(mode, text):
    """Whatever the agent wrote, lone surrogates included, a valid task gives 0 or 1: no way out into an abstention."""
    score = scored(answered(text, params=params(mode)))
    assert score.value in (0.0, 1.0)
    assert score == scored(answered(text, params=params(mode)))


HOSTILE = [
    "[" * 100_000,
    '{"grasp": ' * 50_000,
    "9" * 5000,
    "<a>" * 50_000,
    "\0",
    "\ud800",
    "[NaN]",
    "1e999999999",
    "```" * 9999,
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_answers_are_zeros(mode, text):
    """Deep nesting, huge numbers and broken Unicode are failed attempts with a bounded record."""
    score = scored(answered(text, params=params(mode)))
    assert score.value == 0.0
    assert len(json.dumps(score.to_dict())) < 10_000


@pytest.mark.parametrize(
    ("verdict", "value", "status"),
    [
        (Reward(1.0), 1.0, "scored"),
        (Reward(0.0, Status.INVALID_TASK, {"error": "bad"}), None, "invalid_task"),
        (Reward(0.0, Status.INFRA_ERROR, {"error": "lost"}), None, "infra_error"),
        (Reward(float("nan")), None, "infra_error"),
        (Reward(2.0), None, "infra_error"),
        (Reward(1.0, Status.INFRA_ERROR), None, "infra_error"),
    ],
)
def test_only_a_scored_verdict_is_a_number(verdict, value, status):
    """A malformed verdict is an infrastructure error, never its reward."""
    score = score_of(verdict)
    assert (score.value, score.metadata["status"]) == (value, status)
    assert ("reason" in score.metadata) == (value is None)


def test_the_command_line_finds_it():
    """``--scorer verdict`` needs no arguments: the task carries its verifier."""
    assert plugins.ref_of("scorers", "verdict") == "hylo_eval.scoring.verdict:VerdictScorer"
    scorer = make_scorer("verdict")
    trace = answered("B", params=params("mcq"))
    assert scorer.score(trace, trace.instance).value == 1.0
    assert summarise_scorer(scorer, [scorer.score(trace, trace.instance)]).interval is not None


QUESTIONS = """
import gymnasium
from gymnasium import spaces
from hylo_core import AgentInfo, AgentSpec
from hylo_eval import Reply

class Env(gymnasium.Env):
    action_space = spaces.Text(100)
    observation_space = spaces.Dict({"question": spaces.Text(100)})
    def __init__(self, task=None): pass
    def reset(self, *, seed=None, options=None):
        return {"question": "which drawer?"}, {"instruction": "answer", "success": False}
    def step(self, action):
        return {"question": "which drawer?"}, 0.0, True, False, {"success": False}

class Answers:
    info = AgentInfo(name="answers", version="1")
    spec = AgentSpec()
    def open_episode(self, instance, instruction, seed): self.right = seed % 2; return self
    def act(self, observation): return Reply("Answer: B" if self.right else "C", metadata={"parsed": "B"})
    def close(self): pass
"""
BENCHMARK = """
id = "questions"
version = "1"
env = "questions_of_test:Env"
splits = {heldout = [0, 1, 2, 3]}
[[tasks]]
id = "drawer"
version = "1"
instruction = "answer"
max_steps = 1
init = {kind = "seed"}
success = {kind = "builtin", name = "env_success"}
[tasks.params]
verifier_source = "SOURCE"
[tasks.params.verifier]
mode = "mcq"
expected = "B"
"""


@pytest.mark.parametrize("source", ["action", "reply:parsed", "observation:question"])
def test_a_run_is_scored_by_the_verifier_of_its_task(source, tmp_path, monkeypatch, capfd):
    """From a benchmark file and two options on the command line to a mean."""
    from hylo_core import derive_seed
    from hylo_eval.cli.group import run

    (tmp_path / "questions_of_test.py").write_text(QUESTIONS)
    bench = tmp_path / "bench.toml"
    bench.write_text(BENCHMARK.replace("SOURCE", source))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path[:1], str(Path(__file__).parents[3])]))
    agent = ["--agent", "questions_of_test:Answers", "--run-root", str(tmp_path / "runs")]
    with pytest.raises(SystemExit) as ended:
        run(["run", str(bench), *agent, "--scorer", "verdict", "--json"])
    summary = json.loads(capfd.readouterr().out)["scores"]["verdict"]
    right = sum(derive_seed(f"drawer#{seed}", "agent") % 2 for seed in range(4)) / 4
    assert summary["mean"] == {"action": right, "reply:parsed": 1.0, "observation:question": 0.0}[source]
    assert ended.value.code == 0
