"""Mode ``junit``: JUnit reports of a real producer (pytest) and of hostile ones."""

import os
import shlex
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hylo_eval.verify.file_ops.removal import remove_folder
from hylo_eval.verify.modes.grader import GradingContext
from hylo_eval.verify.modes.junit import grade_junit, parse_report
from hylo_eval.verify.specs.suites import JunitSpec
from hylo_eval.verify.verdict import GradingInfraError, InvalidTask, Status

PYTHON = shlex.quote(sys.executable)
PRODUCER = "import pathlib, sys\npathlib.Path('out').mkdir(exist_ok=True)\n"
CASES = '<testcase classname="Arm" name="homes"/><testcase classname="Arm" name="grips"/>'


def suite(cases=CASES, tests=2, failures=0, errors=0, skipped=0):
    """A report with the given cases and declared counts."""
    counts = f'tests="{tests}" failures="{failures}" errors="{errors}" skipped="{skipped}"'
    return f'<testsuites><testsuite name="s" {counts}>{cases}</testsuite></testsuites>'


@pytest.fixture
def task(tmp_path):
    """An empty tests directory and an empty workspace."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "app").mkdir()
    return GradingContext(tests_dir=tmp_path / "tests", workspace=tmp_path / "app")


def grade(task, report, *, exit_code=0, code="", **fields):
    """Grades a producer that writes ``report`` (None for no report) and ends with ``exit_code``."""
    write = "" if report is None else f"pathlib.Path('out/r.xml').write_text({report!r})\n"
    (task.workspace / "produce.py").write_text(f"{PRODUCER}{write}{code}\nsys.exit({exit_code})\n")
    return grade_junit(JunitSpec(command=f"{PYTHON} produce.py", report="out/*.xml", **fields), task)


def test_real_producer(task):
    """The reports of pytest are read: all passing scores one, one failing scores zero and is named."""
    (task.workspace / "test_arm.py").write_text(
        "import pytest\n\ndef test_homes():\n    assert 1 + 1 == 2\n\n"
        "@pytest.mark.skip\ndef test_lamp():\n    assert False\n"
    )
    spec = JunitSpec(command=f"{PYTHON} -m pytest -q -p no:cacheprovider --junitxml=reports/TEST-arm.xml test_arm.py")
    verdict = grade_junit(spec, task)
    assert (verdict.reward, verdict.detail["passed"], verdict.detail["total"]) == (1.0, 1, 1)
    with (task.workspace / "test_arm.py").open("a") as file:
        file.write("\ndef test_grips():\n    assert 1 + 1 == 3\n")
    verdict = grade_junit(spec, task)
    assert (verdict.reward, verdict.detail["first_failure"]) == (0.0, "test_arm.test_grips")


def test_all_pass(task):
    """A report in which all cases pass scores one."""
    verdict = grade(task, suite())
    assert (verdict.reward, verdict.detail) == (1.0, {"passed": 2, "total": 2, "exit_code": 0, "reports": 1})


def test_old_report_that_cannot_be_deleted(task, monkeypatch):
    """A report that was there before the tests, and stays, is none of theirs."""
    (task.workspace / "out").mkdir()
    (task.workspace / "out/old.xml").write_text(suite())
    unlink = os.unlink

    def refuse(name, **options):
        if name == "old.xml":
            raise PermissionError
        unlink(name, **options)

    monkeypatch.setattr(os, "unlink", refuse)
    assert grade(task, None).detail["reason"] == "no_report"


def test_required_ids(task):
    """Only required ids count when there are any; skipped and absent ones have failed."""
    cases = (
        '<testcase classname="Arm" name="homes"/>'
        '<testcase classname="Arm" name="grips"><error/></testcase>'
        '<testcase name="lamp"><skipped/></testcase>'
    )
    report = suite(cases, tests=3, errors=1, skipped=1)
    assert grade(task, report, exit_code=1, must_pass=["Arm.homes"]).reward == 1.0
    assert grade(task, report, exit_code=1, must_not_break=["Arm.grips"]).reward == 0.0
    assert grade(task, report, exit_code=1, must_pass=["lamp"]).detail["first_failure"] == "lamp"


def test_no_report(task):
    """A producer without a report scores zero, and so does one with an empty suite."""
    assert grade(task, None).detail["reason"] == "no_report"
    assert grade(task, suite("", tests=0)).detail["reason"] == "no_tests"


def test_old_reports_are_deleted(task):
    """A report that was there before the tests is not taken for theirs."""
    (task.workspace / "out").mkdir()
    (task.workspace / "out/old.xml").write_text(suite())
    assert grade(task, None).detail["reason"] == "no_report"


def test_linked_reports(task, tmp_path):
    """A report reached through a link earns nothing, and what it points to is neither read nor deleted."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "r.xml").write_text(suite())
    (task.workspace / "out").symlink_to(elsewhere)
    spec = JunitSpec(command="true", report="out/*.xml")
    assert grade_junit(spec, task).detail["reason"] == "no_report"
    (task.workspace / "out").unlink()
    (task.workspace / "out").mkdir()
    (task.workspace / "out/r.xml").symlink_to(elsewhere / "r.xml")
    assert grade_junit(spec, task).detail["reason"] == "no_report"
    assert (elsewhere / "r.xml").read_text() == suite()
    link_later = f"ln -s {shlex.quote(str(elsewhere / 'r.xml'))} out/r.xml"
    spec = JunitSpec(command=f"bash -c {shlex.quote(link_later)}", report="out/*.xml")
    assert grade_junit(spec, task).detail["reason"] == "no_report"


