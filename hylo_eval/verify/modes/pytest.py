"""Mode ``pytest``: a pytest suite, judged by its JSON report.

The shape of repository-repair benchmarks: ``must_pass`` names the tests that the change had to mend and
``must_not_break`` those it must not break. What stops pytest from starting or collecting is a failed attempt
only if all of it comes from files that the candidate may edit.

With trusted files (``restore``, ``protected_paths_files``) pytest looks for ``conftest.py`` no higher than
their common folder, and loads none beside or above a trusted file that is not trusted itself: the candidate may
have put it there. A task whose tests need such a file lists it among the trusted ones.
"""

from __future__ import annotations

import os
from importlib.resources import files as package_files
from pathlib import Path
from typing import Final

import attrs

from hylo_eval.verify.execution.command import DETAIL_CHARACTERS, Completed, ReportChannel, run_command
from hylo_eval.verify.execution.deadline import Deadline
from hylo_eval.verify.execution.folders import private_folder
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
from hylo_eval.verify.pytest_runs.attribution import Attribution, missing_test_dependencies, trusted_files
from hylo_eval.verify.pytest_runs.messages import (
    NOT_RUN,
    PASSED,
    Failure,
    FailureKind,
    PytestReport,
    RunMessages,
    check_summary,
    parse_messages,
)
from hylo_eval.verify.specs.suites import IdMatching, PytestSpec
from hylo_eval.verify.verdict import GradingInfraError, InvalidTask, Reward, zero

_OWN_ARGUMENTS: Final = (
    "--json-report",
    "--json-report-file=none",
    "-p",
    "no:cacheprovider",
    "-o",
    "addopts=",
)
_REPORTING_CODES: Final = (0, 1, 2, 5)
_NO_TESTS_CODE: Final = 5
_OUTPUT_CHARACTERS: Final = 500


@attrs.define
class _Tally:
    """The outcomes of all batches together."""

    outcomes: dict[str, bool] = attrs.field(factory=dict[str, bool])
    reported: set[str] = attrs.field(factory=set[str])
    not_run: set[str] = attrs.field(factory=set[str])
    exit_code: int = 0
    output: str = ""
    failure: Reward | None = None

    def add(self, report: PytestReport, workspace: Path) -> None:
        """Counts a batch; a test that several batches ran has to pass in all of them."""
        for node_id, outcome in report.outcomes:
            test_id = _workspace_id(node_id, report.root, workspace)
            self.reported.add(test_id)
            if outcome in NOT_RUN:
                self.not_run.add(test_id)
            else:
                self.outcomes[test_id] = self.outcomes.get(test_id, True) and outcome in PASSED


