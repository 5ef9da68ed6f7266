"""Mode ``junit``: JUnit reports of a real producer (pytest) and of hostile ones."""

import os
import shlex
import sys

import pytest

from hylo_eval.verify.execution import junit_reports
from hylo_eval.verify.file_ops.removal import remove_folder
from hylo_eval.verify.modes import junit
from hylo_eval.verify.modes.grader import GradingContext
from hylo_eval.verify.modes.junit import grade_junit
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
        ('<!DOCTYPE x [<!ATTLIST testcase name CDATA "b">]><testsuite><testcase/></testsuite>', 0),
    ],
    ids=["tests", "failures", "count", "exit 1", "exit 3", "cut", "entities", "default attributes"],
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


def test_reports_of_a_namespace(task):
    """A producer that declares a namespace is read as one that does not."""
    verdict = grade(task, suite().replace("<testsuites>", '<testsuites xmlns="urn:x">'))
    assert (verdict.reward, verdict.detail["passed"]) == (1.0, 2)


def test_the_deadline_covers_reading(task, monkeypatch):
    """A report that takes longer than the task's timeout scores zero like a command that does."""

    class Late(junit.JunitReports):
        def read(self, chunks):
            super().read(chunks)
            raise junit.DeadlinePassed

    monkeypatch.setattr(junit, "JunitReports", Late)
    verdict = grade(task, suite())
    assert (verdict.status, verdict.reward, verdict.detail["reason"]) == (Status.SCORED, 0.0, "timeout")


@pytest.mark.parametrize("copies", [1, 3])
def test_large_reports_score_zero(task, monkeypatch, copies):
    """More bytes than are read, in one report or in all together, are no abstention, and no credit for the others."""
    report = suite()
    monkeypatch.setattr(junit, "MAX_REPORT_BYTES", len(report) * copies - 1)
    link = f"import os\nfor n in range({copies - 1}): os.link('out/r.xml', f'out/s{{n}}.xml')"
    verdict = grade(task, report, code=link)
    assert (verdict.status, verdict.reward, verdict.detail["reason"]) == (Status.SCORED, 0.0, "report_too_large")


def test_many_reports_score_zero(task, monkeypatch):
    """More reports than are looked for score zero, left by the command or there before it."""
    monkeypatch.setattr(junit, "MAX_REPORTS", 2)
    code = "for n in range(3): pathlib.Path(f'out/{n}.xml').touch()"
    for _ in range(2):
        assert grade(task, None, code=code).detail["reason"] == "report_too_large"


def test_elements_beyond_the_bound_score_zero(task, monkeypatch):
    """A report that would exhaust the grader scores zero, though it is malformed as well."""
    monkeypatch.setattr(junit_reports, "MAX_ELEMENTS", 100)
    for report in ("<a>" * 101, "<testsuite>" * 101, suite("<testcase name='a'/>" * 101, tests=101)):
        assert grade(task, report).detail["reason"] == "report_too_large"
