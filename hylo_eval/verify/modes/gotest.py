"""Mode ``gotest``: ``go test -json``, judged by its stream of events.

Test ids join the package's import path and the test's name: ``example.com/arm.TestHome``. The event format is
described by ``go doc test2json``.
"""

from __future__ import annotations

import re
from sys import getsizeof
from typing import TYPE_CHECKING, Any, Final

from hylo_eval.verify.execution.command import run_command
from hylo_eval.verify.execution.deadline import Deadline, DeadlinePassed
from hylo_eval.verify.execution.suites import (
    absolute_paths,
    check_arguments,
    check_suite,
    grade_required_ids,
    prepare_suite,
    setup_failed,
    stopped,
)
from hylo_eval.verify.execution.workspace import start_failure
from hylo_eval.verify.file_ops.reading import MAX_REPORT_BYTES
from hylo_eval.verify.modes.grader import GradingContext, WorkspaceGrader
from hylo_eval.verify.spec import decode_json
from hylo_eval.verify.verdict import GradingInfraError, Reward, zero

if TYPE_CHECKING:
    from hylo_eval.verify.specs.suites import GotestSpec

MAX_EVENT_BYTES: Final = 1 << 20
"""Longest event; Go cuts what a test writes into events of some kilobytes."""

MAX_NAMES_BYTES: Final = 64 << 20
"""About the most memory for the names of tests and packages; of as much output as is read, Go's own needs half."""

_EVENT: Final = re.compile(rb"(?:\A|[\r\n])[ \t]*+(\{[^\r\n]*+)")
_EVENTS_A_CHECK: Final = 64
_ENTRY_BYTES: Final = 128  # about what a name costs beyond its own bytes: its place in a table, and growing that
_TERMINAL_ACTIONS: Final = frozenset({"pass", "fail", "skip"})


class EventsTooLarge(Exception):
    """More than the events of any suite need, which somebody wrote to exhaust the grader."""


class TestRun:
    """What a stream of events has told so far.

    Attributes:
        outcomes: Whether each test passed; skipped tests are absent.
        packages: Every package that an event named.
        finished: The packages whose own last event came.
        failed: The packages whose own last event was a failure.
        failed_by_test: The packages with a failed test.
        running: Tests that began and did not end, with their package.
        names_bytes: About the memory of all these.
    """

    __test__ = False  # the name begins like a test class, and is none

    def __init__(self) -> None:
        self.outcomes: dict[str, bool] = {}
        self.packages: set[str] = set()
        self.finished: set[str] = set()
        self.failed: set[str] = set()
        self.failed_by_test: set[str] = set()
        self.running: set[tuple[str, str]] = set()
        self.names_bytes = 0

    @property
    def complete(self) -> bool:
        """Whether all that began ended, and every failed package has a failed test to show for it."""
        return self.packages <= self.finished and not self.running and self.failed <= self.failed_by_test

    def add(self, package: str, test: str | None, action: str) -> None:
        """Takes one event into account.

        Raises:
            EventsTooLarge: The names of the tests fill :data:`MAX_NAMES_BYTES`.
        """
        if package not in self.packages:
            self._enter(self.packages, package)
        if test is not None:
            self._add_test(package, test, action)
            return
        if action in _TERMINAL_ACTIONS:
            self._enter(self.finished, package)
        if action == "fail":
            self._enter(self.failed, package)

    def _add_test(self, package: str, test: str, action: str) -> None:
        started = (package, test)
        if action == "run":
            if started not in self.running:
                self.running.add(started)
                self._hold(_size(started))
        elif action in _TERMINAL_ACTIONS and started in self.running:
            self.running.remove(started)
            self.names_bytes -= _size(started)
        if action == "fail":
            self._enter(self.failed_by_test, package)
        if action in ("pass", "fail"):
            test_id = f"{package}.{test}"
            if test_id not in self.outcomes:
                self._hold(getsizeof(test_id) + _ENTRY_BYTES)
            self.outcomes[test_id] = self.outcomes.get(test_id, True) and action == "pass"

    def _enter(self, packages: set[str], package: str) -> None:
        if package not in packages:
            packages.add(package)
            self._hold(getsizeof(package) + _ENTRY_BYTES)

    def _hold(self, size_bytes: int) -> None:
        self.names_bytes += size_bytes
        if self.names_bytes > MAX_NAMES_BYTES:
            raise EventsTooLarge("the events name more tests than there is memory for")