@attrs.frozen(kw_only=True)
class _Suite:
    """One grading of a suite: what every batch of it needs."""

    spec: PytestSpec
    workspace: Path
    scratch: Path
    deadline: Deadline
    attribution: Attribution

    def run(self, paths: tuple[str, ...]) -> tuple[Completed, RunMessages] | Reward:
        """Runs pytest on some paths; a verdict where the workspace is gone.

        Raises:
            GradingInfraError: The interpreter cannot be started, or pytest's report is malformed.
        """
        program = package_files("hylo_eval.verify.pytest_runs").joinpath("program.py").read_text("utf-8")
        arguments = (*_OWN_ARGUMENTS, *self._conftest_boundary(), *self.spec.args, *paths)
        word = os.urandom(16).hex()
        with ReportChannel() as channel:
            try:
                completed = run_command(
                    [self.spec.python, "-c", program, *arguments],
                    cwd=self.workspace,
                    timeout_seconds=self.deadline.remaining_seconds,
                    stdin=b"\0".join([f"{channel.write_descriptor} {word}".encode(), *self._guarded_folders()]),
                    environment=self._environment(),
                    output_limit_bytes=MAX_REPORT_BYTES,
                    channel=channel,
                )
            except OSError as error:
                return start_failure(error, self.workspace, what=f"{self.spec.python!r:.200}")
        return completed, parse_messages(completed.report, word)

    def _environment(self) -> dict[str, str]:
        # Compiled files that the candidate put beside restored sources are not looked at.
        variables = {"PYTHONPYCACHEPREFIX": str(self.scratch / "bytecode")}
        name = self.workspace.name
        qualified = any(module == name or module.startswith(f"{name}.") for module in self.spec.candidate_modules)
        if qualified and not (self.workspace / f"{name}.py").is_file():
            inherited = os.environ.get("PYTHONPATH", "")
            variables["PYTHONPATH"] = os.pathsep.join(filter(None, (str(self.workspace.parent), inherited)))
        return variables

    def _conftest_boundary(self) -> tuple[str, ...]:
        trusted = self.attribution.trusted
        if not trusted or any(argument.startswith("--confcutdir") for argument in self.spec.args):
            return ()
        folder = os.path.commonpath([file.parent for file in trusted])
        return (f"--confcutdir={folder}",) if Path(folder).is_dir() else ()

    def _guarded_folders(self) -> list[bytes]:
        """The folders, links resolved, whose ``conftest.py`` would reach trusted files without being one itself."""
        return [os.fsencode(os.path.realpath(file.parent)) for file in self.attribution.untrusted_conftests()]

    def is_healthy(self) -> bool:
        """Whether interpreter, pytest and the report's plugin work where no code of the task is imported."""
        folder = self.scratch / f"probe-{os.urandom(4).hex()}"
        folder.mkdir()
        (folder / "test_probe.py").write_text("def test_probe():\n    assert True\n")
        (folder / "pytest.ini").write_text("[pytest]\n")
        report = folder / "report.json"
        argv = [self.spec.python, "-I", "-m", "pytest", "--json-report", f"--json-report-file={report}"]
        argv += [*_OWN_ARGUMENTS[2:], "-c", str(folder / "pytest.ini"), str(folder / "test_probe.py")]
        variables = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "", "PYTEST_ADDOPTS": "", "PYTEST_PLUGINS": ""}
        probe = run_command(
            argv,
            cwd=folder,
            timeout_seconds=self.deadline.remaining_seconds,
            environment=variables,
            candidate=False,
        )
        return probe.succeeded and report.is_file()


def grade_pytest(spec: PytestSpec, context: GradingContext) -> Reward:
    """Restores the task's files, runs its setup and the suite, and judges the reported tests.

    Raises:
        InvalidTask: The specification or a file that it names is malformed, or the tests import a module
            that the environment lacks.
        GradingInfraError: pytest was interrupted, cannot be run, failed outside the candidate's files, or
            left a report that is incomplete.
    """
    _check(spec)
    context = absolute_paths(context)
    deadline = Deadline.after(spec.timeout)
    failed_setup = prepare_suite(spec, context, deadline)
    if failed_setup is not None:
        if spec.setup_failure_is_infra:
            reason = "timed out" if failed_setup.timed_out else f"ended with exit code {failed_setup.exit_code}"
            output = _tail(failed_setup.stderr_text or failed_setup.stdout_text, DETAIL_CHARACTERS)
            raise GradingInfraError(f"the setup {reason}", output=output)
        return setup_failed(failed_setup)
    workspace = context.workspace
    attribution = Attribution(
        workspace=workspace,
        trusted=trusted_files(spec, context),
        candidate_modules=spec.candidate_modules,
    )
    with private_folder("pytest") as scratch:
        suite = _Suite(spec=spec, workspace=workspace, scratch=scratch, deadline=deadline, attribution=attribution)
        tally = _Tally()
        # Every batch runs before a candidate's failure is returned: a later one may show a broken task.
        for paths in _batches(spec):
            if deadline.passed:
                return zero("timeout", passed=0, total=0)
            early = _run_batch(suite, paths, tally)
            if early is not None:
                return early
    return tally.failure or _grade_tally(spec, tally, attribution)


