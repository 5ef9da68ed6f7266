"""Mode ``junit``: a test command judged by the JUnit XML reports it leaves in the workspace.

Test ids join ``classname`` and ``name`` with a dot, ``com.example.ArmTest.homes``. The counts that a suite
declares (``tests``, ``failures``, ``errors``, ``skipped``) must be those of its test cases: a report cut
short by a crash is thereby told from a small one. The task's timeout covers reading the reports, which are bounded
(:mod:`hylo_eval.verify.execution.junit_reports`): beyond a bound the reward is zero, as beyond the timeout.
"""

from __future__ import annotations

import os
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from hylo_eval.verify.execution.command import Completed, run_command
from hylo_eval.verify.execution.deadline import Deadline, DeadlinePassed
from hylo_eval.verify.execution.junit_reports import CHUNK_BYTES, JunitReports, ReportTooLarge
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
    UnreadableReason,
    chunks_beneath,
    open_folder_beneath,
)
from hylo_eval.verify.file_ops.walking import TooManyFiles, check_glob, files_matching
from hylo_eval.verify.modes.grader import GradingContext, WorkspaceGrader
from hylo_eval.verify.verdict import GradingInfraError, Reward, zero

if TYPE_CHECKING:
    from pathlib import Path

    from hylo_eval.verify.specs.suites import JunitSpec

MAX_REPORTS: Final = 10_000
"""Most reports of a run that are looked for."""


def _reports(workspace: Path, pattern: str, deadline: Deadline) -> list[str]:
    try:
        return files_matching(workspace, pattern, deadline=deadline, max_files=MAX_REPORTS)
    except TooManyFiles as error:
        raise ReportTooLarge(f"the workspace holds too many folders, or more than {MAX_REPORTS} reports") from error


def _remove_old_reports(workspace: Path, pattern: str, deadline: Deadline) -> frozenset[str]:
    """Deletes reports that were there before the tests, without following a link to one elsewhere.

    Returns:
        Those that this process may not delete, and that nobody may take for reports of the tests.
    """
    left: set[str] = set()
    for report in _reports(workspace, pattern, deadline):
        *folders, name = PurePosixPath(report).parts
        try:
            with open_folder_beneath(workspace, tuple(folders)) as folder:
                os.unlink(name, dir_fd=folder)
        except (UnreadableFile, OSError):
            left.add(report)
    return frozenset(left)


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
    try:
        return _grade_run(spec, context, argv, deadline)
    except DeadlinePassed:
        return zero("timeout", passed=0, total=0)
    except ReportTooLarge as error:
        return zero("report_too_large", error=str(error), passed=0, total=0)


def _grade_run(spec: JunitSpec, context: GradingContext, argv: list[str], deadline: Deadline) -> Reward:
    old = _remove_old_reports(context.workspace, spec.report, deadline)
    try:
        completed = run_command(argv, cwd=context.workspace, timeout_seconds=deadline.remaining_seconds)
    except OSError as error:
        if is_workspace_program(argv[0], context.workspace):
            return zero("command_failed", error=str(error), passed=0, total=0)
        return start_failure(error, context.workspace, what="the test command")
    return stopped(completed) or _grade_reports(spec, context.workspace, completed, old, deadline)


def _grade_reports(
    spec: JunitSpec, workspace: Path, completed: Completed, old: frozenset[str], deadline: Deadline
) -> Reward:
    code = completed.exit_code
    if code not in (0, 1):
        raise GradingInfraError(f"the test command ended with exit code {code}", stderr=completed.stderr_tail)
    reports = JunitReports(deadline)
    count = 0
    for report in _reports(workspace, spec.report, deadline):
        if report in old:
            continue
        left_bytes = MAX_REPORT_BYTES - reports.size_bytes
        try:
            reports.read(chunks_beneath(workspace, report, limit_bytes=left_bytes, chunk_bytes=CHUNK_BYTES))
        except UnreadableFile as error:
            if error.reason is UnreadableReason.TOO_LARGE:
                raise ReportTooLarge(f"the JUnit reports are larger than {MAX_REPORT_BYTES} bytes") from error
            # Links lead to reports of somebody else's making.
            continue
        count += 1
    if not count:
        return zero("no_report", passed=0, total=0, exit_code=code)
    outcomes = reports.outcomes
    if code == 1 and outcomes and all(outcomes.values()):
        raise GradingInfraError("the test command failed without a failing test")
    return grade_required_ids(outcomes, spec, exit_code=code, reports=count)


GRADER: Final = WorkspaceGrader(grade=grade_junit)