def _size(started: tuple[str, str]) -> int:
    package, test = started
    return getsizeof(package) + getsizeof(test) + getsizeof(started) + _ENTRY_BYTES


def parse_events(stream: bytes, deadline: Deadline) -> TestRun:
    """Reads the output of ``go test -json``; lines that are no JSON object are build output.

    Raises:
        GradingInfraError: A line begins like an event and is none.
        EventsTooLarge: An event is longer than :data:`MAX_EVENT_BYTES`, or they name too many tests.
        DeadlinePassed: The time is over.
    """
    run = TestRun()
    # One by one: as a whole list the lines would be many times as large as the stream.
    for number, match in enumerate(_EVENT.finditer(stream)):
        if number % _EVENTS_A_CHECK == 0:
            deadline.check()
        line = match[1]
        if len(line) > MAX_EVENT_BYTES:
            raise EventsTooLarge(f"an event is longer than {MAX_EVENT_BYTES} bytes")
        text = line.decode(errors="replace").rstrip()
        try:
            event: dict[str, Any] = decode_json(text)
        except ValueError as error:
            raise GradingInfraError(f"go test wrote a malformed event: {error}", line=text[:200]) from error
        package, test, action = event.get("Package", ""), event.get("Test"), event.get("Action", "")
        if not isinstance(package, str) or not isinstance(action, str) or not (test is None or isinstance(test, str)):
            raise GradingInfraError("go test wrote an event whose fields are not texts", line=text[:200])
        # Build events (since Go 1.24) name an import path, not a package under test.
        if package or test is not None or action in _TERMINAL_ACTIONS:
            run.add(package, test, action)
    return run


def grade_gotest(spec: GotestSpec, context: GradingContext) -> Reward:
    """Runs ``go test -json`` in the workspace.

    Raises:
        InvalidTask: The specification or a file to restore is malformed.
        GradingInfraError: There is no Go, or the stream of events is incomplete or contradicts the exit code.
    """
    check_suite(spec)
    context = absolute_paths(context)
    check_arguments((*spec.args, *spec.packages), field="args and packages")
    deadline = Deadline.after(spec.timeout)
    failed_setup = prepare_suite(spec, context, deadline)
    if failed_setup is not None:
        return setup_failed(failed_setup)
    argv = ["go", "test", "-json", *spec.args, *spec.packages]
    try:
        completed = run_command(
            argv,
            cwd=context.workspace,
            timeout_seconds=deadline.remaining_seconds,
            output_limit_bytes=MAX_REPORT_BYTES,
        )
    except OSError as error:
        return start_failure(error, context.workspace, what="go")
    if (early := stopped(completed)) is not None:
        return early
    if completed.exit_code not in (0, 1):
        raise GradingInfraError(f"go test ended with exit code {completed.exit_code}", stderr=completed.stderr_tail)
    try:
        run = parse_events(completed.stdout, deadline)
    except DeadlinePassed:
        return zero("timeout", passed=0, total=0)
    except EventsTooLarge as error:
        return zero("output_too_large", error=str(error), passed=0, total=0)
    if run.outcomes and not run.complete:
        raise GradingInfraError("the events of go test are incomplete or contradict each other")
    if completed.exit_code == 1 and run.outcomes and all(run.outcomes.values()):
        raise GradingInfraError("go test failed without a failing test")
    return grade_required_ids(run.outcomes, spec, exit_code=completed.exit_code)


GRADER: Final = WorkspaceGrader(grade=grade_gotest)
