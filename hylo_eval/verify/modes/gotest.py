"""Mode ``gotest``: ``go test -json``, judged by its stream of events.

Test ids join the package's import path and the test's name: ``example.com/arm.TestHome``. The event format is
described by ``go doc test2json``.
"""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any, Final, cast

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
    from collections.abc import Iterator

    from hylo_eval.verify.specs.suites import GotestSpec

_TERMINAL_ACTIONS: Final = frozenset({"pass", "fail", "skip"})


class TestRun:
    """What a stream of events has told so far.

    Attributes:
        outcomes: Whether each test passed; skipped tests are absent.
        packages: Every package that an event named.
        finished: The packages whose own last event came.
        failed: The packages whose own last event was a failure.
        failed_by_test: The packages with a failed test.
        running: Tests that began and did not end, with their package.
    """

    __test__ = False  # the name begins like a test class, and is none

    def __init__(self) -> None:
        self.outcomes: dict[str, bool] = {}
        self.packages: set[str] = set()
        self.finished: set[str] = set()
        self.failed: set[str] = set()
        self.failed_by_test: set[str] = set()
        self.running: set[tuple[str, str]] = set()

    @property
    def complete(self) -> bool:
        """Whether all that began ended, and every failed package has a failed test to show for it."""
        return self.packages <= self.finished and not self.running and self.failed <= self.failed_by_test

    def add(self, package: str, test: str | None, action: str) -> None:
        """Takes one event into account."""
        self.packages.add(package)
        if test is None:
            if action in _TERMINAL_ACTIONS:
                self.finished.add(package)
            if action == "fail":
                self.failed.add(package)
            return
        if action == "run":
            self.running.add((package, test))
        elif action in _TERMINAL_ACTIONS:
            self.running.discard((package, test))
        if action == "fail":
            self.failed_by_test.add(package)
        if action in ("pass", "fail"):
            test_id = f"{package}.{test}"
            self.outcomes[test_id] = self.outcomes.get(test_id, True) and action == "pass"


def parse_events(stream: bytes, deadline: Deadline) -> TestRun:
    """Reads the output of ``go test -json``; lines that are no JSON object are build output.

    Raises:
        GradingInfraError: A line begins like an event and is none.
        DeadlinePassed: The time is over.
    """
    run = TestRun()
    for line in _lines(stream):
        deadline.check()
        text = line.strip()
        if not text.startswith("{"):
            continue
        try:
            event = cast("dict[str, Any]", decode_json(text))
        except ValueError as error:
            raise GradingInfraError(f"go test wrote a malformed event: {error}", line=text[:200]) from error
        package, test, action = event.get("Package", ""), event.get("Test"), event.get("Action", "")
        if not isinstance(package, str) or not isinstance(action, str) or not isinstance(test, str | None):
            raise GradingInfraError("go test wrote an event whose fields are not texts", line=text[:200])
        # Build events (since Go 1.24) name an import path, not a package under test.
        if package or test is not None or action in _TERMINAL_ACTIONS:
            run.add(package, test, action)
    return run


def _lines(stream: bytes) -> Iterator[str]:
    """The lines one by one: as a whole list they would be several times as large as the stream."""
    for line in BytesIO(stream):
        yield from line.decode(errors="replace").replace("\r", "\n").split("\n")


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
    if run.outcomes and not run.complete:
        raise GradingInfraError("the events of go test are incomplete or contradict each other")
    if completed.exit_code == 1 and run.outcomes and all(run.outcomes.values()):
        raise GradingInfraError("go test failed without a failing test")
    return grade_required_ids(run.outcomes, spec, exit_code=completed.exit_code)


GRADER: Final = WorkspaceGrader(grade=grade_gotest)
