"""Mode ``stdio``: a program compared on hidden pairs of standard input and output, all or nothing."""

# ruff: noqa: PTH118
# The paths are texts: path objects would show in what a short program costs.

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from hylo_eval.verify.execution.cases import Case, load_cases
from hylo_eval.verify.execution.command import Completed, run_command
from hylo_eval.verify.execution.deadline import check_timeout
from hylo_eval.verify.execution.environment import CommandEnvironment, command_environment
from hylo_eval.verify.execution.folders import private_folder
from hylo_eval.verify.execution.hiding import Launcher, hiding
from hylo_eval.verify.execution.programs import program_path
from hylo_eval.verify.execution.strays import adopting_orphans
from hylo_eval.verify.execution.suites import absolute_paths, check_arguments, split_command
from hylo_eval.verify.execution.workspace import require_workspace
from hylo_eval.verify.file_ops.resources import lies_in, resource_file
from hylo_eval.verify.modes.grader import GradingContext, WorkspaceGrader
from hylo_eval.verify.specs.execution import OutputComparison, StdioSpec
from hylo_eval.verify.verdict import GradingInfraError, InvalidTask, Reward, scored, zero

if TYPE_CHECKING:
    from decimal import Decimal

_ACCEPTED = "1"


def _check(spec: StdioSpec) -> None:
    check_timeout(spec.per_case_timeout, field="per_case_timeout")
    check_arguments([spec.build], field="build")
    if spec.min_cases < 0:
        raise InvalidTask(f"min_cases must not be negative, it is {spec.min_cases}")
    if not math.isfinite(spec.float_tolerance) or spec.float_tolerance < 0:
        raise InvalidTask("float_tolerance must be finite and not negative")


def grade_stdio(spec: StdioSpec, context: GradingContext) -> Reward:
    """Runs the candidate's program on every case; the first failure ends the run.

    Raises:
        InvalidTask: The specification, the cases or the special judge are malformed.
        GradingInfraError: The workspace cannot be entered, or the shell, the special judge's interpreter or any
            program at all cannot be started.
    """
    _check(spec)
    context = absolute_paths(context)
    argv = split_command(spec.command, field="command")
    cases = load_cases(context.tests_dir, spec.cases)
    if len(cases) < max(1, spec.min_cases):
        raise InvalidTask(f"stdio needs at least {max(1, spec.min_cases)} cases, found {len(cases)}")
    if spec.compare is OutputComparison.DECIMAL_LINES:
        for case in cases:
            _decimal_reference(case.expected)
    judge = resource_file(context.tests_dir, spec.special_judge, what="special judge") if spec.special_judge else None
    require_workspace(context.workspace)
    total = len(cases)
    with adopting_orphans(), hiding(_hidden_folder(context, spec, argv)) as launcher:
        program = _Program(spec, context.workspace, argv, launcher, command_environment())
        if spec.build:
            build = program.build(timeout_seconds=spec.per_case_timeout * total)
            if not build.succeeded:
                return zero("build_failed", stderr=build.stderr_tail, passed=0, total=total)
        program = program._replace(path=program_path(argv[0]))  # after the build, which may have made it
        for index, case in enumerate(cases):
            failure = _grade_case(program, case, judge)
            if failure is not None:
                return scored(0.0, **failure, passed=index, total=total, first_failure=case.number)
    return scored(1.0, passed=total, total=total)


def _hidden_folder(context: GradingContext, spec: StdioSpec, argv: list[str]) -> Path | None:
    """The folder of the cases, unless the program itself or its working folder lies in it."""
    folder = os.path.realpath(context.tests_dir / spec.cases)
    used = (context.workspace, *(os.path.join(context.workspace, argument) for argument in argv))
    return None if any(lies_in(os.path.realpath(path), folder) for path in used) else Path(folder)


class _Program(NamedTuple):
    """The candidate's program, which never sees the folder of the cases where that can be helped.

    Attributes:
        spec: How it is run.
        workspace: The folder it is run in.
        argv: Its name and arguments.
        launcher: What starts it with the folder of the cases hidden from it.
        environment: The variables of all its runs.
        path: Where it was found, if it was searched for.
    """

    spec: StdioSpec
    workspace: Path
    argv: list[str]
    launcher: Launcher | None
    environment: CommandEnvironment
    path: str | None = None

    def build(self, *, timeout_seconds: float) -> Completed:
        """Runs the build command.

        Raises:
            GradingInfraError: bash cannot be started, or the workspace is missing.
        """
        argv = ["bash", "-lc", self.spec.build]
        try:
            return run_command(
                argv,
                cwd=self.workspace,
                timeout_seconds=timeout_seconds,
                environment=self.environment,
                launcher=self.launcher,
            )
        except OSError as error:
            raise GradingInfraError(f"bash cannot run in the workspace: {error}") from error

    def run(self, case: Case) -> Completed:
        """Runs the program on a case; OSError if it cannot be started."""
        return run_command(
            self.argv,
            cwd=self.workspace,
            timeout_seconds=self.spec.per_case_timeout,
            stdin=case.stdin,
            environment=self.environment,
            program=self.path,
            launcher=self.launcher,
        )


