"""Specifications of the modes that run a test suite in the candidate's workspace."""

from __future__ import annotations

from enum import StrEnum

import attrs

from hylo_eval.verify.specs import fields
from hylo_eval.verify.specs.execution import ExecutionSpec


class IdMatching(StrEnum):
    """Whether a required test id is the whole id of a test, or a prefix that only one test has."""

    EXACT = "exact"
    UNIQUE_PREFIX = "unique_prefix"


@attrs.frozen(kw_only=True)
class TestSuiteSpec(ExecutionSpec):
    """The fields that the three test suites share.

    Attributes:
        must_pass: Test ids that must be reported and pass.
        must_not_break: Test ids that passed before and must still pass.
        setup: A shell command run in the workspace before the tests.
        restore: Paths copied from the tests directory over the workspace's before the tests.
        timeout: Seconds for the whole run of the tests.
    """

    __test__ = False  # the name begins like a test class, and is none

    must_pass: tuple[str, ...] = attrs.field(default=(), converter=fields.TEXT_LIST)
    must_not_break: tuple[str, ...] = attrs.field(default=(), converter=fields.TEXT_LIST)
    setup: str = attrs.field(default="", converter=fields.TEXT)
    restore: tuple[str, ...] = attrs.field(default=(), converter=fields.TEXT_LIST)
    timeout: float = attrs.field(default=600.0, converter=fields.NUMBER)


@attrs.frozen(kw_only=True)
class PytestSpec(TestSuiteSpec):
    """A pytest suite.

    Attributes:
        paths: Test paths given to pytest.
        args: Further arguments for pytest.
        candidate_modules: Modules that the candidate is asked to write; their absence is a failed attempt.
        protected_paths_files: Manifests in the tests directory of workspace paths that setup restored.
        python: The interpreter of the task image.
        setup_failure_is_infra: Whether a failing setup abstains instead of scoring zero.
        batch_size: How many test ids one run of pytest takes; 0 for all.
        id_matching: How required ids are matched with reported ones.
    """

    paths: tuple[str, ...] = attrs.field(default=(), converter=fields.TEXT_LIST)
    args: tuple[str, ...] = attrs.field(default=(), converter=fields.TEXT_LIST)
    candidate_modules: tuple[str, ...] = attrs.field(default=(), converter=fields.TEXT_LIST)
    protected_paths_files: tuple[str, ...] = attrs.field(default=(), converter=fields.TEXT_LIST)
    python: str = attrs.field(default="python3", converter=fields.TEXT)
    setup_failure_is_infra: bool = attrs.field(default=False, converter=fields.FLAG)
    batch_size: int = attrs.field(default=0, converter=fields.INTEGER)
    id_matching: IdMatching = attrs.field(default=IdMatching.EXACT, converter=fields.named(fields.choice(IdMatching)))


@attrs.frozen(kw_only=True)
class JunitSpec(TestSuiteSpec):
    """A test command that writes JUnit XML.

    Attributes:
        command: The shell command of the tests.
        report: A glob of the reports inside the workspace.
    """

    command: str = attrs.field(converter=fields.TEXT)
    report: str = attrs.field(default="**/TEST-*.xml", converter=fields.TEXT)


@attrs.frozen(kw_only=True)
class GotestSpec(TestSuiteSpec):
    """A Go test suite, run with ``go test -json``."""

    packages: tuple[str, ...] = attrs.field(default=("./...",), converter=fields.TEXT_LIST)
    args: tuple[str, ...] = attrs.field(default=(), converter=fields.TEXT_LIST)
