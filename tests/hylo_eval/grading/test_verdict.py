"""Verdicts of every mode as grade events."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hylo_core import EpisodeTrace, GradeEvent, Grader
from hylo_core.canonical import digest_bytes
from hylo_eval import EvalError, plugins, read_trace, run_episode
from hylo_eval.evaluation.graders import make_verdict
from hylo_eval.grading.verdict import VerdictGrader, folder_digest
from hylo_eval.scoring.grade import GradeScorer
from hylo_eval.scoring.verdict import VerdictScorer
from hylo_eval.traces.grades import append_grade, check_grades
from hylo_eval.traces.layout import RunFolder
from hylo_eval.verify import SpecError, candidate_spec, parse_spec, render_spec
from hylo_eval.verify.specs.answer import Constraint, IfevalSpec
from hylo_eval.verify.verdict import GradingInfraError
from tests.answered import answered, episode, step
from tests.episodes import FunctionAgent, ScriptedEnv, instance
from tests.hylo_eval.scoring.test_verdict import MODES, SCHEMA, params
from tests.hylo_eval.verify.modes.test_judge import completion, serving

WHEN = datetime(2026, 1, 2, tzinfo=UTC)
SCRIPT = parse_spec('mode = "script"\npath = "grade.sh"\n')
JUDGE = parse_spec('mode = "judge"\nreferences = ["The gripper slipped"]\nmodel = "judge-1"\n')


@pytest.fixture
def tests_dir(tmp_path: Path) -> Path:
    """The task's files: a script that compares the answer in the workspace."""
    folder = tmp_path / "tests"
    folder.mkdir()
    (folder / "grade.sh").write_text("grep -qx 42 answer.txt && echo 1.0 || echo 0.25\n")
    return folder


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A workspace with the right answer."""
    folder = tmp_path / "app"
    folder.mkdir()
    (folder / "answer.txt").write_text("42\n")
    return folder


def graded(grader: VerdictGrader, trace: EpisodeTrace | None = None) -> GradeEvent:
    """The event for a finished episode."""
    trace = trace or answered("x")
    return grader.grade(trace, trace.instance)


def test_a_script_judges_the_workspace(tests_dir: Path, workspace: Path) -> None:
    """The event says what judged, by what, when, and the whole verdict."""
    grader = VerdictGrader(SCRIPT, tests_dir, workspace, now=lambda: WHEN)
    event = graded(grader)
    assert (event.grader, event.value, event.ref, event.error) == ("verdict", 1.0, "script", "")
    assert event.digest == digest_bytes(render_spec(SCRIPT).encode())
    assert dict(event.metadata["detail"]) == {"exit_code": 0, "stderr": "", "channel": "stdout"}
    assert (event.metadata["status"], event.metadata["mode"]) == ("scored", "script")
    assert event.metadata["tests_digest"] == folder_digest(tests_dir)
    assert event.volatile["graded_at"] == "2026-01-02T00:00:00.000+00:00"
    (workspace / "answer.txt").write_text("41\n")
    assert graded(grader).value == 0.25


def test_each_episode_may_have_a_workspace_of_its_own(tests_dir: Path, tmp_path: Path) -> None:
    """A function of the trace names it; one that is missing is the machine's fault."""
    for seed, answer in ((3, "42\n"), (4, "no\n")):
        (tmp_path / str(seed)).mkdir()
        (tmp_path / str(seed) / "answer.txt").write_text(answer)
    grader = VerdictGrader(SCRIPT, tests_dir, lambda trace: tmp_path / f"{trace.steps[-1].applied}")
    assert [graded(grader, answered(seed)).value for seed in ("3", "4")] == [1.0, 0.25]
    lost = graded(grader, answered("5"))
    assert (lost.value, lost.metadata["status"]) == (None, "infra_error")
    assert "is no folder" in lost.error


@pytest.mark.parametrize(
    ("script", "status", "message"),
    [
        (None, "invalid_task", "grade.sh"),
        ("exit 0\n", "infra_error", ""),
        ("echo not a number\n", "infra_error", ""),
        ("echo nan\n", "infra_error", ""),
    ],
)
def test_a_verdict_that_is_not_scored_is_an_event_without_a_value(
    tests_dir: Path, workspace: Path, script: str | None, status: str, message: str
) -> None:
    """Never an exception, never a zero; the score made of it abstains."""
    if script is None:
        (tests_dir / "grade.sh").unlink()
    else:
        (tests_dir / "grade.sh").write_text(script)
    event = graded(VerdictGrader(SCRIPT, tests_dir, workspace))
    assert (event.value, event.metadata["status"]) == (None, status)
    assert event.error
    assert message in event.error
    trace = answered("x", grades=(event,))
    score = GradeScorer().score(trace, trace.instance)
    assert score.value is None
    assert score.metadata["status"] == status


