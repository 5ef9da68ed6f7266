"""JUnit XML reports read as a stream: no tree is built of them, and what they can cost is bounded.

The command that wrote them ran the candidate's code. Names are read without their namespace, which some producers
declare and others do not.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final, NamedTuple
from xml.parsers import expat

from hylo_eval.verify.verdict import GradingInfraError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hylo_eval.verify.execution.deadline import Deadline

CHUNK_BYTES: Final = 64 * 1024
"""How much is read between two looks at the clock."""

MAX_ELEMENTS: Final = 1_000_000
"""Most XML elements in all reports together; each test case is one."""

MAX_DEPTH: Final = 10_000
"""Deepest nest of elements."""

MAX_TOKEN_BYTES: Final = 1024 * 1024
"""Longest tag, comment or declaration: the parser keeps these whole, and reads them anew with every chunk."""

MAX_NAMES: Final = 10_000
"""Most different names of elements and attributes in a report, which the parser remembers to its end."""

MAX_ID_BYTES: Final = 64 * 1024 * 1024
"""Most memory for the test ids of all reports."""

_COUNTS: Final = ("tests", "failures", "errors", "skipped")
_SUITES: Final = frozenset({"testsuite", "testsuites"})
_RESULTS: Final = {"failure": "failures", "error": "errors", "skipped": "skipped"}
"""The elements of a test case that is not passed, and the counts they belong to."""

_NAMESPACE_END: Final = "}"


class ReportTooLarge(Exception):
    """Reports that exceed a bound; the text says which."""


class _Suite(NamedTuple):
    """A suite that has begun, and the counts of then."""

    declared: Mapping[str, int]
    before: Mapping[str, int]


class _Case(NamedTuple):
    """A test case that has begun, and the results that stand in it."""

    test_id: str | None
    results: set[str]


class JunitReports:
    """The test cases of one report or several.

    Args:
        deadline: When to stop reading.

    Attributes:
        outcomes: Whether each test case passed so far; skipped ones are absent, repeated ones must all pass.
        size_bytes: How much was read so far.
    """

    def __init__(self, deadline: Deadline) -> None:
        self.outcomes: dict[str, bool] = {}
        self.size_bytes = 0
        self._deadline = deadline
        self._elements = 0
        self._id_bytes = 0
        self._seen: dict[str, int] = dict.fromkeys(_COUNTS, 0)
        self._open: list[_Suite | _Case | None] = []

    def read(self, chunks: Iterable[bytes]) -> None:
        """Adds a report.

        Raises:
            GradingInfraError: The report is no XML, or a suite declares other counts than it holds.
            ReportTooLarge: It exceeds a bound, alone or with those before it.
            DeadlinePassed: The time is over.
        """
        names: dict[str, str] = {}
        parser = expat.ParserCreate(None, _NAMESPACE_END, names)
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        # Entities multiply what stands in a report, and so do default attributes.
        parser.EntityDeclHandler = _refuse_declaration
        parser.AttlistDeclHandler = _refuse_declaration
        parser.SkippedEntityHandler = _refuse_declaration
        fed_bytes = 0
        try:
            for chunk in chunks:
                self._deadline.check()
                parser.Parse(chunk, False)  # noqa: FBT003 - expat takes the flag by position
                fed_bytes += len(chunk)
                self.size_bytes += len(chunk)
                if fed_bytes - parser.CurrentByteIndex > MAX_TOKEN_BYTES:
                    raise ReportTooLarge(f"a tag of a JUnit report is longer than {MAX_TOKEN_BYTES} bytes")
                if len(names) > MAX_NAMES:
                    raise ReportTooLarge(f"a JUnit report has more than {MAX_NAMES} names of elements and attributes")
            parser.Parse(b"", True)  # noqa: FBT003
        except (expat.ExpatError, ValueError, LookupError) as error:
            raise GradingInfraError(f"a JUnit report is malformed: {type(error).__name__}: {error}") from error

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        self._elements += 1
        if self._elements > MAX_ELEMENTS:
            raise ReportTooLarge(f"the JUnit reports have more than {MAX_ELEMENTS} elements")
        if len(self._open) >= MAX_DEPTH:
            raise ReportTooLarge(f"a JUnit report nests elements deeper than {MAX_DEPTH}")
        tag = name.rpartition(_NAMESPACE_END)[2]
        if tag == "testcase":
            test_id = _test_id(attributes)
            self._hold(test_id)
            self._open.append(_Case(test_id, set()))
        elif tag in _SUITES:
            declared = {count: int(attributes[count]) for count in _COUNTS if count in attributes}
            self._open.append(_Suite(declared, self._seen.copy()))
        else:
            around = self._open[-1] if self._open else None
            if tag in _RESULTS and isinstance(around, _Case):
                around.results.add(tag)
            self._open.append(None)

    def _end(self, _name: str) -> None:
        """An element ends: all that it holds has been seen."""
        element = self._open.pop()
        if isinstance(element, _Case):
            self._add_case(element)
        elif element is not None:
            self._check_counts(element)

    def _hold(self, test_id: str | None) -> None:
        self._id_bytes += sys.getsizeof(test_id)
        if self._id_bytes > MAX_ID_BYTES:
            raise ReportTooLarge(f"the test ids of the JUnit reports fill more than {MAX_ID_BYTES} bytes")

    def _add_case(self, case: _Case) -> None:
        self._seen["tests"] += 1
        for result in case.results:
            self._seen[_RESULTS[result]] += 1
        before = None if case.test_id is None else self.outcomes.get(case.test_id)
        if case.test_id is not None and "skipped" not in case.results:
            self.outcomes[case.test_id] = before is not False and not case.results
            if before is None:
                return  # and its id stays in memory
        self._id_bytes -= sys.getsizeof(case.test_id)

    def _check_counts(self, suite: _Suite) -> None:
        for name, declared in suite.declared.items():
            observed = self._seen[name] - suite.before[name]
            if declared != observed:
                raise GradingInfraError(
                    f"a JUnit report is incomplete: it declares {name}={str(declared)[:20]}, and holds {observed}"
                )


def _test_id(attributes: Mapping[str, str]) -> str | None:
    name = attributes.get("name")
    group = attributes.get("classname")
    return f"{group}.{name}" if group and name else name if name is None else group or name


def _refuse_declaration(*_declaration: object) -> None:
    raise ValueError("entities and default attributes are refused")
