"""What the three test suites share: setup, the command line, and the rule from test ids to a verdict."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, Any

from hylo_eval.verify.execution.command import Completed, run_command
from hylo_eval.verify.execution.deadline import check_timeout
from hylo_eval.verify.execution.workspace import require_workspace
from hylo_eval.verify.file_ops.restore import restore
from hylo_eval.verify.verdict import GradingInfraError, InvalidTask, Reward, scored, zero

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from hylo_eval.verify.execution.deadline import Deadline
    from hylo_eval.verify.modes.grader import GradingContext
    from hylo_eval.verify.specs.suites import TestSuiteSpec


def absolute_paths(context: GradingContext) -> GradingContext:
    """The context with absolute folders: commands run in the workspace, not in the current folder."""
    return context._replace(tests_dir=context.tests_dir.absolute(), workspace=context.workspace.absolute())


def split_command(command: str, *, field: str) -> list[str]:
    """The program and arguments of a command line, read without a shell.

    Raises:
        InvalidTask: The command is empty, leaves a quotation open, or holds a NUL.
    """
    try:
        argv = shlex.split(command)
    except ValueError as error:
        raise InvalidTask(f"{field} is not a command line: {error}") from error
    if not argv or "\0" in command:
        raise InvalidTask(f"{field} names no program")
    return argv


def check_arguments(arguments: Iterable[str], *, field: str) -> None:
    """Refuses arguments that no program can be given.

    Raises:
        InvalidTask: An argument holds a NUL.
    """
    if any("\0" in argument for argument in arguments):
        raise InvalidTask(f"{field} holds a NUL character")


def check_suite(spec: TestSuiteSpec) -> None:
    """Refuses values that every test suite refuses.

    Raises:
        InvalidTask: The timeout is not positive and finite, or the setup holds a NUL.
    """
    check_timeout(spec.timeout, field="timeout")
    check_arguments([spec.setup], field="setup")


def run_trusted_shell(command: str, context: GradingContext, *, timeout_seconds: float) -> Completed:
    """Runs a shell command of the task in the workspace, which knows where the tests directory is.

    Raises:
        GradingInfraError: bash cannot be started, or the workspace is missing.
    """
    variables = {
        "VERIFYIT_TESTS_DIR": str(context.tests_dir),
        "VERIFYIT_WORKSPACE": str(context.workspace),
    }
    try:
        return run_command(
            ["bash", "-lc", command],
            cwd=context.workspace,
            timeout_seconds=timeout_seconds,
            environment=variables,
            candidate=False,
        )
    except OSError as error:
        raise GradingInfraError(f"bash cannot run in the workspace: {error}") from error


def prepare_suite(spec: TestSuiteSpec, context: GradingContext, deadline: Deadline) -> Completed | None:
    """Restores the task's files and runs its setup.

    Returns:
        The setup command if it failed, else None.

    Raises:
        InvalidTask: A file to restore is missing or leaves its folder.
        GradingInfraError: The workspace is missing or cannot be written, or no shell can be run.
    """
    try:
        if spec.restore:
            restore(spec.restore, tests_dir=context.tests_dir, workspace=context.workspace)
    except OSError as error:
        require_workspace(context.workspace)
        raise GradingInfraError(f"the task's files cannot be restored: {error}") from error
    require_workspace(context.workspace)
    if not spec.setup:
        return None
    setup = run_trusted_shell(spec.setup, context, timeout_seconds=deadline.remaining_seconds)
    return None if setup.succeeded else setup


def setup_failed(setup: Completed) -> Reward:
    """The verdict on a failed setup: what the candidate left behind cannot be prepared."""
    return zero("setup_failed", stderr=setup.stderr_tail, passed=0, total=0, exit_code=setup.exit_code)


def stopped(completed: Completed) -> Reward | None:
    """The verdict on a suite that was ended at its deadline or for its output, else None."""
    if completed.timed_out:
        return zero("timeout", passed=0, total=0)
    if completed.flooded:
        return zero("output_too_large", passed=0, total=0)
    return None


def is_workspace_program(program: str, workspace: Path) -> bool:
    """Whether a program is a file of the workspace, so that its absence is the candidate's doing."""
    if os.sep not in program:
        return False
    return (workspace / program).absolute().is_relative_to(workspace.absolute())


def grade_required_ids(outcomes: Mapping[str, bool], spec: TestSuiteSpec, **detail: Any) -> Reward:
    """The verdict on a whole suite: all or nothing.

    With required ids, all of them must have been reported and have passed: an absent or skipped one failed.
    Without, at least one test must have run and none may have failed.

    Args:
        outcomes: Whether each test passed; tests that were skipped are absent.
        spec: The ids that must pass or must not break.
        detail: Further members of the verdict's detail.
    """
    required = (*spec.must_pass, *spec.must_not_break)
    if not required and not outcomes:
        return zero("no_tests", passed=0, total=0, **detail)
    ids = required or tuple(outcomes)
    failures = [test_id for test_id in ids if not outcomes.get(test_id, False)]
    counts = {"passed": len(ids) - len(failures), "total": len(ids)}
    if failures:
        return scored(0.0, **counts, first_failure=failures[0], **detail)
    return scored(1.0, **counts, **detail)
