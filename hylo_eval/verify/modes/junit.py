"""Mode ``junit``: a test command judged by the JUnit XML reports it leaves in the workspace.

Test ids join ``classname`` and ``name`` with a dot, ``com.example.ArmTest.homes``. The counts that a suite
declares (``tests``, ``failures``, ``errors``, ``skipped``) must be those of its test cases: a report cut
short by a crash is thereby told from a small one.
"""

from __future__ import annotations

import os
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final, NamedTuple
from xml.parsers import expat

from hylo_eval.verify.execution.command import Completed, run_command
from hylo_eval.verify.execution.deadline import Deadline
from hylo_eval.verify.execution.suites import (
    absolute_paths,
    check_suite,
    grade_required_ids,
    is_workspace_program,
    prepare_suite,
    setup_failed,
    split_command,
    stopped,
)
from hylo_eval.verify.execution.workspace import start_failure
from hylo_eval.verify.file_ops.reading import (
    MAX_REPORT_BYTES,
    UnreadableFile,
    open_folder_beneath,
    read_beneath,
)
from hylo_eval.verify.file_ops.walking import check_glob, files_matching
from hylo_eval.verify.modes.grader import GradingContext, WorkspaceGrader
from hylo_eval.verify.verdict import GradingInfraError, Reward, zero

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from hylo_eval.verify.specs.suites import JunitSpec

_COUNTS: Final = ("tests", "failures", "errors", "skipped")
_SUITES: Final = frozenset({"testsuite", "testsuites"})
_RESULTS: Final = {"failure": "failures", "error": "errors", "skipped": "skipped"}
"""The elements of a test case that is not passed, and the counts they belong to."""

_NAMESPACE_END: Final = "}"


def _remove_old_reports(workspace: Path, pattern: str) -> frozenset[str]:
    """Deletes reports that were there before the tests, without following a link to one elsewhere.

    Returns:
        Those that this process may not delete, and that nobody may take for reports of the tests.
    """
    left: set[str] = set()
    for report in files_matching(workspace, pattern):
        *folders, name = PurePosixPath(report).parts
        try:
            with open_folder_beneath(workspace, tuple(folders)) as folder:
                os.unlink(name, dir_fd=folder)
        except (UnreadableFile, OSError):
            left.add(report)
    return frozenset(left)


def parse_report(content: bytes) -> dict[str, bool]:
    """Whether each test case of a report passed; skipped ones are absent, repeated ones must all pass.

    Raises:
        GradingInfraError: The report is no XML, or a suite declares other counts than it holds.
    """
    reading = _Reading()
    parser = expat.ParserCreate(None, _NAMESPACE_END)
    parser.StartElementHandler = reading.start
    parser.EndElementHandler = reading.end
    parser.EntityDeclHandler = _refuse_entity
    parser.SkippedEntityHandler = _refuse_entity
    try:
        parser.Parse(content, True)  # noqa: FBT003 - expat takes the flag by position
    except (expat.ExpatError, ValueError, LookupError) as error:
        raise GradingInfraError(f"a JUnit report is malformed: {type(error).__name__}: {error}") from error
    return reading.outcomes


def _refuse_entity(*_declaration: object) -> None:
    raise ValueError("entities are refused")


class _Suite(NamedTuple):
    """A suite that has begun, and the counts of then."""

    attributes: Mapping[str, str]
    before: Mapping[str, int]


class _Case(NamedTuple):
    """A test case that has begun, and the results that stand in it."""

    attributes: Mapping[str, str]
    results: set[str]


class _Reading:
    """A report read as a stream: no tree is built of it.

    Attributes:
        outcomes: Whether each test case passed so far.
    """

    def __init__(self) -> None:
        self.outcomes: dict[str, bool] = {}
        self._seen: dict[str, int] = dict.fromkeys(_COUNTS, 0)
        self._open: list[_Suite | _Case | None] = []

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """An element begins."""
        if tag == "testcase":
            self._open.append(_Case(attributes, set()))
        elif tag in _SUITES:
            self._open.append(_Suite(attributes, self._seen.copy()))
        else:
            around = self._open[-1] if self._open else None
            if tag in _RESULTS and isinstance(around, _Case):
                around.results.add(tag)
            self._open.append(None)

    def end(self, _tag: str) -> None:
        """An element ends: all that it holds has been seen."""
        element = self._open.pop()
        if isinstance(element, _Case):
            self._add_case(element.attributes, element.results)
        elif element is not None:
            self._check_counts(element)

    def _add_case(self, attributes: Mapping[str, str], results: set[str]) -> None:
        self._seen["tests"] += 1
        for result in results:
            self._seen[_RESULTS[result]] += 1
        name = attributes.get("name")
        if name is None or "skipped" in results:
            return
        group = attributes.get("classname")
        test_id = f"{group}.{name}" if group and name else group or name
        self.outcomes[test_id] = self.outcomes.get(test_id, True) and not results

    def _check_counts(self, suite: _Suite) -> None:
        for name in _COUNTS:
            declared = suite.attributes.get(name)
            observed = self._seen[name] - suite.before[name]
            if declared is not None and int(declared) != observed:
                raise GradingInfraError(
                    f"a JUnit report is incomplete: it declares {name}={declared[:20]}, and holds {observed}"
                )


def grade_junit(spec: JunitSpec, context: GradingContext) -> Reward:
    """Runs the test command in the workspace and reads its reports.

    Raises:
        InvalidTask: The specification or a file to restore is malformed.
        GradingInfraError: The command cannot be started, ends with another exit code than 0 and 1, or its
            reports are malformed, incomplete or contradict the exit code.
    """
    check_suite(spec)
    context = absolute_paths(context)
    check_glob(spec.report, field="report")
    argv = split_command(spec.command, field="command")
    deadline = Deadline.after(spec.timeout)
    failed_setup = prepare_suite(spec, context, deadline)
    if failed_setup is not None:
        return setup_failed(failed_setup)
    old = _remove_old_reports(context.workspace, spec.report)
    try:
        completed = run_command(argv, cwd=context.workspace, timeout_seconds=deadline.remaining_seconds)
    except OSError as error:
        if is_workspace_program(argv[0], context.workspace):
            return zero("command_failed", error=str(error), passed=0, total=0)
        return start_failure(error, context.workspace, what="the test command")
    return stopped(completed) or _grade_reports(spec, context.workspace, completed, old)


def _grade_reports(spec: JunitSpec, workspace: Path, completed: Completed, old: frozenset[str]) -> Reward:
    code = completed.exit_code
    if code not in (0, 1):
        raise GradingInfraError(f"the test command ended with exit code {code}", stderr=completed.stderr_tail)
    outcomes: dict[str, bool] = {}
    count = 0
    for report in files_matching(workspace, spec.report):
        if report in old:
            continue
        try:
            content = read_beneath(workspace, report, limit_bytes=MAX_REPORT_BYTES)
        except UnreadableFile:
            # Links lead to reports of somebody else's making; an oversized one was not made for reading.
            continue
        count += 1
        for test_id, passed in parse_report(content).items():
            outcomes[test_id] = outcomes.get(test_id, True) and passed
    if not count:
        return zero("no_report", passed=0, total=0, exit_code=code)
    if code == 1 and outcomes and all(outcomes.values()):
        raise GradingInfraError("the test command failed without a failing test")
    return grade_required_ids(outcomes, spec, exit_code=code, reports=count)


GRADER: Final = WorkspaceGrader(grade=grade_junit)