def _grade_case(program: _Program, case: Case, judge: Path | None) -> dict[str, object] | None:
    """What is wrong with the program on one case, as members of the detail; None when it is right."""
    spec = program.spec
    try:
        completed = program.run(case)
    except (OSError, ValueError) as error:
        return {"reason": "command_failed", "error": str(error)}
    if completed.timed_out:
        return {"reason": "timeout"}
    if completed.flooded:
        return {"reason": "output_too_large"}
    if not completed.succeeded:
        return {"reason": "runtime_error", "returncode": completed.exit_code, "stderr": completed.stderr_tail}
    if judge is not None:
        return None if _judge_accepts(judge, case, completed, spec.per_case_timeout) else {}
    reward = _compare(spec, completed.stdout_text, case.expected)
    return None if reward.reward == 1.0 else reward.detail


def _judge_accepts(judge: Path, case: Case, completed: Completed, timeout_seconds: float) -> bool:
    """Whether the task's judge prints ``1`` on its last line, given input, expected and actual output.

    A judge that fails or takes too long rejects: the output it reads is the candidate's.
    """
    with private_folder("stdio") as folder:
        files = {"input.txt": case.stdin, "expected.txt": case.expected.encode(), "got.txt": completed.stdout}
        for name, content in files.items():
            (folder / name).write_bytes(content)
        argv = ["python3", str(judge), *(str(folder / name) for name in files)]
        try:
            verdict = run_command(argv, cwd=judge.parent, timeout_seconds=timeout_seconds, candidate=False)
        except OSError as error:
            raise GradingInfraError(f"the special judge cannot be started: {error}") from error
    last_line = verdict.stdout_text.strip().rpartition("\n")[2].strip()
    return verdict.succeeded and last_line == _ACCEPTED


def grade_stdio_candidate(spec: StdioSpec, candidate: object, expected: str) -> Reward:
    """Compares a captured output with the expected one, without running anything.

    Raises:
        InvalidTask: The specification has a special judge, which only the file grader runs, or the expected
            output is malformed.
    """
    _check(spec)
    if spec.special_judge:
        raise InvalidTask("a special judge cannot run on a captured output")
    if spec.compare is OutputComparison.DECIMAL_LINES:
        _decimal_reference(expected)
    if not isinstance(candidate, str):
        return zero("invalid_stdout")
    return _compare(spec, candidate, expected)


def _compare(spec: StdioSpec, output: str, expected: str) -> Reward:
    match spec.compare:
        case OutputComparison.EXACT:
            return scored(float(_stripped_lines(output) == _stripped_lines(expected)))
        case OutputComparison.TOKENS:
            return scored(float(output.split() == expected.split()))
        case OutputComparison.FLOAT:
            got, want = output.split(), expected.split()
            close = len(got) == len(want) and all(
                _float_equal(left, right, spec.float_tolerance) for left, right in zip(got, want, strict=True)
            )
            return scored(float(close))
        case OutputComparison.DECIMAL_LINES:
            try:
                lines = _decimal_lines(output)
            except ValueError:
                return zero("nonfinite_stdout")
            return scored(float(lines == _decimal_reference(expected)))


def _stripped_lines(text: str) -> str:
    """Blanks at the end of a line and blank lines around the output never change an answer."""
    lines = [line.rstrip() for line in text.replace("\r\n", "\n").split("\n")]
    return "\n".join(lines).strip("\n")


def _float_equal(got: str, expected: str, tolerance: float) -> bool:
    """Whether tokens are the same, or numbers within the absolute or relative tolerance (inclusive)."""
    if got == expected:
        return True
    try:
        left, right = float(got), float(expected)
    except ValueError:
        return False
    if not (math.isfinite(left) and math.isfinite(right)):
        return left == right
    difference = abs(left - right)
    return difference <= tolerance or difference <= tolerance * abs(right)


_Line: TypeAlias = "str | list[Decimal]"


def _decimal_lines(text: str) -> list[_Line]:
    """The lines of an output: numbers where every token of the line is one, else the stripped text.

    Raises:
        ValueError: A line holds an infinity or a NaN.
    """
    from decimal import Decimal, InvalidOperation

    lines: list[_Line] = []
    for raw in text.strip().split("\n"):
        line = raw.strip()
        try:
            numbers = [Decimal(token) for token in line.split()]
        except (InvalidOperation, OverflowError):
            lines.append(line)
            continue
        if not all(number.is_finite() for number in numbers):
            raise ValueError("a line holds a number that is not finite")
        lines.append(numbers)
    return lines


def _decimal_reference(expected: str) -> list[_Line]:
    try:
        return _decimal_lines(expected)
    except ValueError as error:
        raise InvalidTask("an expected output holds a number that is not finite") from error


GRADER: Final = WorkspaceGrader(grade=grade_stdio)