def test_a_judge_reads_the_answer_from_the_trace(tests_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer stands in the reply; the judge's model is who judged."""
    grader = VerdictGrader(JUDGE, tests_dir, source="reply:text")
    trace = episode(step(0, "x", reply={"text": "It lost friction"}))
    with serving(completion("SCORE: 0.5")) as server:
        monkeypatch.setenv("VERIFYIT_JUDGE_BASE_URL", server.connection.base_url)
        event = graded(grader, trace)
        assert "It lost friction" in server.requests[0]["body"]["messages"][-1]["content"]
    assert (event.value, event.ref, event.metadata["source"]) == (0.5, "judge-1", "reply:text")


def test_a_judge_that_cannot_be_asked_is_masked(tests_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a judge the gates still score; past them there is no value."""
    monkeypatch.delenv("VERIFYIT_JUDGE_BASE_URL", raising=False)
    grader = VerdictGrader(JUDGE, tests_dir, source="action")
    assert graded(grader, answered("the gripper slipped")).value == 1.0
    event = graded(grader, answered("friction"))
    assert (event.value, event.metadata["status"]) == (None, "infra_error")
    assert "no judge is configured" in event.error


def test_only_waiting_for_a_judge_is_done_at_once(tests_dir: Path, workspace: Path) -> None:
    """A mode that runs something has the machine to itself."""
    judge = parse_spec('mode = "judge"\nreferences = ["x"]\n')
    assert VerdictGrader(judge, tests_dir, source="action").parallel
    assert not VerdictGrader(judge, tests_dir, workspace).parallel
    assert not VerdictGrader(parse_spec('mode = "mcq"\nexpected = "C"\n'), tests_dir, source="action").parallel


def test_modes_that_a_scorer_refuses_are_graded(tests_dir: Path) -> None:
    """Mathematics needs a child process, which a grader may have."""
    grader = VerdictGrader(parse_spec('mode = "math"\nexpected = "1/2"\n'), tests_dir, source="action")
    assert [graded(grader, answered(text)).value for text in (r"so \boxed{0.5}", "2", "")] == [1.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("status", "value", "meaning"),
    [
        ("safety_abort", 0.0, "scored"),
        ("sim_unstable", 0.0, "scored"),
        ("agent_error", None, "infra_error"),
        ("env_error", None, "infra_error"),
        ("cancelled", None, "infra_error"),
        (None, None, "infra_error"),
    ],
)
def test_nothing_is_run_for_an_episode_that_ended_badly(
    tests_dir: Path, workspace: Path, status: str | None, value: float | None, meaning: str
) -> None:
    """What the agent brought about is a failure, everything else is masked; the script would say 1."""
    (tests_dir / "grade.sh").write_text("touch ran; echo 1.0\n")
    event = graded(VerdictGrader(SCRIPT, tests_dir, workspace), answered("x", status=status))
    assert (event.value, event.metadata["status"]) == (value, meaning)
    assert not (workspace / "ran").exists()


@pytest.mark.parametrize("status", ["completed", "safety_abort"])
@pytest.mark.parametrize("text", ["B", None, [1.0]])
def test_a_malformed_task_comes_first(tests_dir: Path, text: Any, status: str) -> None:
    """Whatever the agent did or did not answer."""
    spec = parse_spec('mode = "mcq"\nexpected = "Z"\n')
    event = graded(VerdictGrader(spec, tests_dir, source="action"), answered(text, status=status))
    assert (event.value, event.metadata["status"]) == (None, "invalid_task")


@pytest.mark.parametrize("text", ["\ud800", "\0" * 10, "[" * 100_000, "B\r\n", "x" * 100_000])
def test_hostile_answers_leave_a_bounded_event(tests_dir: Path, text: str) -> None:
    """The event is a contract, and its JSON is small."""
    spec = parse_spec('mode = "exact"\nexpected = "C"\n')
    event = graded(VerdictGrader(spec, tests_dir, source="action"), answered(text))
    assert event.value == 0.0
    assert len(event.to_json()) < 10_000


@given(st.sampled_from(sorted(MODES)), st.text(st.characters(), max_size=30), st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_scorer_and_grader_agree(tests_dir: Path, mode: str, text: str, wrapped: bool) -> None:
    """In every pure mode the scorer says of an answer what the grader says of the same answer in a file."""
    (tests_dir / "schema.json").write_text(SCHEMA)
    trace = answered(f"{text}\r\n{MODES[mode][1]}" if wrapped else text, params=params(mode))
    spec = candidate_spec(mode, MODES[mode][0])
    event = graded(VerdictGrader(spec, tests_dir, source="action"), trace)
    score = VerdictScorer().score(trace, trace.instance)
    assert (score.value, score.metadata["detail"]) == (event.value, event.metadata["detail"])


def test_errors_of_a_mode_become_events(tests_dir: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What grading raises for reasons of its own, and what the operating system refuses."""
    raised: list[Exception] = [GradingInfraError("no space", disk="full"), OSError(28, "No space left on device")]
    for error in raised:

        def failing(*_: object, error: Exception = error) -> None:
            raise error

        monkeypatch.setattr("hylo_eval.grading.verdict.grade", failing)
        event = graded(VerdictGrader(SCRIPT, tests_dir, workspace))
        assert (event.value, event.metadata["status"]) == (None, "infra_error")
        assert "space" in event.error


def test_what_cannot_judge_is_refused(tests_dir: Path, workspace: Path) -> None:
    """At construction, before a thousand episodes are graded."""
    for spec, missing in ((SCRIPT, "add workspace=FOLDER"), (JUDGE, "add source=action .*or workspace=FOLDER")):
        with pytest.raises(EvalError, match="neither is named") as refused:
            VerdictGrader(spec, tests_dir)
        assert re.fullmatch(missing, refused.value.fix)
    with pytest.raises(EvalError, match="not both"):
        VerdictGrader(JUDGE, tests_dir, workspace, source="action")
    with pytest.raises(EvalError, match="mode script grades a workspace"):
        VerdictGrader(SCRIPT, tests_dir, source="action")
    with pytest.raises(EvalError, match="is no folder"):
        VerdictGrader(SCRIPT, tests_dir / "absent", workspace)
    with pytest.raises(EvalError, match="answer source"):
        VerdictGrader(JUDGE, tests_dir, source="file:x")
    with pytest.raises(TypeError, match="not the specification"):
        VerdictGrader({"mode": "script"}, tests_dir, workspace)
    with pytest.raises(SpecError, match="TOML"):
        VerdictGrader(IfevalSpec(constraints=[Constraint("x", {"n": None})]), tests_dir, workspace)


def test_the_tests_are_part_of_what_judged(tests_dir: Path) -> None:
    """Any change of a name, a content or a link changes the digest; the same content gives the same."""
    seen = [folder_digest(tests_dir)]
    assert folder_digest(tests_dir) == seen[0]
    (tests_dir / "grade.sh").write_text("echo 1.0\n")
    seen.append(folder_digest(tests_dir))
    (tests_dir / "grade.sh").rename(tests_dir / "other.sh")
    seen.append(folder_digest(tests_dir))
    (tests_dir / "link").symlink_to("other.sh")
    seen.append(folder_digest(tests_dir))
    (tests_dir / "link").unlink()
    (tests_dir / "link").symlink_to("/nowhere")
    seen.append(folder_digest(tests_dir))
    assert len(set(seen)) == len(seen)


def test_from_an_episode_to_a_score(tests_dir: Path, workspace: Path, tmp_path: Path) -> None:
    """Run, grade, append, read back, score: the number is the script's, and the chain holds."""
    path = tmp_path / "trace.jsonl"
    run_episode(ScriptedEnv(), FunctionAgent(), instance(), trace_path=path)
    trace = read_trace(path)
    append_grade(path, VerdictGrader(SCRIPT, tests_dir, workspace).grade(trace, trace.instance))
    (workspace / "answer.txt").write_text("41\n")
    append_grade(path, VerdictGrader(SCRIPT, tests_dir, workspace).grade(trace, trace.instance))
    assert [event.value for event in check_grades(path)] == [1.0, 0.25]
    again = read_trace(path)
    score = GradeScorer().score(again, again.instance)
    assert (score.value, score.metadata["superseded"]) == (0.25, 1)


def test_it_is_a_grader_with_a_short_name(tests_dir: Path, workspace: Path) -> None:
    """The protocol of the core, and the alias people type."""
    assert isinstance(VerdictGrader(SCRIPT, tests_dir, workspace), Grader)
    assert plugins.load("graders", "verdict") is make_verdict
    (tests_dir / "verifier.toml").write_text(render_spec(SCRIPT))
    run = RunFolder(tests_dir)
    assert graded(make_verdict(run, str(tests_dir / "verifier.toml"), workspace=str(workspace))).value == 1.0
    with pytest.raises(EvalError, match="cannot read the specification"):
        make_verdict(run, str(tests_dir / "absent.toml"), source="action")
