"""Mode ``gotest``: the events of ``go test -json``, from a stand-in and from Go itself where there is one."""

import json
import os
import shutil
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hylo_eval.verify.execution.deadline import Deadline, DeadlinePassed
from hylo_eval.verify.modes import gotest
from hylo_eval.verify.modes.gotest import EventsTooLarge, grade_gotest, parse_events
from hylo_eval.verify.modes.grader import GradingContext
from hylo_eval.verify.specs.suites import GotestSpec
from hylo_eval.verify.verdict import GradingInfraError, InvalidTask, Status

PACKAGE = "example.com/arm"


def event(action, test=None, **members):
    """One line of the stream."""
    named = {"Action": action, "Package": PACKAGE, **({"Test": test} if test else {})}
    return json.dumps({"Time": "2024-05-01T10:00:00Z", **named, **members})


def events_of(test, outcome):
    """The events of one test."""
    return [event("run", test), event("output", test, Output=f"=== RUN {test}\n"), event(outcome, test)]


@pytest.fixture
def task(tmp_path):
    """An empty tests directory and a workspace with a module."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "app").mkdir()
    (tmp_path / "app/go.mod").write_text(f"module {PACKAGE}\n")
    return GradingContext(tests_dir=tmp_path / "tests", workspace=tmp_path / "app")


@pytest.fixture
def grade(task, tmp_path, monkeypatch):
    """Grades with a ``go`` that writes the given events."""

    def run(lines, *, exit_code=0, extra="", **fields):
        binary = tmp_path / "bin/go"
        binary.parent.mkdir(exist_ok=True)
        stream = "\n".join([event("start"), *lines])
        binary.write_text(f"#!/bin/bash\n{extra}\ncat <<'EOT'\n{stream}\nEOT\nexit {exit_code}\n")
        binary.chmod(0o755)
        monkeypatch.setenv("PATH", f"{binary.parent}{os.pathsep}{os.environ['PATH']}")
        return grade_gotest(GotestSpec(**fields), task)

    return run


def test_all_pass(grade):
    """A suite whose tests all pass scores one; skipped tests and subtests change nothing."""
    lines = [*events_of("TestHome", "pass"), *events_of("TestGrip", "pass"), *events_of("TestCamera", "skip")]
    verdict = grade([*lines, event("pass")])
    assert (verdict.reward, verdict.detail) == (1.0, {"passed": 2, "total": 2, "exit_code": 0})


def test_one_fails(grade):
    """A failing test scores zero and is named."""
    lines = [*events_of("TestHome", "pass"), *events_of("TestGrip", "fail"), event("fail")]
    verdict = grade(lines, exit_code=1)
    assert (verdict.status, verdict.reward) == (Status.SCORED, 0.0)
    assert verdict.detail["first_failure"] == f"{PACKAGE}.TestGrip"


def test_required_ids(grade):
    """With required ids only they count, and one that is skipped or absent has failed."""
    lines = [*events_of("TestHome", "pass"), *events_of("TestGrip", "fail"), *events_of("TestLamp", "skip")]
    lines.append(event("fail"))
    home, lamp, gone = (f"{PACKAGE}.{name}" for name in ("TestHome", "TestLamp", "TestGone"))
    assert grade(lines, exit_code=1, must_pass=[home]).reward == 1.0
    assert grade(lines, exit_code=1, must_pass=[home], must_not_break=[lamp]).detail["first_failure"] == lamp
    assert grade(lines, exit_code=1, must_pass=[gone]).detail["passed"] == 0


def test_repeated_test(grade):
    """A test that fails once of several times (``-count``) has failed."""
    lines = [*events_of("TestHome", "fail"), *events_of("TestHome", "pass"), event("fail")]
    assert grade(lines, exit_code=1).reward == 0.0


def test_build_failure(grade):
    """A build that fails runs no test and scores zero."""
    build = json.dumps({"ImportPath": PACKAGE, "Action": "build-output", "Output": "syntax error\n"})
    verdict = grade([build, "# plain build output", event("fail", FailedBuild=PACKAGE)], exit_code=1)
    assert (verdict.status, verdict.detail["reason"]) == (Status.SCORED, "no_tests")


@pytest.mark.parametrize(
    ("lines", "exit_code"),
    [
        ([event("run", "TestHome"), event("pass")], 0),
        (events_of("TestHome", "pass"), 0),
        ([*events_of("TestHome", "pass"), event("fail")], 1),
        ([*events_of("TestHome", "pass"), event("pass")], 1),
        ([*events_of("TestHome", "pass"), event("pass")], 2),
        ([*events_of("TestHome", "pass"), '{"Action": "pass"'], 0),
        ([*events_of("TestHome", "pass"), '{"Action": 3}'], 0),
    ],
    ids=["open test", "open package", "failed package", "exit 1", "exit 2", "cut line", "odd fields"],
)
def test_contradictions(grade, lines, exit_code):
    """A stream that is cut short or contradicts the exit code abstains."""
    if lines[0] == event("run", "TestHome"):
        lines = [*events_of("TestGrip", "pass"), *lines]
    with pytest.raises(GradingInfraError):
        grade(lines, exit_code=exit_code)


@settings(deadline=None)
@given(
    st.text()
    | st.lists(st.dictionaries(st.sampled_from(["Action", "Package", "Test"]), st.text())).map(
        lambda events: "\n".join(map(json.dumps, events))
    )
)
def test_any_stream(stream):
    """Whatever the stream holds, it is read or abstains."""
    try:
        run = parse_events(stream.encode(), Deadline.after(3600.0))
    except GradingInfraError:
        return
    assert set(run.outcomes.values()) <= {True, False}


NAMES = {
    "unfinished": '{{"Action": "run", "Test": "{}"}}',
    "finished": '{{"Action": "pass", "Test": "{}"}}',
    "packages": '{{"Action": "fail", "Package": "{}"}}',
    "escaped": '{{"Action": "run", "Test": "\\ud83e\\udd16{}"}}',
}


@pytest.mark.parametrize("line", NAMES.values(), ids=NAMES)
def test_names_are_kept_within_a_bound(monkeypatch, line):
    """However the events name ever more tests or packages, no more are kept than their memory allows."""
    monkeypatch.setattr(gotest, "MAX_NAMES_BYTES", 400_000)
    stream = "\n".join(map(line.format, range(4000))).encode()
    tracemalloc.start()
    with pytest.raises(EventsTooLarge, match="more tests"):
        parse_events(stream, Deadline.after(3600.0))
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < 800_000


def test_tests_that_ended_free_what_they_took(monkeypatch):
    """A long suite whose tests begin and end one after the other holds their outcomes alone."""
    monkeypatch.setattr(gotest, "MAX_NAMES_BYTES", 2_000)
    lines = [event(action, f"Test{index % 3}") for index in range(200) for action in ("run", "skip")]
    lines += events_of("TestHome", "pass")
    run = parse_events("\n".join([*lines, event("pass")]).encode(), Deadline.after(3600.0))
    assert (run.complete, run.outcomes) == (True, {f"{PACKAGE}.TestHome": True})


@pytest.mark.parametrize("text", ["[],", "\U0001f916"])
def test_an_event_is_no_longer_than_go_writes_them(monkeypatch, text):
    """A line that decodes to many times its length is not decoded."""
    monkeypatch.setattr(gotest, "MAX_EVENT_BYTES", 1000)
    assert parse_events(text.encode() * 1000, Deadline.after(3600.0)).packages == set()
    with pytest.raises(EventsTooLarge, match="longer than 1000 bytes"):
        parse_events(b'{"Action": [' + text.encode() * 1000, Deadline.after(3600.0))


def test_too_many_tests_score_zero(grade, monkeypatch):
    """They are the candidate's doing, as is too much output."""
    monkeypatch.setattr(gotest, "MAX_NAMES_BYTES", 1000)
    verdict = grade([event("run", f"Test{index}") for index in range(20)])
    assert (verdict.status, verdict.reward, verdict.detail["reason"]) == (Status.SCORED, 0.0, "output_too_large")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends(end):
    """Lines end as on any system, and build output beside the events, blank lines too, is none."""
    lines = ["", "# example.com/arm", *events_of("TestHome", "pass"), "", f"  {event('pass')}  ", "x {"]
    run = parse_events(end.join(lines).encode(), Deadline.after(3600.0))
    assert (run.complete, run.outcomes) == (True, {f"{PACKAGE}.TestHome": True})


