"""Mode ``junit``: a test command judged by the JUnit XML reports it leaves in the workspace.

Test ids join ``classname`` and ``name`` with a dot, ``com.example.ArmTest.homes``. The counts that a suite
declares (``tests``, ``failures``, ``errors``, ``skipped``) must be those of its test cases: a report cut
short by a crash is thereby told from a small one.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final

import attrs

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
from hylo_eval.verify.extras import import_extra
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


@attrs.define
class _Counts:
    """How many test cases were seen, in all and by outcome."""

    tests: int = 0
    failures: int = 0
    errors: int = 0
    skipped: int = 0


def _remove_old_reports(workspace: Path, pattern: str) -> None:
    """Deletes reports that were there before the tests, without following a link to one elsewhere."""
    for report in files_matching(workspace, pattern):
        *folders, name = PurePosixPath(report).parts
        with suppress(UnreadableFile, OSError), open_folder_beneath(workspace, tuple(folders)) as folder:
            os.unlink(name, dir_fd=folder)


def parse_report(content: bytes) -> dict[str, bool]:
    """Whether each test case of a report passed; skipped ones are absent, repeated ones must all pass.

    Raises:
        GradingInfraError: The report is no XML, or a suite declares other counts than it holds.
    """
    defused: Any = import_extra("defusedxml.ElementTree", extra="schema")
    seen = _Counts()
    outcomes: dict[str, bool] = {}
    try:
        # A suite comes up twice: before what it holds, and with the counts of then, after it.
        pending: list[tuple[Any, _Counts | None]] = [(defused.fromstring(content), None)]
        while pending:
            element, before = pending.pop()
            if before is not None:
                _check_counts(element.attrib, seen, before)
                continue
            if element.tag in _SUITES:
                pending.append((element, attrs.evolve(seen)))
            elif element.tag == "testcase":
                _add_case(element, seen, outcomes)
            pending.extend((child, None) for child in reversed(element))
    except (SyntaxError, ValueError, LookupError) as error:
        raise GradingInfraError(f"a JUnit report is malformed: {type(error).__name__}: {error}") from error
    return outcomes


def _check_counts(attributes: Mapping[str, str], seen: _Counts, before: _Counts) -> None:
    for name in _COUNTS:
        declared = attributes.get(name)
        observed = getattr(seen, name) - getattr(before, name)
        if declared is not None and int(declared) != observed:
            raise GradingInfraError(
                f"a JUnit report is incomplete: it declares {name}={declared[:20]}, and holds {observed}"
            )


def _add_case(case: Any, seen: _Counts, outcomes: dict[str, bool]) -> None:
    failed, errored, skipped = (case.find(tag) is not None for tag in ("failure", "error", "skipped"))
    seen.tests += 1
    seen.failures += failed
    seen.errors += errored
    seen.skipped += skipped
    name = case.get("name")
    if name is None or skipped:
        return
    test_id = ".".join(part for part in (case.get("classname"), name) if part)
    outcomes[test_id] = outcomes.get(test_id, True) and not (failed or errored)


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
    _remove_old_reports(context.workspace, spec.report)
    try:
        completed = run_command(argv, cwd=context.workspace, timeout_seconds=deadline.remaining_seconds)
    except OSError as error:
        if is_workspace_program(argv[0], context.workspace):
            return zero("command_failed", error=str(error), passed=0, total=0)
        raise GradingInfraError(f"the test command cannot be started: {error}") from error
    return stopped(completed) or _grade_reports(spec, context.workspace, completed)


def _grade_reports(spec: JunitSpec, workspace: Path, completed: Completed) -> Reward:
    code = completed.exit_code
    if code not in (0, 1):
        raise GradingInfraError(f"the test command ended with exit code {code}", stderr=completed.stderr_tail)
    outcomes: dict[str, bool] = {}
    count = 0
    for report in files_matching(workspace, spec.report):
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