def _check(spec: PytestSpec) -> None:
    check_suite(spec)
    check_arguments((spec.python, *spec.args, *spec.paths), field="python, args and paths")
    if not spec.python:
        raise InvalidTask("python names no interpreter")
    if spec.batch_size < 0:
        raise InvalidTask(f"batch_size must not be negative, it is {spec.batch_size}")


def _batches(spec: PytestSpec) -> list[tuple[str, ...]]:
    size = spec.batch_size or max(1, len(spec.paths))
    return [spec.paths[start : start + size] for start in range(0, len(spec.paths), size)] or [()]


def _run_batch(suite: _Suite, paths: tuple[str, ...], tally: _Tally) -> Reward | None:
    """Runs one batch into the tally; a verdict when the rest need not run."""
    ran = suite.run(paths)
    if isinstance(ran, Reward):
        return ran
    completed, messages = ran
    if (early := stopped(completed)) is not None:
        return early
    code = completed.exit_code
    if code is None or code < 0 or any(failure.kind is FailureKind.INTERRUPT for failure in messages.failures):
        raise GradingInfraError("pytest was interrupted", exit_code=code)
    report = messages.report
    if code not in _REPORTING_CODES or report is None:
        tally.failure = _startup_failure(suite, paths, completed, messages.failures)
    elif report.failed_collectors:
        tally.failure = _collection_failure(suite, paths, completed, messages)
    elif any(failure.node_id is None for failure in messages.failures):
        tally.failure = _early_end(suite, completed, messages.failures)
    elif code == 2:
        raise GradingInfraError("pytest stopped without a failure to collect", output=_output(completed))
    elif code == _NO_TESTS_CODE:
        tally.failure = tally.failure or zero("no_tests", passed=0, total=0, exit_code=code)
    else:
        check_summary(report)
        outcomes = {outcome for _, outcome in report.outcomes} - NOT_RUN
        if code == 1 and outcomes and outcomes <= PASSED:
            raise GradingInfraError("pytest failed without a failing test", output=_output(completed))
        tally.add(report, suite.workspace)
        tally.exit_code = max(tally.exit_code, code)
        tally.output = _tail(tally.output + completed.stdout_text + completed.stderr_text, DETAIL_CHARACTERS)
    return None


def _startup_failure(
    suite: _Suite, paths: tuple[str, ...], completed: Completed, failures: tuple[Failure, ...]
) -> Reward:
    """The verdict on a run without a report: the candidate's failure only if pytest itself is healthy."""
    blamed = suite.attribution.candidate_files(failures)
    if suite.deadline.passed:
        return zero("timeout", passed=0, total=0)
    if not suite.workspace.is_dir():
        return zero("no_workspace", passed=0, total=0)
    if blamed and suite.is_healthy():
        return _charged("startup_error", completed, blamed, passed=0, total=0)
    _refuse_missing_dependencies(suite, paths, failures)
    raise GradingInfraError(
        f"pytest wrote no report and ended with exit code {completed.exit_code}", output=_output(completed)
    )


def _collection_failure(suite: _Suite, paths: tuple[str, ...], completed: Completed, messages: RunMessages) -> Reward:
    """The verdict on test files that could not be collected."""
    failures = [failure for failure in messages.failures if failure.node_id is not None]
    failed = messages.report.failed_collectors if messages.report else frozenset[str]()
    if frozenset(failure.node_id or "" for failure in failures) != failed:
        raise GradingInfraError("pytest could not collect tests, and did not tell why", output=_output(completed))
    blamed = suite.attribution.candidate_files(failures)
    if not blamed:
        _refuse_missing_dependencies(suite, paths, tuple(failures))
        raise GradingInfraError(
            "pytest could not collect tests because of code that is not the candidate's",
            output=_output(completed),
        )
    return _charged("collection_error", completed, blamed)