def test_timeout(grade):
    """A suite that runs out of time scores zero."""
    assert grade([], extra="sleep 60", timeout=0.5).detail["reason"] == "timeout"


def test_the_deadline_covers_reading(grade, monkeypatch):
    """Events that nobody could read in time score zero like tests that did not end in time."""

    class Read(Deadline):
        def check(self):
            raise DeadlinePassed

    monkeypatch.setattr(gotest, "Deadline", Read)
    assert grade([*events_of("TestHome", "pass"), event("pass")]).detail["reason"] == "timeout"


def test_setup_and_restore(grade, task):
    """Files are restored and the setup runs before the tests; a failing setup scores zero."""
    (task.tests_dir / "arm_test.go").write_text("package arm")
    lines = [*events_of("TestHome", "pass"), event("pass")]
    setup = 'test -f arm_test.go && test "$VERIFYIT_WORKSPACE" = "$PWD" && test -d "$VERIFYIT_TESTS_DIR"'
    assert grade(lines, restore=["arm_test.go"], setup=setup).reward == 1.0
    assert grade(lines, setup="exit 3").detail["reason"] == "setup_failed"


def test_no_go(task, monkeypatch):
    """A task image without Go is nobody's failed attempt."""
    monkeypatch.setenv("PATH", str(task.tests_dir))
    with pytest.raises(GradingInfraError, match="go cannot be started"):
        grade_gotest(GotestSpec(), task)


@pytest.mark.parametrize("fields", [{"timeout": -1.0}, {"args": ["a\0"]}, {"restore": ["gone.go"]}])
def test_defects_of_the_task(grade, fields):
    """A malformed specification is the task's defect."""
    with pytest.raises(InvalidTask):
        grade([], **fields)


@pytest.mark.skipif(shutil.which("go") is None, reason="needs Go")
def test_real_go(task):
    """Go's own stream is read: a passing suite scores one, and zero once a test fails."""
    source = 'package arm\nimport "testing"\nfunc TestHome(t *testing.T) { if 1 + 1 != %d { t.Fatal("no") } }\n'
    test_file = Path(task.workspace, "arm_test.go")
    test_file.write_text(source % 2)
    assert grade_gotest(GotestSpec(), task).reward == 1.0
    test_file.write_text(source % 3)
    assert grade_gotest(GotestSpec(), task).detail["first_failure"] == f"{PACKAGE}.TestHome"