def test_deep_folders(task):
    """A nest of folders deeper than Python's recursion limit does not end the grader."""
    code = "import os\nfor _ in range(1100): os.mkdir('d'); os.chdir('d')\n"
    assert grade(task, suite(), code=code).reward == 1.0
    assert grade_junit(JunitSpec(command="true"), task).detail["reason"] == "no_report"
    # Nor may it end whoever tidies up after the tests.
    parent = os.open(task.workspace, os.O_RDONLY)
    remove_folder("d", parent=parent)
    os.close(parent)
    assert not (task.workspace / "d").exists()


@pytest.mark.parametrize(
    ("report", "exit_code"),
    [
        (suite(tests=5), 0),
        (suite(failures=1), 1),
        (suite(tests="two"), 0),
        (suite(), 1),
        (suite(), 3),
        ("<testsuite", 0),
        ('<!DOCTYPE x [<!ENTITY a "b">]><testsuite tests="0"/>', 0),
    ],
    ids=["tests", "failures", "count", "exit 1", "exit 3", "cut", "entities"],
)
def test_untrustworthy_reports(task, report, exit_code):
    """A report that is malformed, incomplete or contradicts the exit code abstains."""
    with pytest.raises(GradingInfraError):
        grade(task, report, exit_code=exit_code)


def test_command_of_the_workspace(task):
    """A missing program of the workspace is a failed attempt, a missing program of the image is not."""
    verdict = grade_junit(JunitSpec(command="./gradlew test"), task)
    assert (verdict.status, verdict.detail["reason"]) == (Status.SCORED, "command_failed")
    with pytest.raises(GradingInfraError):
        grade_junit(JunitSpec(command="no-such-build-tool test"), task)


def test_timeout(task):
    """A producer that runs out of time scores zero, even if it had written a report by then."""
    verdict = grade(task, suite(), code="import time; time.sleep(60)", timeout=1.0)
    assert verdict.detail["reason"] == "timeout"


@pytest.mark.parametrize(
    "fields",
    [
        {"report": "../*.xml"},
        {"report": "/out/*.xml"},
        {"report": ""},
        {"report": "a**/b.xml"},
        {"timeout": float("nan")},
        {"command": ""},
        {"restore": ["../app"]},
    ],
)
def test_defects_of_the_task(task, fields):
    """A malformed specification is the task's defect."""
    with pytest.raises(InvalidTask):
        grade_junit(JunitSpec(**{"command": "true", **fields}), task)


@given(st.binary() | st.text().map(str.encode) | st.text().map(lambda name: f"<a>{name}</a>".encode()))
def test_any_report(content):
    """Whatever stands in a report, it is read or abstains."""
    try:
        outcomes = parse_report(content)
    except GradingInfraError:
        return
    assert outcomes == {}


@pytest.mark.parametrize("encoding", ["utf-7", "no-such", "rot13", "utf-16"])
def test_odd_encodings(encoding):
    """An encoding that the parser lacks, or that the content contradicts, abstains."""
    with pytest.raises(GradingInfraError):
        parse_report(f'<?xml version="1.0" encoding="{encoding}"?><testsuite/>'.encode())


def test_deep_report():
    """A report nested far beyond any recursion limit is read."""
    assert parse_report(b"<a>" * 10**5 + b"</a>" * 10**5) == {}


def test_names_of_a_namespace():
    """Elements of another vocabulary are no test cases, and an entity that nobody declared abstains."""
    suite = '<testsuite xmlns:x="u" tests="1"><testcase name="a"/><x:testcase name="b"><x:failure/></x:testcase></testsuite>'
    assert parse_report(suite.encode()) == {"a": True}
    with pytest.raises(GradingInfraError):
        parse_report(b'<!DOCTYPE a SYSTEM "a.dtd"><a>&b;</a>')


def test_a_result_counts_where_it_stands():
    """A failure inside a case's output is none of the case, and a case without a name still counts."""
    cases = '<testcase name="a"><system-out><failure/></system-out></testcase><testcase><error/></testcase>'
    assert parse_report(f'<testsuite tests="2" failures="0" errors="1">{cases}</testsuite>'.encode()) == {"a": True}


def test_nested_suites():
    """A suite's counts cover the suites inside it, and repeated cases must all pass."""
    inner = '<testsuite tests="1"><testcase classname="A" name="b"/></testsuite>'
    failing = '<testcase classname="A" name="b"><failure/></testcase>'
    report = f'<testsuites tests="2"><testsuite tests="2" failures="1">{inner}{failing}</testsuite></testsuites>'
    assert parse_report(report.encode()) == {"A.b": False}