def _early_end(suite: _Suite, completed: Completed, failures: tuple[Failure, ...]) -> Reward:
    """The verdict on a session that somebody ended (``pytest.exit``): the tests before that earn nothing."""
    blamed = suite.attribution.candidate_files([failure for failure in failures if failure.node_id is None])
    if not blamed:
        raise GradingInfraError("pytest was ended early by code that is not the candidate's", output=_output(completed))
    return _charged("ended_early", completed, blamed, passed=0, total=0)


def _charged(reason: str, completed: Completed, files: list[str], **counts: int) -> Reward:
    """The zero of a session that files of the candidate kept from its tests."""
    output = _output(completed)
    return zero(reason, category="agent", exit_code=completed.exit_code, output=output, files=files, **counts)


def _refuse_missing_dependencies(suite: _Suite, paths: tuple[str, ...], failures: tuple[Failure, ...]) -> None:
    missing = missing_test_dependencies(failures, paths, suite.workspace)
    if missing:
        raise InvalidTask(f"the tests import modules that the environment lacks: {', '.join(missing)[:500]}")


def _grade_tally(spec: PytestSpec, tally: _Tally, attribution: Attribution) -> Reward:
    outcomes = dict(tally.outcomes)
    # A test that one batch ran and another skipped has not passed.
    outcomes.update(dict.fromkeys(tally.not_run & outcomes.keys(), False))
    if spec.id_matching is IdMatching.UNIQUE_PREFIX:
        outcomes = match_unique_prefixes(outcomes, tally.reported, (*spec.must_pass, *spec.must_not_break))
    reward = grade_required_ids(outcomes, spec, exit_code=tally.exit_code)
    if reward.reward == 1.0:
        return reward
    detail = {**reward.detail, "output": _tail(tally.output, DETAIL_CHARACTERS)}
    # An author who forgot to list one would look for the missing fixtures in vain.
    if ignored := [file for file in attribution.untrusted_conftests() if file.is_file()]:
        detail["conftests_not_loaded"] = sorted(str(file.relative_to(attribution.workspace)) for file in ignored)
    return attrs.evolve(reward, detail=detail)


def match_unique_prefixes(outcomes: dict[str, bool], reported: set[str], required: tuple[str, ...]) -> dict[str, bool]:
    """Gives required ids the outcome of the one reported test that they stand for.

    An id stands for itself, for its form with escaped non-ASCII characters, or, when it was cut off inside
    its parameters (it holds ``[`` and does not end in ``]``), for the one test that begins with it. A test
    that two required ids stand for, and an id reported in both forms, passes for none.
    """
    matched = dict(outcomes)
    claims: dict[str, set[str]] = {}
    for test_id in required:
        escaped = test_id.encode("ascii", "backslashreplace").decode("ascii")
        spellings = {test_id, escaped} & reported
        candidates = spellings
        if not spellings and "[" in test_id and not test_id.endswith("]"):
            candidates = {name for name in reported if name.startswith(test_id)}
        if len(candidates) == 1:
            (target,) = candidates
            claims.setdefault(target, set()).add(test_id)
            matched[test_id] = outcomes.get(target, False)
        else:
            matched[test_id] = False
    for test_ids in claims.values():
        if len(test_ids) > 1:
            matched.update(dict.fromkeys(test_ids, False))
    return matched


def _workspace_id(node_id: str, root: str, workspace: Path) -> str:
    """The node id relative to the workspace; pytest's is relative to the folder of its configuration."""
    file, separator, rest = node_id.partition("::")
    return os.path.relpath(Path(root) / file, workspace) + separator + rest


def _output(completed: Completed) -> str:
    return _tail(completed.stderr_text or completed.stdout_text, _OUTPUT_CHARACTERS)


def _tail(text: str, characters: int) -> str:
    return text.strip()[-characters:]


GRADER: Final = WorkspaceGrader(grade=grade_pytest)
